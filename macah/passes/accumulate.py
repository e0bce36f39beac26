"""Accumulates in variables what an innermost loop accumulates in one element of an array.

    c[i][j] = 0;                                          sum = 0;
    do { c[i][j] = c[i][j] + a[i][k] * b[k][j];           do { sum = sum + a[i][k] * b[k][j];
         k = k + 1; } while (k < n)                 ->         k = k + 1; } while (k < n)
                                                          c[i][j] = sum;

Where nothing is stored to the element before, the loop's share begins with what changes nothing, and is
combined with the element behind the loop: so no iteration waits for what another one stores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from macah import ir
from macah.ir import Apply, Array, Assign, Body, Const, DoWhile, Expr, Load, Read, Stmt, Variable
from macah.passes.find_sites import Finder
from macah.passes.sites import without_sites
from macah.site import Site
from macah.walk import (
    arrays_read,
    arrays_written,
    has_loop,
    is_constant,
    loads_in,
    map_bodies,
    operands,
    statements,
    variables_in,
    written,
)

_LARGEST = (1 << 31) - 1
NEUTRAL = {
    "add": 0,
    "xor": 0,
    "or": 0,
    "and": (1 << 32) - 1,
    "mul": 1,
    "umax": 0,
    "umin": (1 << 32) - 1,
    "smax": _LARGEST + 1,
    "smin": _LARGEST,
}
"""Operations whose order does not matter, and what changes nothing."""

_NARROWING = frozenset({"sext8", "sext16", "zext8", "zext16"})
_MODULAR = frozenset({"add", "mul", "xor", "or", "and"})
"""Operations whose low bits depend on low bits only."""


def accumulate(kernel: ir.Kernel) -> ir.Kernel:
    """Keep sums and the like in variables; see the module for an example."""
    stored = arrays_written(kernel.body)
    if not stored or not has_loop(kernel.body):
        return kernel
    loops = [stmt for stmt in statements(kernel.body) if isinstance(stmt, DoWhile)]
    if not any(True for loop in loops if not has_loop(loop.body) for _ in _fixed(loop)):
        return kernel
    located, _ = Finder(stored).body(kernel.body)
    accumulator = _Accumulator()
    body = accumulator.body(located)
    return replace(kernel, body=without_sites(body)) if accumulator.changed else kernel


@dataclass(frozen=True, slots=True)
class _Sum:
    """Stores of `op(element, value)` to one element, with their values.

    What is stored is narrowed by `narrowing` if that is not None.
    """

    values: dict[int, Expr]  # by the stores' identities
    store: ir.Store
    op: str
    narrowing: str | None

    def combined(self, a: Expr, b: Expr) -> Expr:
        """What is stored for the element and a share, or two shares."""
        both = Apply(self.op, (a, b))
        return both if self.narrowing is None else Apply(self.narrowing, (both,))


class _Accumulator:
    def __init__(self) -> None:
        self.changed = False

    def body(self, body: Body) -> Body:
        made: list[Stmt] = []
        for stmt in body:
            if not isinstance(stmt, DoWhile) or has_loop(stmt.body):
                made.append(map_bodies(stmt, self.body))
                continue
            behind: list[Stmt] = []
            for found in list(_sums(stmt)):
                before, stmt, after = _moved(made, stmt, found)
                made, self.changed = before, True
                behind += after
            made += [stmt, *behind]
        return tuple(made)


def _sums(loop: DoWhile) -> Iterator[_Sum]:
    """The elements in which a loop accumulates, and that nothing else in it touches."""
    for same in _fixed(loop):
        found = [_sum(store) for store in same]
        first = found[0]
        if first is not None and all(other is not None and _alike(first, other) for other in found):
            values = {key: value for other in found if other for key, value in other.values.items()}
            yield replace(first, values=values)


def _fixed(loop: DoWhile) -> Iterator[list[ir.Store]]:
    """The stores to each array that has as many loads, if the loop does not change the first one's index."""
    inside = list(statements(loop.body))
    stores: dict[Array, list[ir.Store]] = {}
    for stmt in inside:
        if isinstance(stmt, ir.Store):
            stores.setdefault(stmt.array, []).append(stmt)
    read = [expr for stmt in inside for expr in operands(stmt)] + [loop.condition, loop.guard]
    loads = Counter(load.array for expr in read for load in loads_in(expr))
    changed = written(loop.body)
    for array, same in stores.items():
        index = same[0].index
        fixed = changed.isdisjoint(v for expr in index for v in variables_in(expr))
        fixed &= stores.keys().isdisjoint(load.array for expr in index for load in loads_in(expr))
        if fixed and loads[array] == len(same) and array.bits == 32:
            yield same


def _alike(a: _Sum, b: _Sum) -> bool:
    return (a.op, a.narrowing) == (b.op, b.narrowing) and _same(a.store.site, b.store.site)


def _sum(store: ir.Store) -> _Sum | None:
    value, narrowing = store.value, None
    if isinstance(value, Apply) and value.op in _NARROWING:
        narrowing = value.op
        (value,) = value.args
    if not isinstance(value, Apply) or value.op not in (NEUTRAL if narrowing is None else _MODULAR):
        return None
    rest = _without(value, value.op, store) if is_constant(store.guard, 1) else None
    if rest is None or any(load.array is store.array for load in loads_in(rest)):
        return None
    return _Sum({id(store): rest}, store, value.op, narrowing)


def _without(expr: Expr, op: str, store: ir.Store) -> Expr | None:
    """A chain of one operation without the element that is stored to, which is one of its operands."""
    if not isinstance(expr, Apply) or expr.op != op or expr.bits != 32:
        return None
    for number, arg in enumerate(expr.args):
        other = expr.args[1 - number]
        if isinstance(arg, Load) and arg.array is store.array and _same(arg.site, store.site):
            return other
        rest = _without(arg, op, store)
        if rest is not None:
            return Apply(op, (rest, other))
    return None


def _same(a: Site | None, b: Site | None) -> bool:
    """Whether two accesses in one iteration are to one element."""
    return (
        a is not None
        and b is not None
        and a.address.constant == b.address.constant
        and set(a.address.terms) == set(b.address.terms)
    )


def _moved(before: list[Stmt], loop: DoWhile, found: _Sum) -> tuple[list[Stmt], DoWhile, list[Stmt]]:
    """The statements before a loop, the loop that accumulates in a variable, and the store behind it."""
    store, where = found.store, found.store.where
    name = store.array.name
    share = Variable(f"{name}_share", where=where)
    places = [Variable(f"{name}_at", where=where) for _ in store.index]
    index = tuple([Read(place) for place in places])
    at = [Assign(place, expr, where) for place, expr in zip(places, store.index, strict=True)]
    loop = replace(loop, body=_stepping(loop.body, found, share))
    number = _first(before, store)
    if number is None:
        start = Assign(share, Const(NEUTRAL[found.op]), where)
        total = found.combined(Load(store.array, index), Read(share))
        return [*before, *at, start], loop, [ir.Store(store.array, index, total, where=where)]
    first = before[number]
    assert isinstance(first, ir.Store)
    before = [*before[:number], Assign(share, first.value, first.where), *before[number + 1 :], *at]
    return before, loop, [ir.Store(store.array, index, Read(share), where=where)]


def _stepping(body: Body, found: _Sum, share: Variable) -> Body:
    """A body with steps of the share in the place of the stores."""

    def statement(stmt: Stmt) -> Stmt:
        if id(stmt) in found.values:
            return Assign(share, found.combined(Read(share), found.values[id(stmt)]), stmt.where)
        return map_bodies(stmt, lambda inner: _stepping(inner, found, share))

    return tuple([statement(stmt) for stmt in body])


def _first(before: list[Stmt], store: ir.Store) -> int | None:
    """The place of a store to the same element, if nothing has touched the array since."""
    for place in range(len(before) - 1, -1, -1):
        stmt = before[place]
        if isinstance(stmt, ir.Store) and stmt.array is store.array:
            return place if is_constant(stmt.guard, 1) and _same(stmt.site, store.site) else None
        if store.array in arrays_written((stmt,)) | arrays_read((stmt,)):
            return None
    return None
