"""The way through the intervals, whatever attempts at them come to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from graphs import fir, layered

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.clock import Clock
from backend.dfg import DFG
from backend.flat import Problem
from backend.mapping import MapOptions, Mapping, Schedule
from backend.recipe import FIRST_PATIENT, PATIENT, Recipe
from backend.route import Left
from backend.search import Search
from backend.solved import Asking
from backend.tries import Trials

GRID = load_fabric("grid4x4")


class Scripted(Search):
    """A search in which it is known from the beginning which intervals are `reachable`."""

    reachable: frozenset[int]

    def _try(self, interval: int, quick: bool) -> None:
        if interval in self.reachable:
            self.best = cast(Mapping, SimpleNamespace(interval=interval))


def reached(*reachable: int) -> int:
    """The interval that is found where the bound is 8."""
    dfg = fir(8)
    bounds = minimum_interval(dfg, GRID)
    search = Scripted(Problem(dfg, GRID), bounds, 256, MapOptions(), Clock(0.0), lambda _: None)
    search.least, search.reachable = 8, frozenset(reachable)
    mapping = search.smallest()
    return mapping.interval if mapping else 0


@pytest.mark.parametrize(
    ("reachable", "found"),
    [
        ((8, 9, 10), 8),
        ((11, 12, 13), 11),
        (tuple(range(33, 90)), 33),
        (tuple(range(25, 90)), 25),
        ((), 0),
    ],
)
def test_the_shortest_interval_is_found_though_steps_are_long(reachable: tuple[int, ...], found: int) -> None:
    assert reached(*reachable) == found


def test_far_above_the_bound_one_interval_without_a_mapping_is_bad_luck() -> None:
    assert reached(20, *range(22, 90)) == 20


class Persevering(Scripted):
    """A search in which attempts that place for long reach more: the `lucky`-th does, at any interval."""

    lucky: int
    left: int
    made: list[tuple[int, int]]

    def _attempt(self, interval: int, recipe: Recipe) -> Mapping | int:
        k = recipe.number - FIRST_PATIENT
        self.made.append((interval, k))
        if k == self.lucky:
            return cast(Mapping, SimpleNamespace(interval=interval))
        return self.left


def persevered(arch: str, nodes: int, lucky: int, left: int) -> tuple[int, list[tuple[int, int]]]:
    """The interval that is found where the others reach 12, and the attempts that place for long."""
    dfg, fabric = layered(nodes, 1), load_fabric(arch)
    search = Persevering(
        Problem(dfg, fabric),
        minimum_interval(dfg, fabric),
        256,
        MapOptions(),
        Clock(0.0),
        lambda _: None,
    )
    search.least, search.reachable, search.settles = 12, frozenset((12,)), False
    search.lucky, search.left, search.made = lucky, left, []
    mapping = search.smallest()
    return mapping.interval if mapping else 0, search.made


def test_placing_for_long_goes_on_down_to_the_bound() -> None:
    bound = minimum_interval(layered(60, 1), load_fabric("satmapit:4x4")).mii
    found, made = persevered("satmapit:4x4", 60, 1, 10)
    assert found == bound
    assert made == [(interval, k) for interval in range(11, bound - 1, -1) for k in (0, 1)]


def test_placing_for_long_ends_where_it_leaves_many_conflicts_or_all_attempts_fail() -> None:
    assert persevered("satmapit:4x4", 60, 1, 30) == (12, [(11, 0)])
    assert persevered("satmapit:4x4", 60, -1, 10) == (12, [(11, k) for k in range(len(PATIENT))])


def test_only_arrays_whose_outputs_are_overwritten_are_placed_for_long() -> None:
    assert persevered("grid4x4", 60, 0, 10) == (12, [])
    assert persevered("satmapit:4x4", 40, 0, 10)[1] == []  # the solver's


class Settling(Scripted):
    """A search in which settling gives mappings at intervals of 9 and more."""

    made: list[int]

    def _settle(self, interval: int, trials: Trials, numbers: range, fewest: int) -> bool:
        self.made.append(interval)
        trials.settled = 0 if interval > 8 else 9
        if interval > 8:
            self.best = cast(Mapping, SimpleNamespace(interval=interval))
        return interval > 8


@pytest.mark.parametrize(("known", "found", "made"), [(7, 9, [11, 10, 9, 8]), (10, 11, [11])])
def test_what_settles_does_so_below_what_was_reached_instead_of_placing_for_long(
    known: int, found: int, made: list[int]
) -> None:
    """Down to an interval at which nothing settles, or at which that is known."""
    dfg, fabric = layered(60, 1), load_fabric("satmapit:4x4")
    bounds = minimum_interval(dfg, fabric)
    search = Settling(Problem(dfg, fabric), bounds, 256, MapOptions(), Clock(0.0), lambda _: None)
    search.least, search.reachable, search.made = 12, frozenset((12,)), []
    search._trials(known).settled = 9
    mapping = search.smallest()
    assert (mapping.interval if mapping else 0, search.made) == (found, made)


def test_far_above_the_bound_what_settles_does_so_in_steps_from_the_longest_interval_that_can() -> None:
    dfg, fabric = layered(60, 1), load_fabric("satmapit:4x4")
    bounds = minimum_interval(dfg, fabric)
    search = Settling(Problem(dfg, fabric), bounds, 256, MapOptions(), Clock(0.0), lambda _: None)
    search.made, search.best = [], cast(Mapping, SimpleNamespace(interval=bounds.mii + 8 * 20))
    search._persevere()
    assert search.made[:3] == [63, 43, 23]  # 20 at a time, then halves
    assert search.best.interval == 9 and {7, 8, 9} < {*search.made}
    assert len({*search.made}) == len(search.made)


class Lost(Scripted):
    """A search in which settling leaves so many conflicts at first."""

    leaves: int
    made: list[range]

    def _settle(self, interval: int, trials: Trials, numbers: range, fewest: int) -> bool:
        self.made.append(numbers)
        trials.settled = self.leaves
        return False


@pytest.mark.parametrize(("leaves", "rounds"), [(1, 2), (3, 1)])
def test_where_settling_leaves_little_a_hasty_attempt_that_was_far_from_it_does_not_end_it(
    leaves: int, rounds: int
) -> None:
    dfg, fabric = layered(70, 1), load_fabric("adres:4x4")
    bounds = minimum_interval(dfg, fabric)
    search = Lost(Problem(dfg, fabric), bounds, 256, MapOptions(), Clock(0.0), lambda _: None)
    search.leaves, search.made = leaves, []
    search._trials(12).closed = True
    assert not search._resettled(12)
    assert len(search.made) == rounds


@pytest.mark.parametrize(
    ("arch", "nodes", "left", "tried"),
    [
        ("adres:4x4", 60, 67, False),
        ("adres:4x4", 60, 65, True),
        ("adres:4x4", 30, 67, True),  # whatever that leaves: the solver is asked
        ("grid4x4", 60, 67, True),
    ],
)
def test_a_hasty_attempt_may_show_that_others_are_in_vain(
    monkeypatch: pytest.MonkeyPatch, arch: str, nodes: int, left: int, tried: bool
) -> None:
    """Where words leave tiles through one register alone, 1.1 conflicts for an operation are too many."""
    dfg, fabric = layered(nodes, 1), load_fabric(arch)
    problem, bounds = Problem(dfg, fabric), minimum_interval(dfg, fabric)
    made: list[Recipe] = []

    class Counting(Search):
        def _attempt(self, interval: int, recipe: Recipe) -> Mapping | int:
            made.append(recipe)
            return left

    monkeypatch.setattr("backend.tries.hasty", lambda *_: left)
    monkeypatch.setattr("backend.tries.settles", lambda _: False)
    monkeypatch.setattr("backend.tries.Asking.early", lambda *_: None)
    search = Counting(problem, bounds, 256, MapOptions(), Clock(0.0), lambda _: None)
    search._try(bounds.mii, quick=True)
    assert bool(made) is tried


def test_of_small_graphs_the_solver_is_asked_once_one_attempt_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for dfg, before in ((fir(8), 1), (layered(60, 1), 2)):
        problem, bounds = Problem(dfg, GRID), minimum_interval(dfg, GRID)
        made: list[str] = []

        class Counting(Search):
            def _attempt(self, interval: int, recipe: Recipe) -> Mapping | int:
                made.append("attempt")  # noqa: B023
                return 1

            def _solved(self, interval: int, brief: bool) -> bool:
                made.append("solver")  # noqa: B023
                return True

        monkeypatch.setattr("backend.tries.hasty", lambda *_: 1)
        Counting(problem, bounds, 256, MapOptions(), Clock(0.0), lambda _: None)._try(bounds.mii, quick=True)
        assert made == ["attempt"] * before + ["solver"]


@pytest.mark.parametrize(("left", "asked"), [(3, ["early", "patient"]), (4, [])])
def test_how_few_conflicts_settling_leaves_tells_what_the_solver_is_asked(
    monkeypatch: pytest.MonkeyPatch, left: int, asked: list[str]
) -> None:
    """Up to three: with more it meets no mapping, and takes its time."""
    fabric = load_fabric("adres:4x4")
    dfg = layered(30, 1)
    problem, bounds, questions = Problem(dfg, fabric), minimum_interval(dfg, fabric), list[str]()
    monkeypatch.setattr("backend.tries.hasty", lambda *_: 1)
    monkeypatch.setattr("backend.tries.settled", lambda *_: left)
    monkeypatch.setattr("backend.tries.Asking.early", lambda *_: questions.append("early"))
    monkeypatch.setattr("backend.tries.Asking.decided", lambda *_: questions.append("patient"))
    Search(problem, bounds, 256, MapOptions(), Clock(0.0), lambda _: None)._try(bounds.mii, quick=False)
    assert questions == asked


@pytest.mark.parametrize(("refuted", "made"), [(0, [range(2), range(2, 4)]), (2, [range(2)])])
def test_where_tight_schedules_are_refuted_no_more_settles(
    monkeypatch: pytest.MonkeyPatch, refuted: int, made: list[range]
) -> None:
    dfg, fabric = layered(30, 1), load_fabric("adres:4x4")
    problem, bounds, numbers = Problem(dfg, fabric), minimum_interval(dfg, fabric), list[range]()

    def early(self: Asking, _: float) -> None:
        self.refuted = refuted

    def settled(*words: object) -> int:
        numbers.append(cast(range, words[6]))
        return 1

    monkeypatch.setattr("backend.tries.hasty", lambda *_: 1)
    monkeypatch.setattr("backend.tries.settled", settled)
    monkeypatch.setattr("backend.tries.Asking.early", early)
    monkeypatch.setattr("backend.tries.Asking.decided", lambda *_: None)
    Search(problem, bounds, 256, MapOptions(), Clock(0.0), lambda _: None)._try(bounds.mii, quick=True)
    assert numbers == made


def test_steps_up_are_shorter_where_little_is_missing() -> None:
    dfg, fabric = layered(90, 1), load_fabric("satmapit:2x2")
    bounds = minimum_interval(dfg, fabric)
    search = Search(Problem(dfg, fabric), bounds, 256, MapOptions(), Clock(0.0), lambda _: None)
    far = bounds.mii + 20
    search._trials(far).settled = 8
    assert search._above(far) == far + 1 + far // 8
    search._trials(far).settled = 7
    assert search._above(far) == far + 1 + far // 16


class Leaving(Search):
    """A search all of whose attempts leave so many conflicts, and need this part of the registers."""

    leaves: int
    needs: float
    made: list[int]

    def _attempt(self, interval: int, recipe: Recipe) -> Mapping | int:
        self.made.append(interval)
        self.leanest = self.needs * self.registers, cast(Schedule, None)
        if self.fewest is None:
            self.fewest, self.barren = Left(self.leaves, (), (), None), -1
        return self.leaves


def leaving(monkeypatch: pytest.MonkeyPatch, dfg: DFG, leaves: int, needs: float) -> Leaving:
    """Such a search, on its way up."""
    monkeypatch.setattr("backend.tries.hasty", lambda *_: leaves)
    monkeypatch.setattr("backend.tries.solved", lambda *_: None)
    bounds = minimum_interval(dfg, GRID)
    search = Leaving(Problem(dfg, GRID), bounds, 256, MapOptions(), Clock(0.0), lambda _: None)
    search.leaves, search.needs, search.made = leaves, needs, []
    return search


def climbed(monkeypatch: pytest.MonkeyPatch, dfg: DFG, leaves: int, needs: float) -> list[int]:
    """The intervals of all its attempts."""
    search = leaving(monkeypatch, dfg, leaves, needs)
    search._climb()
    return search.made


def test_where_registers_are_scarce_far_above_the_bound_longer_intervals_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three in a row, from 3 times the bound on, that leave no fewer conflicts are enough."""
    dfg = layered(200, 1)
    bound = minimum_interval(dfg, GRID).mii
    scarce = climbed(monkeypatch, dfg, 9, 0.8)
    assert 3 * bound <= max(scarce) < 4 * bound
    assert max(climbed(monkeypatch, dfg, 9, 0.7)) == 256
    assert max(climbed(monkeypatch, dfg, 3, 0.8)) == 256


@pytest.mark.parametrize(("times", "leaves", "count"), [(2, 8, 2), (3, 9, 1), (3, 8, 4)])
def test_far_above_the_bound_an_interval_is_tried_once_or_where_little_is_missing_several_times(
    monkeypatch: pytest.MonkeyPatch, times: int, leaves: int, count: int
) -> None:
    dfg = layered(200, 1)
    bound = minimum_interval(dfg, GRID).mii
    search = leaving(monkeypatch, dfg, leaves, 0.8)
    search._try(times * bound, quick=True)
    assert search.made == [times * bound] * count


@pytest.mark.parametrize(("nodes", "steps"), [(300, [10, 15]), (240, [0, 1])])
def test_of_large_graphs_that_are_lost_intervals_grow_fast(
    monkeypatch: pytest.MonkeyPatch, nodes: int, steps: list[int]
) -> None:
    """As each attempt takes seconds."""
    made = climbed(monkeypatch, layered(nodes, 1), 200, 0.5)
    assert [after - before for before, after in zip(made, made[1:3], strict=False)] == steps
