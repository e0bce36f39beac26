"""Routing and negotiation."""

from __future__ import annotations

from graphs import Builder, fir

from arch.describe import load_fabric
from backend.check import check_mapping
from backend.dfg import DFG, Const, Use
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import MapOptions, Mapping, MemoryPlace, Placement, Schedule
from backend.place import placement_of
from backend.route import Left, route
from backend.schedule import earliest_starts

GRID = load_fabric("grid4x4")


def on_one_unit(dfg: DFG, interval: int) -> Placement:
    """Everything on the first unit that can do it: as bad a start as can be."""
    problem = Problem(dfg, GRID)
    units = [GRID.units_for(node.op)[0] for node in dfg.nodes]
    return placement_of(problem, interval, units, earliest_starts(problem, interval), [])


def counted(extra: int) -> DFG:
    b = Builder("counted")
    index, _ = b.counter(9)
    last = index
    for _ in range(extra):
        last = b.add("add", last, index)
    return b.build()


def test_negotiation_moves_operations_off_a_shared_unit() -> None:
    dfg = counted(8)
    mapping = route(Problem(dfg, GRID), on_one_unit(dfg, 1), seed=1)
    assert isinstance(mapping, Mapping)
    check_mapping(mapping)
    assert len(set(mapping.placement.unit)) == len(dfg.nodes)


def test_a_value_that_lives_longer_than_the_interval_changes_registers() -> None:
    b = Builder("delay")
    index, _ = b.counter(9)
    b.add("sub", index, Use(index, 5, Const(0)))
    dfg = b.build()
    mapping = route(Problem(dfg, GRID), on_one_unit(dfg, 2), seed=1)
    assert isinstance(mapping, Mapping)
    check_mapping(mapping)
    longest = max(mapping.routes, key=lambda r: len(r.steps))
    held = [r for r, _ in longest.steps]
    assert len(held) > 10
    assert max(held.count(r) for r in held) <= 2


def test_values_that_live_long_on_a_large_array_never_meet_themselves() -> None:
    b = Builder("delays")
    index, _ = b.counter(9)
    for distance in (20, 40, 60):
        b.add("sub", index, Use(index, distance, Const(0)))
    dfg, fabric = b.build(), load_fabric("grid8x8")
    mapping = map_kernel(dfg, fabric, MapOptions(interval=2))
    longest = max(mapping.routes, key=lambda r: len(r.steps))
    places = [(r, cycle % 2) for r, cycle in longest.steps]
    assert len(places) > 120
    assert len(set(places)) == len(places)


def test_fan_out_shares_its_way() -> None:
    dfg = counted(6)
    mapping = route(Problem(dfg, GRID), on_one_unit(dfg, 4), seed=1)
    assert isinstance(mapping, Mapping)
    steps = [set(r.steps[:-1]) for r in mapping.routes if r.steps[0] == mapping.routes[0].steps[0]]
    assert len(set().union(*steps)) < sum(len(s) for s in steps)


def test_what_cannot_be_routed_ends_with_its_conflicts() -> None:
    dfg = fir(16)
    problem = Problem(dfg, GRID)
    # 21 operations cannot share 16 units in one slot.
    start = earliest_starts(problem, 1)
    units = [GRID.units_for(node.op)[0] for node in dfg.nodes]
    bad = Placement(Schedule(dfg, 1, tuple(start)), GRID, tuple(units), ())
    left = route(problem, bad, seed=1, effort=0.05)
    assert isinstance(left, Left)
    assert left.count > 0 and left.nodes
    assert dict(left.places)["function units"] > 0


def test_arrays_follow_each_other_in_their_bank() -> None:
    b = Builder("arrays")
    b.counter(9)
    b.memory("a", 10)
    b.memory("b", 20)
    dfg = b.build()
    problem = Problem(dfg, GRID)
    units = [GRID.units_for(node.op)[0] for node in dfg.nodes]
    found = placement_of(problem, 3, units, [-1, 2, 0, 3, 4, 5], [1, 1])
    assert found.memory == (MemoryPlace(1, 0), MemoryPlace(1, 10))
    assert min(found.schedule.start) == 0
