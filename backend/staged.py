"""Maps a graph; where that keeps values over many iterations, also with stages (`relays.py`).

Mostly the mapping with stages is one of the graph itself: words take the same ways past the stages' units
(`unstaged.py`). Where the fabric has no such ways, it is a mapping of the graph with stages, more operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from arch.fabric import Fabric

from .bound import minimum_interval
from .clock import Clock
from .dfg import DFG
from .mapper import map_kernel
from .mapping import DoesNotFit, MapOptions, Mapping, Shortage
from .moves import only_outputs
from .relays import HEAVY, MANY, SPANS, SPARSE, kept, relayed
from .tries import FUTILE
from .unstaged import unstaged

BROAD, WIDE = 16, 32
"""A value with WIDE readers more than MANY iterations later has a tree of routes that negotiation, which
moves it as a whole, hardly ever ends with. From BROAD on it takes long, and mostly for nothing."""

BRIEF = 0.25
"""This part of the effort is for the graph without stages where a value is broad: it seldom is faster."""

CROWDED = frozenset({Shortage.REGISTERS, Shortage.ROUTES, Shortage.INTERVAL})
"""What stages may help against."""


def map_graph(
    dfg: DFG, fabric: Fabric, options: MapOptions, progress: Callable[[str], None] | None = None
) -> Mapping:
    """A checked mapping of the graph, or of the graph with stages, or DoesNotFit; see `map_kernel`."""
    clock, hopeless = Clock(options.time_limit), _hopeless(dfg, fabric)
    first = hopeless or _readers(dfg) >= BROAD
    if first and (found := _in_stages(dfg, fabric, options, clock, progress)):
        return found if hopeless else _without(found, dfg, options, clock, progress)
    try:
        mapping = map_kernel(dfg, fabric, _in_time(options, clock), progress)
    except DoesNotFit as problem:
        if first or problem.shortage not in CROWDED:
            raise
        found = _in_stages(dfg, fabric, options, clock, progress)
        if found is None:
            raise
        return found
    least = max(options.interval, minimum_interval(dfg, fabric).mii)
    if first or mapping.late or options.time_limit or mapping.interval <= least:
        return mapping
    below = replace(options, max_interval=mapping.interval - 1)
    try:
        return _in_stages(dfg, fabric, below, clock, progress) or mapping
    except KeyboardInterrupt:
        return replace(mapping, late=True)


def staged(dfg: DFG, mapping: Mapping) -> int:
    """How many operations of a graph's mapping are stages."""
    return len(mapping.dfg.nodes) - len(dfg.nodes)


def _hopeless(dfg: DFG, fabric: Fabric) -> bool:
    """Whether a search without stages hardly ever finds anything."""
    return _readers(dfg) >= WIDE or kept(dfg) > HEAVY * fabric.registers


def _readers(dfg: DFG) -> int:
    """The most readers that a value has more than MANY iterations later."""
    late = Counter((use.node, use.output) for _, _, use in dfg.uses() if use.distance > MANY)
    return max(late.values(), default=0)


def _without(
    mapping: Mapping,
    dfg: DFG,
    options: MapOptions,
    clock: Clock,
    progress: Callable[[str], None] | None,
) -> Mapping:
    """A mapping with stages, or a shorter one without that is found briefly."""
    if mapping.late or mapping.interval <= max(options.interval, minimum_interval(dfg, mapping.fabric).mii):
        return mapping
    below = replace(options, max_interval=mapping.interval - 1, effort=BRIEF * options.effort)
    try:
        return map_kernel(dfg, mapping.fabric, _in_time(below, clock), progress)
    except DoesNotFit:
        return mapping
    except KeyboardInterrupt:
        return replace(mapping, late=True)


def _in_time(options: MapOptions, clock: Clock) -> MapOptions:
    """What is left of the time limit, if there is one."""
    return replace(options, time_limit=max(clock.left(), 0.01)) if options.time_limit else options


def _in_stages(
    dfg: DFG,
    fabric: Fabric,
    options: MapOptions,
    clock: Clock,
    progress: Callable[[str], None] | None,
) -> Mapping | None:
    """The best mapping with stages, if there is any: of the graph itself if the fabric has the ways."""
    best = None
    try:
        for better in _by_span(dfg, fabric, options, clock, progress):
            best = better
    except KeyboardInterrupt:
        if best is None:
            raise
        best = replace(best, late=True)
    return best


def _by_span(
    dfg: DFG,
    fabric: Fabric,
    options: MapOptions,
    clock: Clock,
    progress: Callable[[str], None] | None,
) -> Iterator[Mapping]:
    """Ever better mappings, with stages of ever fewer iterations."""
    best = None
    least = max(options.interval, minimum_interval(dfg, fabric).mii)
    for span in (*SPANS, SPARSE):
        if (longer := relayed(dfg, span)) is None or (best and _needless(span, best, least)):
            break
        if progress is not None:
            more = len(longer.nodes) - len(dfg.nodes)
            progress(f"with stages of {span} iterations, {more} more operations")
        try:
            mapping = map_kernel(longer, fabric, _in_time(options, clock), progress)
        except DoesNotFit:
            continue
        yield (best := unstaged(mapping, dfg) or mapping)
        options = replace(options, max_interval=mapping.interval - 1)


def _needless(span: int, best: Mapping, least: int) -> bool:
    """Whether such stages are of no use below what was reached: far above the bound no slots are scarce,
    but where words on their way take those of operations."""
    roomy = best.interval >= FUTILE * least and not only_outputs(best.fabric)[0]
    return best.late or best.interval <= least or (span == SPARSE and roomy)
