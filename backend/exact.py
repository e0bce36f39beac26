"""The exact engine: whether a graph has a mapping at an interval, decided by a SAT solver.

A refutation covers all there is in the structural model: every unit, every way through registers and wires
and every time spent in them, every choice of memory and port. Left out are only schedules that take more than
`slack` cycles longer than the shortest one; operations that the graph does not have (a copy made by a unit);
and, where wires lead back to each other, ways through more than `exact_encode.HOPS` of them in a cycle.

Budgets count conflicts: the same input gives the same answer. Limits in seconds are the user's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from pysat.solvers import Solver
from pysolvers import error as Interrupted

from arch.fabric import Fabric

from .attempt import Attempts
from .bound import minimum_interval
from .check import check_mapping
from .dfg import DFG
from .exact_clauses import Clauses
from .exact_decode import Decoded, NoMember
from .exact_domain import Domain, whole_domain
from .exact_encode import MOST_WORDS, Encoding, TooLarge
from .exact_model import ground
from .flat import Problem
from .mapper import map_kernel
from .mapping import DoesNotFit, MapOptions, Mapping, Shortage

SOLVER = "cadical195"

SETTINGS = {"phase": 0, "chrono": 0}
"""Most variables are false in a mapping: guess so. Ten times faster, where it matters most. And a conflict
undoes all that it shows to be in vain: of hard questions, many more are answered in a few thousand.
"""

PLAIN = {"phase": 0}
"""Another way through the same question."""


class Way(Enum):
    """How a question is put. The answer is the same, but which way meets it within a budget is luck.

    Without mappings that are reflections of each other; also with what follows for places alone; or plainly.
    """

    USUAL = "usual"
    NEAR = "near"
    PLAIN = "plain"


PULSE = 4000
"""So many conflicts between looks at the clock."""

SLACK = 4
"""Cycles of slack, beside those of one interval, where the user names no other."""

CONFLICTS = 300_000
"""Conflicts for one interval: a minute or so."""


NARROW, QUICK = (1, 2, 4), 10_000
"""Mappings are sought with little slack first, with few conflicts: where there are any, that finds them."""

FEW, HASTY, AT_ONCE = 40, 0.1, 4000
"""Graphs of up to FEW nodes get one attempt with so little effort, and then so many conflicts, before the
mapper is asked as usual."""


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


@dataclass(frozen=True, slots=True)
class ProveOptions:
    """How far to look: cycles of slack (None: SLACK and one interval), and budgets."""

    slack: int | None = None
    conflicts: int = CONFLICTS
    seconds: float = 1e9
    max_interval: int = 0


@dataclass(frozen=True, slots=True)
class Certificate:
    """The best mapping known, and whether a smaller interval is impossible.

    `proofs` are the intervals from the bound on that were decided, or not. `proven` with `horizon` None: no
    schedule at all has a smaller interval; else none does whose operations are all issued within so many
    cycles.
    """

    mapping: Mapping | None
    mii: int
    cause: str
    proven: bool
    horizon: int | None
    proofs: tuple[Proof, ...]

    def text(self) -> str:
        """What is certified, in a sentence."""
        reached = f"II {self.mapping.interval}" if self.mapping else "no mapping found"
        if self.proven and self.horizon is None:
            return f"{reached} is minimal: it is the lower bound ({self.cause})"
        if self.proven:
            return (
                f"{reached} is minimal: no smaller one has a mapping, wherever operations and words are,"
                f" if an iteration's operations are issued within {self.horizon} cycles"
            )
        open_ = [str(p.interval) for p in self.proofs if p.status is Status.UNKNOWN]
        return f"{reached} is not proven minimal: undecided within the budget: II {', '.join(open_)}"


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


def minimal(
    dfg: DFG,
    fabric: Fabric,
    best: Mapping | None = None,
    options: ProveOptions | None = None,
    progress: Callable[[str], None] | None = None,
) -> Certificate:
    """Certify that no interval below that of `best` has a mapping, or find a better one.

    Looks from the lower bound on, up to `best` or, without one, until a mapping is found. Raises DoesNotFit
    if no interval can do. Who interrupts gets what is known by then.
    """
    options, report = options or ProveOptions(), progress or (lambda _: None)
    begun = time.monotonic()
    bounds = minimum_interval(dfg, fabric)
    limit = (
        best.interval - 1 if best else min(options.max_interval or fabric.max_interval, fabric.max_interval)
    )
    proofs: list[Proof] = []
    for interval in range(bounds.mii, limit + 1):
        slack = SLACK + interval if options.slack is None else options.slack
        try:
            proof = _decide(dfg, fabric, interval, slack, options, begun)
        except KeyboardInterrupt:
            if best is None:
                raise
            proofs.append(Proof(Status.UNKNOWN, interval, None))
            break
        proofs.append(proof)
        report(f"II {interval}: {proof.status.value} ({proof.clauses} clauses, {proof.conflicts} conflicts)")
        if proof.mapping:
            best = proof.mapping
            break
    lower = [p for p in proofs if best is None or p.interval < best.interval]
    proven = best is not None and all(p.status is Status.INFEASIBLE for p in lower)
    horizons = [p.horizon for p in lower if p.horizon is not None]
    horizon = min(horizons, default=None) if proven else None
    return Certificate(best, bounds.mii, bounds.binding, proven, horizon, tuple(proofs))


def _decide(
    dfg: DFG, fabric: Fabric, interval: int, slack: int, options: ProveOptions, begun: float
) -> Proof:
    """Decide an interval, with less slack first; `begun` is when the seconds began."""
    for narrow in (*(s for s in NARROW if s < slack), slack):
        budget = options.conflicts if narrow == slack else min(QUICK, options.conflicts)
        left = options.seconds - (time.monotonic() - begun)
        proof = prove(dfg, fabric, interval, narrow, budget, left)
        if proof.mapping or left <= 0:
            break
    return proof


def certify(
    dfg: DFG, fabric: Fabric, mapping: MapOptions, options: ProveOptions, report: Callable[[str], None]
) -> Certificate:
    """The best that the mapper finds, certified or improved. Raises DoesNotFit as the mapper does.

    Small graphs mostly map at the bound, soon. If one interval is asked for, its mapping is the result,
    whatever is found at smaller ones.
    """
    begun = time.monotonic()
    bounds = minimum_interval(dfg, fabric)
    limit = min(mapping.interval or mapping.max_interval or fabric.max_interval, fabric.max_interval)
    if len(dfg.nodes) <= FEW and bounds.mii <= limit and mapping.interval in (0, bounds.mii):
        proof = _at_once(dfg, fabric, bounds.mii, mapping)
        if proof.mapping:
            return Certificate(proof.mapping, bounds.mii, bounds.binding, True, None, (proof,))
    best, refusal = None, None
    try:
        best = map_kernel(dfg, fabric, mapping, report)
    except DoesNotFit as problem:
        if problem.shortage not in (Shortage.ROUTES, Shortage.REGISTERS):
            raise
        refusal = problem
    if mapping.time_limit:
        options = replace(options, seconds=mapping.time_limit - (time.monotonic() - begun))
    found = minimal(dfg, fabric, best, replace(options, max_interval=limit), report)
    if mapping.interval and found.mapping and found.mapping.interval < mapping.interval:
        found = replace(found, mapping=best, proven=False, horizon=None)
    if found.mapping is None and refusal is not None:
        raise refusal
    return found


def _at_once(dfg: DFG, fabric: Fabric, interval: int, options: MapOptions) -> Proof:
    """A small graph at an interval: by a hasty attempt, in milliseconds, else by the solver.

    That is asked for the shortest schedules first: they have the fewest variables, and mostly suffice.
    """
    problem = Problem(dfg, fabric)
    found = Attempts(problem, replace(options, effort=HASTY)).make(interval, 0, lambda _: None).result
    if isinstance(found, Mapping):
        check_mapping(found)
        return Proof(Status.FOUND, interval, None, found)
    shortest = prove(dfg, fabric, interval, 0, AT_ONCE)
    return shortest if shortest.mapping else prove(dfg, fabric, interval, NARROW[1], AT_ONCE)


def solve(
    problem: Problem,
    interval: int,
    domain: Domain,
    conflicts: int,
    seconds: float,
    way: Way = Way.PLAIN,
    most: int = MOST_WORDS,
) -> Proof:
    """Decide a domain; if it is no `whole_domain`, plainly. Unknown with more than `most` words."""
    try:
        return _solve(problem, interval, domain, conflicts, seconds, way, most, still=True)
    except NoMember:
        return _solve(problem, interval, domain, conflicts, seconds, way, most, still=False)


def _solve(
    problem: Problem,
    interval: int,
    domain: Domain,
    conflicts: int,
    seconds: float,
    way: Way,
    most: int,
    still: bool,
) -> Proof:
    """Decide a domain; NoMember if the ground with still cells gave a mapping that is none."""
    begun = time.monotonic()
    horizon = max(domain.late, default=-1) + 1
    with Solver(name=SOLVER) as solver:
        solver.solver.configure(PLAIN if way is Way.PLAIN else SETTINGS)
        clauses = Clauses(solver.add_clause)
        try:
            encoding = Encoding(problem, ground(problem.fabric, still), interval, domain, clauses, most)
        except TooLarge:
            return Proof(Status.UNKNOWN, interval, horizon)
        if way is Way.NEAR:
            encoding.stay_near()
        if way is not Way.PLAIN:
            encoding.break_symmetry()
        answer, mapping, spent = None, None, 0
        while mapping is None and answer is not False:
            if spent >= conflicts or time.monotonic() - begun > seconds:
                break
            solver.conf_budget(min(PULSE, conflicts - spent))
            try:
                answer = solver.solve_limited()
            except Interrupted:
                raise KeyboardInterrupt from None
            spent = solver.accum_stats()["conflicts"]
            if answer:
                mapping = _mapping(encoding, solver)
    if mapping:
        check_mapping(mapping)
    status = Status.FOUND if mapping else Status.INFEASIBLE if answer is False else Status.UNKNOWN
    taken = time.monotonic() - begun
    return Proof(status, interval, horizon, mapping, clauses.top, clauses.count, spent, taken)


def _mapping(encoding: Encoding, solver: Solver) -> Mapping | None:
    """The mapping of the solver's model; None, and clauses that refuse it, if a bank is overfull."""
    decoded = Decoded(encoding, solver.get_model())
    overfull = encoding.overfull(decoded.bank)
    for clause in overfull:
        solver.add_clause(clause)
    return None if overfull else decoded.mapping()
