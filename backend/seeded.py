"""Attempts that begin with the places that a solver has found for a core.

Operations on recurrences that leave no slack have a chain of neighbours for their only place, and annealing,
which moves one or two of them at a time, ends with a link of it out of reach: attempts leave one or two
conflicts again and again. Whether such a core (core.py) has places is asked of a solver in any case, before
the first attempt is mended. So all that is left to do is to place the other operations around these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .attempt import HUGE, SHORT, Attempts, Tried
from .bound import delays
from .core import spots
from .core_places import Spots
from .cycles import Delay, longest_paths
from .flat import Problem
from .mapping import Mapping, Schedule
from .place import HOT, WARM, place
from .route import route

LEAST, PART = 8, 0.2
"""Cores are of use that have at least so many operations, and this part of a graph's."""

ATTEMPTS, CLOSE = 6, 3
"""So many attempts at effort 1, which differ in where all other operations are, while none leaves more
conflicts than CLOSE: it is the core that they have in common."""

FIRST_SEEDED = 2000
"""Numbers from which on attempts are of this kind, so that none shares its seed with another."""

LOST = 1 << 30
"""What attempts come to that are not made."""


def seeded(attempts: Attempts, interval: int, pulse: Callable[[int], None]) -> Mapping | int:
    """A mapping that one of the attempts finds, or the fewest conflicts left."""
    problem, fewest = attempts.problem, LOST
    core = spots(problem, interval)
    if len(core.unit) < max(LEAST, PART * problem.nodes) or problem.nodes > HUGE:
        return fewest
    start = _starts(problem, core, interval)
    if start is None:
        return fewest
    schedule = Schedule(problem.dfg, interval, tuple(start))
    # Memories and ports have homes of their own: what is to be at one is not held to the core's.
    free = {n: u for n, u in core.unit.items() if problem.group[n] < 0}
    pinned = Problem(problem.dfg, problem.fabric, free)
    for number in range(max(1, round(ATTEMPTS * attempts.options.effort))):
        tried = _tried(attempts, pinned, schedule, number, pulse)
        if isinstance(tried.result, Mapping):
            return tried.result
        fewest = min(fewest, tried.count)
        if tried.count > CLOSE:
            break
    return fewest


def _tried(
    attempts: Attempts, pinned: Problem, schedule: Schedule, number: int, pulse: Callable[[int], None]
) -> Tried:
    """Place all but the core, route, and mend: there all may move again."""
    problem, options, interval = attempts.problem, attempts.options, schedule.interval
    seed = options.seed * 1000003 + interval * 101 + FIRST_SEEDED + number
    heat = HOT if interval <= SHORT else WARM
    placement = place(pinned, schedule, seed, options.effort, heat, number % 2 == 1, lambda: pulse(-1))
    result = route(problem, placement, seed, options.effort, pulse)
    if isinstance(result, Mapping):
        return Tried(result, placement.schedule, 0)
    return attempts.mended(Tried(result.count, placement.schedule, 0, result), pulse)


def _starts(problem: Problem, core: Spots, interval: int) -> Sequence[int] | None:
    """The earliest starts of all with the core's as they are; None if others have no time then."""
    first = min(core.start)
    held = []
    for n, then in core.start.items():
        apart = then - core.start[first]
        held += [Delay(first, n, 0, apart), Delay(n, first, 0, -apart)]
    start, cycle = longest_paths(problem.nodes, [*delays(problem), *held], interval)
    return None if cycle else start
