"""Keeps elements in variables that this or a next iteration would load again (scalar replacement).

    i = 1;                                             i = 1; x1 = a[1]; y1 = a[0];
    do {                                               do {
        b[i] = a[i - 1] + a[i] + a[i + 1];      ->         x = a[i + 1]; y = x1;
        i = i + 1;                                         b[i] = y1 + y + x;
    } while (i < n)                                        i = i + 1; y1 = y; x1 = x;
                                                       } while (i < n)

An element is known from the last access to it, a load or a store that happens in every iteration, if no store
may have been to it since (`macah.dependence`). It may have been some iterations ago if the elements of the
first iterations are known (`reuse_starts`): what stands before the loop stores to them, or it is entered once
and they are as they were before the kernel starts; those of a captured array are captured on their own then,
so that nothing has to be loaded before the loop. (Else one would have to: as many loads as are saved.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from macah import ir
from macah.dependence import Distances
from macah.ir import Array, Assign, Body, Const, DoWhile, Expr, Load, Read, Stmt, Variable
from macah.optional import enabled
from macah.passes.find_sites import Finder
from macah.passes.reuse_starts import Starts
from macah.passes.reuse_survey import MOST_ACCESSES, Access, Survey, accesses_in, count_accesses
from macah.passes.sites import with_sites
from macah.site import Site
from macah.sources import element_source, piece_name
from macah.walk import (
    arrays_written,
    has_loop,
    is_constant,
    map_bodies,
    map_expr,
    map_operands,
    statements,
)


def reuse_elements(kernel: ir.Kernel) -> ir.Kernel:
    """Load elements only once; see the module for an example."""
    stored = arrays_written(kernel.body)
    if not enabled(kernel, "find_sites") or not _may_reuse(kernel.body):
        return kernel
    located, _ = _Locator(stored).body(kernel.body)
    reuser = _Reuser(kernel, stored)
    body = reuser.whole(located)
    if not reuser.changed:
        return kernel
    body = with_sites(body, lambda array, site: site if array in stored else None)
    return replace(kernel, body=body, captured=(*kernel.captured, *reuser.captures.values()))


def _may_reuse(body: Body) -> bool:
    """Whether there is a loop without others in it that has some, and not too many, accesses to an array."""
    loops = [stmt for stmt in statements(body) if isinstance(stmt, DoWhile) and not has_loop(stmt.body)]
    return any(1 < n <= MOST_ACCESSES for loop in loops for n in count_accesses(loop.body).values())


class _Locator(Finder):
    """Puts a site on each load, too, of arrays that are never stored to."""

    def leaf(self, expr: Expr) -> Expr:
        if isinstance(expr, Load):
            return replace(expr, site=self.site(self.forms.address(expr.array, expr.index)))
        return expr


@dataclass(slots=True)
class _Kept:
    """What an access loads or stores, in this iteration and in the `past` ones, the last one first."""

    access: Access
    now: Variable
    past: list[Variable] = field(default_factory=list)


class _Reuser:
    def __init__(self, kernel: ir.Kernel, stored: set[Array]) -> None:
        self.captured = {c.what: c for c in kernel.captured if isinstance(c.what, Array)}
        self.distances = Distances()
        self.captures: dict[tuple[Array, int], ir.Capture] = {}
        self.changed = False

    def whole(self, body: Body) -> Body:
        """The kernel, whose own loops are entered once."""
        made: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, DoWhile):
                made += self.loop(stmt, Starts(made, self.element))
            else:
                made.append(map_bodies(stmt, self.inside))
        return tuple(made)

    def inside(self, body: Body) -> Body:
        made: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, DoWhile):
                made += self.loop(stmt, Starts(made, None))
            else:
                made.append(map_bodies(stmt, self.inside))
        return tuple(made)

    def loop(self, stmt: DoWhile, starts: Starts) -> list[Stmt]:
        """A loop, and what must stand before it."""
        if has_loop(stmt.body):
            return [map_bodies(stmt, self.inside)]
        if is_constant(stmt.condition, 0):
            return [stmt]
        group = _Group(self, stmt, starts)
        if not group.reused:
            return [stmt]
        self.changed = True
        initial = tuple(group.initial())  # this may change what stands before
        return [*initial, group.loop()]

    def element(self, array: Array, address: int) -> Expr:
        """An element as it is before the kernel starts, as something that is known then."""
        capture = self.captured.get(array)
        if capture is not None and capture.into:
            if not 0 <= address < array.size:
                return Const(0, array.bits)  # unspecified
            if (array, address) not in self.captures:
                places = dict(enumerate(_places(array, address)))
                name = piece_name(array.name, places, len(places))
                variable = Variable(name, array.bits, array.where)
                source = element_source(capture.source, places)
                self.captures[array, address] = replace(capture, what=variable, source=source, out=False)
            found = self.captures[array, address].what
            assert isinstance(found, Variable)
            return Read(found)
        return Const(array.initial[address] if 0 <= address < len(array.initial) else 0, array.bits)


def _places(array: Array, address: int) -> tuple[int, ...]:
    places: list[int] = []
    for extent in reversed(array.shape):
        address, place = divmod(address, extent)
        places.append(place)
    return tuple(reversed(places))


class _Group:
    """The accesses in a loop without others in it, and which loads of it others make superfluous."""

    def __init__(self, reuser: _Reuser, stmt: DoWhile, starts: Starts) -> None:
        self.starts = starts
        self.stmt = stmt
        self.kept: dict[Site, _Kept] = {}  # by the site of the access
        self.reused = Survey(reuser.distances, starts.known).reused(accesses_in(stmt.body))
        for source, age in self.reused.values():
            kept = self.of(source)
            kept.past += [self.variable(source, n + 1) for n in range(len(kept.past), age)]

    # --- Rewriting

    def initial(self) -> Iterator[Stmt]:
        """What is kept before the first iteration."""
        for kept in self.kept.values():
            for past, variable in enumerate(kept.past, 1):
                yield Assign(variable, self.starts.value(kept.access, past), self.stmt.where)

    def loop(self) -> DoWhile:
        """The loop with what is kept."""
        made: list[Stmt] = []
        for place, stmt in enumerate(self.stmt.body):
            made += self.statement(stmt, place)
        for kept in self.kept.values():
            values = [kept.now, *kept.past]
            pairs = zip(reversed(kept.past), reversed(values[:-1]), strict=True)
            made += [Assign(older, Read(newer), self.stmt.where) for older, newer in pairs]
        return replace(self.stmt, body=tuple(made))

    def statement(self, stmt: Stmt, place: int) -> Iterator[Stmt]:
        here = [kept for kept in self.kept.values() if kept.access.place == place]
        here.sort(key=lambda kept: kept.access.site.order)
        for kept in here:
            if kept.access.value is None:
                load = Load(kept.access.array, kept.access.index, kept.access.site)
                yield Assign(kept.now, self.expr(load), stmt.where)
        names = {kept.access.site: kept.now for kept in here if kept.access.value is None}
        stmt = self.rewritten(stmt, names)
        for kept in here:
            if kept.access.value is not None:
                assert isinstance(stmt, ir.Store)
                yield Assign(kept.now, stmt.value, stmt.where)
                stmt = replace(stmt, value=Read(kept.now))
        yield stmt

    def rewritten(self, stmt: Stmt, names: Mapping[Site, Variable]) -> Stmt:
        stmt = map_bodies(stmt, lambda body: tuple([self.rewritten(inner, names) for inner in body]))
        return map_operands(stmt, lambda expr: self.expr(expr, names))

    def expr(self, expr: Expr, names: Mapping[Site, Variable] | None = None) -> Expr:
        def leaf(inner: Expr) -> Expr:
            if not isinstance(inner, Load) or inner.site is None:
                return inner
            if names and inner.site in names:
                return Read(names[inner.site])
            if inner.site in self.reused:
                source, age = self.reused[inner.site]
                kept = self.kept[source.site]
                return Read(kept.past[age - 1] if age else kept.now)
            return inner

        return map_expr(expr, leaf)

    def of(self, access: Access) -> _Kept:
        if access.site not in self.kept:
            self.kept[access.site] = _Kept(access, self.variable(access, 0))
        return self.kept[access.site]

    def variable(self, access: Access, age: int) -> Variable:
        name = f"{access.array.name}_kept{age or ''}"
        return Variable(name, access.array.bits, self.stmt.where)
