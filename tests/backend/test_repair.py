"""Mending a mapping that has a few conflicts left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from graphs import layered

from arch.describe import load_fabric
from backend.attempt import Attempts, Tried
from backend.check import check_mapping
from backend.core import Refutation
from backend.exact import SOLVER
from backend.exact_clauses import Clauses
from backend.exact_encode import Encoding
from backend.exact_model import ground
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import MapOptions, Mapping
from backend.nearly import Nearly
from backend.recipe import FIRST_HASTY, Recipe, usual
from backend.repair import RINGS, repaired
from backend.sat import adding, answered, solver_of
from backend.surroundings import Surroundings

MESH = load_fabric("mesh:4x4")

DFG = layered(60, 1)


@cache
def sound() -> Mapping:
    """A mapping without conflicts."""
    return map_kernel(DFG, MESH, MapOptions())


def broken(mapping: Mapping, problem: Problem, moved: int, unit: int, start: int) -> Nearly:
    """The mapping with an operation elsewhere, whose values have no routes then."""
    schedule = mapping.placement.schedule
    route = {(r.consumer, r.position): r.steps for r in mapping.routes}
    edges = range(len(problem.source))
    torn = tuple(e for e in edges if moved in (problem.source[e], problem.target[e]))
    paths = tuple(() if e in torn else route[problem.target[e], problem.position[e]] for e in edges)
    units, starts = list(mapping.placement.unit), list(schedule.start)
    units[moved], starts[moved] = unit, start
    return Nearly(schedule.interval, tuple(units), tuple(starts), (moved,), torn, paths)


def crowded(mapping: Mapping, problem: Problem) -> Nearly:
    """The mapping with an operation on a neighbour's unit in the slot of another."""
    unit, start = mapping.placement.unit, mapping.placement.schedule.start
    a, b = next(
        (a, b)
        for a in range(20, problem.nodes)
        for b in range(problem.nodes)
        if (start[a] - start[b]) % mapping.interval == 0
        and MESH.units[unit[b]].tile != MESH.units[unit[a]].tile
        and unit[b] in problem.candidates(a)
        and problem.terrain.apart(unit[a], unit[b]) == 1
    )
    return broken(mapping, problem, a, unit[b], start[a])


def late(mapping: Mapping, problem: Problem) -> Nearly:
    """The mapping with an operation that begins after some who read its result."""
    a = next(n for n in range(20, problem.nodes) if problem.out_at[n] < problem.out_at[n + 1])
    start = mapping.placement.schedule.start[a] + 2 * mapping.interval
    return broken(mapping, problem, a, mapping.placement.unit[a], start)


@pytest.mark.parametrize("harm", [crowded, late])
def test_a_conflict_is_mended_and_what_is_far_from_it_stays(
    harm: Callable[[Mapping, Problem], Nearly],
) -> None:
    problem, mapping = Problem(DFG, MESH), sound()
    nearly = harm(mapping, problem)
    mended = repaired(problem, nearly, 1.0, lambda _: None)
    assert mended is not None
    check_mapping(mended)
    assert mended.interval == nearly.interval
    before, after = nearly.start, mended.placement.schedule.start
    around = Surroundings(problem, nearly)
    largest = around.nearest(RINGS[2].nodes)
    assert len(largest) < problem.nodes // 2
    fixed = [n for n in range(problem.nodes) if n not in largest]
    shift = after[fixed[0]] - before[fixed[0]]
    assert all(after[n] == before[n] + shift for n in fixed)
    assert all(mended.placement.unit[n] == nearly.unit[n] for n in fixed)
    cell = ground(MESH).cell_of
    steps = {(r.consumer, r.position): r.steps for r in mended.routes}
    loose = {problem.source[e] for e in range(len(problem.source)) if problem.target[e] in largest}
    kept = [e for e, p in enumerate(problem.source) if p not in largest and p not in loose]
    assert kept
    for e in kept:
        new = [(cell[r], t - shift) for r, t in steps[problem.target[e], problem.position[e]] if r in cell]
        assert new == [(cell[r], t) for r, t in nearly.paths[e] if r in cell]


def test_the_first_attempt_is_mended_apart_and_others_end_with_a_repair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempts = Attempts(Problem(layered(40, 4), MESH), MapOptions())
    tried = attempts.make(3, usual(attempts.problem.nodes, 0), lambda _: None)
    assert tried.result == 2
    found = attempts.mended(tried, lambda _: None).result
    assert isinstance(found, Mapping)
    check_mapping(found)
    asked: list[Nearly] = []
    monkeypatch.setattr("backend.attempt.repaired", lambda _, nearly, *__: asked.append(nearly))
    tries = [attempts.make(3, usual(attempts.problem.nodes, k), lambda _: None).left for k in range(1, 8)]
    assert asked == [left.nearly for left in tries if left is not None and left.nearly is not None] != []


def test_a_second_attempt_comes_before_the_repair_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which may take as long as several attempts."""
    dfg = layered(40, 4)
    attempts = Attempts(Problem(dfg, MESH), MapOptions())
    first, second = (attempts.make(3, usual(40, k), lambda _: None) for k in (0, 1))
    assert first.left is not None
    mapping = map_kernel(dfg, MESH, MapOptions(interval=3))
    done: list[str] = []

    def make(_: Attempts, interval: int, recipe: Recipe, __: object) -> Tried:
        done.append(f"{interval}: attempt {recipe.number}")
        return first if recipe == usual(40, 0) else replace(second, result=5, left=None)

    def repaired(*_: object) -> Mapping:
        done.append("repair")
        return mapping

    monkeypatch.setattr(Attempts, "make", make)
    monkeypatch.setattr("backend.attempt.repaired", repaired)
    assert map_kernel(dfg, MESH, MapOptions(interval=3)) == mapping
    assert done == [f"3: attempt {FIRST_HASTY}", "3: attempt 0", "3: attempt 1", "repair"]


def test_an_interval_that_is_refuted_is_not_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first attempt may leave few conflicts; the question whether there are mappings comes before."""
    dfg = layered(40, 4)
    interval = map_kernel(dfg, MESH, MapOptions()).interval
    asked: list[int] = []
    found = Refutation("a test")
    monkeypatch.setattr("backend.tries.refutation", lambda _, at, __: found if at == interval else None)
    monkeypatch.setattr("backend.attempt.repaired", lambda _, nearly, *__: asked.append(nearly.interval))
    monkeypatch.setattr("backend.tries.tight", lambda *_: False)
    assert map_kernel(dfg, MESH, MapOptions()).interval > interval
    assert interval not in asked


def test_a_repair_is_the_same_each_time() -> None:
    problem = Problem(DFG, MESH)
    nearly = crowded(sound(), problem)
    first, second = (repaired(problem, nearly, 1.0, lambda _: None) for _ in range(2))
    assert first == second is not None


def test_what_has_no_mapping_is_not_mended() -> None:
    """Of uses that have to be over before they begin there are no times."""
    problem = Problem(DFG, MESH)
    nearly = replace(crowded(sound(), problem), interval=1)
    assert repaired(problem, nearly, 1.0, lambda _: None) is None


def test_neighbourhoods_with_too_many_words_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(DFG, MESH)
    monkeypatch.setattr("backend.repair.WORDS", 100)
    assert repaired(problem, crowded(sound(), problem), 1.0, lambda _: None) is None


def test_who_waits_is_told_and_may_end_it() -> None:
    problem = Problem(DFG, MESH)
    nearly = crowded(sound(), problem)

    def enough(conflicts: int) -> None:
        assert conflicts == nearly.count()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repaired(problem, nearly, 1.0, enough)


@pytest.mark.parametrize("still", [True, False])
def test_values_that_are_not_to_move_are_where_they_were_on_either_ground(still: bool) -> None:
    """One of them joins the registers in which words stay, the other does not."""
    problem = Problem(layered(16, 1), load_fabric("adres:3x3"))
    mapping = map_kernel(problem.dfg, problem.fabric, MapOptions())
    unit, start = mapping.placement.unit, mapping.placement.schedule.start
    route = {(r.consumer, r.position): r.steps for r in mapping.routes}
    paths = tuple(route[problem.target[e], problem.position[e]] for e in range(len(problem.source)))
    nearly = Nearly(mapping.interval, unit, start, (0,), (), paths)
    domain = Surroundings(problem, nearly).domain((), 0, 0)
    assert domain is not None
    with solver_of(SOLVER) as solver:
        where = ground(problem.fabric, still)
        Encoding(problem, where, mapping.interval, domain, Clauses(adding(solver)))
        assert answered(solver)
