"""Modulo schedules respect delays and units."""

from __future__ import annotations

from collections import Counter

import pytest
from graphs import layered, random_graph

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.schedule import schedule

GRID = load_fabric("grid4x4")


@pytest.mark.parametrize("seed", range(6))
def test_starts_respect_uses_and_orders_at_least_distances(seed: int) -> None:
    dfg = random_graph(seed, 40)
    interval = minimum_interval(dfg, GRID).mii + 1
    found = schedule(dfg, GRID, interval)
    assert found is not None
    for consumer, _, use in dfg.uses():
        ready = found.start[use.node] + GRID.latency(dfg.nodes[use.node].op)
        assert found.start[consumer] + use.distance * interval >= ready
    for order in dfg.orders:
        assert found.start[order.after] + order.distance * interval >= found.start[order.before] + order.delay


def test_no_slot_issues_more_than_there_are_units() -> None:
    dfg = layered(100, 3)
    interval = minimum_interval(dfg, GRID).mii
    found = schedule(dfg, GRID, interval)
    assert found is not None
    slots = Counter(found.start[n.id] % interval for n in dfg.nodes if n.op in ("add", "sub", "and", "or"))
    assert max(slots.values()) <= len(GRID.units_for("add"))


def test_an_interval_below_the_recurrence_has_no_schedule() -> None:
    dfg = next(
        g for g in (random_graph(s, 60) for s in range(50)) if minimum_interval(g, GRID).recurrence > 2
    )
    assert schedule(dfg, GRID, minimum_interval(dfg, GRID).recurrence - 1) is None
