"""What has to hold of every structural model, whatever it was made from."""

from __future__ import annotations

from collections.abc import Sequence

from .fabric import Fabric, Kind, Unit
from .ops import BIT_OPS, MEMORY_OPS, OPS, WIDE_OPS


def check_fabric(fabric: Fabric) -> None:
    """Assert the invariants of `fabric`, also that every result reaches every operand."""
    assert fabric.width >= 2 and fabric.max_interval >= 1 and fabric.name
    _check_ids(fabric)
    _check_edges(fabric)
    owners: dict[int, str] = {}
    for unit in fabric.units:
        _check_unit(fabric, unit)
        for id in {*unit.operands, *(r for outputs in unit.results.values() for r in outputs)}:
            assert id not in owners, f"{fabric.resources[id].name} is in two units"
            owners[id] = unit.name
    for resource in fabric.resources:
        if resource.kind in (Kind.OPERAND, Kind.RESULT):
            assert resource.id in owners, f"{resource.name} belongs to no unit"
    _check_memories(fabric)
    _check_wires(fabric)
    _check_settings(fabric)
    _check_reachability(fabric)


def _check_ids(fabric: Fabric) -> None:
    for things in (fabric.tiles, fabric.units, fabric.resources, fabric.memories):
        assert [thing.id for thing in things] == list(range(len(things)))
    for group in (fabric.units, fabric.resources, fabric.memories):
        assert all(0 <= thing.tile < len(fabric.tiles) for thing in group)
        names = [thing.name for thing in group]
        assert len(set(names)) == len(names), "two have one name"
    for resource in fabric.resources:
        assert all(0 <= source < len(fabric.resources) for source in resource.sources), resource.name
    places = [(tile.row, tile.column) for tile in fabric.tiles]
    assert len(set(places)) == len(places), "two tiles in one place"


def _check_edges(fabric: Fabric) -> None:
    for resource in fabric.resources:
        name = resource.name
        assert len(set(resource.sources)) == len(resource.sources), f"{name} selects a resource twice"
        kinds = {fabric.resources[source].kind for source in resource.sources}
        assert Kind.OPERAND not in kinds, f"{name} reads an operand"
        if resource.kind is Kind.RESULT:
            assert not resource.sources, f"{name} is a result and selects"
        else:
            assert set(resource.sources) - {resource.id}, f"{name} has nothing to select"
        if resource.kind is not Kind.OPERAND:
            assert set(fabric.sinks[resource.id]) - {resource.id}, f"nothing reads {name}"


def _check_unit(fabric: Fabric, unit: Unit) -> None:
    assert unit.latency and unit.latency.keys() == unit.results.keys(), unit.name
    assert len(set(unit.operands)) == len(unit.operands), unit.name
    assert all(fabric.resources[operand].kind is Kind.OPERAND for operand in unit.operands), unit.name
    for name, latency in unit.latency.items():
        assert name in OPS and name not in WIDE_OPS, f"{unit.name}: unknown operation {name}"
        assert latency >= 1, f"{unit.name}: {name} takes no time"
        assert OPS[name].arity <= len(unit.operands), f"{unit.name}: too few operands for {name}"
        results = unit.results[name]
        kinds = {fabric.resources[result].kind for result in results}
        # An operation without a value can still end what a register held.
        count = OPS[name].outputs or int(Kind.REGISTER in kinds)
        assert len(results) == count == len(set(results)), f"{unit.name}: results of {name}"
        assert kinds <= {Kind.RESULT, Kind.REGISTER}, unit.name
        assert latency >= 2 or Kind.REGISTER not in kinds, f"{unit.name}: {name} is in a register at once"
        assert name not in MEMORY_OPS or unit.memory is not None, f"{unit.name}: {name}"
        assert name in BIT_OPS or not fabric.is_narrow(unit), f"{unit.name}: {name} on bits"
    ends = {*unit.operands, *(result for results in unit.results.values() for result in results)}
    assert len({fabric.resources[end].narrow for end in ends}) == 1, f"{unit.name} is in two planes"


def _check_memories(fabric: Fabric) -> None:
    ports = [port for memory in fabric.memories for port in memory.ports]
    assert len(set(ports)) == len(ports), "a port of two memories"
    assert set(ports) == {unit.id for unit in fabric.units if unit.memory is not None}
    for memory in fabric.memories:
        assert memory.words >= 1 and memory.ports, memory.name
        assert all(fabric.units[port].memory == memory.id for port in memory.ports), memory.name


def _check_settings(fabric: Fabric) -> None:
    """A multiplexer that is configured once has settings with different sources; none holds a word."""
    for some in fabric.settings:
        resources = [fabric.resources[setting] for setting in some]
        name = resources[0].name
        assert len({(r.kind, r.tile, r.narrow) for r in resources}) == 1, f"settings of {name}"
        assert resources[0].kind in (Kind.REGISTER, Kind.WIRE), f"{name} is configured once"
        selected = [frozenset(resource.sources) for resource in resources]
        assert len(set(selected)) == len(selected), f"two settings of {name} are the same"
        for sources in selected:
            groups = {fabric.resources[source].static for source in sources}
            alone = len(sources) == 1 and None in groups
            assert sources.isdisjoint(some), f"{name} selects itself"
            assert alone or sources in [frozenset(fabric.settings[g]) for g in groups if g is not None], name


def _check_wires(fabric: Fabric) -> None:
    """No way through wires alone leads back, unless the fabric says so: then every loop has a register."""
    if fabric.loops:
        return
    done: set[int] = set()
    for start in (resource.id for resource in fabric.resources if resource.kind is Kind.WIRE):
        stack: list[tuple[int, bool]] = [(start, False)]
        open_: set[int] = set()
        while stack:
            here, leave = stack.pop()
            if leave:
                open_.discard(here)
                done.add(here)
                continue
            assert here not in open_, f"a combinational loop through {fabric.resources[here].name}"
            if here in done:
                continue
            open_.add(here)
            stack.append((here, True))
            wires = [s for s in fabric.resources[here].sources if fabric.resources[s].kind is Kind.WIRE]
            stack += [(source, False) for source in wires if source not in done]


def _check_reachability(fabric: Fabric) -> None:
    """Every result reaches every operand: all of them are connected through one wire, or one register.

    Words do in the plane of words, values of one bit wherever these may be.
    """
    for one_bit in (False, True)[: 1 + fabric.planes]:
        allowed = [fabric.allows(resource.id, one_bit) for resource in fabric.resources]
        of_kind = {r.kind: r.id for r in reversed(fabric.resources) if allowed[r.id]}
        pivot = of_kind[Kind.WIRE if fabric.loops else Kind.REGISTER]
        before = _closure(pivot, [resource.sources for resource in fabric.resources], allowed)
        after = _closure(pivot, fabric.sinks, allowed)
        for resource in (resource for resource in fabric.resources if allowed[resource.id]):
            name = f"{resource.name} (from {fabric.resources[pivot].name})"
            assert resource.kind is not Kind.RESULT or resource.id in before, f"no way from {name}"
            assert resource.kind is not Kind.OPERAND or resource.id in after, f"no way to {name}"


def _closure(start: int, edges: Sequence[tuple[int, ...]], allowed: Sequence[bool]) -> set[int]:
    found, waiting = {start}, [start]
    for here in waiting:
        for there in edges[here]:
            if there not in found and allowed[there]:
                found.add(there)
                waiting.append(there)
    return found
