"""A mapping soon, at a long interval and with little effort: what there is if time runs out later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .attempt import Attempts
from .flat import Problem
from .mapping import EFFORTS, MapOptions, Mapping
from .recipe import usual

ROOM = 2
"""So many times the shortest interval that may be possible, and so many cycles more, leave room for most
graphs; those that they leave none get as many times that, again and again."""


def soon_mapped(
    problem: Problem, least: int, limit: int, options: MapOptions, pulse: Callable[[int], None]
) -> Mapping | None:
    """A mapping at an interval above `least` and up to `limit` cycles, if few attempts find it.

    `pulse` is told as by `Attempts.make`, and may raise what ends the work.
    """
    attempts = Attempts(problem, replace(options, effort=min(options.effort, EFFORTS["low"])))
    interval = least
    while interval < limit:
        interval = min(ROOM * interval + ROOM, limit)
        result = attempts.mended(attempts.make(interval, usual(problem.nodes, 0), pulse), pulse).result
        if isinstance(result, Mapping):
            return result
    return None
