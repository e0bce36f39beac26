"""Why a search found no mapping: what is scarce, and the operations that want it."""

from __future__ import annotations

from collections import Counter

from .attempt import registers_needed
from .bound import Bounds
from .flat import Problem
from .mapping import DoesNotFit, Schedule, Shortage
from .pressure import demand, lives
from .route import Left

SHOWN = 12
"""So many operations are named."""

KEPT = 0.3
"""Values of earlier iterations are a reason if they take this part of the registers."""


def out_of_time(limit: float, where: str, fewest: Left | None) -> DoesNotFit:
    """No mapping yet when the time is up."""
    left = f"; {fewest.count} conflicts remained" if fewest else ""
    whole = round(limit) or 1
    return DoesNotFit(
        f"no mapping found in the time limit of {limit:g} s {where}{left}", Shortage.TIME, whole + 1, whole
    )


def too_many_values(problem: Problem, where: str, schedule: Schedule) -> DoesNotFit:
    """Even this schedule, the best, holds too many values at once."""
    registers = problem.terrain.registers
    need = registers_needed(problem, schedule)
    peak = max(demand(problem, schedule.interval, schedule.start))
    held = lives(problem, schedule.interval, schedule.start)
    order = sorted(held, key=lambda key: (-held[key], key))
    room = "" if need > registers else ": too few are left for words on their way"
    return DoesNotFit(
        f"{problem.dfg.name}: no routes found on {problem.fabric.name} {where}: the best schedule holds"
        f" {peak} values at once, {round(need)} in the mean, in {registers} registers{room}",
        Shortage.REGISTERS,
        peak,
        registers,
        tuple(dict.fromkeys(n for n, _ in order))[:SHOWN],
    )


def no_routes(problem: Problem, where: str, bounds: Bounds, fewest: Left | None) -> DoesNotFit:
    """Conflicts remained, at least these: over what, and between which values."""
    edges = len(problem.source)
    count = fewest.count if fewest else edges
    message = (
        f"{problem.dfg.name}: no routes found on {problem.fabric.name} {where}; {count} conflicts remained"
    )
    nodes = fewest.nodes if fewest else ()
    if fewest and fewest.places:
        message += f", over {', '.join(f'{n} {what}' for what, n in fewest.places)}"
    if kept := _kept(problem):
        words, longest = kept.total(), max(kept.values())
        message += (
            f"; values that are kept for up to {longest} iterations take {words} of"
            f" {problem.terrain.registers} registers"
        )
        nodes = (*(n for n, _ in kept.most_common()), *nodes)
    nodes = tuple(dict.fromkeys((*nodes, *bounds.cycle)))[:SHOWN]
    return DoesNotFit(message, Shortage.ROUTES, edges, max(0, edges - count), nodes)


def _kept(problem: Problem) -> Counter[int]:
    """For how many iterations nodes' values are kept, if that takes many registers; else nothing."""
    found = Counter[int]()
    for p, distance in zip(problem.source, problem.distance, strict=True):
        if distance > 1:
            found[p] = max(found[p], distance)
    return found if found.total() > KEPT * problem.terrain.registers else Counter()
