"""Maps a dataflow graph onto a fabric: the smallest interval for which place and route succeed."""

from __future__ import annotations

from collections.abc import Callable

from arch.fabric import Fabric

from .bound import Bounds, minimum_interval
from .check import check_mapping
from .dfg import DFG
from .flat import Problem
from .mapping import DoesNotFit, MapOptions, Mapping, Schedule, Shortage
from .place import place
from .route import route
from .schedule import earliest_starts, modulo_schedule

ATTEMPTS = 3
"""Attempts at an interval before the next one, at effort 1."""


MORE, NEARLY = 2, 3
"""More attempts, at effort 1, when an attempt has left no more than so many conflicts."""

PATIENT_STEPS = 4
"""So many intervals above the bound are tried one by one; then steps grow."""

HOPELESS = 8
"""With so many conflicts left, and one more for every ten operations, other seeds do not help either."""


def map_kernel(
    dfg: DFG, fabric: Fabric, options: MapOptions, progress: Callable[[str], None] | None = None
) -> Mapping:
    """A checked mapping, or DoesNotFit. The options' seed fixes the result."""
    bounds = minimum_interval(dfg, fabric)
    problem = Problem(dfg, fabric)
    limit = min(options.max_interval or fabric.max_interval, fabric.max_interval)
    if bounds.mii > limit:
        raise _too_long(bounds, limit)
    mapping = _smallest(problem, bounds.mii, limit, options, progress or (lambda _: None))
    if mapping is not None:
        check_mapping(mapping)
        return mapping
    raise DoesNotFit(
        f"{dfg.name}: no routes found on {fabric.name} at any initiation interval up to {limit}"
        f" (the bound is {bounds.mii}: {bounds.binding})",
        Shortage.ROUTES,
        bounds.mii,
        limit,
        bounds.cycle,
    )


def _smallest(
    problem: Problem, bound: int, limit: int, options: MapOptions, report: Callable[[str], None]
) -> Mapping | None:
    """A mapping at the smallest interval that succeeds: in growing steps up, then one by one back."""
    failed, interval = bound - 1, bound
    mapping = None
    while mapping is None and interval <= limit:
        mapping = _map_at(problem, interval, options, report)
        if mapping is None:
            step = 1 if interval < bound + PATIENT_STEPS else 1 + interval // 8
            failed, interval = interval, min(interval + step, max(limit, interval + 1))
    while mapping is not None and mapping.interval - 1 > failed:
        better = _map_at(problem, mapping.interval - 1, options, report)
        if better is None:
            break
        mapping = better
    return mapping


def _too_long(bounds: Bounds, limit: int) -> DoesNotFit:
    return DoesNotFit(
        f"the initiation interval must be at least {bounds.mii} ({bounds.binding}); the limit is {limit}",
        Shortage.INTERVAL,
        bounds.mii,
        limit,
        bounds.cycle,
    )


def _map_at(
    problem: Problem, interval: int, options: MapOptions, report: Callable[[str], None]
) -> Mapping | None:
    """Try one interval with several seeds, from schedules of different looseness."""
    for attempt in range(max(1, round((ATTEMPTS + MORE) * options.effort))):
        start = modulo_schedule(problem, interval, stretch=1 + attempt % 2)
        schedule = Schedule(problem.dfg, interval, tuple(start or earliest_starts(problem, interval)))
        seed = options.seed * 1000003 + interval * 101 + attempt
        placement = place(problem, schedule, seed, options.effort * (1 + attempt))
        result = route(problem, placement, seed, options.effort)
        if isinstance(result, Mapping):
            report(f"II {interval}, attempt {attempt + 1}: mapped")
            return result
        report(f"II {interval}, attempt {attempt + 1}: {result} conflicts remain")
        enough = attempt + 1 >= round(ATTEMPTS * options.effort) and result > NEARLY
        if enough or result > HOPELESS + problem.nodes // 10:
            break
    return None
