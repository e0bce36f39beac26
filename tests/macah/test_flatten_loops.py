from collections import Counter

import pytest
from control_kernels import (
    ALL,
    acc,
    after,
    count,
    fir,
    i,
    j,
    k,
    kernel,
    let,
    loop,
    matmul,
    n,
    op,
    send,
    text,
    total,
    triangle,
)
from test_fuse_loops import steps

from arch.ops import COMPARISONS
from backend.dfg import DFG
from macah import ir
from macah.ir import Const, Read
from macah.run import run_kernel
from macah.todfg import build_dfg


def flat(made: ir.Kernel) -> ir.Kernel:
    return after("flatten_loops", made)


def shortest_interval(graph: DFG) -> int:
    """The least interval that the recurrences allow if every operation takes one cycle."""
    arcs = [(use.node, reader, use.distance, 1) for reader, _, use in graph.uses()]
    arcs += [(order.before, order.after, order.distance, order.delay) for order in graph.orders]
    interval = 1
    while not _settles(len(graph.nodes), arcs, interval):
        interval += 1
    return interval


def _settles(count_: int, arcs: list[tuple[int, int, int, int]], interval: int) -> bool:
    starts = [0] * count_
    for _ in range(count_ + 1):
        late = [(b, starts[a] + delay - interval * d) for a, b, d, delay in arcs]
        changes = [(node, start) for node, start in late if start > starts[node]]
        if not changes:
            return True
        for node, start in changes:
            starts[node] = max(starts[node], start)
    return False


@pytest.mark.parametrize("name", ALL)
def test_the_result_is_constants_and_one_loop_of_straight_line_code(name: str) -> None:
    *leading, loop = flat(ALL[name]).body
    assert isinstance(loop, ir.DoWhile)
    assert loop.guard == ir.TRUE
    assert not any(isinstance(stmt, ir.DoWhile | ir.If) for stmt in loop.body)
    assert all(isinstance(stmt, ir.Assign) and isinstance(stmt.value, Const | Read) for stmt in leading)


def test_a_counted_loop_tests_at_the_top_and_needs_no_state() -> None:
    assert text(flat(fir)) == (
        "i = 0\n"
        "do:\n"
        "  run = (i < n)\n"
        "  x <? in if run\n"
        "  acc = (acc + x)\n"
        "  out <! acc if run\n"
        "  i = (i + 1)\n"
        "  more = (i < n)\n"
        "  again = run\n"
        "while again\n"
    )


def test_what_is_needed_after_a_loop_that_may_not_run_is_kept_off_its_recurrence() -> None:
    found = text(flat(total))
    assert "select" not in found
    for bound in range(3):
        scalars, inputs = {"n": bound, "acc": 7}, {"in": [(5,), (8,)]}
        assert run_kernel(flat(total), scalars, inputs=inputs).scalars["acc"] == 7 + (0, 5, 13)[bound]


@pytest.mark.parametrize(
    ("name", "interval"), [("fir", 1), ("total", 1), ("copy_through", 1), ("matmul", 1), ("matmul_n", 2)]
)
def test_recurrences_are_short(name: str, interval: int) -> None:
    assert shortest_interval(build_dfg(flat(ALL[name]))) == interval


def test_a_nest_takes_no_more_predicates_than_it_needs() -> None:
    ops = Counter(node.op for node in build_dfg(flat(matmul(8))).nodes)
    assert ops["select"] <= 4
    assert ops["and"] + ops["or"] + ops["xor"] <= 7
    assert sum(ops[comparison] for comparison in COMPARISONS) <= 3


@pytest.mark.parametrize("bound", [1, 2, 3, 8])
def test_a_perfect_nest_makes_no_iteration_in_vain(bound: int) -> None:
    assert steps(flat(matmul(bound))) == bound**3
    assert steps(flat(matmul(n)), n=bound) == bound**3


def test_an_inner_loop_that_does_not_run_costs_one_iteration() -> None:
    assert steps(flat(triangle), n=6) == 1 + (1 + 2 + 3 + 4 + 5)


def test_a_nest_of_captured_bounds_may_not_run_at_all() -> None:
    made = kernel(*count(i, n, *count(j, n, *count(k, n, send(k)))), send(9), into=(n,))
    for bound in range(4):
        assert run_kernel(flat(made), {"n": bound}) == run_kernel(made, {"n": bound})


def test_what_follows_a_loop_may_overwrite_what_its_condition_reads() -> None:
    # The body writes n before it could read it.
    body = (let(acc, op("add", acc, 1)), let(n, op("slt", acc, 3)))
    made = kernel(let(acc, 0), loop(op("ne", n, 0), *body), let(n, op("sub", acc, 3)), into=(n,), out=(n,))
    for start in range(3):
        expected = run_kernel(made, {"n": start}).scalars["n"]
        assert run_kernel(flat(made), {"n": start}).scalars["n"] == expected
