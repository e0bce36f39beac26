"""Placement: what annealing may never break, whatever conflicts it leaves."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from graphs import random_graph

from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG, Node, Use
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
