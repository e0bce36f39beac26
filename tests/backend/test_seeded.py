"""Attempts around the places of a core."""

from __future__ import annotations

import pytest
from graphs import Builder, fir, layered

from arch.describe import load_fabric
from backend import route as router
from backend import seeded as module
from backend.attempt import Attempts, Tried
from backend.bound import minimum_interval
from backend.check import check_mapping
from backend.clock import Clock
from backend.core import cores, spots
from backend.dfg import DFG, Const, Use
from backend.flat import Problem
from backend.mapping import MapOptions, Mapping
from backend.recipe import Recipe
from backend.search import Search
from backend.seeded import ATTEMPTS, CLOSE, LOST, seeded

GRID = load_fabric("grid4x4")


def rings(count: int, loose: int) -> DFG:
    """As many operations twice, each made of two before it, all within two cycles; so many others."""
    b = Builder(f"rings{count}")
    b.counter(10)
    ends = [b.add("select", Const(0), Const(1), Const(2)) for _ in range(count)]
    for k, end in enumerate(ends):
        node = b.add("select", Use(end, 1), Use(ends[(k + 1) % count], 1), Const(3))
        b.patch(end, 0, Use(node))
    last = ends[0]
    for k in range(loose):
        last = b.add("xor", last, Const(k))
    return b.build()


def attempts(dfg: DFG, effort: float = 1.0) -> Attempts:
    return Attempts(Problem(dfg, GRID), MapOptions(effort=effort))


def nothing(_: int) -> None:
    """No progress is shown."""


def test_a_core_has_places_for_all_that_is_in_it() -> None:
    problem = Problem(rings(4, 0), GRID)
    found, core = spots(problem, 2), cores(problem, 2)[0]
    assert set(found.unit) == set(found.start) == set(core.nodes)
    at = [(found.unit[n], found.start[n] % 2) for n in core.nodes]
    assert len(set(at)) == len(at) == 8
    for arc in core.arcs:
        apart = found.start[arc.target] + 2 * arc.distance - found.start[arc.source]
        assert apart >= max(1, problem.terrain.apart(found.unit[arc.source], found.unit[arc.target]))


def test_what_is_mapped_around_a_core_is_a_mapping_and_the_same_again() -> None:
    dfg = rings(4, 6)
    found = seeded(attempts(dfg), 2, nothing)
    assert isinstance(found, Mapping) and found.interval == 2
    check_mapping(found)
    assert seeded(attempts(dfg), 2, nothing) == found


def test_others_are_placed_around_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not move, nor does placing change when it starts by more than all else."""
    dfg, placed = rings(4, 6), list[tuple[int, ...]]()
    route = router.route

    def routed(*words: object) -> object:
        placed.append(words[1].unit)  # type: ignore[attr-defined]
        return route(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "route", routed)
    seeded(attempts(dfg), 2, nothing)
    core = spots(Problem(dfg, GRID), 2).unit
    assert placed and all(units[n] == unit for units in placed for n, unit in core.items())


def test_a_core_that_is_a_small_part_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_tried", None)  # which would be called
    assert seeded(attempts(rings(2, 0)), 2, nothing) == LOST
    assert seeded(attempts(rings(4, 60)), 5, nothing) == LOST
    assert seeded(attempts(fir(8)), 2, nothing) == LOST


@pytest.mark.parametrize(
    ("left", "effort", "made"),
    [(CLOSE, 1.0, ATTEMPTS), (CLOSE + 1, 1.0, 1), (CLOSE, 0.5, ATTEMPTS // 2), (CLOSE, 0.0, 1)],
)
def test_attempts_end_where_one_leaves_many_conflicts(
    monkeypatch: pytest.MonkeyPatch, left: int, effort: float, made: int
) -> None:
    tried: list[int] = []

    def leaving(*words: object) -> Tried:
        tried.append(left)
        return Tried(left, words[2], 0.0)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_tried", leaving)
    assert seeded(attempts(rings(4, 6), effort), 2, nothing) == left
    assert len(tried) == made


@pytest.mark.parametrize(("left", "asked"), [(8, 1), (9, 0)])
def test_a_core_is_asked_for_where_little_is_missing(
    monkeypatch: pytest.MonkeyPatch, left: int, asked: int
) -> None:
    """Once at an interval, when as many attempts have failed as are made in any case."""
    dfg = layered(60, 1)
    bounds, made = minimum_interval(dfg, GRID), list[int]()

    class Failing(Search):
        def _attempt(self, interval: int, recipe: Recipe) -> Mapping | int:
            return left

    monkeypatch.setattr("backend.tries.hasty", lambda *_: left)

    def around(_: Attempts, interval: int, __: object) -> int:
        made.append(interval)
        return LOST

    monkeypatch.setattr("backend.tries.seeded", around)
    search = Failing(Problem(dfg, GRID), bounds, 256, MapOptions(), Clock(0.0), lambda _: None)
    search._try(bounds.mii, quick=False)
    assert made == [bounds.mii] * asked
