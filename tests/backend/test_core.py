"""Cores of recurrences: refuted where they have no places, and only there."""

from __future__ import annotations

import pytest
from graphs import Builder, random_graph

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.core import LARGEST, cores, refuted, tightened
from backend.dfg import DFG, Const, Use
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import MapOptions

GRID = load_fabric("grid4x4")


def between_two(middle: int, loose: int = 0, apart: int = 0) -> DFG:
    """Two operations that are each made of the same few ones, which are made of these two before them.

    So many `loose` ones are on a recurrence with these, too, but can wait, as it is over `apart` iterations.
    """
    b = Builder(f"between{middle}")
    b.counter(10)
    ends = [b.add("select", Const(0), Const(1), Const(2)) for _ in range(2)]
    for k in range(middle):
        node = b.add("select", Use(ends[0], 1), Use(ends[1], 1), Const(3))
        for end in ends:
            b.patch(end, k, Use(node))
    last = ends[0]
    for k in range(loose):
        last = b.add("xor", last, Const(k))
    if loose:
        b.patch(node, 2, Use(last, apart or loose))
    return b.build()


def test_no_three_tiles_of_a_grid_are_next_to_the_same_two() -> None:
    dfg = between_two(3)
    problem, bounds = Problem(dfg, GRID), minimum_interval(dfg, GRID)
    assert bounds.mii == 2
    ends = {n.id for n in dfg.nodes if n.op == "select"}
    assert set(refuted(problem, 2)) >= ends
    assert refuted(problem, 3) == ()
    tight = tightened(bounds, problem, 9)
    assert (tight.mii, set(tight.cycle)) == (3, set(refuted(problem, 2)))
    assert "next to each other" in tight.binding
    assert tightened(bounds, problem, 2) == bounds


def test_what_can_wait_hides_no_core() -> None:
    found = refuted(Problem(between_two(3, loose=100), GRID), 2)
    assert found == refuted(Problem(between_two(3), GRID), 2) != ()


def test_two_tiles_are() -> None:
    dfg = between_two(2)
    assert [len(core.nodes) for core in cores(Problem(dfg, GRID), 2)] == [4]
    assert refuted(Problem(dfg, GRID), 2) == ()
    assert map_kernel(dfg, GRID, MapOptions()).interval == 2


def test_a_refuted_interval_is_not_tried_again() -> None:
    lines: list[str] = []
    assert map_kernel(between_two(3), GRID, MapOptions(), lines.append).interval == 3
    at_two = [line for line in lines if line.startswith("II 2") and "conflicts remain" in line]
    assert len(at_two) <= 1


@pytest.mark.parametrize("seed", range(6))
def test_what_was_mapped_is_not_refuted(seed: int) -> None:
    dfg = random_graph(seed, 40)
    problem = Problem(dfg, GRID)
    interval = map_kernel(dfg, GRID, MapOptions()).interval
    assert not any(refuted(problem, k) for k in range(interval, interval + 2))


def test_a_core_is_found_beside_more_operations_that_can_wait_for_a_cycle_than_a_core_may_have() -> None:
    dfg = between_two(3, loose=LARGEST + 1, apart=(LARGEST + 4) // 2)
    core = refuted(Problem(dfg, GRID), 2)
    assert {n.id for n in dfg.nodes if n.op == "select"} == set(core)
