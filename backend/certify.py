"""Whether a mapping's interval is minimal: each smaller one is asked of the exact engine (exact.py)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from arch.fabric import Fabric

from .attempt import Attempts
from .bound import Bounds, minimum_interval
from .check import check_mapping
from .dfg import DFG
from .exact import CONFLICTS, Proof, Status, prove
from .flat import Problem
from .mapper import map_kernel
from .mapping import DoesNotFit, MapOptions, Mapping, Shortage
from .recipe import usual

SLACK = 4
"""Cycles of slack, beside those of one interval, where the user names no other."""

NARROW, QUICK = (1, 2, 4), 10_000
"""Mappings are sought with little slack first, with few conflicts: where there are any, that finds them."""

FEW, HASTY, AT_ONCE = 40, 0.1, 4000
"""Graphs of up to FEW nodes get one attempt with so little effort, and then so many conflicts, before the
mapper is asked as usual."""


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
    if best is not None and best.late:
        return _as_it_is(best, bounds)
    if mapping.time_limit:
        options = replace(options, seconds=mapping.time_limit - (time.monotonic() - begun))
    found = minimal(dfg, fabric, best, replace(options, max_interval=limit), report)
    if mapping.interval and found.mapping and found.mapping.interval < mapping.interval:
        found = replace(found, mapping=best, proven=False, horizon=None)
    if found.mapping is None and refusal is not None:
        raise refusal
    return found


def _as_it_is(best: Mapping, bounds: Bounds) -> Certificate:
    """Of a mapping for whose proof there is no time."""
    proven = best.interval == bounds.mii
    proofs = () if proven else (Proof(Status.UNKNOWN, bounds.mii, None),)
    return Certificate(best, bounds.mii, bounds.binding, proven, None, proofs)


def _at_once(dfg: DFG, fabric: Fabric, interval: int, options: MapOptions) -> Proof:
    """A small graph at an interval: by a hasty attempt, in milliseconds, else by the solver.

    That is asked for the shortest schedules first: they have the fewest variables, and mostly suffice.
    """
    problem = Problem(dfg, fabric)
    attempts = Attempts(problem, replace(options, effort=HASTY))
    found = attempts.make(interval, usual(problem.nodes, 0), lambda _: None).result
    if isinstance(found, Mapping):
        check_mapping(found)
        return Proof(Status.FOUND, interval, None, found)
    shortest = prove(dfg, fabric, interval, 0, AT_ONCE)
    return shortest if shortest.mapping else prove(dfg, fabric, interval, NARROW[1], AT_ONCE)
