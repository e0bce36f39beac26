"""Annealing that knows the ways of words: what it finds is a mapping, and it ends where there can be none."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from types import ModuleType

import pytest
from graphs import fir, layered

import backend
from arch.describe import load_fabric
from backend import exact, settle
from backend.attempt import Attempts
from backend.check import check_mapping
from backend.dfg import DFG
from backend.exact_domain import Domain
from backend.flat import Problem
from backend.mapping import MapOptions, Mapping, Placement, Schedule
from backend.place import place
from backend.settle import (
    CLOSE,
    CLOSER,
    CLOSEST,
    MENDED,
    VARYING,
    closer,
    others,
    settled,
    settles,
    ways_of,
)

TORUS, ADRES = load_fabric("satmapit:3x3"), load_fabric("adres:3x3")

HOT = "finder", "words", "settler", "settle"


def nothing(_: int) -> None:
    """No progress is shown."""


def found(dfg: DFG, arch: str, interval: int, seed: int = 1) -> Mapping | int:
    """What settling comes to."""
    problem = Problem(dfg, load_fabric(arch))
    schedule = Attempts(problem, MapOptions()).schedule(interval, 0)
    return settled(problem, schedule, seed, 1.0, lambda: False, nothing)


@pytest.mark.parametrize("arch", ["satmapit:2x2", "satmapit:3x3", "adres:3x3", "adres:4x4"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_settles_is_a_mapping(arch: str, seed: int) -> None:
    dfg = layered(16, seed)
    mapping = found(dfg, arch, 8)
    assert isinstance(mapping, Mapping) and mapping.interval == 8
    check_mapping(mapping)


def test_what_settles_keeps_its_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only registers are left to give, which takes the solver no conflicts."""
    asked: list[exact.Proof] = []
    ask = exact.solve

    def solve(problem: Problem, interval: int, domain: Domain, conflicts: int, seconds: float) -> exact.Proof:
        asked.append(ask(problem, interval, domain, conflicts, seconds))
        return asked[-1]

    monkeypatch.setattr(exact, "solve", solve)
    assert isinstance(found(layered(40, 2), "adres:4x4", 8), Mapping)
    assert [proof.conflicts for proof in asked] == [0]


def test_where_registers_cannot_be_given_so_other_ways_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a word is nowhere on the way to its reader."""
    monkeypatch.setattr(settle, "_kept", lambda *_: {(n, 0): frozenset() for n in range(16)})
    mapping = found(layered(16, 1), "adres:3x3", 8)
    assert isinstance(mapping, Mapping)
    check_mapping(mapping)


def test_the_same_seed_gives_the_same_mapping() -> None:
    assert found(fir(5), "satmapit:3x3", 3) == found(fir(5), "satmapit:3x3", 3)


def test_where_slots_are_too_few_conflicts_are_left() -> None:
    assert found(layered(40, 1), "satmapit:2x2", 6) in range(1, 1 << 20)


def test_only_what_leaves_through_one_register_settles() -> None:
    for arch, one_way in (
        ("satmapit:3x3", True),
        ("adres:4x4", True),
        ("hycube:4x4", False),
        ("grid:4x4", False),
    ):
        assert settles(Problem(fir(4), load_fabric(arch))) is one_way


def test_neighbours_read_at_once_and_others_a_cycle_later_for_each_tile() -> None:
    torus, mesh = ways_of(TORUS), ways_of(ADRES)
    assert torus is not None and mesh is not None
    assert list(torus.apart[:9]) == [0, 0, 0, 0, 1, 1, 0, 1, 1]
    assert list(mesh.apart[:9]) == [0, 0, 1, 0, 1, 2, 1, 2, 3]
    assert torus.room == 4


def left(
    monkeypatch: pytest.MonkeyPatch, counts: list[int], refuted: bool = False, numbers: range = range(4)
) -> int:
    """How many attempts are made if they leave so many conflicts."""
    made: list[int] = []

    def cooled(*_: object) -> tuple[int, None, settle.Kept]:
        made.append(counts[len(made)])
        return made[-1], None, {}

    monkeypatch.setattr(settle, "_cooled", cooled)
    monkeypatch.setattr(settle, "_mended", lambda *_: None)
    problem = Problem(fir(4), TORUS)
    schedule = Attempts(problem, MapOptions()).schedule(4, 0)
    assert settled(problem, schedule, 1, 1.0, lambda: refuted, nothing, numbers) == min(made)
    return len(made)


def test_attempts_end_where_the_first_leave_many_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert left(monkeypatch, [CLOSE + 1]) == 1
    assert left(monkeypatch, [CLOSE, CLOSER + 1]) == 2
    assert left(monkeypatch, [CLOSE, CLOSER, CLOSEST + 1, 5]) == 4 - (CLOSER > CLOSEST)
    assert left(monkeypatch, [CLOSE, CLOSEST, 5, 5]) == 4
    assert left(monkeypatch, [1], refuted=True) == 1


def disturbed(arch: str, interval: int) -> Placement:
    """The places of a mapping, but for an operation that is where another one is."""
    mapping = found(layered(16, 3), arch, interval)
    assert isinstance(mapping, Mapping)
    units, starts = mapping.placement.unit, mapping.placement.schedule.start
    slots = [then % interval for then in starts]
    one, other = next((n, m) for n, m in combinations(range(16), 2) if slots[n] == slots[m])
    return replace(mapping.placement, unit=(*units[:one], units[other], *units[one + 1 :]))


def ended(
    patch: pytest.MonkeyPatch, placement: Placement, conflicts: int, effort: float = 1.0
) -> Mapping | int:
    """What settling comes to if its attempt ends with so many conflicts, at some effort."""
    with patch.context() as here:
        here.setattr(settle, "_cooled", lambda *_: (conflicts, placement, {}))
        schedule = placement.schedule
        problem = Problem(schedule.dfg, placement.fabric)
        return settled(problem, schedule, 1, effort, lambda: False, nothing, range(1))


@pytest.mark.parametrize(
    ("arch", "interval", "conflicts", "tiles", "cycles"),
    [("adres:3x3", 4, 1, 1, 1), ("adres:3x3", 4, MENDED, 2, 1), ("satmapit:2x2", 7, 1, 2, 2)],
)
def test_where_few_conflicts_are_left_all_may_move_a_little(
    monkeypatch: pytest.MonkeyPatch, arch: str, interval: int, conflicts: int, tiles: int, cycles: int
) -> None:
    placement = disturbed(arch, interval)
    mapping = ended(monkeypatch, placement, conflicts)
    assert isinstance(mapping, Mapping) and mapping.interval == interval
    check_mapping(mapping)
    pairs = zip(placement.schedule.start, mapping.placement.schedule.start, strict=True)
    moved = [later - sooner for sooner, later in pairs]
    assert max(moved) - min(moved) == 2 * cycles
    units, width = placement.fabric.units, round(len(placement.fabric.tiles) ** 0.5)
    for before, now in zip(placement.unit, mapping.placement.unit, strict=True):
        (x, y), (u, v) = (divmod(units[unit].tile, width) for unit in (before, now))
        assert abs(x - u) + abs(y - v) <= tiles
    assert ended(monkeypatch, placement, conflicts) == mapping


def test_what_is_not_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more conflicts are left, with no effort, and graphs that would take the solver long."""
    placement = disturbed("adres:3x3", 4)
    assert ended(monkeypatch, placement, MENDED + 1) == MENDED + 1
    assert ended(monkeypatch, placement, MENDED, effort=0.0) == MENDED
    monkeypatch.setattr(settle, "BIG", 15)
    assert ended(monkeypatch, placement, MENDED) == MENDED


def test_of_two_conflicts_those_that_are_fewer_than_before_are_mended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A single one always is: annealing may never resolve it."""
    mended: list[int] = []
    monkeypatch.setattr(settle, "_mended", lambda *words: mended.append(words[3]))
    counts, problem = iter((2, 2, 1, 1)), Problem(fir(4), TORUS)
    monkeypatch.setattr(settle, "_cooled", lambda *_: (next(counts), None, {}))
    schedule = Attempts(problem, MapOptions()).schedule(4, 0)
    assert settled(problem, schedule, 1, 1.0, lambda: False, nothing, range(4)) == 1
    assert mended == [2, 1, 1]


@pytest.mark.parametrize(
    ("nodes", "count", "steps"), [(16, 7, 30), (16, 6, 31), (16, 1, 60), (16, 0, 0), (90, 8, 31)]
)
def test_an_attempt_ends_where_hardly_any_with_so_many_conflicts_has_ended_well(
    monkeypatch: pytest.MonkeyPatch, nodes: int, count: int, steps: int
) -> None:
    """From half of its 60 steps on: the fewer are left, the fewer are too many; of large graphs, more."""
    cooled: list[int] = []

    class Stuck:
        def __init__(
            self, _: Problem, __: int, ___: int, places: tuple[list[int], ...], ____: object
        ) -> None:
            self.places = lambda: tuple(list(some) for some in places)

        def conflicts(self) -> int:
            return count

        def cool(self, moves: int, reach: int, temperature: float) -> int:
            cooled.append(moves)
            return count

        def whereabouts(self) -> list[list[tuple[int, int, int, bool]]]:
            return []

    monkeypatch.setattr(settle, "Settler", Stuck)
    problem = Problem(layered(nodes, 1), TORUS)
    schedule = Attempts(problem, MapOptions()).schedule(20, 0)
    assert settle._cooled(problem, schedule, 1, 2000, nothing)[0] == count
    assert len(cooled) == steps


def test_what_large_graphs_leave_on_few_tiles_alone_says_little() -> None:
    sizes = (60, "satmapit:2x2"), (70, "satmapit:2x2"), (70, "satmapit:3x3")
    left = [closer(Problem(layered(n, 1), load_fabric(arch))) for n, arch in sizes]
    assert left == [CLOSER, VARYING, CLOSER]


def test_small_arrays_get_more_attempts() -> None:
    numbers = [others(Problem(layered(n, 1), load_fabric(arch))) for n, arch in SIZES]
    assert [(one.start, len(one)) for one in numbers] == [(2, 3), (2, 2), (2, 2), (2, 3)]


SIZES = (16, "satmapit:2x2"), (30, "satmapit:4x4"), (90, "satmapit:4x4"), (90, "satmapit:2x2")


@pytest.fixture
def uncompiled() -> Iterator[ModuleType]:
    """Settling with its hot modules as plain Python."""
    names = [f"backend.{name}" for name in HOT]
    saved = {name: sys.modules.pop(name) for name in names}
    for name in names:
        path = Path(backend.__file__).with_name(name.partition(".")[2] + ".py")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    yield sys.modules["backend.settle"]
    sys.modules.update(saved)


@pytest.mark.parametrize(("arch", "interval"), [("satmapit:2x2", 6), ("adres:3x3", 2)])
def test_compiled_and_plain_python_agree(uncompiled: ModuleType, arch: str, interval: int) -> None:
    problem = Problem(layered(20, 3), load_fabric(arch))
    schedule = Attempts(problem, MapOptions()).schedule(interval, 0)
    plain = uncompiled._cooled(problem, schedule, 5, 40, nothing)
    assert plain == settle._cooled(problem, schedule, 5, 40, nothing)


def test_what_laying_a_value_costs_at_least_is_no_more_than_it_costs(uncompiled: ModuleType) -> None:
    """Also where readers come too early, or words are in the way; moves are given up by that."""
    for arch, interval in (("satmapit:2x2", 6), ("adres:4x4", 1), ("adres:3x3", 3)):
        problem, random = Problem(layered(20, 3), load_fabric(arch)), Random(interval)
        start = Attempts(problem, MapOptions()).schedule(interval, 0).start
        units = [random.choice(problem.candidates(n)) for n in range(20)]
        later = [then + random.randrange(3) for then in start]
        ways = ways_of(problem.fabric)
        words = uncompiled.Settler(problem, interval, 1, (units, later, [-1] * problem.groups), ways).words
        bounds = [(words.least(n), words.lift(n) * 0 + words.lay(n, 1 << 20)) for n in range(20)]
        assert all(least <= price for least, price in bounds)
        assert any(0 < least == price for least, price in bounds)


def test_moves_may_cost_what_the_temperature_says(uncompiled: ModuleType) -> None:
    """Metropolis: e to the minus one of them may cost a temperature or more; nothing, where there is none."""
    problem = Problem(fir(4), TORUS)
    start = Attempts(problem, MapOptions()).schedule(4, 0).start
    units = [problem.candidates(n)[0] for n in range(problem.nodes)]
    settler = uncompiled.Settler(problem, 4, 1, (units, start, [-1] * problem.groups), ways_of(TORUS))
    assert settler.most(0.0) == 0
    most = [settler.most(100.0) for _ in range(4000)]
    assert min(most) >= 0 and 0.34 < sum(one >= 100 for one in most) / 4000 < 0.40


def test_the_first_state_without_conflicts_ends_cooling(uncompiled: ModuleType) -> None:
    """However hot it is; what is shared is counted, and listed, as it comes and goes, for that."""
    problem = Problem(layered(20, 3), load_fabric("satmapit:2x2"))
    start = Attempts(problem, MapOptions()).schedule(7, 0).start
    units = [problem.candidates(n)[0] for n in range(20)]
    ways = ways_of(problem.fabric)
    settler = uncompiled.Settler(problem, 7, 1, (units, start, [-1] * problem.groups), ways)
    words = settler.words
    counts: list[int] = []
    while not counts or (counts[-1] and len(counts) < 400):
        counts.append(settler.cool(50, 9, 190.0))
        extra = [max(0, k - 1) for some in (words.held, settler.count) for k in some]
        assert words.clashes == sum(extra) + sum(max(0, k - words.room) for k in words.full)
        assert {*words.sore[: words.shared]} == {k for k, held in enumerate(words.held) if held > 1}
    assert counts[-1] == settler.conflicts() == 0
    assert settler.cool(1, 9, 0.0) == 0


def test_what_an_attempt_comes_to_is_the_best_that_its_steps_end_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Conflicts come and go at its temperatures, and the last state is only one of many."""
    counts, now = iter((5, 2, 1, *[3] * 60)), [9]

    class Restless:
        def __init__(
            self, _: Problem, __: int, ___: int, places: tuple[list[int], ...], ____: object
        ) -> None:
            self.begin = places

        def conflicts(self) -> int:
            return now[0]

        def cool(self, moves: int, reach: int, temperature: float) -> int:
            now[0] = next(counts)
            return now[0]

        def places(self) -> tuple[list[int], list[int], list[int]]:
            unit, start, home = self.begin
            return list(unit), [then + 20 * now[0] for then in start], list(home)

    monkeypatch.setattr(settle, "Settler", Restless)
    moved: list[int] = []

    def placement_of(
        _: Problem, interval: int, unit: list[int], start: list[int], __: list[int]
    ) -> Placement:
        moved.append(min(start))
        return place(problem, Schedule(problem.dfg, interval, tuple(start)), 1, 0.0)

    monkeypatch.setattr(settle, "placement_of", placement_of)
    problem = Problem(fir(4), TORUS)
    schedule = Attempts(problem, MapOptions()).schedule(4, 0)
    assert settle._cooled(problem, schedule, 1, 2000, nothing)[0] == 1
    assert 20 <= moved[0] < 40


def cheapest(interval: int, held: list[list[int]], begin: int, reader: int, when: int) -> int:
    """The price of the cheapest way on the torus of 3x3 tiles, by trying steps in its order."""
    beside = [[q for q in range(9) if _near(p, q)] for p in range(9)]
    prices = {(begin, 0): 0}
    while prices:
        (tile, cycle), price = min(prices.items(), key=lambda one: one[1])
        del prices[tile, cycle]
        if (tile == reader and when - cycle <= interval) or (cycle == when and tile in beside[reader]):
            return price
        steps = [(next_to, cycle + 1) for next_to in beside[tile]]
        for there, then in steps + [(tile, cycle + k) for k in range(1, interval + 1)]:
            if then <= when:
                paid = price + 1 + 13 * min(held[there][then % interval], 2)
                prices[there, then] = min(paid, prices.get((there, then), paid))
    return -1


def _near(p: int, q: int) -> bool:
    """Whether two tiles of the torus of 3x3 tiles are neighbours."""
    return p != q and (p // 3 == q // 3 or p % 3 == q % 3)


def test_ways_are_the_cheapest(uncompiled: ModuleType) -> None:
    finder_of = sys.modules["backend.finder"].Finder
    ways, random = ways_of(TORUS), Random(7)
    for _ in range(60):
        interval = random.choice((1, 2, 3, 5))
        held = [[random.choice((0, 0, 1, 2, 3)) for _ in range(interval)] for _ in range(9)]
        finder = finder_of(9, interval, ways)
        for tile in range(9):
            for slot in range(interval):
                finder.mark(tile * interval + slot, held[tile][slot])
        begin, reader, when = random.randrange(9), random.randrange(9), random.randrange(1, 9)
        finder.begin()
        finder.add(begin, 0)
        price = finder.find(reader, 0, when, 64)
        assert price == cheapest(interval, held, begin, reader, when)
        steps = list(zip(finder.tile, finder.cycle, strict=True))[: finder.steps + 1]
        assert price < 0 or steps[-1] == (begin, 0)
        paid = [1 + 13 * min(held[tile][cycle % interval], 2) for tile, cycle in steps[:-1]]
        assert price < 0 or sum(paid) == price
