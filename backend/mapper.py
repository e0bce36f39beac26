"""Maps a dataflow graph onto a fabric: the smallest interval for which place and route succeed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from arch.fabric import Fabric

from .bound import Bounds, minimum_interval
from .check import check_mapping
from .clock import Clock
from .dfg import DFG
from .flat import Problem
from .mapping import EFFORTS, DoesNotFit, MapOptions, Mapping, Shortage
from .nested import fabric_of, kept_resources, lifted
from .search import Search

LEAST = 0.001
"""Seconds that are left at least, as 0 is for no limit."""


def map_kernel(
    dfg: DFG, fabric: Fabric, options: MapOptions, progress: Callable[[str], None] | None = None
) -> Mapping:
    """A checked mapping, or DoesNotFit. The options' seed fixes the result, unless time runs out.

    Who interrupts (KeyboardInterrupt) gets the best mapping so far, if there is one.
    """
    clock = Clock(options.time_limit)
    bounds = minimum_interval(dfg, fabric)
    limit = min(options.interval or options.max_interval or fabric.max_interval, fabric.max_interval)
    if max(bounds.mii, options.interval) > limit:
        raise _too_long(bounds, max(bounds.mii, options.interval), limit)
    problem, mapping = Problem(dfg, fabric), None
    for effort in _efforts(options):
        wanted = replace(options, effort=effort)
        search = Search(problem, bounds, limit, wanted, clock, progress or (lambda _: None), mapping)
        mapping, bounds = search.smallest(), search.bounds
        if mapping is not None:
            limit = mapping.interval - 1
        if search.late or limit < max(bounds.mii, options.interval):
            break
    if mapping is None:
        raise search.failure()
    if mapping.interval > max(search.bounds.mii, options.interval) and not search.late:
        mapping = _with_fewer_registers(mapping, options, clock, progress) or mapping
    check_mapping(mapping)
    return mapping


def _efforts(options: MapOptions) -> list[float]:
    """The efforts to search with, one after the other.

    Where time may run out, or patience, a search with less effort comes first: it finds most of what there is
    to find in a fraction of the time.
    """
    if not options.time_limit and options.effort <= EFFORTS["normal"]:
        return [options.effort]
    return [effort for effort in EFFORTS.values() if effort < options.effort] + [options.effort]


def _with_fewer_registers(
    found: Mapping, options: MapOptions, clock: Clock, progress: Callable[[str], None] | None
) -> Mapping | None:
    """A better mapping on the array with fewer registers, if the search for that meets one."""
    fabric = found.fabric
    kept = kept_resources(fabric)
    if kept is None:
        return None
    left = max(clock.left(), LEAST) if options.time_limit else 0.0
    wanted = replace(options, max_interval=found.interval - 1, time_limit=left)
    with suppress(DoesNotFit, KeyboardInterrupt):
        return lifted(map_kernel(found.dfg, fabric_of(fabric, kept), wanted, progress), fabric, kept)
    return None


def _too_long(bounds: Bounds, needed: int, limit: int) -> DoesNotFit:
    if needed > bounds.mii:
        message = f"an initiation interval of {needed} is asked for; the fabric's limit is {limit}"
    else:
        message = (
            f"the initiation interval must be at least {needed} ({bounds.binding}); the limit is {limit}"
        )
    return DoesNotFit(message, Shortage.INTERVAL, needed, limit, bounds.cycle)
