"""What loops accumulate in an element of an array is kept in a variable."""

import random

import pytest
from affine_kernels import SIZE, Maker

from macah.check import check_kernel
from macah.fold import fold_apply
from macah.ir import (
    Apply,
    Array,
    Assign,
    Capture,
    Const,
    DoWhile,
    ElementType,
    If,
    Kernel,
    Load,
    Read,
    Store,
    Variable,
)
from macah.passes.accumulate import NEUTRAL, accumulate
from macah.passes.invert_loops import invert_loops
from macah.passes.pipeline import optimize
from macah.passes.remove_leaves import remove_leaves
from macah.run import run_kernel
from macah.show import show_kernel

I, J, X, Y, N = (Variable(name) for name in "ijxyn")
A, B = Array("a", (SIZE,)), Array("b", (SIZE,))
C = Array("c", (8,), ElementType(8, True))


def at(array, *offsets):
    place = Read(I)
    for offset in offsets:
        place = Apply("add", (place, Const(offset % 2**32)))
    return Load(array, (place,))


def loop(*body, counter=J, bound=4):
    count = Assign(counter, Apply("add", (Read(counter), Const(1))))
    return Assign(counter, Const(0)), DoWhile((*body, count), Apply("slt", (Read(counter), Const(bound))))


def add(array, value, op="add"):
    return Store(array, (Read(I),), Apply(op, (at(array), value)))


def kernel(*body):
    captures = [Capture(a, a.name + "[{0}]", "int", out=True) for a in (A, B, C)]
    captures += [Capture(v, v.name, "int", out=v is not N) for v in (X, Y, N)]
    return Kernel("k", tuple(captures), (), body)


def lines(*body):
    shown = show_kernel(accumulate(kernel(*loop(*body, counter=I)))).splitlines()
    first = shown.index("  do:") + 1
    return [line.strip() for line in shown[first:-2]]


NEXT = Load(B, (Read(J),))


def test_a_sum_begins_with_what_is_stored_before() -> None:
    zero = Store(A, (Read(I),), Const(0))
    assert lines(zero, *loop(add(A, NEXT))) == [
        "a_share = 0",
        "j = 0",
        "a_at = i",
        "do:",
        "a_share = (a_share + b[j])",
        "j = (j + 1)",
        "while (j < 4)",
        "a[a_at] = a_share",
    ]


def test_or_is_added_behind_the_loop() -> None:
    twice = (add(A, NEXT), If(Read(X), (add(A, Read(Y)),)))
    assert lines(*loop(*twice)) == [
        "j = 0",
        "a_at = i",
        "a_share = 0",
        "do:",
        "a_share = (a_share + b[j])",
        "if x:",
        "a_share = (a_share + y)",
        "j = (j + 1)",
        "while (j < 4)",
        "a[a_at] = (a[a_at] + a_share)",
    ]


@pytest.mark.parametrize(
    "body",
    [
        (add(A, at(A, 1)),),
        (add(A, NEXT), Assign(X, at(A))),
        (add(A, Read(X), "sub"),),
        (add(A, NEXT), add(A, Read(X), "xor")),
        (Store(A, (Read(J),), Apply("add", (Load(A, (Read(J),)), Const(1)))),),
        (Store(A, (Read(I),), Apply("add", (at(A, 1), NEXT))),),
        (Store(A, (Read(I),), Apply("add", (at(A), at(A)))),),
        (Store(C, (Read(I),), Apply("sext8", (Apply("smax", (at(C), NEXT)),))),),
        (Assign(I, Read(I)), add(A, NEXT)),
    ],
)
def test_what_is_no_sum_stays(body) -> None:
    made = kernel(*loop(*loop(*body), counter=I))
    assert accumulate(made) is made


@pytest.mark.parametrize("op", NEUTRAL)
def test_neutral_values_change_nothing(op: str) -> None:
    for value in (0, 1, 5, 2**31 - 1, 2**31, 2**32 - 1):
        assert fold_apply(op, (Const(value), Const(NEUTRAL[op])), 32) == Const(value)


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_random_loops_do_what_they_did(first: int) -> None:
    moved = 0
    for seed in range(first, first + 100):
        made = invert_loops(remove_leaves(sums(seed) if seed % 4 else Maker(seed).kernel()))
        result = accumulate(made)
        check_kernel(result)
        moved += result is not made
        assert ran(result) == ran(made), (seed, show_kernel(made), show_kernel(result))
        if seed % 8 == 1:
            assert ran(optimize(made)) == ran(made), seed
    assert moved > 30


def sums(seed: int) -> Kernel:
    """Nests that accumulate here and there."""
    source = random.Random(seed)
    op = source.choice(list(NEUTRAL))

    def place(array):
        return Apply("and", (Read(source.choice((I, I, I, N, J))), Const(3 if array is C else 11)))

    def value():
        picked = source.choice(
            (
                Read(J),
                Read(X),
                Const(source.randrange(9)),
                Load(B, (Read(J),)),
                Load(A, (Apply("add", (Read(J), Const(40))),)),
            )
        )
        return Apply(source.choice(("add", "mul", "xor")), (picked, Read(source.choice((I, J, X)))))

    def step(array, index):
        how = op if source.random() < 0.9 else source.choice(list(NEUTRAL))
        chain = Apply(how, (Load(array, (index,)), value()))
        if source.random() < 0.3:
            chain = Apply(how, (value(), chain))
        if array is C:
            chain = Apply("sext8", (chain,))
        stored = Store(array, (index,), chain)
        return If(Apply("and", (value(), Const(1))), (stored,)) if source.random() < 0.3 else stored

    def inner():
        array = source.choice((A, A, C))
        index = place(array)
        body = tuple(step(array, index) for _ in range(source.choice((1, 1, 2))))
        if source.random() < 0.3:
            body += (step(B, place(B)),)
        if source.random() < 0.2:
            body += (Assign(X, Load(array, (place(array),))),)
        first = (Store(array, (index,), Const(source.randrange(4))),) if source.random() < 0.5 else ()
        start, again = loop(*body, bound=source.randint(1, 5))
        if source.random() < 0.3:
            again = DoWhile(again.body, again.condition, Apply("and", (value(), Const(1))))
        return (*first, start, again)

    body = inner() + (inner() if source.random() < 0.5 else ())
    return kernel(*loop(*body, counter=I, bound=source.randint(1, 6)))


def ran(made: Kernel):
    whole = {"a": [n * 7 % 23 for n in range(SIZE)], "b": [n * 5 % 17 for n in range(SIZE)]}
    whole["c"] = [n * 3 % 11 for n in range(8)]
    arrays = {c.what.name: whole[c.what.name] for c in made.captured if isinstance(c.what, Array)}
    scalars = {"x": 3, "y": 9, "n": 2}
    for capture in made.captured:
        name = capture.what.name
        if isinstance(capture.what, Variable) and "[" in name:
            scalars[name] = whole[name[0]][int(name[2:-1])]
    left = run_kernel(made, scalars, arrays)
    return {name: left.scalars[name] for name in ("x", "y")}, left.arrays
