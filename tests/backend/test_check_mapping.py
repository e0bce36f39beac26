"""The checker refuses every kind of wrong mapping, and names what is wrong."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from graphs import Builder

from arch.describe import load_fabric
from backend.check import MappingError, check_mapping
from backend.dfg import Const, Order
from backend.mapper import map_kernel
from backend.mapping import MapOptions, Mapping, MemoryPlace, Placement, Route

GRID = load_fabric("grid4x4")


@cache
def good() -> Mapping:
    b = Builder("small")
    index, alive = b.counter(9)
    source, other = b.stream("in", False), b.stream("in2", False)
    a, c = b.memory("a", 16), b.memory("b", 16)
    x = b.add("recv", Const(0), alive, stream=source)
    y = b.add("recv", Const(0), alive, stream=other)
    b.add("recv", Const(0), alive, stream=source)
    total = b.add("add", b.add("load", index, memory=a), b.add("add", x, y))
    b.add("store", index, total, alive, memory=c)
    b.order(x, y)
    return map_kernel(b.build(), GRID, MapOptions())


def placed(**changes: object) -> Mapping:
    """The good mapping with another unit, schedule or memory."""
    return replace(good(), placement=replace(good().placement, **changes))


def moved(node: int, unit: int) -> Mapping:
    units = list(good().placement.unit)
    units[node] = unit
    return placed(unit=tuple(units))


def started(node: int, start: int) -> Mapping:
    starts = list(good().placement.schedule.start)
    starts[node] = start
    return placed(schedule=replace(good().placement.schedule, start=tuple(starts)))


def rerouted(index: int, route: Route) -> Mapping:
    routes = list(good().routes)
    routes[index] = route
    return replace(good(), routes=tuple(routes))


def node_of(op: str, nth: int = 0) -> int:
    return [n.id for n in good().dfg.nodes if n.op == op][nth]


def refused(mapping: Mapping, why: str) -> None:
    with pytest.raises(MappingError, match=why):
        check_mapping(mapping)


def test_a_right_mapping_passes() -> None:
    check_mapping(good())


def test_a_unit_that_cannot_do_the_operation() -> None:
    refused(moved(node_of("add"), GRID.units_for("recv")[0]), "does not do add")


def test_two_operations_in_one_slot_of_a_unit() -> None:
    first, second = node_of("add"), node_of("eq")
    starts = list(good().placement.schedule.start)
    starts[second] = starts[first] + good().interval
    units = list(good().placement.unit)
    units[second] = units[first]
    schedule = replace(good().placement.schedule, start=tuple(starts))
    refused(placed(schedule=schedule, unit=tuple(units)), "share")


def test_an_interval_beyond_the_fabric() -> None:
    schedule = replace(good().placement.schedule, interval=GRID.max_interval + 1)
    refused(placed(schedule=schedule), "initiation interval")


def test_an_access_on_a_port_of_another_bank() -> None:
    bank = good().placement.memory[0].bank
    other = next(b for b in GRID.memories if b.id != bank)
    refused(moved(node_of("load"), other.ports[0]), "does not reach")


def test_arrays_that_overlap() -> None:
    place = good().placement.memory[0]
    both = (place, MemoryPlace(place.bank, place.base + 15))
    units = list(good().placement.unit)
    units[node_of("store")] = next(u for u in GRID.memories[place.bank].ports if u != units[node_of("load")])
    refused(placed(memory=both, unit=tuple(units)), "overlap")


def test_an_array_that_leaves_its_bank() -> None:
    first, second = good().placement.memory
    refused(
        placed(memory=(replace(first, base=GRID.memories[first.bank].words - 15), second)), "does not fit"
    )


def test_a_stream_with_two_ports() -> None:
    taken = {good().placement.unit[node_of("recv", k)] for k in range(3)}
    free = next(u for u in GRID.units_for("recv") if u not in taken)
    refused(moved(node_of("recv", 2), free), "two ports")


def test_two_streams_on_one_port() -> None:
    refused(two_on_one_port(), "serves two streams")


def two_on_one_port() -> Mapping:
    """The second stream's only operation on the first one's port, in a slot that is free."""
    port = good().placement.unit[node_of("recv", 0)]
    node = node_of("recv", 1)
    start = good().placement.schedule.start
    taken = {start[node_of("recv", k)] % good().interval for k in (0, 2)}
    free = [t for t in range(good().interval) if t not in taken]
    if not free:
        wide = replace(good().placement.schedule, interval=good().interval + 7)
        mapping = placed(schedule=wide)
        free = [
            t
            for t in range(wide.interval)
            if t not in {start[node_of("recv", k)] % wide.interval for k in (0, 2)}
        ]
    else:
        mapping = good()
    units, starts = list(good().placement.unit), list(start)
    units[node], starts[node] = port, free[-1]
    schedule = replace(mapping.placement.schedule, start=tuple(starts))
    return replace(mapping, placement=Placement(schedule, GRID, tuple(units), good().placement.memory))


def test_an_order_that_is_not_kept() -> None:
    start = good().placement.schedule.start
    first, second = node_of("recv", 0), node_of("recv", 1)
    dfg = replace(good().dfg, orders=(Order(first, second, 0, start[second] - start[first] + 1),))
    refused(placed(schedule=replace(good().placement.schedule, dfg=dfg)), "too early")


def test_a_missing_route() -> None:
    refused(replace(good(), routes=good().routes[1:]), "no route")


def test_a_second_route() -> None:
    refused(replace(good(), routes=(*good().routes, good().routes[0])), "two routes")


def test_a_route_that_starts_elsewhere() -> None:
    route = good().routes[0]
    refused(rerouted(0, replace(route, steps=route.steps[1:])), "starts at")


def test_a_route_that_ends_elsewhere() -> None:
    route = good().routes[0]
    refused(rerouted(0, replace(route, steps=route.steps[:-1])), "ends at|is empty")


def test_a_route_along_an_edge_that_is_not_there() -> None:
    index, route = next((k, r) for k, r in enumerate(good().routes) if len(r.steps) >= 3)
    (_, cycle) = route.steps[1]
    allowed = {r.id for r in GRID.resources if route.steps[0][0] in r.sources}
    wrong = next(r.id for r in GRID.resources if r.id not in allowed)
    steps = (route.steps[0], (wrong, cycle), *route.steps[2:])
    refused(rerouted(index, replace(route, steps=steps)), "cannot select")


def test_an_operation_that_starts_in_another_cycle_than_its_routes_say() -> None:
    node = node_of("store")
    refused(started(node, good().placement.schedule.start[node] + good().interval), "ends at")


def test_two_values_in_one_register() -> None:
    refused(sharing(), "r[0-9]")


def sharing() -> Mapping:
    """Two values of one tile squeezed into one register in the same slot, ends and edges still right."""
    routes = good().routes
    for a, one in enumerate(routes):
        for b, two in enumerate(routes):
            for k, (r, t) in enumerate(one.steps[1:-1], 1):
                for j, (s, u) in enumerate(two.steps[1:-1], 1):
                    same_value = one.steps[0] == two.steps[0]
                    if same_value or r == s or (t - u) % good().interval:
                        continue
                    before, after = two.steps[j - 1][0], two.steps[j + 1][0]
                    if before in GRID.resources[r].sources and r in GRID.resources[after].sources:
                        steps = (*two.steps[:j], (r, u), *two.steps[j + 1 :])
                        assert k and a != b
                        return rerouted(b, replace(two, steps=steps))
    raise AssertionError("no two values to squeeze")
