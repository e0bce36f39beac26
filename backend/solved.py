"""Questions to the exact engine within the search for a mapping: small graphs with which the heuristic fails.

Where a handful of tiles is nearly full, there are few mappings, and annealing meets none of them; a solver
finds one within tenths of a second, or that there is none. Schedules hardly longer than the shortest are
asked for first: they have the fewest variables, and mostly suffice. Budgets count
conflicts, so results repeat.
"""

from __future__ import annotations

from enum import Enum, auto

from .flat import Problem
from .mapping import Mapping

LARGEST = 9000
"""The most operations times resources: beyond, clauses take longer to write than the heuristic takes."""

LOOPING = 6
"""Where wires lead back to each other, a resource counts for so many: it has variables for each hop."""

NARROW = (1, 2)
"""Cycles of slack of the first schedules that are asked for."""

WIDE = 4
"""So many cycles, and one interval, are the slack within which an interval is given up."""

CONFLICTS, LEAST, MOST = 25_000_000, 1500, 16_000
"""Conflicts of a question, at effort 1: the fewer the larger the graph, but from LEAST to MOST."""

BRIEF = 750
"""Conflicts of a question while there is no mapping; the n-th gets n + 1 times as many."""

QUESTIONS = 6
"""Questions to the solver in one search; the last is kept for an interval below one that was reached. Where
values need too many registers, the first is the only one."""


class Refuted(Enum):
    """There is no mapping in schedules of up to WIDE cycles and an interval more than the shortest."""

    WITHIN_HORIZON = auto()


def small(problem: Problem) -> bool:
    """Whether a graph is one for the solver, which does not know planes of bits."""
    return not problem.fabric.planes and _size(problem) <= LARGEST


def _size(problem: Problem) -> int:
    return problem.nodes * problem.terrain.resources * (LOOPING if problem.fabric.loops else 1)


def solved(
    problem: Problem, interval: int, effort: float, seconds: float, most: int = MOST
) -> Mapping | Refuted | None:
    """A mapping of a small graph at an interval, or that there is none; None if that is not known soon."""
    if not small(problem):
        return None
    # Imported here: loading a solver takes time, and few kernels need one.
    from .exact import Status, prove

    conflicts = min(max(CONFLICTS // _size(problem), LEAST), most)
    for slack in (*NARROW, WIDE + interval):
        proof = prove(problem.dfg, problem.fabric, interval, slack, round(effort * conflicts), seconds)
        if proof.mapping:
            return proof.mapping
    return Refuted.WITHIN_HORIZON if proof.status is Status.INFEASIBLE else None
