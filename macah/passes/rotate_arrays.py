"""Replaces shifts of arrays in memory by a base that rotates: nothing moves.

a shift n                       a_base = a_base - n
x = a[i]              ->        x = a[(i + a_base) & 7]          for a[^8^]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from arch.ops import signed
from macah import ir
from macah.fold import fold_apply
from macah.ir import Apply, Array, Assign, Body, Const, Expr, Load, Read, Stmt, Variable
from macah.passes.settle import settled
from macah.run import shifted_dimension
from macah.walk import both, flat_map, is_constant, map_expr, map_operands, statements

Index = tuple[Expr, ...]


def rotate_arrays(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without shifts. Captured arrays that are copied out are put in order at the end."""
    rings = _rings(kernel.body)
    if not rings:
        return kernel
    start = tuple(stmt for ring in rings.values() for stmt in ring.start())
    body = flat_map(kernel.body, lambda stmt: _statement(stmt, rings))
    end: Body = ()
    for capture in kernel.captured:
        if isinstance(capture.what, Array) and capture.what in rings and capture.out:
            end += _put_in_order(rings[capture.what], kernel)
    return replace(kernel, body=(*start, *body, *end))


@dataclass(frozen=True, slots=True)
class _Ring:
    """The bases of an array's shifted dimensions; one that differs between rows is an array of them."""

    array: Array
    bases: dict[int, Variable | Array]

    def start(self) -> Iterator[Stmt]:
        where = self.array.where
        for base in self.bases.values():
            if isinstance(base, Variable):
                yield Assign(base, Const(0), where)
            else:
                for place in product(*map(range, base.shape)):
                    yield ir.Store(base, tuple(Const(i) for i in place), Const(0), where=where)

    def place(self, index: Index) -> Index:
        """Where the element of an index, or of its first dimensions, is."""
        found: Index = ()
        for d, expr in enumerate(index):
            if d in self.bases:
                extent = self.array.shape[d]
                expr = _wrap(fold_apply("add", (self.base(d, found), _word(expr)), 32), extent)
            found += (expr,)
        return found

    def base(self, dimension: int, row: Index) -> Expr:
        base = self.bases[dimension]
        return Read(base) if isinstance(base, Variable) else Load(base, row[: len(base.shape)])


def _word(expr: Expr) -> Expr:
    return expr if expr.bits == 32 else fold_apply("trunc", (expr,), 32)


def _wrap(place: Expr, extent: int) -> Expr:
    """A place in [0, 2 * extent) brought into the ring."""
    if extent & (extent - 1) == 0:
        return fold_apply("and", (place, Const(extent - 1)), 32)
    inside = fold_apply("ult", (place, Const(extent)), 32)
    return fold_apply("select", (inside, place, fold_apply("sub", (place, Const(extent)), 32)), 32)


def _rings(body: Body) -> dict[Array, _Ring]:
    indexed: dict[Array, dict[int, int]] = {}
    for stmt in statements(body):
        if isinstance(stmt, ir.Shift):
            dimension = shifted_dimension(stmt.array, len(stmt.index))
            found = indexed.setdefault(stmt.array, {})
            found[dimension] = max(found.get(dimension, 0), len(stmt.index))
    return {array: _Ring(array, _bases(array, found)) for array, found in indexed.items()}


def _bases(array: Array, indexed: dict[int, int]) -> dict[int, Variable | Array]:
    bases: dict[int, Variable | Array] = {}
    for dimension, rank in sorted(indexed.items()):
        name = f"{array.name}_base" + (str(dimension) if len(indexed) > 1 else "")
        if rank:
            bases[dimension] = Array(name, array.shape[:rank], where=array.where)
        else:
            bases[dimension] = Variable(name, 32, array.where)
    return bases


def _statement(stmt: Stmt, rings: dict[Array, _Ring]) -> tuple[Stmt, ...]:
    def leaf(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.array in rings:
            return Load(expr.array, rings[expr.array].place(expr.index))
        return expr

    stmt = map_operands(stmt, lambda expr: map_expr(expr, leaf))
    match stmt:
        case ir.Store() if stmt.array in rings:
            ring = rings[stmt.array]
            guard = stmt.guard
            for dimension in ring.bases:
                guard = both(guard, _inside(stmt.index[dimension], stmt.array.shape[dimension]))
            return (replace(stmt, index=ring.place(stmt.index), guard=guard),)
        case ir.Shift():
            return tuple(_turn(stmt, rings[stmt.array]))
        case _:
            return (stmt,)


def _inside(index: Expr, extent: int) -> Expr:
    """Outside the range nothing must be stored, and the ring would hide that it is outside."""
    return fold_apply("ult", (index, Const(extent, index.bits)), 32)


def _turn(stmt: ir.Shift, ring: _Ring) -> Iterator[Stmt]:
    dimension = shifted_dimension(stmt.array, len(stmt.index))
    extent = stmt.array.shape[dimension]
    base = ring.bases[dimension]
    if isinstance(base, Variable):
        turned = _turned(Read(base), stmt.amount, extent)
        if not is_constant(stmt.guard, 1):
            turned = Apply("select", (stmt.guard, turned, Read(base)))
        yield Assign(base, turned, stmt.where)
        return
    before, stmt = settled(stmt)
    yield from before
    row = ring.place(stmt.index)
    guard = stmt.guard
    for index, size in zip(stmt.index, base.shape, strict=False):
        guard = both(guard, _inside(index, size))
    for places in product(*map(range, base.shape[len(row) :])):
        place = (*row, *(Const(i) for i in places))
        turned = _turned(Load(base, place), stmt.amount, extent)
        yield ir.Store(base, place, turned, guard, stmt.where)


def _turned(base: Expr, amount: Expr, extent: int) -> Expr:
    """The base after a shift: what was at i is at i + amount now."""
    if extent & (extent - 1) == 0:
        # Whoever uses the base brings the place into the ring: that need not be on its recurrence, too.
        return fold_apply("sub", (base, _word(amount)), 32)
    if isinstance(amount, Const):
        step = -signed(amount.bits, amount.value) % extent
        return _wrap(fold_apply("add", (base, Const(step)), 32), extent)
    rest = Apply("srem", (amount, Const(extent, amount.bits)), amount.bits)
    turned = fold_apply("sub", (base, _word(rest)), 32)
    negative = fold_apply("slt", (turned, Const(0)), 32)
    lifted = fold_apply("select", (negative, fold_apply("add", (turned, Const(extent)), 32), turned), 32)
    return _wrap(lifted, extent)


def _put_in_order(ring: _Ring, kernel: ir.Kernel) -> Body:
    """Copy the elements to the places of their indices, by way of another array."""
    array = ring.array
    other = Array(f"{array.name}_sorted", array.shape, array.element, where=array.where)

    def fetch(index: Index) -> Stmt:
        return ir.Store(other, index, Load(array, ring.place(index)), where=kernel.where)

    def put(index: Index) -> Stmt:
        return ir.Store(array, index, Load(other, index), where=kernel.where)

    return (*_for_all(array, fetch, ()), *_for_all(array, put, ()))


def _for_all(array: Array, make: Callable[[Index], Stmt], index: Index) -> Body:
    if len(index) == len(array.shape):
        return (make(index),)
    count = Variable("place", 32, array.where)
    step = Assign(count, Apply("add", (Read(count), Const(1))), array.where)
    more = Apply("ult", (Read(count), Const(array.shape[len(index)])))
    inner = (*_for_all(array, make, (*index, Read(count))), step)
    return (Assign(count, Const(0), array.where), ir.DoWhile(inner, more, where=array.where))
