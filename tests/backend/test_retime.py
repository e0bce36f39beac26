"""Schedules that hold values for as few cycles as can be."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import product

import pytest
from graphs import Builder, random_graph

from arch.describe import load_fabric
from backend.bound import delays, minimum_interval
from backend.check import check_mapping
from backend.dfg import DFG, Const, Use
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from backend.pressure import lives
from backend.retime import frugal_schedule, moved
from backend.schedule import SlotTable, modulo_schedule

GRID, SMALL = load_fabric("grid4x4"), load_fabric("satmapit:4x4")


def endless(b: Builder) -> DFG:
    """A graph of operations alone, without what ends it."""
    return DFG(b.name, tuple(b.nodes), (), (), (), (), ())


def systolic(taps: int) -> DFG:
    """A filter whose sums and samples both wait for the next iteration at each tap."""
    b = Builder(f"systolic{taps}")
    x = b.add("mov", Const(3))
    total = b.add("mul", x, Const(5))
    for _ in range(1, taps):
        x = b.add("mov", Use(x, 2))
        total = b.add("muladd", x, Const(5), Use(total, 1))
    return endless(b)


def differences(*distances: int) -> DFG:
    """A sum of differences of a word and those of so many iterations ago."""
    b = Builder("differences")
    x = b.add("mov", Const(3))
    total = b.add("mov", Const(0))
    for distance in distances:
        total = b.add("add", total, b.add("sub", x, Use(x, distance)))
    return endless(b)


def tiny(seed: int) -> DFG:
    """Few operations, with recurrences and several readers of a value in several iterations."""
    rng, b = random.Random(seed), Builder(f"tiny{seed}")
    nodes = [b.add("mov", Const(1))]
    for _ in range(3):
        first, second = (Use(rng.choice(nodes), rng.randrange(4)) for _ in range(2))
        nodes.append(b.add("add", first, second))
    b.patch(nodes[1], 1, Use(rng.choice(nodes[1:]), 3))
    return endless(b)


def kept(problem: Problem, interval: int, start: Sequence[int]) -> bool:
    """Whether all delays are."""
    return all(start[a.source] + a.cycles <= start[a.target] + a.distance * interval for a in delays(problem))


def held(problem: Problem, interval: int, start: Sequence[int]) -> int:
    return sum(lives(problem, interval, start).values())


@pytest.mark.parametrize("seed", range(12))
def test_operations_keep_their_slots_and_delays_and_no_more_is_held(seed: int) -> None:
    dfg = random_graph(seed, 50)
    problem = Problem(dfg, GRID)
    interval = minimum_interval(dfg, GRID).mii + seed % 4
    start = modulo_schedule(problem, interval)
    assert start is not None
    found = moved(problem, interval, delays(problem), start, interval)
    assert all((a - b) % interval == 0 for a, b in zip(start, found, strict=True))
    assert kept(problem, interval, found)
    assert held(problem, interval, found) <= held(problem, interval, start)
    assert moved(problem, interval, delays(problem), found, interval) == found
    assert held(problem, interval, moved(problem, interval, delays(problem), start, 1)) <= held(
        problem, interval, found
    )


@pytest.mark.parametrize("seed", range(40))
def test_no_other_moves_hold_less(seed: int) -> None:
    problem, interval = Problem(tiny(seed), GRID), 3 + seed % 3
    start = modulo_schedule(problem, interval)
    assert start is not None
    found = held(problem, interval, moved(problem, interval, delays(problem), start, interval))
    others = (
        [s + interval * k for s, k in zip(start, steps, strict=True)]
        for steps in product(range(-4, 5), repeat=problem.nodes - 1)
        for steps in [(0, *steps)]
    )
    assert found == min(held(problem, interval, one) for one in others if kept(problem, interval, one))


@pytest.mark.parametrize("seed", range(12))
def test_a_frugal_schedule_respects_units_and_delays(seed: int) -> None:
    dfg = random_graph(seed, 60)
    problem = Problem(dfg, GRID)
    interval = minimum_interval(dfg, GRID).mii + 1
    start = frugal_schedule(problem, interval, seed % 2)
    assert start is not None
    assert kept(problem, interval, start)
    table = SlotTable(problem, interval)
    for n, cycle in enumerate(start):
        assert table.free(n, cycle)
        table.add(n, cycle)


def test_there_is_none_below_the_recurrence() -> None:
    b = Builder("ring")
    first = b.add("mul", Const(3), Const(3))
    b.patch(first, 0, Use(b.add("mul", first, Const(3)), 1))
    dfg = endless(b)
    interval = minimum_interval(dfg, GRID).recurrence
    assert frugal_schedule(Problem(dfg, GRID), interval) is not None
    assert frugal_schedule(Problem(dfg, GRID), interval - 1) is None


def test_each_tap_of_a_systolic_filter_starts_nearly_an_interval_before_the_one_before() -> None:
    problem = Problem(systolic(32), SMALL)
    interval = 7
    soon, frugal = modulo_schedule(problem, interval), frugal_schedule(problem, interval)
    assert soon is not None
    assert frugal is not None
    assert held(problem, interval, soon) > 80 * interval > 2 * held(problem, interval, frugal)


def test_what_all_fits_into_registers_only_if_operations_move_across_iterations_is_mapped() -> None:
    mapping = map_kernel(systolic(32), SMALL, MapOptions())
    check_mapping(mapping)
    assert mapping.interval <= 16


@pytest.mark.slow
def test_delayed_differences_are_mapped() -> None:
    dfg, fabric = differences(10, 15, 20, 30, 40), load_fabric("hycube:4x4")
    mapping = map_kernel(dfg, fabric, MapOptions())
    assert Counter(node.op for node in mapping.dfg.nodes) == Counter(node.op for node in dfg.nodes)
