"""The exact engine: whether a graph has a mapping at an interval, decided by a SAT solver.

A refutation covers all there is in the structural model: every unit, every way through registers and wires
and every time spent in them, every choice of memory and port. Left out are only schedules that take more than
`slack` cycles longer than the shortest one; operations that the graph does not have (a copy made by a unit);
and, where wires lead back to each other, ways through more than `exact_encode.HOPS` of them in a cycle.

Budgets count conflicts: the same input gives the same answer. Limits in seconds are the user's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from typing import Any

from arch.fabric import Fabric

from .check import check_mapping
from .dfg import DFG
from .exact_clauses import Clauses
from .exact_decode import Decoded, NoMember
from .exact_domain import Domain, whole_domain
from .exact_encode import MOST_WORDS, Encoding, TooLarge
from .exact_model import ground
from .flat import Problem
from .mapping import Mapping
from .sat import adding, answered, solver_of

SOLVER = "cadical195"

SETTINGS = {"phase": 0, "chrono": 0}
"""Most variables are false in a mapping: guess so. Ten times faster, where it matters most. And a conflict
undoes all that it shows to be in vain: of hard questions, many more are answered in a few thousand.
"""

PLAIN = {"phase": 0}
"""Another way through the same question."""

SWIFT_SOLVER = "glucose42"
"""Of graphs that nearly fill their array it answers more questions within some thousand conflicts, which take
it half of the time."""


class Way(Enum):
    """How a question is put. Which way meets a mapping within a budget is luck.

    Without mappings that are reflections of each other; also without most of those in which words that wait
    go back into their outputs (exact_home.py: that there are no others refutes nothing); or without any of
    these, and room is counted slot by slot (exact_spare.py); all three by another solver, too; or plainly;
    or, of a part of what is possible, by that other solver without the second.
    """

    USUAL = "usual"
    NEAR = "near"
    SWIFT = "swift"
    SWIFT_NEAR = "swift, near"
    STRICT = "strict"
    SWIFT_STRICT = "swift, strict"
    PLAIN = "plain"
    AROUND = "around"

    @property
    def swift(self) -> bool:
        """Whether the other solver is asked."""
        return self in (Way.SWIFT, Way.SWIFT_NEAR, Way.SWIFT_STRICT, Way.AROUND)

    @property
    def near(self) -> bool:
        """Whether words that wait stay in their tiles, and what follows for places and times is said."""
        return self in (Way.NEAR, Way.SWIFT_NEAR, Way.AROUND) or self.strict

    @property
    def strict(self) -> bool:
        """Whether no word that has waited may go back into an output, and room is counted slot by slot."""
        return self in (Way.STRICT, Way.SWIFT_STRICT)


PULSE = 4000
"""So many conflicts between looks at the clock."""

CONFLICTS = 300_000
"""Conflicts for one interval: a minute or so."""


class Status(Enum):
    """What came of asking for a mapping."""

    FOUND = "found"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer for one interval: for schedules whose last operation is issued before cycle `horizon`.

    A horizon of None says: for all schedules.
    """

    status: Status
    interval: int
    horizon: int | None
    mapping: Mapping | None = None
    variables: int = 0
    clauses: int = 0
    conflicts: int = 0
    seconds: float = 0.0


def prove(
    dfg: DFG,
    fabric: Fabric,
    interval: int,
    slack: int,
    conflicts: int = CONFLICTS,
    seconds: float = 1e9,
    way: Way = Way.USUAL,
) -> Proof:
    """Whether there is a mapping at `interval` up to `slack` cycles longer than the shortest schedule."""
    problem = Problem(dfg, fabric)
    domain = whole_domain(problem, ground(fabric), interval, slack)
    if domain is None:
        return Proof(Status.INFEASIBLE, interval, None)
    return solve(problem, interval, domain, conflicts, seconds, way)


def solve(
    problem: Problem,
    interval: int,
    domain: Domain,
    conflicts: int,
    seconds: float,
    way: Way = Way.PLAIN,
    most: int = MOST_WORDS,
) -> Proof:
    """Decide a domain; if it is no `whole_domain`, plainly or as `AROUND`. Unknown with more than `most`
    words."""
    with Question(problem, interval, domain, way, most) as question:
        return question.ask(conflicts, seconds)


class Question:
    """A domain to decide, which may be asked again and again, with more conflicts each time: what a solver
    has learnt stays."""

    def __init__(
        self, problem: Problem, interval: int, domain: Domain, way: Way, most: int = MOST_WORDS
    ) -> None:
        self.problem, self.interval, self.domain, self.way, self.most = problem, interval, domain, way, most
        self.horizon = max(domain.late, default=-1) + 1
        self._open(still=True)

    def __enter__(self) -> Question:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the solver."""
        self._solver.delete()

    def ask(self, conflicts: int, seconds: float = 1e9) -> Proof:
        """The answer, or what is known once so many conflicts have been spent on it in all."""
        begun = time.monotonic()
        try:
            answer, mapping = self._ask(conflicts, begun + seconds)
        except NoMember:  # on the ground with still cells there is a mapping that is none
            self.close()
            self._open(still=False)
            answer, mapping = self._ask(conflicts, begun + seconds)
        if mapping:
            check_mapping(mapping)
        status = Status.FOUND if mapping else Status.INFEASIBLE if answer is False else Status.UNKNOWN
        size, taken = self._clauses, time.monotonic() - begun
        return Proof(status, self.interval, self.horizon, mapping, size.top, size.count, self.spent, taken)

    def _open(self, still: bool) -> None:
        """Tell a solver all clauses; none, if there are too many."""
        way, where = self.way, ground(self.problem.fabric, still)
        self._solver = solver_of(SWIFT_SOLVER if way.swift else SOLVER)
        if not way.swift:
            self._solver.configure(PLAIN if way is Way.PLAIN else SETTINGS)
        self._clauses, self.spent = Clauses(adding(self._solver)), 0
        self._encoding: Encoding | None = None
        try:
            self._encoding = Encoding(
                self.problem,
                where,
                self.interval,
                self.domain,
                self._clauses,
                self.most,
                way.near,
                way.strict,
            )
        except TooLarge:
            self._clauses = Clauses(lambda _: None)
            return
        if way not in (Way.PLAIN, Way.AROUND):
            self._encoding.break_symmetry()

    def _ask(self, conflicts: int, until: float) -> tuple[bool | None, Mapping | None]:
        """The solver's answer, and the mapping of its model."""
        answer: bool | None = None
        mapping = None
        while self._encoding and mapping is None and answer is not False:
            if self.spent >= conflicts or time.monotonic() > until:
                break
            self._solver.conf_budget(min(PULSE, conflicts - self.spent))
            answer = answered(self._solver)
            self.spent = self._solver.accum_stats()["conflicts"]
            if answer:
                mapping = _mapping(self._encoding, self._solver)
        return answer, mapping


def _mapping(encoding: Encoding, solver: Any) -> Mapping | None:
    """The mapping of the solver's model; None, and clauses that refuse it, if a bank is overfull."""
    decoded = Decoded(encoding, solver.get_model())
    overfull = encoding.overfull(decoded.bank)
    for clause in overfull:
        solver.add_clause(clause)
    return None if overfull else decoded.mapping()
