"""Computes what the next iteration of an outer loop starts with while the inner loop still runs.

    do { a = f(i); do B while (b) if a < n; i = i + 1; } while (i < m);

becomes

    a1 = f(i); e1 = a1 < n; i1 = i + 1; m1 = i1 < m;
    do {
        a = a1; e = e1; m = m1;
        a1 = f(i1); e1 = a1 < n; i1 = i1 + 1; m1 = i1 < m;
        do B while (b) if e; i = i + 1;
    } while (m);

In the flat loop only a choice is left between the end of one inner loop and the start of the next one:
`start ? a1 : a`. This is done for what depends on nothing that the inner loop does, on no stream, and on no
array that is stored to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Set
from dataclasses import dataclass, replace

from macah.fold import fold
from macah.ir import Array, Assign, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.passes.liveness import live_before
from macah.passes.predicate import Predicates
from macah.walk import (
    Renaming,
    loads_in,
    map_expr,
    operands,
    replace_reads,
    targets,
    variables_in,
    written,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """A loop's body: `before; inner; after`."""

    before: Body
    inner: DoWhile
    after: Body

    @property
    def body(self) -> Body:
        """It as one."""
        return (*self.before, self.inner, *self.after)


def parts_of(body: Body) -> Parts | None:
    """The parts of a body with one loop directly in it."""
    for place, stmt in enumerate(body):
        if isinstance(stmt, DoWhile):
            return Parts(body[:place], stmt, body[place + 1 :])
    return None


class Ahead:
    """Rewrites loops. The kernel changes no variables in `invariant`, and no arrays but those in `stored`."""

    def __init__(self, predicates: Predicates, invariant: frozenset[Variable], stored: Set[Array]) -> None:
        self.predicates = predicates
        self.invariant = invariant
        self.stored = stored

    def is_steady(self, expr: Expr, changing: Set[Variable]) -> bool:
        """True if the value does not change while only these variables do."""
        return changing.isdisjoint(variables_in(expr)) and self.stored.isdisjoint(
            load.array for load in loads_in(expr)
        )

    # --- The next start

    def run_ahead(self, loop: DoWhile) -> tuple[Body, DoWhile] | None:
        """What has to stand before the loop, and the loop; None if there is nothing to gain."""
        parts = parts_of(loop.body)
        assert parts is not None
        parts = self.with_named_guard(self.with_named_starts(parts))
        goes_on = self.predicates.variable("more", loop.where)
        ends = Assign(goes_on, self.predicates.truth(loop.condition), loop.where)
        moved = self.movable(parts, ends, written((loop,)))
        early = _assigning(parts.before, moved)
        copied = self.copied(early)
        if not copied:
            return None
        late = _assigning((*parts.after, ends), moved)
        own = Renaming({variable: self.predicates.like(variable) for variable in moved})
        # What the next start gets, where its variable goes on to the one after that.
        starts = Renaming({variable: self.predicates.like(variable) for variable in copied})
        kept = tuple(_copy(new, own.variables[old]) for old, new in starts.variables.items())
        step = (*own.body(early), *kept, *own.body(late))
        needed = live_before((*early, *late), moved.keys() - written((*early, *late)))
        prologue = (*(_copy(own.variables[v], v) for v in moved if v in needed), *step)
        now = [_copy(old, new) for old, new in starts.variables.items()]
        condition = loop.condition
        if goes_on in moved:
            condition = Read(goes_on)
            now.append(_copy(goes_on, own.variables[goes_on]))
        dropped = frozenset(copied)
        before = tuple(s for s in parts.before if dropped.isdisjoint(targets(s)))
        body = (*now, *step, *before, parts.inner, *parts.after)
        return prologue, replace(loop, body=body, condition=condition)

    def with_named_guard(self, parts: Parts) -> Parts:
        """The inner loop's guard as a variable, if it is not the same all through the kernel."""
        known = constants(parts.before)
        guard = map_expr(replace_reads(self.predicates.truth(parts.inner.guard), known), fold)
        if self.is_invariant(guard):
            return replace(parts, inner=replace(parts.inner, guard=guard))
        if isinstance(guard, Read) and guard.variable not in written((parts.inner,)):
            return parts
        setup, guard = self.predicates.named(parts.inner.guard, "entered", parts.inner.where)
        return replace(parts, before=(*parts.before, *setup), inner=replace(parts.inner, guard=guard))

    def with_named_starts(self, parts: Parts) -> Parts:
        """What the inner loop's variables start with as variables that it does not write."""
        changing = written((parts.inner,))
        now: dict[Variable, Expr] = {}
        before: list[Stmt] = []
        for stmt in parts.before:
            match stmt:
                case Assign(variable, value, where):
                    value = replace_reads(value, now)
                    now.pop(variable, None)
                    if variable in changing and not self.is_fixed(value):
                        start = self.predicates.like(variable)
                        before.append(Assign(start, value, where))
                        value = Read(start)
                    if variable in changing:
                        now[variable] = value
                    before.append(Assign(variable, value, where))
                case _:
                    for variable in targets(stmt):
                        now.pop(variable, None)
                    before.append(stmt)
        guard = replace_reads(parts.inner.guard, now)
        return replace(parts, before=tuple(before), inner=replace(parts.inner, guard=guard))

    def movable(self, parts: Parts, ends: Assign, changing: set[Variable]) -> dict[Variable, None]:
        """The variables around the inner loop whose values depend on each other and on nothing else."""
        around = (*parts.before, *parts.after, ends)
        others = written((parts.inner,))
        for stmt in around:
            if not isinstance(stmt, Assign):
                others.update(targets(stmt))
        assigns = [stmt for stmt in around if isinstance(stmt, Assign)]
        moved = dict.fromkeys(stmt.variable for stmt in assigns if stmt.variable not in others)
        changing = changing | moved.keys()
        pending = True
        while pending:
            pending = False
            fixed = changing - moved.keys()
            for stmt in assigns:
                if stmt.variable in moved and not self.is_steady(stmt.value, fixed):
                    del moved[stmt.variable]
                    pending = True
            for variable in _read_too_early(parts.before, moved):
                del moved[variable]
                pending = True
        return moved

    def copied(self, early: Body) -> list[Variable]:
        """The variables that get their values from the copy: those that are not the same all through."""
        assigns = Counter(variable for stmt in early for variable in targets(stmt))
        same: dict[Variable, Expr] = {}
        for stmt in early:
            match stmt:
                case Assign(variable, value) if assigns[variable] == 1:
                    value = replace_reads(value, same)
                    if self.is_invariant(value):
                        same[variable] = value
                case _:
                    pass
        return [variable for variable in assigns if variable not in same]

    def is_fixed(self, value: Expr) -> bool:
        """True for a constant, and for what nobody minds."""
        return isinstance(value, Const) or self.predicates.is_unspecified(value)

    def is_invariant(self, expr: Expr) -> bool:
        """True if the value is the same all through the kernel."""
        return self.invariant.issuperset(variables_in(expr)) and not any(loads_in(expr))


def constants(body: Body) -> dict[Variable, Const]:
    """What variables certainly are after a body, of what is a constant."""
    known: dict[Variable, Const] = {}
    for stmt in body:
        for variable in written((stmt,)):
            known.pop(variable, None)
        if isinstance(stmt, Assign) and isinstance(stmt.value, Const):
            known[stmt.variable] = stmt.value
    return known


def _assigning(body: Body, variables: Container[Variable]) -> Body:
    return tuple(stmt for stmt in body if isinstance(stmt, Assign) and stmt.variable in variables)


def _copy(target: Variable, source: Variable) -> Assign:
    return Assign(target, Read(source), target.where)


def _read_too_early(before: Body, moved: Container[Variable]) -> list[Variable]:
    """The variables that something that stays reads before all of their assignments."""
    later, found = set[Variable](), dict[Variable, None]()
    for stmt in reversed(before):
        if isinstance(stmt, Assign) and stmt.variable in moved:
            later.add(stmt.variable)
        else:
            found.update(
                dict.fromkeys(v for expr in operands(stmt) for v in variables_in(expr) if v in later)
            )
    return list(found)
