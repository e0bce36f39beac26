"""Questions to the exact engine within the search for a mapping: small graphs with which the heuristic fails.

Where a handful of tiles is nearly full, there are few mappings, and annealing meets none of them; a solver
finds one within tenths of a second, or that there is none. Schedules hardly longer than the shortest are
asked for first: they have the fewest variables, and mostly suffice. Budgets count
conflicts, so results repeat.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from arch.fabric import Fabric

from .attempt import SHORT
from .bound import Bounds
from .flat import Problem
from .mapping import Mapping
from .moves import only_outputs
from .settle import settles

if TYPE_CHECKING:
    from .exact import Question

LARGEST = 9000
"""The most operations times resources: beyond, clauses take longer to write than the heuristic takes."""

FULLER, FEW = 25_000, 50
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

EARLY = (2, "swift, near", 1500)
"""Where words leave tiles through one register alone, annealing hardly ever fills an array; a solver does so
within a few thousand conflicts or not for long. This is the first question, before any but hasty attempts:
cycles of slack, a `Way`, and conflicts."""

PATIENT = (
    (1, "near", 2000),
    (1, "swift, near", 2000),
    (2, "swift, near", 2500),
    (2, "swift", 7000),
    (2, "swift, strict", 1000),
    (1, "swift, strict", 14_500),
    (1, "near", 5000),
)
"""These come after the first attempt. Who is asked again goes on with what has been learnt; which way meets a
mapping soon is luck. The strictest way leaves so little choice that a long question is worth it: one that
is as long in another way meets hardly any."""

SETTLING = ((2, "swift, near", 2500), (2, "swift", 7000))
SETTLING_SHORT = (
    (1, "swift, near", 2000),
    (2, "swift", 7000),
    (1, "swift, strict", 14_500),
)
"""The same of graphs that settle (settle.py), which have had most of the patience there; at intervals up to
SHORT, where the next one is far slower."""

FEWER = 2
"""So many of them if annealing has left more than NEAR conflicts for an operation, or the graph is larger
than LARGEST; with more than FAR none."""

NEAR, FAR = 1.1, 1.3

WIDEST_LAST, LAST = 4200, 14_000
"""The last question of a search, with that slack: so many conflicts, of graphs of up to that size. Where none
of the narrower schedules will do, one of these does, at times; the solver needs a second."""

LOOPED, LOOPED_LAST = 24, ((1, "usual", 2500),)
TINY, TINY_LAST = 16, ((2, "swift", 6500), (1, "swift", 6000))
"""The last questions where wires lead back to each other, at intervals up to SHORT: about graphs of up to so
many operations, whose clauses are written soon. More about the smallest: one cycle less is worth seconds."""

WIDEST = 40_000
"""That is asked only of graphs of up to so many operations times registers times cycles of slack: beyond,
clauses take longer to write than all other questions together."""

FARTHER = 500
"""Conflicts for WIDE and one interval."""

WEIGHTY = 2
"""If there are no mappings with so much slack, mostly there are none at all, which is as quick to see."""

LARGEST_TIGHT, TIGHT = 40_000, 0.25
"""Graphs up to this size are asked about, too, where a recurrence binds and operations have few cycles to
choose from: this part of an interval, in the mean, in the shortest schedules."""

TIGHT_QUESTIONS = ((2, "usual", 8000), (4, "usual", 8000))
OVERWRITTEN_TIGHT = ((2, "swift, near", 9000), (1, "near", 8000))
"""These questions, as those of PATIENT; the second where words leave tiles through one register alone."""


class Refuted(Enum):
    """There is no mapping in schedules of up to WIDE cycles and an interval more than the shortest; where
    words leave tiles through one register alone, none in which words that wait stay in their tiles."""

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


def spare_with_words(fabric: Fabric) -> bool:
    """Whether words leave tiles through one register alone: such arrays have little room for words on their
    way, so fewer operations are most of what helps."""
    return bool(only_outputs(fabric)[0])


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
    questions = OVERWRITTEN_TIGHT if only_outputs(problem.fabric)[0] else TIGHT_QUESTIONS
    return _first(problem, interval, effort, seconds, questions)


def last(problem: Problem, interval: int, effort: float, seconds: float) -> Mapping | None:
    """A mapping of a small graph, about which other questions were narrower, if any: a last hope."""
    if overwritten(problem):
        return Asking(problem, interval, effort).last(seconds)
    if not problem.fabric.loops or problem.fabric.planes or problem.nodes > LOOPED or interval > SHORT:
        return None
    questions = (*LOOPED_LAST, *TINY_LAST) if problem.nodes <= TINY else LOOPED_LAST
    return _first(problem, interval, effort, seconds, questions)


def _first(
    problem: Problem,
    interval: int,
    effort: float,
    seconds: float,
    questions: Iterable[tuple[int, str, int]],
) -> Mapping | None:
    """The first mapping that an answer gives, where there is one within `seconds`."""
    # Imported here: loading a solver takes time, and few kernels need one.
    from .exact import Way, prove

    until = time.monotonic() + seconds
    for slack, way, conflicts in questions:
        budget, left = round(effort * conflicts), until - time.monotonic()
        proof = prove(problem.dfg, problem.fabric, interval, slack, budget, left, Way(way))
        if proof.mapping or left <= 0:
            return proof.mapping
    return None


@dataclass(slots=True)
class Asking:
    """Questions about a graph at an interval, where words leave tiles through one register alone.

    `refuted` is the most slack for which there is no mapping, `strictly` that for which there is none of the
    strictest kind.
    """

    problem: Problem
    interval: int
    effort: float
    refuted: int = 0
    strictly: int = 0
    _open: dict[tuple[int, str], Question] = field(default_factory=dict)

    def early(self, seconds: float) -> Mapping | Refuted | None:
        """A mapping, or that there is none; None if that is not known soon."""
        return self._ask(*EARLY, seconds)

    def decided(self, left: int, seconds: float) -> Mapping | Refuted | None:
        """The same, with patience. `left`: conflicts that annealing left.

        What is refuted is not asked again with less slack.
        """
        # Imported here: loading a solver takes time, and few kernels need one.
        from .exact import Way

        each, until = left / max(1, self.problem.nodes), time.monotonic() + seconds
        questions = PATIENT if each <= NEAR and small(self.problem) else PATIENT[: FEWER * (each <= FAR)]
        if settles(self.problem) and len(questions) > FEWER:
            questions = SETTLING if self.interval > SHORT else SETTLING_SHORT
        try:
            for slack, way, conflicts in questions:
                if slack <= (self.strictly if Way(way).strict else self.refuted):
                    continue
                if found := self._ask(slack, way, conflicts, until - time.monotonic()):
                    return found
            return None
        finally:
            self.close()

    def last(self, seconds: float) -> Mapping | None:
        """A mapping with much slack, and patience, of the smallest graphs: the last hope of a search."""
        if _size(self.problem) > WIDEST_LAST:
            return None
        found = self._ask(WIDE + self.interval, "swift", LAST, seconds)
        self.close()
        return found if isinstance(found, Mapping) else None

    def close(self) -> None:
        """Free the solvers."""
        while self._open:
            self._open.popitem()[1].close()

    @property
    def _wide(self) -> bool:
        """Whether schedules may be asked for that are much longer than the shortest."""
        problem = self.problem
        return problem.nodes * problem.terrain.registers * (WIDE + self.interval) <= WIDEST

    def _ask(self, slack: int, way: str, conflicts: int, seconds: float) -> Mapping | Refuted | None:
        """One question, up to so many conflicts in all; if the answer is that there is none, with more slack
        than the least, with WIDE slack, too."""
        # Imported here: loading a solver takes time, and few kernels need one.
        from .exact import Question, Status, Way
        from .exact_domain import whole_domain
        from .exact_model import ground

        key = slack, way
        if key not in self._open:
            domain = whole_domain(self.problem, ground(self.problem.fabric), self.interval, slack)
            if domain is None:
                return Refuted.WITHIN_HORIZON
            self._open[key] = Question(self.problem, self.interval, domain, Way(way))
        proof = self._open[key].ask(round(self.effort * conflicts), seconds)
        if proof.status is not Status.INFEASIBLE:
            return proof.mapping
        if Way(way).strict:
            self.strictly = slack
            return None
        if slack >= WIDE + self.interval:
            return Refuted.WITHIN_HORIZON
        first, self.refuted = self.refuted < WEIGHTY <= slack, slack
        if not first or not self._wide:
            return None
        return self._ask(WIDE + self.interval, "swift, near", FARTHER, seconds)
