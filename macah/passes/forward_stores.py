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
soon (`macah.dependence`). Stores in loops that were in sequence, or in both sides of a branch, are never in
the same iteration:

    for (…) a[i] = 0;  for (…) a[x] = a[x] + 1;     at1 = g ? i : x; new1 = g ? 0 : new;

so one comparison is for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from backend.dfg import Place
from macah import ir
from macah.dependence import Distances, common_loops
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


@dataclass(frozen=True, slots=True)
class _Now:
    """A store in the present iteration; `place` is its number in the body."""

    site: Site | None
    place: int
    always: bool
    now: _Past

    def apart(self, other: _Now) -> bool:
        """True if the two are never in the same iteration."""
        if self.site is None or other.site is None or self.always or other.always:
            return False
        return common_loops(self.site, other.site)[1] or self.site.excludes(other.site)


@dataclass(frozen=True, slots=True)
class _History:
    """Stores of which each iteration has one at most, and what was stored in the last iterations."""

    stores: list[_Now]
    past: list[_Past]

    @property
    def always(self) -> bool:
        """True if every iteration stores; then there is one store."""
        return self.stores[0].always

    def latest(self) -> tuple[Expr, Expr, Expr]:
        """What the present iteration did, as `_Past`."""
        *others, last = [store.now for store in self.stores]
        at, new, did = map(Read, (last.at, last.new, last.did))
        found: tuple[Expr, Expr, Expr] = (at, new, did)
        for now in reversed(others):
            condition, (at_then, new_then, did_then) = Read(now.did), found
            at_now: Expr = Apply("select", (condition, Read(now.at), at_then))
            new_now: Expr = Apply("select", (condition, Read(now.new), new_then))
            found = at_now, new_now, _either(condition, did_then)
        return found


def forward_stores(kernel: ir.Kernel, array: Array, depth: int, distances: Distances) -> ir.Kernel | None:
    """The kernel in final form, with the values of `depth` iterations handed on; None if that is too much.

    To choose which of several stores there was takes time, so it is only done where they are too many.
    """
    made = _forwarded(kernel, _Forwarder(array, depth, distances, joined=False))
    return made or _forwarded(kernel, _Forwarder(array, depth, distances, joined=True))


def _forwarded(kernel: ir.Kernel, forwarder: _Forwarder) -> ir.Kernel | None:
    *leading, loop = kernel.body
    assert isinstance(loop, DoWhile)
    array = forwarder.array
    for place, stmt in enumerate(loop.body):
        if isinstance(stmt, ir.Store) and stmt.array is array:
            forwarder.enter(stmt, place)
    made: list[Stmt] = []
    for place, stmt in enumerate(loop.body):
        made += forwarder.statement(stmt, place)
    if any(load.array is array for load in loads_in(loop.condition)):
        more = Variable("more", where=loop.where)
        made.append(Assign(more, forwarder.expr(loop.condition, len(loop.body)), loop.where))
        loop = replace(loop, condition=Read(more))
    if forwarder.compared > MOST_COMPARED:
        return None
    starts = [Assign(past.at, NOWHERE) for history in forwarder.histories for past in history.past]
    body = (*made, *forwarder.passing())
    return replace(kernel, body=(*leading, *starts, replace(loop, body=body)))


class _Forwarder:
    """`joined`: stores that are never in the same iteration have one history."""

    def __init__(self, array: Array, depth: int, distances: Distances, joined: bool) -> None:
        self.array, self.depth, self.distances, self.joined = array, depth, distances, joined
        self.stores: list[_Now] = []
        self.histories: list[_History] = []
        self.compared = 0

    def enter(self, stmt: ir.Store, place: int) -> None:
        """Note a store, in the history behind those of all earlier ones that its iteration may have, too."""
        store = _Now(stmt.site, place, is_constant(stmt.guard, 1), self.moment(stmt.where))
        self.stores.append(store)
        behind = (
            k
            for k, h in enumerate(self.histories, 1)
            if not (self.joined and all(map(store.apart, h.stores)))
        )
        level = max(behind, default=0)
        if level == len(self.histories):
            self.histories.append(_History([], [self.moment(stmt.where) for _ in range(self.depth)]))
        self.histories[level].stores.append(store)

    def moment(self, where: Place | None) -> _Past:
        return _Past(*(Variable(f"{self.array.name}_{part}", where=where) for part in ("at", "new", "did")))

    def passing(self) -> Body:
        """Iterations grow old."""
        made: list[Stmt] = []
        for history in self.histories:
            past, always = history.past, history.always
            for older, newer in reversed(list(zip(past[1:], past, strict=False))):
                made += _kept(older, (Read(newer.at), Read(newer.new), Read(newer.did)), always)
            made += _kept(past[0], history.latest(), always)
        return tuple(made)

    def statement(self, stmt: Stmt, place: int) -> list[Stmt]:
        stmt = map_operands(stmt, lambda expr: self.expr(expr, place))
        if not isinstance(stmt, ir.Store) or stmt.array is not self.array:
            return [stmt]
        (now,) = (store.now for store in self.stores if store.place == place)
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
        near, far = list[tuple[Expr, Expr]](), list[tuple[Expr, Expr]]()
        for age in range(self.depth + 1):
            for past, always in self.moments(load, place, age):
                same: Expr = Apply("eq", (at, Read(past.at)))
                same = same if always else both(same, Read(past.did))
                (near if age < 2 else far).append((same, Read(past.new)))
        self.compared += len(near) + len(far)
        settled = replace(load, settled=max(load.settled, self.depth))
        old: Expr = settled
        if far:
            # which one of them is chosen besides, so that the load waits for one choice only
            value = _first(far[:-1], far[-1][1])
            old = Apply("select", (reduce(_either, [same for same, _ in far]), value, settled))
        return _first(near, old)

    def moments(self, load: Load, place: int, age: int) -> Iterator[tuple[_Past, bool]]:
        """What the load may be of that was stored so many iterations ago, the last first, and if always."""
        if age == 0:
            for store in reversed(self.stores):
                if store.place < place and self.may_meet(store, load, 0):
                    yield store.now, store.always
            return
        for history in reversed(self.histories):
            if any(self.may_meet(store, load, age) for store in history.stores):
                yield history.past[age - 1], history.always

    def may_meet(self, store: _Now, load: Load, age: int) -> bool:
        """Whether a load may be of what the store stored so many iterations ago."""
        if store.site is None or load.site is None:
            return True
        least = self.distances.in_flat_loop(store.site, load.site)
        return least is not None and least <= age


def _kept(into: _Past, values: tuple[Expr, Expr, Expr], always: bool) -> list[Stmt]:
    """The assignments that keep what was stored."""
    at, new, did = values
    made: list[Stmt] = [Assign(into.at, at), Assign(into.new, new)]
    return made if always else [*made, Assign(into.did, did)]


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
