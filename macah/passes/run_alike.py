"""Whether two loops in sequence run equally often, as their counters tell."""

from __future__ import annotations

from dataclasses import dataclass

from arch.ops import signed
from macah.fold import fold
from macah.ir import Apply, Const, DoWhile, Expr, Read, Variable
from macah.passes.counters import Counter, find_counter
from macah.walk import loads_in, map_expr, replace_reads, variables_in, written

Known = dict[Variable, Const]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A loop, and the constants that are known where it begins; `others` count as its counter does."""

    loop: DoWhile
    known: Known
    others: tuple[Variable, ...] = ()


def counter_of(loop: Candidate) -> Counter | None:
    """The loop's counter, if nothing else decides how often it runs."""
    body, condition = loop.loop.body, loop.loop.condition
    found = find_counter(body, condition, loop.known, frozenset())
    if found is None or any(loads_in(condition)):
        return None
    changed = written(body) - {found.variable}
    return found if changed.isdisjoint(variables_in(condition)) else None


def run_alike(first: Candidate, a: Counter, second: Candidate, b: Counter) -> bool:
    """Whether two loops with these counters run equally often, and both or neither at all."""
    guard, other = (map_expr(replace_reads(one.loop.guard, one.known), fold) for one in (first, second))
    changed = written((first.loop, second.loop)) - {a.variable, b.variable}
    if guard != other or any(loads_in(guard)) or not changed.isdisjoint(variables_in(guard)):
        return False
    if a.trips is not None or b.trips is not None:
        return a.trips == b.trips
    # By ones, so that the end is not stepped over and no element comes twice.
    if abs(signed(a.step.bits, a.step.value)) != 1 or not _ends(first.loop.condition):
        return False
    condition = replace_reads(second.loop.condition, {b.variable: Read(a.variable)})
    return (a.start, a.step, first.loop.condition) == (b.start, b.step, condition) and changed.isdisjoint(
        variables_in(condition)
    )


def unlike(a: Counter | None, b: Counter | None) -> str:
    """What `run_alike` or `counter_of` misses."""
    if a is None or b is None:
        which = "they run is" if a is b else f"the {'first' if a is None else 'second'} one runs is"
        return f"how often {which} not decided by a counter alone"
    if a.trips is not None and b.trips is not None and a.trips != b.trips:
        return f"the first one runs {a.trips} times, the second one {b.trips}"
    return "the compiler cannot tell that they run equally often"


def _ends(condition: Expr) -> bool:
    return isinstance(condition, Apply) and condition.op in ("slt", "sle", "ult")
