"""Attempts that end soon, before those that take their time.

Most graphs are mapped with a third of the placing and hardly any negotiation: one attempt shows whether that
is so, and where it fails it has cost a quarter of a usual one. Of attempts at a short interval, one in ten or
twenty succeeds, and most of these after a few iterations of routing; the others turn in circles for hundreds.
So several hasty ones meet a mapping of a small graph in less time than one usual attempt takes to fail.
"""

from __future__ import annotations

from collections.abc import Callable

from . import recipe
from .attempt import BRISK, SHORT, Attempts
from .mapping import Mapping

TOGETHER, TURNING = 320, 640
"""At short intervals graphs of up to BRISK nodes get so many such attempts that they have TOGETHER nodes;
those that are `turning` TURNING, as usual attempts are of less use there. All others get one."""

SOLVABLE = 8
"""No more come before the solver is asked."""

DOUBTFUL = 8
"""After so many it is asked whether there can be a mapping at all, for which a solver has to be loaded."""

ROUND, CLOSE = 8, 6
"""They end after the n-th round of so many if the fewest conflicts are more than an n-th of CLOSE."""


def count(attempts: Attempts, interval: int, solvable: bool, glancing: bool) -> int:
    """How many hasty attempts there are at an interval; fewer at a glance, or if a solver comes next."""
    nodes = attempts.problem.nodes
    if interval > SHORT or nodes > BRISK:
        return 1
    several = (TURNING if attempts.turning(interval) and not glancing else TOGETHER) // max(1, nodes)
    return min(several, SOLVABLE) if solvable or glancing else several


def hasty(
    attempts: Attempts,
    interval: int,
    most: int,
    hopeless: int,
    refuted: Callable[[], bool],
    pulse: Callable[[int], None],
) -> Mapping | int:
    """The mapping of one of `most` hasty attempts, if one gives any before it is clear that they leave many
    conflicts, at least more than `hopeless`; else the fewest conflicts."""
    fewest, nodes = 1 << 30, attempts.problem.nodes
    if not nodes:
        return fewest
    for number in range(most):
        if number == DOUBTFUL and refuted():
            return fewest
        result = attempts.make(interval, recipe.hasty(nodes, number), pulse).result
        if isinstance(result, Mapping):
            return result
        fewest = min(fewest, result)
        if fewest > hopeless or fewest * ((number + 1) // ROUND) > CLOSE:
            return fewest
    return fewest
