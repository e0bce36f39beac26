"""Makes stores that happen under a condition happen always, where what they overwrite is known.

    old = a[i];                                old = a[i]; new = old;
    if (x < old)                       ->      if (x < old)
      a[i] = x;                                  new = x;
                                               a[i] = new;

What is in the element afterwards is then one value, here the minimum, which later loads can have without
waiting for the condition first. It is done for elements that are loaded again soon, and if every iteration
loads this one before, with no store to it in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from macah import ir
from macah.dependence import Distances
from macah.ir import Array, Assign, Body, DoWhile, Expr, If, Load, Read, Stmt, Variable
from macah.site import Site
from macah.walk import has_loop, is_constant, loads_in, map_bodies, operands, parted, statements

SOON = 4
"""Loads in so many iterations may have to wait for a store."""


def complete_stores(kernel: ir.Kernel) -> ir.Kernel:
    """Store the old value where nothing was stored; see the module for an example."""
    if not any(isinstance(stmt, If) for stmt in parted(kernel.body)[1]):
        return kernel
    loads: dict[Array, list[Site]] = {}
    for stmt in statements(kernel.body):
        for load in _loads((stmt,)):
            if load.site is not None:
                loads.setdefault(load.array, []).append(load.site)
    completer = _Completer(loads)
    return replace(kernel, body=tuple([completer.inside(stmt) for stmt in kernel.body]))


def _loads(stmts: Iterable[Stmt]) -> list[Load]:
    return [load for stmt in stmts for expr in operands(stmt) for load in loads_in(expr)]


class _Completer:
    def __init__(self, loads: dict[Array, list[Site]]) -> None:
        self.loads = loads
        self.distances = Distances()

    def inside(self, stmt: Stmt) -> Stmt:
        return map_bodies(stmt, self.body) if isinstance(stmt, DoWhile) else stmt

    def body(self, body: Body) -> Body:
        """The body of a loop, before any other loop's is mixed with it."""
        made: list[Stmt] = []
        for stmt in body:
            made.append(self.inside(stmt))
            if isinstance(stmt, If):
                made = self.branch(made, stmt)
        return tuple(made)

    def branch(self, made: list[Stmt], stmt: If) -> list[Stmt]:
        """Statements up to a branch, and what follows for the stores in it."""
        inner = list(statements((*stmt.then, *stmt.orelse)))
        if has_loop((stmt,)):
            return made
        after: list[Stmt] = []
        for store in (*stmt.then, *stmt.orelse):
            if isinstance(store, ir.Store) and self.alone(store, inner):
                found = self.known(made, store)
                if found is not None:
                    *made, last = _completed(made, store, *found)
                    after.append(last)
        return [*made, *after]

    def alone(self, store: ir.Store, inner: list[Stmt]) -> bool:
        """True if the store may as well be done behind the branch, and some load may be of it soon."""
        if store.site is None or not is_constant(store.guard, 1):
            return False
        sites = [other.site for other in inner if isinstance(other, ir.Store) and other.array is store.array]
        for load in _loads(inner):
            if load.array is store.array and (load.site is None or load.site.order > store.site.order):
                sites.append(load.site)
        for site in sites:
            if site is None or (site is not store.site and self.meet(site, store.site)):
                return False
        found = [self.distances.least(store.site, load) for load in self.loads.get(store.array, ())]
        return any(distance is not None and distance <= SOON for distance in found)

    def meet(self, a: Site, b: Site) -> bool:
        """Whether they may be of one element in one iteration."""
        first, second = (a, b) if a.order < b.order else (b, a)
        return self.distances.least(first, second) == 0

    def known(self, made: list[Stmt], store: ir.Store) -> tuple[int, Load] | None:
        """A load of what the last statement stores to, and the place of the statement that loads it."""
        assert store.site is not None
        for place in range(len(made) - 1, -1, -1):
            stmt = made[place]
            inner = list(statements((stmt,)))
            if has_loop((stmt,)):
                return None
            stores = [s.site for s in inner if isinstance(s, ir.Store) and s.array is store.array]
            if stmt is not made[-1] and any(s is None or self.meet(s, store.site) for s in stores):
                return None
            for load in _loads((stmt,)):
                if load.array is store.array and load.site and load.site.is_surely(store.site):
                    return place, load
        return None


def _completed(made: list[Stmt], store: ir.Store, place: int, load: Load) -> list[Stmt]:
    """The statements with the store after the branch, and what must be noted where the element is loaded."""
    noted: list[Stmt] = []

    def note(expr: Expr, name: str) -> Variable:
        noted.append(Assign(Variable(f"{load.array.name}_{name}", where=store.where), expr, store.where))
        assert isinstance(noted[-1], Assign)
        return noted[-1].variable

    new, index = note(load, "new"), tuple([Read(note(i, "at")) for i in load.index])

    def in_branch(body: Body) -> Body:
        return tuple([Assign(new, s.value, s.where) if s is store else s for s in body])

    *before, branch = made
    assert isinstance(branch, If)
    branch = replace(branch, then=in_branch(branch.then), orelse=in_branch(branch.orelse))
    assert store.site is not None
    site = replace(store.site, arms=store.site.arms[:-1])
    after = replace(store, index=index, value=Read(new), site=site)
    return [*before[:place], *noted, *before[place:], branch, after]
