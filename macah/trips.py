"""Counters of loops, and how often the loops run.

i = 3; do { ...; i = i + 2; } while (i < 9)          i is 3 + 2 * #i at the start; #i runs up to 2
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from arch.ops import COMPARISONS
from macah.affine import extent, fits, plus, small
from macah.evolution import Forms
from macah.ir import TRUE, Apply, Assign, Body, Const, DoWhile, Expr, If, Read, Stmt, Variable
from macah.site import Affine, Loop, Span, Symbol
from macah.walk import loads_in, statements, targets, variables_in


def assigned_in(body: Body) -> list[Variable]:
    """The variables that a body assigns to, in the order in which it first does."""
    return list(dict.fromkeys(variable for stmt in statements(body) for variable in targets(stmt)))


def find_counters(loop: DoWhile, changed: Iterable[Variable]) -> dict[Variable, int]:
    """The variables that each iteration steps by a constant, or several, if another iteration follows."""
    writes: dict[Variable, list[Stmt]] = {variable: [] for variable in changed}
    for stmt in statements(loop.body):
        for variable in targets(stmt):
            writes[variable].append(stmt)
    sure = {id(stmt): None for stmt in sure_statements(loop)}
    found: dict[Variable, int] = {}
    for variable, stmts in writes.items():
        steps = [_step(variable, stmt) for stmt in stmts if id(stmt) in sure]
        known = [step for step in steps if step is not None]
        if len(known) == len(stmts):
            found[variable] = small(sum(known))
    return found


def sure_statements(loop: DoWhile) -> list[Stmt]:
    """What each iteration does, if another iteration follows."""
    found: list[Stmt] = []
    for place, stmt in enumerate(loop.body):
        if isinstance(stmt, If) and _leaves_unless(stmt, loop, place):
            found += stmt.then
        else:
            found.append(stmt)
    return found


def stepped_at_last(loop: DoWhile, counters: Mapping[Variable, int]) -> dict[Variable, int]:
    """The counters that the last iteration steps, too: `do { if (c) k++; } while (c)` leaves k out."""
    inner = {
        variable
        for stmt in loop.body
        if isinstance(stmt, If)
        for nested in statements((*stmt.then, *stmt.orelse))
        for variable in targets(nested)
    }
    return {variable: step for variable, step in counters.items() if variable not in inner}


def _step(variable: Variable, stmt: Stmt) -> int | None:
    """What a statement adds to a variable, if it does that alone."""
    match stmt:
        case Assign(_, Apply("add", (Read(old), Const(step)))) if old is variable:
            return step
        case _:
            return None


def _leaves_unless(stmt: If, loop: DoWhile, place: int) -> bool:
    """True if the loop ends after an iteration in which the condition of a statement of its body is 0."""
    if not any(stmt.condition == conjunct for conjunct in conjuncts(loop.condition)):
        return False
    if any(loads_in(stmt.condition)):
        return False
    later = {
        v for other in statements((*stmt.then, *stmt.orelse, *loop.body[place + 1 :])) for v in targets(other)
    }
    return later.isdisjoint(variables_in(stmt.condition))


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """The conditions that all hold where one holds."""
    match condition:
        case Apply("and", (a, b)):
            yield from conjuncts(a)
            yield from conjuncts(b)
        case Apply("ne", (Apply(op) as inner, Const(0))) if op == "and" or op in COMPARISONS:
            yield from conjuncts(inner)
        case Apply("eq", (Apply("slt" | "sle" | "ult" | "ule" as op, (a, b)), Const(0))):
            yield Apply(op[0] + ("le" if op[1:] == "lt" else "lt"), (b, a))
        case _:
            yield condition


def limit(loop: Loop, stmt: DoWhile, at_end: Mapping[Variable, Affine], forms: Forms) -> None:
    """Note how often a loop runs; `at_end` are its counters at the end of an iteration."""
    inside = forms.some(at_end)
    forms.known.update(at_end)
    found = [_limit(loop, condition, forms) for condition in conjuncts(stmt.condition)]
    forms.known.update(inside)
    known = [limit for limit in found if limit is not None]
    most = [limit.most for limit in known] + ([stmt.most] if stmt.most is not None else [])
    loop.trips = min(most, default=None)
    if len(known) == len(found):
        loop.fewest = min(limit.fewest for limit in known)
    if len(found) == 1 and known and stmt.guard in (TRUE, stmt.condition):
        span, tested = known[0].span, stmt.guard != TRUE
        # a test in front is of words: they must be those integers as well
        if span and (not tested or is_of_integers(stmt.condition, forms)):
            loop.span = replace(span, tested=tested)


def is_of_integers(condition: Expr, forms: Forms) -> bool:
    """True if what a condition compares is in range where an iteration starts, the first one, too."""
    match list(conjuncts(condition)):
        case [Apply(op, (a, b))]:
            return all(fits(forms.of(value), op[0] == "s") for value in (a, b))
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Limit:
    """How often a loop runs that goes on while a condition holds: at least, at most, exactly."""

    fewest: int
    most: int
    span: Span | None = None


def _limit(loop: Loop, condition: Expr, forms: Forms) -> _Limit | None:
    match condition:
        case Apply("slt" | "sle" | "ult" | "ule" | "ne" as op, (a, b)):
            left, right = forms.of(a), forms.of(b)
        case _:
            return None
    apart = plus(right, left, -1)
    if apart is None or not _is_difference(apart, right, left) or _changes(apart, forms):
        return None
    step = -dict(apart.terms).get(loop, 0)
    rest = replace(apart, terms=tuple([(u, f) for u, f in apart.terms if u is not loop]))
    low, high = extent(rest)
    if op == "ne":
        exact = step and low == high and low % step == 0 and low // step >= 0
        return _Limit(low // step + 1, low // step + 1) if exact else None
    if step <= 0:
        return None
    least = 1 if op[1:] == "lt" else 0
    fewest, most = (1 + max(0, (end - least) // step + 1) for end in (low, high))
    loop.trips = most
    sound = all(fits(form, op[0] == "s") for form in (left, right))
    loop.trips = None
    return _Limit(fewest, most, Span(rest, step, least)) if sound else None


def _is_difference(apart: Affine, right: Affine, left: Affine) -> bool:
    """True if this is the difference of integers, too, not only of words."""
    if apart.constant != right.constant - left.constant:
        return False
    found, a, b = dict(apart.terms), dict(right.terms), dict(left.terms)
    return all(found.get(u, 0) == a.get(u, 0) - b.get(u, 0) for u in {**a, **b})


def _changes(form: Affine, forms: Forms) -> bool:
    """True if it depends on something that changes in the innermost loop in another way than by counting."""
    return any(isinstance(u, Symbol) and u.level >= len(forms.loops) for u, _ in form.terms)
