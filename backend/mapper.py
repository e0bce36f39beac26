"""Maps a dataflow graph onto a fabric: the smallest interval for which place and route succeed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from arch.fabric import Fabric

from .bound import Bounds, minimum_interval
from .check import check_mapping
from .clock import Clock
from .dfg import DFG
from .flat import Problem
from .mapping import EFFORTS, DoesNotFit, MapOptions, Mapping, Shortage
from .moves import only_outputs
from .nested import PLENTY, Part, everything, lifted, narrower, sparer
from .recipe import MANY
from .search import Search

IN_VAIN = 7
"""After so many smaller arrays that yield nothing, no more are asked: attempts that fail take their time.
Where words leave tiles through one register alone, each counts for two."""


def map_kernel(
    dfg: DFG, fabric: Fabric, options: MapOptions, progress: Callable[[str], None] | None = None
) -> Mapping:
    """A checked mapping, or DoesNotFit. The options' seed fixes the result, unless time runs out.

    Who interrupts (KeyboardInterrupt) gets the best mapping so far, if there is one.
    """
    clock, report = Clock(options.time_limit), progress or (lambda _: None)
    mapping, search = _searched(dfg, fabric, options, clock, report)
    if mapping is None:
        raise search.failure()
    below, late = mapping.interval - 1, search.late
    if not late and below >= max(search.bounds.mii, options.interval) and not search.refuted(below):
        try:
            for better in _on_parts(mapping, options, clock, report):
                mapping = better
        except KeyboardInterrupt:
            late = True
    check_mapping(mapping)
    return replace(mapping, late=late)


def _searched(
    dfg: DFG, fabric: Fabric, options: MapOptions, clock: Clock, report: Callable[[str], None]
) -> tuple[Mapping | None, Search]:
    """The best mapping, if there is any, and the last search."""
    bounds = minimum_interval(dfg, fabric)
    limit = min(options.interval or options.max_interval or fabric.max_interval, fabric.max_interval)
    if max(bounds.mii, options.interval) > limit:
        raise _too_long(bounds, max(bounds.mii, options.interval), limit)
    problem, mapping = Problem(dfg, fabric), None
    for effort in _efforts(options):
        wanted = replace(options, effort=effort)
        search = Search(problem, bounds, limit, wanted, clock, report, mapping)
        mapping, bounds = search.smallest(), search.bounds
        if mapping is not None:
            limit = mapping.interval - 1
        if search.late or limit < max(bounds.mii, options.interval):
            break
    return mapping, search


def _on_parts(
    mapping: Mapping, options: MapOptions, clock: Clock, report: Callable[[str], None]
) -> Iterator[Mapping]:
    """Ever better mappings that parts of the array yield, each an interval below the last.

    Parts with plenty of registers are searched; that with a register less, and those with fewer tiles, looked
    at, for a fraction of the time: if one of them yields a mapping, it is searched for better ones. Parts of
    which the bound says that they cannot are left.
    """
    dfg, whole, below = mapping.dfg, mapping.fabric, mapping.interval - 1
    vain = 0
    for part, glances in _parts(whole, len(dfg.nodes)):
        while below and vain < IN_VAIN:
            wanted = replace(options, interval=below)
            try:
                look = _glanced if glances else _searched
                found, search = look(dfg, part.fabric, wanted, clock, report)
            except DoesNotFit:
                break
            if found is not None:
                report(f"II {below}: mapped on {part.what}")
                yield lifted(found, whole, part)
                below, vain = below - 1, 0
            elif glances:
                vain += 1 + search.dense
            if search.late:
                return
            if found is None:
                break
            glances = False


def _parts(whole: Fabric, nodes: int) -> Iterator[tuple[Part, bool]]:
    """The parts of an array to ask, and whether by a glance."""
    part = everything(whole)
    while (spare := sparer(part)) is not None:
        part = spare
        yield part, False
    if nodes > MANY:
        return
    # Where words leave tiles through one register alone, a glance takes the solver as long as a search does.
    scarce = sparer(part, PLENTY - 1) is None
    if (scarce or not only_outputs(whole)[0]) and (spare := sparer(part, 1)) is not None:
        yield spare, True
    yield from ((part, True) for part in narrower(everything(whole)))


def _glanced(
    dfg: DFG, fabric: Fabric, options: MapOptions, clock: Clock, report: Callable[[str], None]
) -> tuple[Mapping | None, Search]:
    """A mapping at the interval that is asked for, if few attempts find it."""
    bounds = minimum_interval(dfg, fabric)
    if bounds.mii > options.interval:
        raise _too_long(bounds, bounds.mii, options.interval)
    search = Search(Problem(dfg, fabric), bounds, options.interval, options, clock, report)
    return search.glance(), search


def _efforts(options: MapOptions) -> list[float]:
    """The efforts to search with, one after the other.

    Where time may run out, or patience, a search with less effort comes first: it finds most of what there is
    to find in a fraction of the time.
    """
    if not options.time_limit and options.effort <= EFFORTS["normal"]:
        return [options.effort]
    return [effort for effort in EFFORTS.values() if effort < options.effort] + [options.effort]


def _too_long(bounds: Bounds, needed: int, limit: int) -> DoesNotFit:
    if needed > bounds.mii:
        message = f"an initiation interval of {needed} is asked for; the fabric's limit is {limit}"
    else:
        message = (
            f"the initiation interval must be at least {needed} ({bounds.binding}); the limit is {limit}"
        )
    return DoesNotFit(message, Shortage.INTERVAL, needed, limit, bounds.cycle)
