"""Questions to the exact engine within the search for a mapping: small graphs with which the heuristic fails.

Where a handful of tiles is nearly full, there are few mappings, and annealing meets none of them; a solver
finds one within tenths of a second, or that there is none. Schedules hardly longer than the shortest are
asked for first: they have the fewest variables, and mostly suffice. Budgets count
conflicts, so results repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
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
OVERWRITTEN_CHEAP = (
    (2, "plain", 2500),
    (1, "usual", 2500),
    (1, "swift", 3000),
    (2, "near", 2600),
    (2, "swift", 6000),
    (4, "usual", 5000),
)
"""These questions, the second of graphs up to CHEAP: cycles of slack, a `Way`, and conflicts. Which way meets
a mapping soon is luck."""

EARLY = (2, "swift, near", 1500)
"""The first question, before any but hasty attempts. Of graphs that fill their tiles it mostly meets a
mapping, in a tenth of the time that an attempt takes to fail."""

WIDEST_LAST, LAST = 2000, 8000
"""The last question of a search, with that slack: so many conflicts, of graphs of up to that size. Where none
of the narrower schedules will do, one of these does, at times; the solver needs a second."""

WIDER = 4500
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
    problem: Problem, interval: int, effort: float, seconds: float, brief: int = 0
) -> Mapping | Refuted | None:
    """A mapping of a small graph at an interval, or that there is none; None if that is not known soon.

    With `brief` conflicts, if there are to be few: twice as many where mappings mostly are, at once.
    """
    # Imported here: loading a solver takes time, and few kernels need one.
    from .exact import Status, prove

    conflicts = min(max(CONFLICTS // _size(problem), LEAST), MOST)
    questions = [(slack, conflicts) for slack in (*NARROW, WIDE + interval)]
    if brief:
        questions = [(NARROW[-1], min(2 * brief, conflicts)), (WIDE + interval, min(brief, conflicts))]
    for slack, budget in questions:
        proof = prove(problem.dfg, problem.fabric, interval, slack, round(effort * budget), seconds)
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


def early(problem: Problem, interval: int, effort: float, seconds: float) -> Mapping | Refuted | int:
    """The same, soon, where words leave tiles through one register alone; else the slack that is in vain."""
    asking = _Asking(problem, interval, effort, seconds)
    return asking.ask(*EARLY) or asking.refuted


def decided(
    problem: Problem, interval: int, effort: float, seconds: float, left: int, refuted: int
) -> Mapping | Refuted | None:
    """The same, with patience. `left`: conflicts that annealing left; `refuted`: a slack that is in vain.

    Narrow schedules first. If there are none of the narrowest, mostly there are none at all, which is as
    quick to see. What is refuted is not asked again with less slack.
    """
    cheap, near = _size(problem) <= CHEAP, left <= FAR * problem.nodes
    asking = _Asking(problem, interval, effort, seconds, refuted)
    for slack, way, budget in OVERWRITTEN_CHEAP if cheap else OVERWRITTEN:
        if slack > asking.refuted and (found := asking.ask(slack, way, budget if near else FARTHER)):
            return found
    if cheap and asking.wide:
        return asking.ask(WIDE + interval, "swift, near", WIDER if near else FARTHER)
    return None


@dataclass(slots=True)
class _Asking:
    """Questions about a graph at an interval; `refuted` is the most slack for which there is no mapping."""

    problem: Problem
    interval: int
    effort: float
    seconds: float
    refuted: int = 0

    @property
    def wide(self) -> bool:
        """Whether schedules may be asked for that are much longer than the shortest."""
        problem = self.problem
        return problem.nodes * problem.terrain.registers * (WIDE + self.interval) <= WIDEST

    def ask(self, slack: int, way: str, conflicts: int) -> Mapping | Refuted | None:
        """One question; if it is the first with the answer that there is none, with WIDE slack, too."""
        # Imported here: loading a solver takes time, and few kernels need one.
        from .exact import Status, Way, prove

        problem, budget = self.problem, round(self.effort * conflicts)
        proof = prove(problem.dfg, problem.fabric, self.interval, slack, budget, self.seconds, Way(way))
        if proof.status is not Status.INFEASIBLE:
            return proof.mapping
        if slack >= WIDE + self.interval:
            return Refuted.WITHIN_HORIZON
        first, self.refuted = not self.refuted, slack
        return self.ask(WIDE + self.interval, "swift, near", FARTHER) if first and self.wide else None


def last(problem: Problem, interval: int, effort: float, seconds: float) -> Mapping | None:
    """The same with much slack, and patience, of the smallest graphs: the last hope of a search."""
    if _size(problem) > WIDEST_LAST:
        return None
    found = _Asking(problem, interval, effort, seconds).ask(WIDE + interval, "swift", LAST)
    return found if isinstance(found, Mapping) else None
