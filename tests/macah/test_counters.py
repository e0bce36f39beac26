"""Counters of nests are set back in time, whatever their bounds, steps and directions."""

import pytest
from control_kernels import after, count, i, j, k, kernel, let, loop, n, op, send, x
from test_flatten_loops import shortest_interval
from test_fuse_loops import steps

from macah import ir
from macah.passes.counters import find_counter
from macah.run import run_kernel
from macah.todfg import build_dfg

MOST, LEAST = (1 << 31) - 1, 1 << 31


def nest(start: int, condition: ir.Expr, step: int) -> ir.Kernel:
    """A nest in which the loop over k is entered three times, and the one over j twice."""
    inner = (
        let(k, start),
        let(x, 0),
        loop(condition, let(x, op("add", x, k)), let(k, op("add", k, step % 2**32))),
    )
    rows = count(j, 3, *inner, send(x), send(j))
    return kernel(*count(i, 2, *rows), into=(n,))


@pytest.mark.parametrize("bound", range(1, 8))
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("comparison", ["slt", "sle", "ult", "ule"])
def test_counting_up_to_a_constant(comparison: str, step: int, bound: int) -> None:
    made = nest(0, op(comparison, k, bound), step)
    assert run_kernel(after("flatten_loops", made)) == run_kernel(made)


@pytest.mark.parametrize("bound", range(7))
@pytest.mark.parametrize("comparison", ["slt", "sle"])
def test_counting_down_to_a_constant(comparison: str, bound: int) -> None:
    made = nest(7, op(comparison, bound, k), -1)
    assert run_kernel(after("flatten_loops", made)) == run_kernel(made)


@pytest.mark.parametrize("comparison", ["slt", "sle", "ult"])
def test_counting_up_to_a_bound_that_is_captured(comparison: str) -> None:
    made = nest(0, op(comparison, k, n), 1)
    for bound in range(6):
        assert run_kernel(after("flatten_loops", made), {"n": bound}) == run_kernel(made, {"n": bound})


@pytest.mark.parametrize("bound", [0, 1, LEAST])
def test_a_do_loop_may_start_beyond_its_bound(bound: int) -> None:
    body = (send(k), let(k, op("add", k, 1)))
    inner = (let(k, MOST - 3), ir.DoWhile(body, op("slt", k, n)), send(7))
    made = kernel(*count(j, 3, *inner), into=(n,))
    given = {"n": bound}
    assert run_kernel(after("flatten_loops", made), given, limit=9999) == run_kernel(made, given, limit=9999)


def test_a_counter_that_would_overflow_has_no_known_number_of_trips() -> None:
    step = let(k, op("add", k, 2))
    found = find_counter((step,), op("sle", k, MOST), {k: ir.Const(0)}, frozenset())
    assert found is not None
    assert found.trips is None


@pytest.mark.parametrize("trips", [3, 4, 9])
def test_a_nest_of_three_counters_and_a_sum_has_no_long_recurrence(trips: int) -> None:
    flat = after("flatten_loops", nest(0, op("slt", k, trips), 1))
    assert shortest_interval(build_dfg(flat)) == 2  # two sends to one stream
    assert steps(flat) == 2 * 3 * trips
