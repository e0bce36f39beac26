"""Hands stored values on to loads of the next iterations through variables, so that these need not wait.

    do { h[x] = h[x] + 1 if g; } while (c)

becomes, for a depth of 1,

    at1 = nowhere;
    do {
        at = x; new = (x == at1 & g1 ? new1 : h[x]) + 1; g0 = g;
        h[at] = new if g0;
        at1 = at; new1 = new; g1 = g0;
    } while (c)

where the load may now be done before the store of the iteration before, as it then is not used. Of several
stores that have the address the last one counts. A store is not compared with a load that it cannot meet so
soon (`macah.dependence`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce

from macah import ir
from macah.dependence import Distances
from macah.ir import Apply, Array, Assign, Body, Const, DoWhile, Expr, Load, Read, Stmt, Variable
from macah.site import WORD, Site
from macah.walk import both, is_constant, loads_in, map_expr, map_operands

NOWHERE = Const(WORD - 1)
MOST_COMPARED = 24
"""So many addresses are compared at most in an iteration."""


@dataclass(frozen=True, slots=True)
class _Past:
    """What a store did some iterations ago: where, what, and whether it did."""

    at: Variable
    new: Variable
    did: Variable


@dataclass(slots=True)
class _History:
    """A store, now and in the last iterations; `place` is its number in the body."""

    site: Site | None
    place: int
    always: bool
    past: list[_Past] = field(default_factory=list)


def forward_stores(kernel: ir.Kernel, array: Array, depth: int, distances: Distances) -> ir.Kernel | None:
    """The kernel in final form, with the values of `depth` iterations handed on; None if that is too much."""
    *leading, loop = kernel.body
    assert isinstance(loop, DoWhile)
    forwarder = _Forwarder(array, depth, distances)
    for place, stmt in enumerate(loop.body):
        if isinstance(stmt, ir.Store) and stmt.array is array:
            forwarder.histories.append(forwarder.history(stmt, place))
    made: list[Stmt] = []
    for place, stmt in enumerate(loop.body):
        made += forwarder.statement(stmt, place)
    if any(load.array is array for load in loads_in(loop.condition)):
        more = Variable("more", where=loop.where)
        made.append(Assign(more, forwarder.expr(loop.condition, len(loop.body)), loop.where))
        loop = replace(loop, condition=Read(more))
    if forwarder.compared > MOST_COMPARED:
        return None
    starts = [Assign(past.at, NOWHERE) for history in forwarder.histories for past in history.past[1:]]
    body = (*made, *forwarder.passing())
    return replace(kernel, body=(*leading, *starts, replace(loop, body=body)))


class _Forwarder:
    def __init__(self, array: Array, depth: int, distances: Distances) -> None:
        self.array, self.depth, self.distances = array, depth, distances
        self.histories: list[_History] = []
        self.compared = 0

    def history(self, stmt: ir.Store, place: int) -> _History:
        name, where = self.array.name, stmt.where
        past = [
            _Past(*(Variable(f"{name}_{part}", where=where) for part in ("at", "new", "did")))
            for _ in range(self.depth + 1)
        ]
        return _History(stmt.site, place, is_constant(stmt.guard, 1), past)

    def passing(self) -> Body:
        """Iterations grow old."""
        made: list[Stmt] = []
        for history in self.histories:
            for older, newer in reversed(list(zip(history.past[1:], history.past, strict=False))):
                made += [Assign(older.at, Read(newer.at)), Assign(older.new, Read(newer.new))]
                if not history.always:
                    made.append(Assign(older.did, Read(newer.did)))
        return tuple(made)

    def statement(self, stmt: Stmt, place: int) -> list[Stmt]:
        stmt = map_operands(stmt, lambda expr: self.expr(expr, place))
        if not isinstance(stmt, ir.Store) or stmt.array is not self.array:
            return [stmt]
        (now,) = (history.past[0] for history in self.histories if history.place == place)
        made: list[Stmt] = [
            Assign(now.at, address(self.array, stmt.index), stmt.where),
            Assign(now.new, stmt.value, stmt.where),
        ]
        if not is_constant(stmt.guard, 1):
            truth = Apply("ne", (stmt.guard, ir.FALSE))
            made.append(Assign(now.did, truth, stmt.where))
            stmt = replace(stmt, guard=Read(now.did))
        return [*made, replace(stmt, value=Read(now.new))]

    def expr(self, expr: Expr, place: int) -> Expr:
        """An expression of the statement at that place, with its loads replaced."""

        def leaf(inner: Expr) -> Expr:
            return self.load(inner, place) if isinstance(inner, Load) and inner.array is self.array else inner

        return map_expr(expr, leaf)

    def load(self, load: Load, place: int) -> Expr:
        at = address(self.array, load.index)
        found: list[tuple[int, Expr, Expr]] = []
        for age in range(self.depth + 1):
            for history in reversed(self.histories):
                if self.may_meet(history, load, place, age):
                    past = history.past[age]
                    same: Expr = Apply("eq", (at, Read(past.at)))
                    same = same if history.always else both(same, Read(past.did))
                    found.append((age, same, Read(past.new)))
        self.compared += len(found)
        settled = replace(load, settled=max(load.settled, self.depth))
        near = [(same, new) for age, same, new in found if age < 2]
        far = [(same, new) for age, same, new in found if age >= 2]
        old: Expr = settled
        if far:
            # which one of them is chosen besides, so that the load waits for one choice only
            value = _first(far[:-1], far[-1][1])
            old = Apply("select", (reduce(_either, [same for same, _ in far]), value, settled))
        return _first(near, old)

    def may_meet(self, history: _History, load: Load, place: int, age: int) -> bool:
        """Whether a load may be of what the store stored so many iterations ago."""
        if age == 0 and history.place >= place:
            return False
        if history.site is None or load.site is None:
            return True
        least = self.distances.least(history.site, load.site)
        return least is not None and least <= age


def _first(choices: list[tuple[Expr, Expr]], other: Expr) -> Expr:
    """The value of the first choice that is true."""
    for same, new in reversed(choices):
        other = Apply("select", (same, new, other))
    return other


def _either(a: Expr, b: Expr) -> Expr:
    return Apply("or", (a, b))


def address(array: Array, index: tuple[Expr, ...]) -> Expr:
    """The place of an element, row by row."""
    total: Expr | None = None
    stride = 1
    for expr, extent in zip(reversed(index), reversed(array.shape), strict=True):
        part = expr if stride == 1 else Apply("mul", (expr, Const(stride)))
        total = part if total is None else Apply("add", (part, total))
        stride *= extent
    assert total is not None
    return total
