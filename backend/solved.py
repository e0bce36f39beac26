"""Questions to the exact engine within the search for a mapping: small graphs with which the heuristic fails.

Where a handful of tiles is nearly full, there are few mappings, and annealing meets none of them; a solver
finds one within tenths of a second, or that there is none. Schedules hardly longer than the shortest are
asked for first: they have the fewest variables, and mostly suffice. Budgets count
conflicts, so results repeat.
"""

from __future__ import annotations

from enum import Enum, auto

from arch.fabric import Fabric

from .bound import Bounds, minimum_interval
from .dfg import DFG
from .flat import Problem
from .mapping import DoesNotFit, Mapping
from .moves import only_outputs

LARGEST = 9000
"""The most operations times resources: beyond, clauses take longer to write than the heuristic takes."""

FULLER, FEW = 14_000, 50
"""The same where words leave tiles through one register alone, of graphs of up to FEW operations: with more
the solver is mostly at a loss, however few the tiles, and in its time there are a dozen attempts."""

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

CHEAP = 6000
"""Where words leave tiles through one register alone, annealing hardly ever fills an array; a solver does so
within a few thousand conflicts or not for long. Graphs of up to this size are asked about with more slack."""

OVERWRITTEN = ((1, "usual", 3000), (2, "usual", 3000), (1, "near", 7000))
OVERWRITTEN_CHEAP = ((2, "plain", 2500), (1, "usual", 6000), (2, "usual", 6500), (4, "usual", 7000))
"""These questions, the second of graphs up to CHEAP: cycles of slack, a `Way`, and conflicts. Which way meets
a mapping soon is luck."""

WIDEST_LAST, LAST = 2000, 20_000
"""The last question of a search, with that slack: so many conflicts, of graphs of up to that size. Where none
of the narrower schedules will do, one of these does, at times; the solver needs one to three seconds."""

WIDER = 2500
"""Conflicts for WIDE and one interval."""

WIDEST = 40_000
"""That is asked only of graphs of up to so many operations times registers times cycles of slack: beyond,
clauses take longer to write than all other questions together."""

FAR, FARTHER = 1.7, 500
"""Where annealing leaves more conflicts than FAR times the operations, there are FARTHER of the solver's."""


LARGEST_TIGHT, TIGHT = 40_000, 0.25
"""Graphs up to this size are asked about, too, where a recurrence binds and operations have few cycles to
choose from: this part of an interval, in the mean, in the shortest schedules."""

TIGHT_SLACK, TIGHT_CONFLICTS = (2, 4), 8000
"""These cycles of slack, and so many conflicts."""


class Refuted(Enum):
    """There is no mapping in schedules of up to WIDE cycles and an interval more than the shortest."""

    WITHIN_HORIZON = auto()


def small(problem: Problem) -> bool:
    """Whether a graph is one for the solver, which does not know planes of bits."""
    if problem.fabric.planes or (problem.nodes > FEW and only_outputs(problem.fabric)[0]):
        return False
    return _size(problem) <= LARGEST


def tight(problem: Problem, bounds: Bounds, interval: int) -> bool:
    """Whether a larger graph is one for the solver, as a recurrence leaves little choice of times."""
    if problem.fabric.planes or not 1 < interval == bounds.recurrence or _size(problem) > LARGEST_TIGHT:
        return False
    # Imported here: what it imports loads a solver, which few kernels need.
    from .exact_domain import whole_domain
    from .exact_model import ground

    domain = whole_domain(problem, ground(problem.fabric), interval, 0)
    if domain is None:
        return False
    choice = sum(domain.late) - sum(domain.early)
    return choice <= TIGHT * interval * problem.nodes


def overwritten(problem: Problem) -> bool:
    """Whether a graph is one for the solver above all: words leave tiles through one register alone."""
    fits = not problem.fabric.planes and problem.nodes <= FEW and _size(problem) <= FULLER
    return (fits or small(problem)) and bool(only_outputs(problem.fabric)[0])


def fills(dfg: DFG, fabric: Fabric) -> bool:
    """Whether operations alone fill an array whose words leave tiles through one register alone.

    Such arrays have little room for words on their way, so fewer operations are most of what helps.
    """
    if not only_outputs(fabric)[0]:
        return False
    try:
        bounds = minimum_interval(dfg, fabric)
    except DoesNotFit:
        return False
    return bounds.resource >= bounds.recurrence


def _size(problem: Problem) -> int:
    return problem.nodes * problem.terrain.resources * (LOOPING if problem.fabric.loops else 1)


def solved(
    problem: Problem, interval: int, effort: float, seconds: float, most: int = MOST
) -> Mapping | Refuted | None:
    """A mapping of a small graph at an interval, or that there is none; None if that is not known soon."""
    # Imported here: loading a solver takes time, and few kernels need one.
    from .exact import Status, prove

    conflicts = min(max(CONFLICTS // _size(problem), LEAST), most)
    for slack in (*NARROW, WIDE + interval):
        proof = prove(problem.dfg, problem.fabric, interval, slack, round(effort * conflicts), seconds)
        if proof.mapping:
            return proof.mapping
    return Refuted.WITHIN_HORIZON if proof.status is Status.INFEASIBLE else None


def timed(problem: Problem, interval: int, effort: float, seconds: float) -> Mapping | None:
    """A mapping of a `tight` graph, if that is found soon."""
    from .exact import prove

    conflicts = round(effort * TIGHT_CONFLICTS)
    for slack in TIGHT_SLACK:
        proof = prove(problem.dfg, problem.fabric, interval, slack, conflicts, seconds)
        if proof.mapping:
            return proof.mapping
    return None


def decided(
    problem: Problem, interval: int, effort: float, seconds: float, left: int
) -> Mapping | Refuted | None:
    """The same where words leave tiles through one register alone; `left`: conflicts that annealing left.

    Narrow schedules first. If there are none of the narrowest, mostly there are none at all, which is as
    quick to see. What is refuted is not asked again with less slack.
    """
    from .exact import Proof, Status, Way, prove

    cheap, near = _size(problem) <= CHEAP, left <= FAR * problem.nodes

    def ask(slack: int, way: str, conflicts: int) -> Proof:
        conflicts = round(effort * (conflicts if near else FARTHER))
        return prove(problem.dfg, problem.fabric, interval, slack, conflicts, seconds, Way(way))

    wide = problem.nodes * problem.terrain.registers * (WIDE + interval) <= WIDEST
    refuted = 0
    for slack, way, budget in OVERWRITTEN_CHEAP if cheap else OVERWRITTEN:
        if slack <= refuted:
            continue
        proof = ask(slack, way, budget)
        if proof.status is Status.INFEASIBLE:
            first, refuted = not refuted, slack
            if wide and first:
                proof = ask(WIDE + interval, "usual", FARTHER)
                if proof.status is Status.INFEASIBLE:
                    return Refuted.WITHIN_HORIZON
        if proof.mapping:
            return proof.mapping
    if cheap and wide:
        return ask(WIDE + interval, "plain", WIDER).mapping or ask(WIDE + interval, "near", WIDER).mapping
    return None


def last(problem: Problem, interval: int, effort: float, seconds: float) -> Mapping | None:
    """The same with much slack, and patience, of the smallest graphs: the last hope of a search."""
    from .exact import prove

    if _size(problem) > WIDEST_LAST:
        return None
    return prove(
        problem.dfg, problem.fabric, interval, WIDE + interval, round(effort * LAST), seconds
    ).mapping
