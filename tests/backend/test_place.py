"""Placement: what annealing may never break, whatever conflicts it leaves."""

from __future__ import annotations

import pytest
from graphs import random_graph

from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.flat import Problem
from backend.mapping import Placement, Schedule
from backend.place import place
from backend.schedule import earliest_starts

GRID = load_fabric("grid4x4")


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
