"""Nests with constant trips in sequence: the same results, in as many iterations, with one cycle for each."""

import random

import pytest
from control_kernels import A, after, count, i, j, k, kernel, let, n, op, receive, send, x, y
from test_flatten_loops import shortest_interval
from test_fuse_loops import fused, steps

from macah import ir
from macah.capacity import Capacity
from macah.ir import Body, Const, Load, Read, Store, Variable
from macah.passes.pipeline import optimize
from macah.run import run_kernel
from macah.todfg import graph_of

MANY = Capacity(units=1 << 20)
WORDS = {"in": [(word,) for word in range(1, 400)]}


def nest(chosen: random.Random, variables: list[Variable], trips: list[int]) -> tuple[Body, int]:
    """A nest that touches an array, a stream or a sum in its innermost loop, and how often that runs."""
    place = (op("and", variables[0], 7), op("and", variables[-1], 7))
    bodies = [
        (receive(x), Store(A, place, Read(x))),
        (let(y, op("add", y, Load(A, place))),),
        (send(Load(A, place)),),
    ]
    body: Body = chosen.choice(bodies)
    if chosen.random() < 0.3:
        body = (ir.If(op("slt", variables[-1], 2), body, (let(y, op("xor", y, variables[0])),)),)
    runs = 1
    for variable, bound in zip(reversed(variables), reversed(trips), strict=True):
        body = (*count(variable, bound, *body), *([send(y)] if chosen.random() < 0.3 else []))
        runs *= bound
    return body, runs


@pytest.mark.quick(8)
@pytest.mark.parametrize("seed", range(24))
def test_nests_in_sequence_do_the_same_in_as_many_iterations(seed: int) -> None:
    chosen = random.Random(seed)
    stages: list[ir.Stmt] = []
    total = 0
    for _ in range(chosen.randint(2, 4)):
        variables = [i, j] if chosen.random() < 0.6 else [i]
        made, runs = nest(chosen, variables, [chosen.choice((1, 2, 3, 5, 6, 7, 9)) for _ in variables])
        stages += made
        total += runs
        if chosen.random() < 0.4:
            stages.append(chosen.choice([send(y), let(y, 3), receive(y), send(i)]))
    bound: int | Variable = n if chosen.random() < 0.7 else 2
    made_kernel = kernel(*count(k, bound, *stages), send(y), into=(n, A), out=(A,))
    array = {"A": list(range(64))}
    for times in (2,) if bound == 2 else (0, 1, 3):
        want = run_kernel(made_kernel, {"n": times}, array, WORDS, limit=10**6)
        for one in (fused(made_kernel), after("flatten_loops", made_kernel), optimize(made_kernel)):
            assert run_kernel(one, {"n": times}, array, WORDS, limit=10**6) == want
    assert steps(after("flatten_loops", made_kernel), n=2) <= 2 * total


@pytest.mark.parametrize("nested", [False, True])
def test_a_counter_that_a_branch_sets_starts_anywhere(nested: bool) -> None:
    steps_i = (let(y, op("add", y, i)), let(i, op("add", i, 1)))
    first: Body = (
        let(i, 0),
        ir.If(op("slt", 2, x), (let(i, 5),)),
        ir.DoWhile(steps_i, op("slt", i, 9)),
    )
    stages = (*(count(j, 3, *first) if nested else first), *count(k, 12, let(y, op("xor", y, k))))
    made = kernel(*count(n, 4, receive(x), *stages, send(y)))
    want = run_kernel(made, {}, {}, WORDS)
    for one in (fused(made), optimize(made)):
        assert run_kernel(one, {}, {}, WORDS) == want


def test_what_takes_turns_many_times_takes_one_cycle_each() -> None:
    fill = count(i, 12, *count(j, 30, receive(x), Store(A, (Read(i), Read(j)), Read(x))))
    copy = count(i, 16, *count(j, 16, let(y, Load(A, (Read(i), Read(j)))), send(y)))
    made = kernel(*count(k, n, *fill, *copy, *count(j, 40, let(y, op("add", y, j)))), into=(n,), out=(y,))
    assert shortest_interval(graph_of(optimize(made), MANY)) == 1


def test_a_counter_that_goes_on_in_the_next_loop_keeps_its_value() -> None:
    rest = ir.DoWhile((send(i), let(i, op("add", i, 1))), op("slt", i, 20))
    made = kernel(*count(k, n, *count(i, 9, send(1)), rest, *count(j, 9, send(j)), send(i)), into=(n,))
    for bound in range(3):
        assert run_kernel(after("flatten_loops", made), {"n": bound}) == run_kernel(made, {"n": bound})


def test_a_loop_of_few_iterations_is_fused_as_ever() -> None:
    made = kernel(*count(k, n, *count(i, 3, send(i)), *count(j, 3, send(j))), into=(n,))
    assert steps(fused(kernel(*count(i, 3, send(i)), *count(j, 3, send(Const(1)))))) == 6
    assert run_kernel(optimize(made), {"n": 4}) == run_kernel(made, {"n": 4})
