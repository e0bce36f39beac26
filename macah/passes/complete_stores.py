"""Makes stores that happen under a condition happen always, where what they overwrite is known.

    old = a[i];                                old = a[i];
    c = x < old;                       ->      c = x < old;
    a[i] = x if c;                             a[i] = c ? x : old;

What is in the element afterwards is then one value, here the minimum, which later loads can have without
waiting for the condition first. It is done for elements that are loaded again soon, and if the iteration
loads this one in any case, with no store to it before the one in question.
"""

from __future__ import annotations

from dataclasses import replace

from macah import ir
from macah.dependence import Distances
from macah.ir import Apply, Array, Assign, Body, DoWhile, Expr, Load, Read, Stmt, Variable
from macah.site import Site
from macah.walk import is_constant, loads_in, map_bodies, operands, statements

SOON = 4
"""Loads in so many iterations may have to wait for a store."""


def complete_stores(kernel: ir.Kernel) -> ir.Kernel:
    """Store the old value where nothing was stored; see the module for an example."""
    loads: dict[Array, list[Site]] = {}
    for stmt in statements(kernel.body):
        for load in _loads(stmt):
            if load.site is not None:
                loads.setdefault(load.array, []).append(load.site)
    completer = _Completer(loads)
    return replace(kernel, body=tuple([completer.statement(stmt) for stmt in kernel.body]))


def _loads(stmt: Stmt) -> list[Load]:
    return [load for expr in operands(stmt) for load in loads_in(expr)]


class _Completer:
    def __init__(self, loads: dict[Array, list[Site]]) -> None:
        self.loads = loads
        self.distances = Distances()

    def statement(self, stmt: Stmt) -> Stmt:
        return map_bodies(stmt, self.body) if isinstance(stmt, DoWhile) else stmt

    def body(self, body: Body) -> Body:
        """The body of a loop."""
        made = [self.statement(stmt) for stmt in body]
        ahead: dict[int, list[Stmt]] = {}
        for place, stmt in enumerate(made):
            if isinstance(stmt, ir.Store) and not is_constant(stmt.guard, 1) and self.soon(stmt):
                found = self.known(made, place, stmt)
                if found is not None:
                    where, load = found
                    made[place], before = _completed(stmt, load)
                    ahead.setdefault(where, []).extend(before)
        return tuple([s for place, stmt in enumerate(made) for s in (*ahead.get(place, ()), stmt)])

    def soon(self, store: ir.Store) -> bool:
        """True if some load may be of what this stores within a few iterations."""
        if store.site is None:
            return False
        found = [self.distances.least(store.site, load) for load in self.loads.get(store.array, ())]
        return any(distance is not None and distance <= SOON for distance in found)

    def known(self, body: list[Stmt], place: int, store: ir.Store) -> tuple[int, Load] | None:
        """A load before a store of what that overwrites, and the place of the statement that loads it."""
        assert store.site is not None
        for before in range(place - 1, -1, -1):
            stmt = body[before]
            if isinstance(stmt, DoWhile):
                return None
            if isinstance(stmt, ir.Store) and stmt.array is store.array and self.meet(stmt, store.site):
                return None
            for load in _loads(stmt):
                if load.array is store.array and load.site and load.site.is_surely(store.site):
                    return before, load
        return None

    def meet(self, stmt: ir.Store, later: Site) -> bool:
        return stmt.site is None or self.distances.least(stmt.site, later) == 0


def _completed(store: ir.Store, load: Load) -> tuple[Stmt, list[Stmt]]:
    """The store without its guard, and what must be noted where the element is loaded."""
    before: list[Stmt] = []

    def noted(expr: Expr, name: str) -> Expr:
        variable = Variable(f"{load.array.name}_{name}", where=store.where)
        before.append(Assign(variable, expr, store.where))
        return Read(variable)

    old, index = noted(load, "old"), tuple([noted(i, "at") for i in load.index])
    value = Apply("select", (Apply("ne", (store.guard, ir.FALSE)), store.value, old))
    return replace(store, index=index, value=value, guard=ir.TRUE), before
