"""Attempts that end soon, before those that take their time.

Of attempts at a short interval, one in ten or twenty succeeds, and most of these after a few iterations of
routing; the others turn in circles for hundreds. So several hasty ones meet a mapping in less time than one
usual attempt takes to fail. At longer intervals one shows whether a graph is easy.
"""

from __future__ import annotations

from collections.abc import Callable

from .attempt import BRISK, HASTY, Attempts
from .mapping import Mapping

TOGETHER = 320
"""Graphs of up to BRISK nodes get one such attempt; if `several`, so many that they have TOGETHER nodes."""

DOUBTFUL = 3
"""After so many it is asked whether there can be a mapping at all."""


def hasty(
    attempts: Attempts,
    interval: int,
    several: bool,
    hopeless: int,
    refuted: Callable[[], bool],
    pulse: Callable[[int], None],
) -> Mapping | None:
    """The mapping of a hasty attempt, if one gives any before one leaves more than `hopeless` conflicts."""
    nodes = attempts.problem.nodes
    if not 0 < nodes <= BRISK:
        return None
    for number in range(TOGETHER // nodes if several else 1):
        if number == DOUBTFUL and refuted():
            return None
        result = attempts.make(interval, HASTY + number, pulse).result
        if isinstance(result, Mapping):
            return result
        if result > hopeless:
            return None
    return None
