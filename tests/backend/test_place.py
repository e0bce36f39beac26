"""Placement: what annealing may never break, whatever conflicts it leaves."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from graphs import Builder, random_graph

from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG, Const, Node, Use
from backend.flat import Problem
from backend.mapping import Placement, Schedule
from backend.place import place
from backend.schedule import earliest_starts

GRID = load_fabric("grid4x4")
TORUS = load_fabric("satmapit:2x2")


def placed(dfg: DFG, fabric: Fabric, seed: int, effort: float) -> Placement:
    problem = Problem(dfg, fabric)
    interval = minimum_interval(dfg, fabric).mii
    schedule = Schedule(dfg, interval, tuple(earliest_starts(problem, interval)))
    return place(problem, schedule, seed, effort)


@pytest.mark.parametrize("seed", range(4))
def test_operations_are_on_units_that_do_them_and_groups_stay_together(seed: int) -> None:
    dfg = random_graph(seed, 40, streams=3, memories=3)
    found = placed(dfg, GRID, seed, 0.3)
    ports: dict[int, int] = {}
    for node in dfg.nodes:
        unit = GRID.units[found.unit[node.id]]
        assert node.op in unit.latency
        if node.stream is not None:
            assert ports.setdefault(node.stream, unit.id) == unit.id
        if node.memory is not None:
            assert unit.id in GRID.memories[found.memory[node.memory].bank].ports
    assert len(set(ports.values())) == len(ports)
    for bank in GRID.memories:
        inside = [m for m, p in enumerate(found.memory) if p.bank == bank.id]
        assert sum(dfg.memories[m].words for m in inside) <= bank.words


def test_annealing_shortens_the_ways() -> None:
    dfg = random_graph(9, 60)

    def length(placement: Placement) -> int:
        return sum(GRID.distance(placement.unit[use.node], placement.unit[c]) for c, _, use in dfg.uses())

    assert length(placed(dfg, GRID, 1, 0.5)) < 0.8 * length(placed(dfg, GRID, 1, 0.0))


def test_the_seed_alone_decides() -> None:
    dfg = random_graph(2, 30)
    assert placed(dfg, GRID, 5, 0.2) == placed(dfg, GRID, 5, 0.2)
    assert placed(dfg, GRID, 5, 0.2) != placed(dfg, GRID, 6, 0.2)


def anywhere(operations: int, seed: int) -> DFG:
    """A graph whose operations read what any operations before them make."""
    rng = random.Random(seed)
    nodes = [Node(0, "alu_0", ())]
    for k in range(1, operations):
        uses = tuple(Use(rng.randrange(k)) for _ in range(rng.choice((1, 2, 2))))
        nodes.append(Node(k, f"alu_{len(uses)}", uses))
    return DFG("anywhere", tuple(nodes), (), (), (), (), ())


def overwritten(placement: Placement) -> int:
    """How many values are, where neighbours read them late, in outputs that other values then take."""
    dfg, interval = placement.schedule.dfg, placement.schedule.interval
    start, tile = placement.schedule.start, [TORUS.units[u].tile for u in placement.unit]
    there = {(node.id, start[node.id]) for node in dfg.nodes}
    for consumer, _, use in dfg.uses():
        if tile[consumer] != tile[use.node]:
            there.add((use.node, start[consumer] + use.distance * interval - 1))
    slots = Counter((tile[node], cycle % interval) for node, cycle in there)
    return sum(count - 1 for count in slots.values())


@pytest.mark.parametrize("seed", range(3))
def test_what_neighbours_read_late_finds_its_slot_free(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(anywhere(24, seed), TORUS)
    schedule = Schedule(problem.dfg, 10, tuple(earliest_starts(problem, 10)))
    assert problem.terrain.overwritten
    assert overwritten(place(problem, schedule, seed)) <= 1
    monkeypatch.setattr(problem.terrain, "overwritten", False)
    assert overwritten(place(problem, schedule, seed)) > 4


def comparisons(count: int) -> DFG:
    """Recurrences that leave no time: words of one array, of two places, are compared and decide the next."""
    b = Builder("comparisons")
    text = b.memory("text", 64)
    b.counter(40)
    for k in range(count):
        first, second = (b.add("load", Const(place), memory=text) for place in (k, k + 8))
        same = b.add("eq", first, second)
        at = b.add("add", same, Const(k))
        b.patch(first, 0, Use(at, 1, Const(0)))
        b.patch(second, 0, Use(at, 1, Const(1)))
    return b.build()


def crossing_at_once(placement: Placement) -> int:
    """How many pairs of loads have words that must take one way to the tile of their reader in one cycle."""
    schedule, fabric = placement.schedule, placement.fabric
    found = 0
    for node in schedule.dfg.nodes:
        if node.op == "eq":
            loads = [use.node for use in node.operands if isinstance(use, Use)]
            soonest = all(schedule.start[n] + 2 == schedule.start[node.id] for n in loads)
            away = fabric.units[placement.unit[node.id]].tile != fabric.units[placement.unit[loads[0]]].tile
            found += soonest and away
    return found


@pytest.mark.parametrize("seed", range(6))
def test_two_words_of_one_memory_that_are_read_at_once_are_read_in_its_tile(seed: int) -> None:
    assert crossing_at_once(placed(comparisons(3), GRID, seed, 1.0)) == 0


def test_pairs_are_loads_of_one_array_where_tiles_read_one_word_of_another_at_once() -> None:
    assert len(Problem(comparisons(3), GRID).pairs) == 2 * 3
    assert not Problem(comparisons(3), load_fabric("mosaic:4x4")).pairs


def test_arrays_begin_in_the_middle_if_asked_to() -> None:
    dfg = comparisons(2)
    schedule = Schedule(dfg, 8, tuple(earliest_starts(Problem(dfg, GRID), 8)))
    banks = [place(Problem(dfg, GRID), schedule, 1, 0.0, central=c).memory[0].bank for c in (False, True)]
    rows = [GRID.tiles[GRID.units[GRID.memories[bank].ports[0]].tile] for bank in banks]
    assert [(tile.row in (1, 2), tile.column in (1, 2)) for tile in rows][1] == (True, True)
    assert banks[0] == 0
