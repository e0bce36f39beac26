"""What the next iteration of an outer loop starts with is there when the inner loop ends."""

import random

import pytest
from control_kernels import A, after, count, i, j, k, kernel, let, loop, n, op, receive, send, t, text, x
from test_flatten_loops import shortest_interval

from macah import ir
from macah.ir import Apply, Array, Body, Const, Expr, Load, Read
from macah.passes.ahead import Ahead
from macah.passes.predicate import Predicates
from macah.passes.simplify import simplify
from macah.run import run_kernel
from macah.todfg import build_dfg

B = Array("B", (16,))


def flat(made: ir.Kernel) -> ir.Kernel:
    return simplify(after("flatten_loops", made))


def interval(*body: ir.Stmt, into: tuple[ir.Variable | Array, ...] = (n,)) -> int:
    return shortest_interval(build_dfg(flat(kernel(*body, into=into))))


def rows(*inner: ir.Stmt) -> Body:
    return count(i, n, *inner)


def test_the_example() -> None:
    inner = ir.DoWhile((let(x, op("sub", x, 1)),), op("ne", x, 0), op("ne", x, 0))
    outer = ir.DoWhile(
        (let(x, op("mul", i, 3)), inner, send(i), let(i, op("add", i, 1))),
        op("slt", i, n),
    )
    made = kernel(outer, into=(n,))
    found = Ahead(Predicates(made), frozenset({n}), frozenset()).run_ahead(outer)
    assert found is not None
    prologue, again = found
    assert text(kernel(*prologue, again)) == (
        "i = i'2\n"
        "x = (i * 3)\n"
        "entered = (x != 0)\n"
        "x'2 = x\n"
        "entered'2 = entered\n"
        "i = (i + 1)\n"
        "more = (i < n)\n"
        "do:\n"
        "  x'3 = x'2\n"
        "  entered'3 = entered'2\n"
        "  more'2 = more\n"
        "  x = (i * 3)\n"
        "  entered = (x != 0)\n"
        "  x'2 = x\n"
        "  entered'2 = entered\n"
        "  i = (i + 1)\n"
        "  more = (i < n)\n"
        "  x'4 = x'3\n"
        "  do if entered'3:\n"
        "    x'4 = (x'4 - 1)\n"
        "  while (x'4 != 0)\n"
        "  out <! i'2\n"
        "  i'2 = (i'2 + 1)\n"
        "while more'2\n"
    )


@pytest.mark.parametrize(
    ("bound", "expected"),
    [(i, 2), (op("add", i, 1), 3), (op("and", i, 3), 3), (op("mul", i, 7), 3)],
)
def test_a_bound_that_depends_on_the_outer_loop_is_no_long_recurrence(bound: Expr, expected: int) -> None:
    assert interval(*rows(*count(k, bound, send(k)))) <= expected


def test_rows_of_a_sparse_matrix() -> None:
    start, end = Load(B, (Read(i),)), Load(B, (op("add", i, 1),))
    row = (
        let(k, start),
        loop(op("slt", k, end), send(Load(A, (Const(0), Read(k)))), let(k, op("add", k, 1))),
    )
    assert interval(*rows(*row), into=(n, A, B)) <= 4


def test_a_loop_until_something_is_found_starts_at_once() -> None:
    step = let(x, op("select", op("and", x, 1), op("add", x, 5), op("shr", x, 1)))
    search = (let(x, op("mul", op("add", i, 9), 77)), loop(op("ne", x, 1), step))
    assert interval(*rows(*search)) <= 5


def test_what_a_stream_brings_is_not_taken_ahead() -> None:
    made = kernel(*rows(receive(x), loop(op("slt", 0, x), send(x), let(x, op("sub", x, 1)))), into=(n,))
    for given in ([2, 0, 3], [0, 0], [1, 1, 1, 1]):
        inputs = {"in": [(value,) for value in given]}
        for bound in range(len(given) + 1):
            expected = run_kernel(made, {"n": bound}, inputs=inputs)
            assert run_kernel(flat(made), {"n": bound}, inputs=inputs) == expected


class _Nests:
    """Random nests whose loops start, end and go on as outer variables, tables and stores say."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def expr(self, known: list[ir.Variable], depth: int = 2) -> Expr:
        pick = self.random.random()
        if depth == 0 or pick < 0.4:
            return Const(self.random.randrange(4)) if pick < 0.1 else Read(self.random.choice(known))
        if pick < 0.55:
            return Load(B, (Apply("and", (self.expr(known, depth - 1), Const(15))),))
        name = self.random.choice(("add", "sub", "xor", "mul", "smin", "slt"))
        return op(name, self.expr(known, depth - 1), self.expr(known, depth - 1))

    def small(self, known: list[ir.Variable]) -> Expr:
        return op("and", self.expr(known), 3)

    def nest(self, counters: list[ir.Variable], known: list[ir.Variable]) -> Body:
        counter, *inner = counters
        begin, body = self.some(known), self.some([*known, counter])
        if inner:
            body += (*self.nest(inner, [*known, counter]), *self.some([*known, counter]))
        else:
            body += (send(self.expr([*known, counter])),)
        step = let(counter, op("add", counter, self.random.randrange(1, 3)))
        bound = self.small(known) if self.random.random() < 0.7 else Const(self.random.randrange(1, 5))
        condition = op(self.random.choice(("slt", "sle")), counter, bound)
        if self.random.random() < 0.3:
            condition = op("and", condition, op("ne", op("and", self.expr([*known, counter]), 7), 3))
        start = Const(0) if self.random.random() < 0.5 else op("and", self.expr(known), 1)
        if self.random.random() < 0.2:
            return (*begin, let(counter, start), ir.DoWhile((*body, step), op("slt", counter, bound)))
        return (*begin, let(counter, start), loop(condition, *body, step))

    def some(self, known: list[ir.Variable]) -> Body:
        """What stands around a loop."""
        made: list[ir.Stmt] = []
        for _ in range(self.random.randrange(3)):
            pick, value = self.random.random(), self.expr(known)
            if pick < 0.5:
                made.append(let(self.random.choice((t, x)), value))
            elif pick < 0.6:
                made.append(ir.Store(B, (op("and", self.expr(known), 15),), value))
            elif pick < 0.7:
                made.append(receive(self.random.choice((t, x))))
            elif pick < 0.85:
                made.append(send(value))
            else:
                made.append(ir.If(self.expr(known), (let(t, value), send(x)), (let(x, value),)))
        return tuple(made)


@pytest.mark.parametrize("first", range(0, 240, 60))
def test_random_nests_mean_the_same(first: int) -> None:
    for seed in range(first, first + 60):
        nests = _Nests(seed)
        body = nests.nest([i, j, k][: 2 + seed % 2], [n, t, x])
        made = kernel(let(t, 1), let(x, 2), *body, send(t), into=(n, B), out=(B, t, x))
        for bound in (0, 1, 3):
            arrays = {"B": [(7 * b + bound) % 5 for b in range(16)]}
            inputs = {"in": [(value * value % 11,) for value in range(30)]}
            expected = run_kernel(made, {"n": bound}, arrays, inputs)
            assert run_kernel(flat(made), {"n": bound}, arrays, inputs) == expected, seed
