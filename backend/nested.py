"""Arrays in arrays: what is mapped with fewer registers is a mapping with more, too.

A search on a larger array has other choices at each step, so it may miss what one on a smaller array finds.
Where it ends above the bound and tiles have many registers, the same array with fewer of them is searched,
too: so no register more makes an interval longer.
"""

from __future__ import annotations

from dataclasses import replace

from arch.fabric import Fabric, Kind, Resource, Unit

from .mapping import Mapping, Route

PLENTY = 4
"""Of so many registers none is taken away: with fewer, intervals grow, and searches take their time."""


def kept_resources(fabric: Fabric) -> tuple[int, ...] | None:
    """The resources without one register of each tile that has more than PLENTY alike; None if none has.

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
    gone = {some[-1] for some in alike.values() if len(some) > PLENTY}
    return tuple(r.id for r in fabric.resources if r.id not in gone) if gone else None


def fabric_of(fabric: Fabric, kept: tuple[int, ...]) -> Fabric:
    """The array with these resources alone."""
    number = {old: new for new, old in enumerate(kept)}

    def resource(old: Resource) -> Resource:
        sources = tuple(number[source] for source in old.sources if source in number)
        return replace(old, id=number[old.id], sources=sources)

    def unit(old: Unit) -> Unit:
        results = {op: tuple(number[r] for r in some) for op, some in old.results.items()}
        return replace(old, operands=tuple(number[r] for r in old.operands), results=results)

    resources = tuple(resource(fabric.resources[k]) for k in kept)
    return replace(fabric, resources=resources, units=tuple(map(unit, fabric.units)))


def lifted(mapping: Mapping, fabric: Fabric, kept: tuple[int, ...]) -> Mapping:
    """A mapping on the array with these resources as one on the whole."""
    routes = tuple(
        Route(route.consumer, route.position, tuple((kept[r], cycle) for r, cycle in route.steps))
        for route in mapping.routes
    )
    return Mapping(replace(mapping.placement, fabric=fabric), routes)
