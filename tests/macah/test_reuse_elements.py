"""Elements that an iteration or one before it knows are not loaded again."""

import random
from dataclasses import replace

import pytest
from affine_kernels import SIZE, Maker

from macah import ir
from macah.check import check_kernel
from macah.ir import Apply, Array, Assign, Capture, Const, DoWhile, If, Kernel, Load, Read, Store, Variable
from macah.passes.find_sites import find_sites
from macah.passes.invert_loops import invert_loops
from macah.passes.pipeline import optimize
from macah.passes.remove_leaves import remove_leaves
from macah.passes.reuse_elements import reuse_elements
from macah.run import run_kernel
from macah.show import show_kernel
from macah.walk import loads_in, operands, statements

I, X, Y, N = Variable("i"), Variable("x"), Variable("y"), Variable("n")
ROW = Variable("row")
A, B = Array("a", (16,)), Array("b", (4, 4))
LOCAL = Array("t", (16,))


def at(offset=0, variable=I):
    return Apply("add", (Read(variable), Const(offset % 2**32))) if offset else Read(variable)


def load(offset=0, array=A):
    return Load(array, (at(offset),))


def store(value, offset=0):
    return Store(A, (at(offset),), value)


def total(*values):
    result, *rest = values
    for value in rest:
        result = Apply("add", (result, value))
    return result


def kernel(*body, before=(), start=1, step=1):
    """A loop over i from 1."""
    count = Assign(I, Apply("add", (Read(I), Const(step))))
    loop = DoWhile((*body, count), Apply("slt", (Read(I), Const(12))))
    captures = [Capture(v, v.name, "int", out=True) for v in (X, Y)]
    captures += [Capture(A, "a[{0}]", "int", out=True), Capture(B, "b[{0}][{1}]", "int", out=True)]
    return Kernel("k", (*captures, Capture(N, "n", "int")), (), (*before, Assign(I, Const(start)), loop))


def lines(*body, **how):
    """All that is in the kernel after the pass but for the loop's counter."""
    shown = show_kernel(reuse_elements(find_sites(kernel(*body, **how)))).splitlines()
    left = [
        line.strip() for line in shown if not line.strip().startswith(("capture", "kernel", "do", "while"))
    ]
    return [line for line in left if line and line not in ("i = 1", "i = (i + 1)")]


def test_three_neighbours_are_one_load():
    assert lines(Assign(X, total(load(-1), load(), load(1)))) == [
        "a_kept1 = a[0]",
        "a_kept1'2 = a[1]",
        "a_kept = a_kept1'2",
        "a_kept'2 = a[(i + 1)]",
        "x = ((a_kept1 + a_kept) + a_kept'2)",
        "a_kept1 = a_kept",
        "a_kept1'2 = a_kept'2",
    ]


def loads(*body, **how):
    """How many loads are left in the kernel."""
    made = reuse_elements(find_sites(kernel(*body, **how)))
    check_kernel(made)
    return sum(1 for s in statements(made.body) for expr in operands(s) for _ in loads_in(expr))


def test_what_was_stored_is_known():
    last = Assign(X, total(Read(X), load(-1)))
    assert loads(last, store(Read(X))) == 0
    assert loads(store(Read(X)), last) == 0
    assert loads(store(Read(X)), Assign(Y, load())) == 0
    assert loads(last, If(Read(Y), (store(Read(X)),))) == 1
    assert loads(store(Read(X), 9), Assign(X, load(0)), step=1) == 1  # too long ago


def test_until_a_store_that_may_be_to_it():
    anywhere = Store(A, (Read(N),), Const(3))
    assert loads(store(Read(X)), anywhere, Assign(Y, load())) == 1
    assert loads(store(Read(X)), If(Read(X), (store(Const(2)),)), Assign(Y, load())) == 1
    assert loads(Assign(X, total(load(-1), load(1))), anywhere) == 2
    assert loads(Assign(X, total(load(-1), load(1))), store(Const(1), 4)) == 0
    assert loads(Assign(X, total(load(-1), load(1))), store(Const(1))) == 1
    assert loads(Assign(X, load(1)), If(Read(N), (store(Const(1)),)), Assign(Y, load(-1))) == 2
    assert loads(Assign(X, load(1)), store(Const(1), 1), Assign(Y, load(1))) == 1
    assert loads(Assign(X, load()), store(Const(1), 1), Assign(Y, load())) == 0


def test_only_what_is_known_before_the_loop():
    stencil = Assign(X, total(load(-1), load(1)))
    assert loads(stencil) == 1
    assert loads(stencil, before=(Store(A, (Read(N),), Read(X)),)) == 2
    assert loads(stencil, before=(Store(A, (Const(3),), Read(X)),)) == 1
    assert loads(stencil, before=(Assign(X, Read(N)),)) == 1
    assert loads(Assign(X, total(load(-1, LOCAL), load(1, LOCAL)))) == 1
    column = Assign(X, total(Load(B, (at(), Const(0))), Load(B, (at(1), Const(0)))))
    made = reuse_elements(find_sites(kernel(column, start=0)))
    assert [c.source for c in made.captured if c.what.name.startswith("b[")] == ["b[0][0]"]
    inner = kernel(stencil).body[1]
    nest = find_sites(replace(kernel(), body=(DoWhile((Assign(I, Const(1)), inner), Read(Y)),)))
    assert reuse_elements(nest) is nest


def test_what_is_stored_before_the_loop_is_known():
    first = Store(A, (Const(0),), load(3))
    sums = store(total(load(-1), Read(X)))
    assert lines(sums, before=(first,)) == [
        "a_start = a[(i + 3)]",
        "a[0] = a_start",
        "a_kept1 = a_start",
        "a_kept = (a_kept1 + x)",
        "a[i] = a_kept",
        "a_kept1 = a_kept",
    ]
    two = store(total(load(-1), load(-2)))
    assert loads(two, before=(first, Store(A, (Const(1),), Const(5))), start=2) == 1
    assert loads(two, before=(first,), start=2) == 1  # the other element is as it was
    assert loads(sums, before=(first, Store(A, (Read(N),), Const(5)))) == 2
    assert loads(sums, before=(replace(first, guard=Read(N)),)) == 2
    assert loads(sums, before=(If(Read(N), (first,)),)) == 2


def test_what_an_outer_iteration_stores_before_the_loop_is_known():
    def nest(first, *between):
        y, x = Variable("row"), I
        cells = DoWhile(
            (
                Store(B, (Read(y), Read(x)), total(Load(B, (Read(y), at(-1))), Const(7))),
                Assign(x, Apply("add", (Read(x), Const(1)))),
            ),
            Apply("slt", (Read(x), Const(4))),
        )
        step = Assign(y, Apply("add", (Read(y), Const(1))))
        body = (Store(B, (Read(y), Const(first)), Read(X)), *between, Assign(x, Const(1)), cells, step)
        rows = DoWhile(body, Apply("slt", (Read(y), Const(4))))
        made = reuse_elements(find_sites(replace(kernel(), body=(Assign(y, Const(0)), rows))))
        assert ran_b(made) == ran_b(replace(kernel(), body=(Assign(y, Const(0)), rows)))
        return sum(1 for s in statements(made.body) for expr in operands(s) for _ in loads_in(expr))

    def ran_b(made):
        return run_kernel(made, {"x": 3, "y": 9, "n": 2}, {"a": [0] * 16, "b": list(range(16))})

    assert nest(0) == 0
    assert nest(1) == 1
    assert nest(0, Store(B, (Read(N), Const(0)), Const(1))) == 1
    assert nest(0, Store(B, (Const(1), Const(0)), Const(1))) == 1


def test_a_branch_loads_before_it_may_have_to():
    inner = If(Apply("slt", (Const(2), Read(I))), (Assign(X, total(load(-1), load(), load(1))),))
    assert loads(inner) == 1
    stepping = If(Read(N), (Assign(N, Const(1)), Assign(X, total(Load(A, (at(1, N),)), load(1), load()))))
    assert loads(stepping) == 2


@pytest.mark.parametrize("first", range(0, 200, 100))
def test_random_loops_behind_stores_do_what_they_did(first):
    fewer = 0
    for seed in range(first, first + 100):
        made = invert_loops(remove_leaves(dense(seed, stored=True)))
        result = reuse_elements(find_sites(made))
        check_kernel(result)
        fewer += "_start = " in show_kernel(result)
        assert ran(result, seed) == ran(made, seed), (seed, show_kernel(result))
        if seed % 10 == 1:
            assert ran(optimize(made), seed) == ran(made, seed), seed
    assert fewer > 15


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_random_loops_do_what_they_did(first):
    spared = 0
    for seed in range(first, first + 100):
        made = invert_loops(remove_leaves(dense(seed) if seed % 2 else Maker(seed).kernel()))
        result = reuse_elements(find_sites(made))
        check_kernel(result)
        spared += len(result.captured) > len(made.captured)
        assert ran(result, seed) == ran(made, seed), (seed, show_kernel(result))
        if seed % 10 == 1:
            assert ran(optimize(made), seed) == ran(made, seed), seed
    assert spared > 20


def dense(seed, stored=False):
    """A loop or two with many accesses to few elements; `stored`: in another one, behind stores to some."""
    source = random.Random(seed)
    stride = source.choice((1, 1, 2, 3, -1))
    arrays = [Array("a", (SIZE,)), Array("b", (SIZE,))]

    def index(counter):
        place = Apply("mul", (Read(counter), Const(stride % 2**32)))
        offset = source.randrange(8) + (40 if stride < 0 else 0)
        if source.random() < 0.1:
            place = Apply("and", (Read(source.choice((X, Y))), Const(31)))
        return (Apply("add", (place, Const(offset))),)

    def value(counter):
        picked = [Load(source.choice(arrays), index(counter)) for _ in range(source.randint(1, 3))]
        return total(*picked, Read(source.choice((X, Y, counter))))

    def statement(counter, depth=1):
        match source.randrange(8):
            case 0 if depth:
                then = tuple(statement(counter, 0) for _ in range(2))
                return If(Apply("and", (value(counter), Const(1))), then, (statement(counter, 0),))
            case 0 | 1 | 2 | 3:
                return Assign(source.choice((X, Y)), value(counter))
            case _:
                return Store(source.choice(arrays), index(counter), value(counter))

    body = ()
    for number in range(source.choice((1, 1, 2))):
        counter = Variable(f"i{number}")
        count = Assign(counter, Apply("add", (Read(counter), Const(1))))
        inner = (*(statement(counter) for _ in range(source.randint(2, 5))), count)
        bound = Const(source.randint(1, 12)) if source.random() < 0.7 else Read(N)
        condition = Apply("slt", (Read(counter), bound))
        start = Assign(counter, Const(source.randrange(3)))
        if stored:
            body += (start, *(Store(source.choice(arrays), index(counter), value(counter)) for _ in range(5)))
        body += (start, ir.While((), condition, inner))
    if stored and source.random() < 0.7:
        step = Assign(ROW, Apply("add", (Read(ROW), Const(1))))
        again = ir.While((), Apply("slt", (Read(ROW), Const(3))), (*body, step))
        body = (Assign(ROW, Const(0)), again)
    captured = [Capture(array, array.name + "[{0}]", "int", True, True) for array in arrays]
    captured += [Capture(v, v.name, "int", True, v is not N) for v in (X, Y, N)]
    return Kernel("dense", tuple(captured), (), body)


def ran(made, seed):
    """What a run leaves; elements that are captured on their own are those of their array."""
    source = random.Random(seed)
    arrays = {name: [source.randrange(50) for _ in range(SIZE)] for name in ("a", "b")}
    scalars = {"x": 3, "y": 9, "n": source.randrange(-1, 9) % 2**32}
    for capture in made.captured:
        name = capture.what.name
        if isinstance(capture.what, Variable) and "[" in name:
            scalars[name] = arrays[name[0]][int(name[2:-1])]
    left = run_kernel(made, scalars, arrays)
    return {name: left.scalars[name] for name in ("x", "y")}, left.arrays
