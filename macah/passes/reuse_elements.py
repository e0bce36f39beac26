"""Keeps elements that an iteration has loaded or stored in variables, and stores each only once.

    a[i] = x;                              kept = x;
    y = a[i] + 1;               ->         y = kept + 1;
    b[j] = a[i];                           b[j] = kept;
    a[i] = y;                              a[i] = y;

An element is known until a store that may be to the same one. What an iteration leaves to the next one is the
business of `macah.forward`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from macah import ir
from macah.dependence import Distances
from macah.ir import Array, Assign, Body, DoWhile, Expr, Load, Read, Stmt, Variable
from macah.site import Site
from macah.walk import is_constant, loads_in, map_bodies, map_expr, map_operands, operands

MOST_KNOWN = 64
"""So many elements of an array are known at a time."""

_Element = tuple[object, ...]


def reuse_elements(kernel: ir.Kernel) -> ir.Kernel:
    """Load nothing twice in an iteration; see the module for an example."""
    return replace(kernel, body=_body(kernel.body, Distances()))


def _body(body: Body, distances: Distances) -> Body:
    """The body of a loop, or of the kernel."""
    inner = [
        map_bodies(stmt, lambda body: _body(body, distances)) if isinstance(stmt, DoWhile) else stmt
        for stmt in body
    ]
    survey = _Survey(distances)
    for place, stmt in enumerate(inner):
        survey.statement(stmt, place)
    kept = {site: Variable(name) for site, name in survey.sources.items()}
    made: list[Stmt] = []
    for place, stmt in enumerate(inner):
        *noted, last = _rewritten(stmt, kept, survey.reused)
        made += noted if place in survey.dead else [*noted, last]
    return tuple(made)


def _rewritten(stmt: Stmt, kept: dict[Site, Variable], reused: dict[Site, Site]) -> list[Stmt]:
    before: dict[Site, Stmt] = {}

    def leaf(expr: Expr) -> Expr:
        if not isinstance(expr, Load) or expr.site is None:
            return expr
        if expr.site in kept:
            before.setdefault(expr.site, Assign(kept[expr.site], expr, stmt.where))
            return Read(kept[expr.site])
        return Read(kept[reused[expr.site]]) if expr.site in reused else expr

    stmt = map_operands(stmt, lambda expr: map_expr(expr, leaf))
    if isinstance(stmt, ir.Store) and stmt.site in kept:
        variable = kept[stmt.site]
        before[stmt.site] = Assign(variable, stmt.value, stmt.where)
        stmt = replace(stmt, value=Read(variable))
    return [*before.values(), stmt]


@dataclass(slots=True)
class _Survey:
    """What of a body can be reused: `reused` loads and their `sources`, with names, and `dead` stores."""

    distances: Distances
    known: dict[Array, dict[_Element, Site]] = field(default_factory=dict)
    pending: dict[Array, dict[_Element, list[tuple[int, Site]]]] = field(default_factory=dict)
    reused: dict[Site, Site] = field(default_factory=dict)
    sources: dict[Site, str] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)

    def statement(self, stmt: Stmt, place: int) -> None:
        if isinstance(stmt, DoWhile):
            self.known.clear()
            self.pending.clear()
            return
        for expr in operands(stmt):
            for load in loads_in(expr):
                self.load(load)
        if isinstance(stmt, ir.Store):
            self.store(stmt, place)

    def load(self, load: Load) -> None:
        known = self.known.setdefault(load.array, {})
        if load.site is None:
            self.pending.pop(load.array, None)
        elif (source := known.get(_element(load.site))) is not None:
            if source is not load.site:
                self.reused[load.site] = source
                self.sources[source] = f"{load.array.name}_kept"
        else:
            pending = self.pending.get(load.array, {})
            for element, stores in list(pending.items()):
                if any(self.meet(site, load.site) for _, site in stores):
                    del pending[element]
            self.learn(known, load.site)

    def store(self, stmt: ir.Store, place: int) -> None:
        known, pending = self.known.setdefault(stmt.array, {}), self.pending.setdefault(stmt.array, {})
        if stmt.site is None:
            known.clear()
            return
        for element, site in list(known.items()):
            if self.meet(site, stmt.site):
                del known[element]
        element = _element(stmt.site)
        if stmt.site.sure and is_constant(stmt.guard, 1):
            self.dead |= {earlier for earlier, _ in pending.pop(element, ())}
            self.learn(known, stmt.site)
        pending.setdefault(element, []).append((place, stmt.site))
        if len(pending) > MOST_KNOWN:
            del pending[next(iter(pending))]

    def learn(self, known: dict[_Element, Site], site: Site) -> None:
        if site.sure:
            known[_element(site)] = site
            if len(known) > MOST_KNOWN:
                del known[next(iter(known))]

    def meet(self, earlier: Site, later: Site) -> bool:
        """Whether they may be of one element in one iteration."""
        return self.distances.least(earlier, later) == 0


def _element(site: Site) -> _Element:
    return site.loops, site.address.constant, frozenset(site.address.terms)
