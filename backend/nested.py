"""Arrays in arrays: what is mapped on a part of an array is a mapping on the whole, too.

A search on a larger array has other choices at each step, so it may miss what one on a smaller array finds.
Where it ends above the bound, parts of the array are asked for the next interval below, as arrays of their
own: with fewer registers, and without the last rows or columns. So a register more seldom makes an interval
longer, nor does a row or column, on arrays that are the same everywhere but in the first ones. Which number
of rows and columns helps is luck; where one does, few attempts mostly show it.
A torus without a row is none, and units that stand on the border do not move with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from arch.fabric import Fabric, Kind, MemoryBank, Resource, Unit

from .mapping import Mapping, MemoryPlace, Placement, Route

PLENTY = 4
"""Of so many registers one is taken away for a glance alone: with fewer, intervals grow, and searches take
their time."""

NARROWEST = 2
"""Arrays of so many rows keep them, and of so many columns."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an array as one of its own, and which units, resources and memories of the whole it has."""

    fabric: Fabric
    units: tuple[int, ...]
    resources: tuple[int, ...]
    memories: tuple[int, ...]

    @property
    def what(self) -> str:
        """What of the array it is."""
        rows, columns = (
            1 + max(getattr(tile, way) for tile in self.fabric.tiles) for way in ("row", "column")
        )
        return f"{rows}x{columns} tiles with {self.fabric.registers} registers"


def everything(fabric: Fabric) -> Part:
    """The array as a part of itself."""
    ids = [tuple(range(len(some))) for some in (fabric.units, fabric.resources, fabric.memories)]
    return Part(fabric, *ids)


def sparer(part: Part, least: int = PLENTY) -> Part | None:
    """A part with a register less in each tile that has more than `least`."""
    spare = _spare_registers(part.fabric, least)
    return _within(part, [r for r in part.fabric.resources if r.id not in spare]) if spare else None


def narrower(part: Part) -> Iterator[Part]:
    """Parts with fewer tiles: without the last of both rows and columns, then of columns, or rows, alone."""
    if part.fabric.settings:
        return
    yield from _shrunk(part, (1, 0))
    columns, rows = _shrunk(part, (1,)), _shrunk(part, (0,))
    for pair in zip_longest(columns, rows):
        yield from (some for some in pair if some is not None)


def _shrunk(part: Part, ways: Sequence[int]) -> Iterator[Part]:
    """Without the last column (1), the last row (0) or both, again and again while that can be."""
    while True:
        for way in ways:
            tiles = _without_the_last(part.fabric, way)
            if not tiles:
                return
            part = _within(part, _of_tiles(part.fabric, tiles))
        yield part


def _without_the_last(fabric: Fabric, way: int) -> frozenset[int]:
    """The tiles but those of the last row (0) or column (1); none where links wrap around, or of few."""
    places = [(tile.row, tile.column)[way] for tile in fabric.tiles]
    last = max(places)
    steps = {
        abs(places[r.tile] - places[fabric.resources[source].tile])
        for r in fabric.resources
        for source in r.sources
    }
    if last < NARROWEST or 2 * max(steps) > last + 1:
        return frozenset()
    return frozenset(tile.id for tile in fabric.tiles if places[tile.id] < last)


def _spare_registers(fabric: Fabric, least: int) -> set[int]:
    """One register of each tile that has more than `least` alike.

    Registers are alike if they select from the same, and the same selects from them: but for themselves, or
    with themselves where they select from each other. None are if links have settings for each of them.
    """
    alike: dict[tuple[bool, int, bool, frozenset[int], frozenset[int]], list[int]] = {}
    for resource in fabric.resources:
        if resource.kind is Kind.REGISTER and resource.static is None:
            own = frozenset({resource.id})
            sources, sinks = frozenset(resource.sources), frozenset(fabric.sinks[resource.id])
            here = resource.tile, resource.narrow
            alike.setdefault((True, *here, sources - own, sinks - own), []).append(resource.id)
            alike.setdefault((False, *here, sources | own, sinks | own), []).append(resource.id)
    return {some[-1] for some in alike.values() if len(some) > least}


def _of_tiles(fabric: Fabric, inside: frozenset[int]) -> list[Resource]:
    """The resources of some tiles, without what leads to and from the others alone."""
    here = [resource for resource in fabric.resources if resource.tile in inside]
    ends = {r.id for r in here if r.kind is Kind.OPERAND}
    begins = {
        r for unit in fabric.units if unit.tile in inside for some in unit.results.values() for r in some
    }
    allowed = frozenset(resource.id for resource in here)
    used = _met(begins, fabric.sinks, allowed) & _met(ends, [r.sources for r in fabric.resources], allowed)
    return [r for r in here if r.id in used | begins | ends]


def _met(start: set[int], ways: Sequence[Sequence[int]], allowed: frozenset[int]) -> set[int]:
    """What ways lead to from some resources."""
    found, waiting = set(start), sorted(start)
    while waiting:
        for there in ways[waiting.pop()]:
            if there in allowed and there not in found:
                found.add(there)
                waiting.append(there)
    return found


def _within(part: Part, kept: Sequence[Resource]) -> Part:
    """A part with these resources alone, and with the tiles, units and memories that have some."""
    fabric = part.fabric
    resources = tuple(resource.id for resource in kept)
    inside = {resource.tile for resource in kept}
    tiles = tuple(tile.id for tile in fabric.tiles if tile.id in inside)
    units = tuple(unit.id for unit in fabric.units if unit.tile in inside)
    banks = tuple(bank.id for bank in fabric.memories if any(port in units for port in bank.ports))
    resource_of, tile_of, unit_of, bank_of = map(_numbered, (resources, tiles, units, banks))

    def resource(old: Resource) -> Resource:
        sources = tuple(resource_of[source] for source in old.sources if source in resource_of)
        return replace(old, id=resource_of[old.id], tile=tile_of[old.tile], sources=sources)

    def unit(old: Unit) -> Unit:
        results = {op: tuple(resource_of[r] for r in some) for op, some in old.results.items()}
        operands = tuple(resource_of[r] for r in old.operands)
        memory = None if old.memory is None else bank_of[old.memory]
        return replace(
            old, id=unit_of[old.id], tile=tile_of[old.tile], operands=operands, results=results, memory=memory
        )

    def bank(old: MemoryBank) -> MemoryBank:
        ports = tuple(unit_of[port] for port in old.ports if port in unit_of)
        return replace(old, id=bank_of[old.id], tile=tile_of[old.tile], ports=ports)

    smaller = replace(
        fabric,
        tiles=tuple(replace(fabric.tiles[k], id=tile_of[k]) for k in tiles),
        units=tuple(unit(fabric.units[k]) for k in units),
        resources=tuple(map(resource, kept)),
        memories=tuple(bank(fabric.memories[k]) for k in banks),
    )
    outer = (part.units, part.resources, part.memories)
    return Part(
        smaller,
        *(tuple(ids[k] for k in some) for ids, some in zip(outer, (units, resources, banks), strict=True)),
    )


def _numbered(some: Sequence[int]) -> dict[int, int]:
    return {old: new for new, old in enumerate(some)}


def lifted(mapping: Mapping, fabric: Fabric, part: Part) -> Mapping:
    """A mapping on a part of an array as one on the whole."""
    routes = tuple(
        Route(route.consumer, route.position, tuple((part.resources[r], cycle) for r, cycle in route.steps))
        for route in mapping.routes
    )
    placement = mapping.placement
    units = tuple(part.units[unit] for unit in placement.unit)
    memory = tuple(MemoryPlace(part.memories[place.bank], place.base) for place in placement.memory)
    return Mapping(Placement(placement.schedule, fabric, units, memory), routes)
