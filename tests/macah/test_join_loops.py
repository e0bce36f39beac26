"""Loops in sequence do their work in the same iterations where that changes nothing."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from control_kernels import A, after, count, i, j, k, kernel, let, loop, n, op, receive, send, t, x, y
from out_of_order import run_out_of_order
from test_fuse_loops import loops_in_sequence

from macah import ir
from macah.ir import Array, Body, Const, Expr, Load, Read, Variable
from macah.iterations import count_iterations
from macah.passes.join_loops import join_loops
from macah.passes.pipeline import optimize
from macah.run import run_kernel
from macah.todfg import build_dfg
from macah.walk import statements

U, V, W = (Array(name, (20,)) for name in "UVW")
DATA = {name: [(7 * place + len(name)) % 13 for place in range(20)] for name in "UVW"}


def put(array: Array, index: Variable | Expr, value: Variable | Expr | int) -> ir.Stmt:
    return ir.Store(array, (op("add", index, 0).args[0],), op("add", value, 0).args[0])


def at(array: Array, index: Variable | Expr) -> Expr:
    return Load(array, (op("add", index, 0).args[0],))


def shifted(variable: Variable, by: int) -> Expr:
    return op("add", variable, by % 2**32) if by else Read(variable)


def left(*body: ir.Stmt) -> int:
    """How many loops in sequence are left."""
    inverted = after("invert_loops", kernel(*body, into=(n, U, V, W), out=(U, V, W, y)))
    return loops_in_sequence(join_loops(inverted).body)


FILL = count(i, n, put(U, i, op("mul", i, 3)))


@pytest.mark.parametrize(
    ("second", "number"),
    [
        (count(j, n, put(V, j, at(U, j))), 1),
        (count(j, n, put(V, j, at(U, shifted(j, -2)))), 1),
        (count(j, n, put(V, j, at(U, shifted(j, 1)))), 2),
        (count(j, n, put(U, shifted(j, -1), j)), 1),
        (count(j, n, put(U, shifted(j, 1), j)), 2),
        (count(j, n, put(V, j, at(U, 3))), 2),
        (count(j, n, put(V, j, at(W, op("mul", j, j)))), 1),
        (count(j, op("sub", n, 1), put(V, j, j)), 2),
        (count(j, 8, put(V, j, j)), 2),
        (count(i, n, put(V, i, at(U, i))), 1),
        ((let(y, 0), *count(j, n, let(y, op("add", y, at(V, j))))), 1),
        ((let(y, i), *count(j, n, let(y, op("add", y, at(V, j))))), 2),
        ((put(U, i, 3), *count(j, n, put(V, j, j))), 1),
        ((put(U, i, 3), *count(j, n, put(V, j, at(U, j)))), 2),
        ((put(V, 3, i), *count(j, n, put(V, j, j))), 2),
    ],
)
def test_what_may_be_joined(second: Body, number: int) -> None:
    assert left(*FILL, *second) == number


def test_the_counter_of_another_loop_is_a_constant() -> None:
    fill = (let(j, 0), *count(i, n, put(U, j, i)))
    assert left(*fill, *count(k, n, put(V, k, at(U, k)))) == 2
    use = (loop(op("slt", j, n), put(V, j, at(U, j)), let(j, op("add", j, 1))),)
    assert left(*fill, *use) == 2


def test_any_number_of_loops_is_joined() -> None:
    second, third = count(j, n, put(V, j, at(U, j))), count(k, n, let(y, op("add", y, at(V, k))))
    assert left(*FILL, *second, *third) == 1
    ahead = count(k, n, let(y, op("add", y, at(V, shifted(k, 1)))))
    assert left(*FILL, *second, *ahead) == 2


def test_loops_with_streams_stay_apart() -> None:
    assert left(*count(i, 4, receive(x)), *count(j, 4, send(j))) == 2
    assert left(*count(i, 4, receive(x), put(U, i, x)), *count(j, 4, put(V, j, at(U, j)))) == 1


def test_constant_bounds_are_compared_by_the_number_of_iterations() -> None:
    down = (let(j, 7), ir.DoWhile((put(V, j, j), let(j, shifted(j, -1))), op("sle", 0, j)))
    assert left(*count(i, 8, put(U, i, i)), *down) == 1
    assert left(*count(i, 8, put(V, i, i)), *down) == 2


@pytest.mark.parametrize(("ahead", "number"), [(0, 1), (1, 2), (3, 2), (4, 1)])
def test_what_no_later_iteration_changes_may_be_needed(ahead: int, number: int) -> None:
    assert left(*count(i, 4, put(U, i, i)), *count(j, 4, put(V, j, at(U, shifted(j, ahead))))) == number


@pytest.mark.parametrize(("ahead", "number"), [(1, 1), (2, 2), (3, 1), (14, 2), (16, 1)])
def test_iterations_that_count_by_two_change_every_second_element(ahead: int, number: int) -> None:
    first = (let(i, 0), loop(op("slt", i, 16), put(U, i, i), let(i, shifted(i, 2))))
    second = loop(op("slt", j, 16), put(V, j, at(U, shifted(j, ahead))), let(j, shifted(j, 2)))
    assert left(*first, let(j, 0), second) == number


def test_rows_beside_each_other_are_joined_with_what_stands_before_and_behind_them() -> None:
    def row(outer: Variable, *before: ir.Stmt) -> Body:
        step = put(U, op("add", op("mul", outer, 4), k), x)
        return (*before, let(x, at(V, outer)), *count(k, 4, let(x, op("mul", x, x)), step), put(V, outer, x))

    assert left(*row(i), *row(j, let(j, shifted(i, 1)))) == 1
    assert left(*row(i), *row(j, let(j, shifted(i, 0)))) == 2
    assert left(*row(i), *row(j)) == 2


def test_nests_are_joined_as_a_whole_or_not_at_all() -> None:
    def fill(a: Variable, b: Variable, array: Array, value: Expr) -> Body:
        return count(a, 8, *count(b, 8, ir.Store(array, (Read(a), Read(b)), value)))

    other = Array("other", (8, 8))
    first = fill(i, j, A, Read(j))
    assert left(*first, *fill(t, k, other, Load(A, (Read(t), Read(k))))) == 1
    assert left(*first, *fill(t, k, other, Load(A, (Read(t), shifted(k, 1))))) == 2
    assert left(*first, *fill(i, j, other, Load(A, (Read(i), shifted(j, -1))))) == 1


def test_it_halves_the_iterations() -> None:
    made = kernel(*FILL, *count(j, n, put(V, j, at(U, j))), into=(n, U, V), out=(U, V))
    found = count_iterations(made, {"n": 9}, {"U": DATA["U"], "V": DATA["V"]})
    assert (found.executed, found.useful) == (10, 18)  # the last one finds the end


class _Sequences:
    """Random loops in sequence that share counters, sums and arrays."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: Array | Variable | int) -> Array | Variable | int:
        return self.random.choice(choices)

    def value(self, counter: Variable) -> Expr:
        array = self.random.choice((U, V, W))
        index = shifted(counter, self.random.randrange(5))
        known: Sequence[Expr] = (Read(counter), Read(x), Read(y), at(array, index), at(array, Const(3)))
        return op(self.random.choice(("add", "xor", "sub")), *self.random.choices(known, k=2))

    def body(self, counter: Variable) -> Body:
        made: list[ir.Stmt] = []
        for _ in range(self.random.randrange(1, 4)):
            pick = self.random.random()
            if pick < 0.5:
                index = shifted(counter, self.random.randrange(1, 4))
                made.append(put(self.random.choice((U, V, W)), index, self.value(counter)))
            elif pick < 0.8:
                made.append(let(self.random.choice((x, y)), self.value(counter)))
            elif pick < 0.85:
                made.append(send(self.value(counter)))
            else:
                made.append(ir.If(self.value(counter), (let(y, self.value(counter)),)))
        return tuple(made)

    def loop(self) -> Body:
        counter = self.random.choice((i, j))
        bound = self.random.choice((n, n, 6))
        if self.random.random() < 0.15:
            inner = count(k, 2, *self.body(k))
            return count(counter, bound, *inner, *self.body(counter))
        if self.random.random() < 0.1:
            start = self.random.randrange(3)
            body = (*self.body(counter), let(counter, op("add", counter, 1)))
            return (let(counter, start), loop(op("slt", counter, bound), *body))
        return count(counter, bound, *self.body(counter))

    def between(self) -> Body:
        kind, value = self.random.random(), self.value(self.random.choice((i, j)))
        if kind < 0.6:
            return ()
        if kind < 0.8:
            return (let(self.random.choice((x, y, t)), value),)
        return (put(self.random.choice((U, V, W)), self.random.choice((Read(i), Const(2))), value),)

    def all(self) -> Body:
        return tuple(stmt for _ in range(4) for stmt in (*self.loop(), *self.between()))


@pytest.mark.quick(1)
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_random_sequences_mean_the_same(first: int) -> None:
    joined = 0
    for seed in range(first, first + 100):
        made = kernel(*_Sequences(seed).all(), into=(n, U, V, W, x, y), out=(U, V, W, x, y, t))
        inverted = after("invert_loops", made)
        again = join_loops(inverted)
        joined += _loops(inverted.body) - _loops(again.body)
        for bound in (0, 1, 7):
            given = {"n": bound, "x": 5, "y": 9}
            expected = run_kernel(made, given, DATA)
            assert run_kernel(again, given, DATA) == expected, seed
            assert run_kernel(after("flatten_loops", made), given, DATA) == expected, seed
    assert joined > 5


class _Copies:
    """A random nest of two loops, written as if the outer one had got two copies of its body."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def index(self, outer: Variable, *inner: Variable) -> Expr:
        row = op("mul", outer, self.random.choice((1, 1, 4)))
        known = (row, op("add", row, inner[0]), Read(inner[0]), op("add", row, inner[0])) if inner else (row,)
        return op("add", self.random.choice(known), self.random.choice((0, 0, 1, 2**32 - 1)))

    def value(self, outer: Variable, *inner: Variable) -> Expr:
        load = at(self.random.choice((U, V)), self.index(outer, *inner))
        return op(self.random.choice(("add", "xor", "sub")), self.random.choice((x, y, load, load)), load)

    def some(self, outer: Variable, *inner: Variable) -> Body:
        stores = [put(self.random.choice((U, V)), self.index(outer, *inner), x)] * self.random.randrange(2)
        return (let(x, self.value(outer, *inner)), *stores, let(y, op("xor", x, y)))

    def all(self) -> Body:
        state = self.random.getstate()
        made: list[ir.Stmt] = []
        for outer in (i, j):
            self.random.setstate(state)  # the same again
            trips = self.random.choice((3, 4, 4, n))
            start = (let(x, at(V, self.index(outer))), let(y, self.random.choice((0, x))))
            made += [*start, *count(k, trips, *self.some(outer, k)), *self.some(outer)]
            made.append(let(j, shifted(i, 1)))
        return (let(i, 1), loop(op("slt", i, 5), *made, let(i, shifted(i, 2))))


@pytest.mark.quick(1)
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_random_copies_mean_the_same(first: int) -> None:
    joined = 0
    for seed in range(first, first + 100):
        made = kernel(*_Copies(seed).all(), into=(n, U, V, x, y), out=(U, V, x, y))
        inverted = after("invert_loops", made)
        again = join_loops(inverted)
        joined += _loops(inverted.body) - _loops(again.body)
        for bound in (0, 1, 4):
            given = {"n": bound, "x": 5, "y": 9}
            data = {name: DATA[name] for name in "UV"}
            assert run_kernel(again, given, data) == run_kernel(made, given, data), seed
    assert joined > 20


def _loops(body: Body) -> int:
    return sum(isinstance(stmt, ir.DoWhile) for stmt in statements(body))


@pytest.mark.parametrize("seed", range(4))
def test_what_joined_loops_hand_on_keeps_its_order(seed: int) -> None:
    slow = put(U, i, op("sdiv", op("mul", i, 1000), op("add", i, x)))
    use = put(V, j, op("add", at(U, j), j))
    made = kernel(*count(i, 8, slow), *count(j, 8, use), into=(x, U, V), out=(U, V))
    _in_any_order(replace(made, without=frozenset({"reuse_elements", "forward"})), seed)


@pytest.mark.parametrize("seed", range(40))
def test_graphs_of_random_sequences_keep_their_orders(seed: int) -> None:
    made = kernel(*_Sequences(seed).all(), into=(n, U, V, W, x, y), out=(U, V, W, x, y, t))
    _in_any_order(replace(made, without=frozenset({"shorten", "reuse_elements"})), seed)


def _in_any_order(made: ir.Kernel, seed: int) -> None:
    dfg = build_dfg(optimize(made))
    given = {"n": 7, "x": 5, "y": 9}
    expected = run_kernel(made, given, DATA)
    memories = {m: DATA[memory.name] for m, memory in enumerate(dfg.memories)}
    ran = run_out_of_order(dfg, seed, [given[v] for v in dfg.live_ins], None, memories)
    for m, memory in enumerate(dfg.memories):
        if memory.captured_out:
            assert list(ran.memories[m]) == list(expected.arrays[memory.name])
    assert ran.live_outs == [expected.scalars[v] for v in dfg.live_outs]
