"""Splits arrays along the dimensions whose indices are all constant: into scalars, or into banks.

a[0] = x                        a[0] = x
a shift 1             ->        a[1] = a[0]           now variables of these names
y = a[1]                        y = a[1]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

from arch.ops import signed
from macah import ir
from macah.fold import fold
from macah.ir import Apply, Array, Assign, Const, Expr, Load, Read, Stmt, Variable
from macah.passes.settle import settled
from macah.refusal import Refusal, Touch
from macah.run import shifted_dimension
from macah.sources import element_source, piece_name
from macah.walk import (
    arrays_written,
    flat_map,
    is_constant,
    loads_in,
    map_expr,
    map_operands,
    operands,
    written,
)
from macah.walk import statements as all_statements

# Beyond these an array stays whole, in a memory.
LOCAL_SCALARS = 1024
CAPTURED_SCALARS = 64
# A written element of a captured array occupies a register until it is copied out. (Shifted arrays are
# different: their elements move through registers in any case.)
WRITTEN_SCALARS = 8
BANKS = 16

Piece = Array | Variable
Places = tuple[int, ...]


def scalarize_arrays(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with scalars or smaller arrays in place of arrays with constant indices."""
    splits = _plan(kernel)
    if not splits:
        return kernel
    body = flat_map(kernel.body, lambda stmt: _statement(stmt, splits))
    # The pieces that there are, are known now.
    body = flat_map(body, lambda stmt: _forgotten(stmt, splits))
    changed: set[Piece] = {*written(body), *arrays_written(body)}
    captured: list[ir.Capture] = []
    for capture in kernel.captured:
        if isinstance(capture.what, Array) and capture.what in splits:
            captured.extend(_captures(capture, splits[capture.what], changed))
        else:
            captured.append(capture)
    return replace(kernel, captured=tuple(captured), body=body)


def kept_arrays(kernel: ir.Kernel, with_shifts: ir.Kernel) -> list[Refusal]:
    """The arrays that stay in memories, and which access to each is at no constant index.

    `with_shifts`: the kernel before `rotate_arrays`. A shift by what is no constant is told before accesses,
    as FOR loops may be plain ones because of it.
    """
    limits = {c.what: WRITTEN_SCALARS if c.out else CAPTURED_SCALARS for c in kernel.captured}
    uses = _uses(kernel)
    found = {array: why for array, why in _shifted(with_shifts) if array in uses}
    for stmt in all_statements(kernel.body):
        loads = [(load.array, load.index) for expr in operands(stmt) for load in loads_in(expr)]
        stores = [(stmt.array, stmt.index)] if isinstance(stmt, ir.Store) else []
        for array, index in (*loads, *stores):
            touch = Touch(array.name, (array, index) in stores, stmt.where)
            if not all(isinstance(expr, Const) for expr in index):
                found.setdefault(array, _refusal(array, "", touch))
    for array in uses:
        most = limits.get(array, LOCAL_SCALARS)
        found.setdefault(array, _refusal(array, f"has {array.size} elements, more than {most}"))
    return list(found.values())


def _shifted(kernel: ir.Kernel) -> Iterator[tuple[Array, Refusal]]:
    for stmt in all_statements(kernel.body):
        if isinstance(stmt, ir.Shift) and not isinstance(stmt.amount, Const):
            line = f" (line {stmt.where.line})" if stmt.where else ""
            yield stmt.array, _refusal(stmt.array, f"is shifted by what is no constant{line}")


def _refusal(array: Array, why: str, *touches: Touch) -> Refusal:
    return Refusal("scalarization", array.where, why, array.name, touches=touches)


# --- Which dimensions


@dataclass(slots=True)
class _Uses:
    """How the indices of an array look."""

    constant: list[bool]
    shifted: set[int] = field(default_factory=set)
    steady: bool = True  # all amounts of shifts are constant

    def index(self, index: tuple[Expr, ...]) -> None:
        for d, expr in enumerate(index):
            self.constant[d] &= isinstance(expr, Const)


@dataclass(slots=True)
class _Split:
    """An array and its pieces, by the indices in the dimensions along which it is split."""

    array: Array
    dimensions: tuple[int, ...]
    pieces: dict[Places, Piece] = field(default_factory=dict)

    def piece(self, places: Places) -> Piece:
        if places not in self.pieces:
            self.pieces[places] = self._make(places)
        return self.pieces[places]

    def _make(self, places: Places) -> Piece:
        array = self.array
        if array.size == 1 and array.name.endswith("]"):  # which is one of several
            return Variable(array.name.replace("[]", "[0]"), array.bits, array.where)
        name = piece_name(array.name, dict(zip(self.dimensions, places, strict=True)), len(array.shape))
        if len(places) == len(array.shape):
            return Variable(name, array.bits, array.where)
        shape = tuple(n for d, n in enumerate(array.shape) if d not in self.dimensions)
        shiftable = tuple(s for d, s in enumerate(array.shiftable) if d not in self.dimensions)
        initial = tuple(self._initial(places)) if array.initial else ()
        return replace(array, name=name, shape=shape, shiftable=shiftable, initial=initial)

    def _initial(self, places: Places) -> Iterator[int]:
        fixed = dict(zip(self.dimensions, places, strict=True))
        ranges = [(fixed[d],) if d in fixed else range(n) for d, n in enumerate(self.array.shape)]
        for index in product(*ranges):
            place = 0
            for i, extent in zip(index, self.array.shape, strict=True):
                place = place * extent + i
            yield self.array.initial[place] if place < len(self.array.initial) else 0

    def at(self, index: tuple[Expr, ...]) -> tuple[Places | None, tuple[Expr, ...]]:
        """The piece of an index (None if there is no such place) and the index in it."""
        places = tuple(e.value for d in self.dimensions for e in (index[d],) if isinstance(e, Const))
        rest = tuple(expr for d, expr in enumerate(index) if d not in self.dimensions)
        extents = [self.array.shape[d] for d in self.dimensions]
        inside = all(place < extent for place, extent in zip(places, extents, strict=True))
        return (places if inside else None), rest


def _plan(kernel: ir.Kernel) -> dict[Array, _Split]:
    captured = {
        capture.what: WRITTEN_SCALARS if capture.out else CAPTURED_SCALARS for capture in kernel.captured
    }
    splits: dict[Array, _Split] = {}
    for array, uses in _uses(kernel).items():
        limit = captured.get(array, LOCAL_SCALARS)
        dimensions = _dimensions(array, uses, max(limit, CAPTURED_SCALARS) if uses.shifted else limit)
        if dimensions:
            splits[array] = _Split(array, dimensions)
    return splits


def _uses(kernel: ir.Kernel) -> dict[Array, _Uses]:
    found: dict[Array, _Uses] = {}

    def of(array: Array) -> _Uses:
        return found.setdefault(array, _Uses([True] * len(array.shape)))

    for stmt in all_statements(kernel.body):
        # Nearly all are assignments, most of them without loads.
        for expr in (stmt.value,) if isinstance(stmt, ir.Assign) else operands(stmt):
            for load in loads_in(expr):
                of(load.array).index(load.index)
        match stmt:
            case ir.Assign():
                pass
            case ir.Store(array, index):
                of(array).index(index)
            case ir.Shift(array, index, amount):
                of(array).index(index)
                of(array).shifted.add(shifted_dimension(array, len(index)))
                of(array).steady &= isinstance(amount, Const)
            case _:
                pass
    return found


def _dimensions(array: Array, uses: _Uses, limit: int) -> tuple[int, ...]:
    if all(uses.constant) and uses.steady and (array.size <= limit or array.initial):
        return tuple(range(len(array.shape)))
    banks = [d for d, constant in enumerate(uses.constant) if constant and d not in uses.shifted]
    few = prod(array.shape[d] for d in banks) <= BANKS and len(banks) < len(array.shape)
    return tuple(banks) if few else ()


# --- Rewriting


def _statement(stmt: Stmt, splits: dict[Array, _Split]) -> tuple[Stmt, ...]:
    def leaf(expr: Expr) -> Expr:
        return _load(expr, splits[expr.array]) if isinstance(expr, Load) and expr.array in splits else expr

    stmt = map_operands(stmt, lambda expr: map_expr(expr, leaf))
    match stmt:
        case ir.Store() if stmt.array in splits:
            return _store(stmt, splits[stmt.array])
        case ir.Shift() if stmt.array in splits:
            split = splits[stmt.array]
            if len(split.dimensions) == len(stmt.array.shape):
                return tuple(_moves(stmt, split))
            before, stmt = settled(stmt)
            return (*before, *_piece_shifts(stmt, split))
        case _:
            return (stmt,)


def _load(load: Load, split: _Split) -> Expr:
    places, rest = split.at(load.index)
    if places is None:
        return Const(0, load.bits)
    if split.array.initial and not rest:
        return fold(load)
    piece = split.piece(places)
    return Read(piece) if isinstance(piece, Variable) else Load(piece, rest)


def _store(stmt: ir.Store, split: _Split) -> tuple[Stmt, ...]:
    places, rest = split.at(stmt.index)
    if places is None:
        return ()
    piece = split.piece(places)
    if isinstance(piece, Variable):
        return (_assign(piece, stmt.value, stmt),)
    return (replace(stmt, array=piece, index=rest),)


def _assign(variable: Variable, value: Expr, stmt: ir.Store | ir.Shift) -> Assign:
    if not is_constant(stmt.guard, 1):
        value = Apply("select", (stmt.guard, value, Read(variable)), value.bits)
    return Assign(variable, value, stmt.where)


def _forgotten(stmt: Stmt, splits: dict[Array, _Split]) -> tuple[Stmt, ...]:
    match stmt:
        case ir.Forget(array) if array in splits:
            return tuple([_forget(piece, stmt) for piece in splits[array].pieces.values()])
        case _:
            return (stmt,)


def _forget(piece: Piece, stmt: ir.Forget) -> Stmt:
    if isinstance(piece, Variable):
        return Assign(piece, ir.unspecified(piece.bits), stmt.where)
    return replace(stmt, array=piece)


def _moves(stmt: ir.Shift, split: _Split) -> Iterator[Stmt]:
    """A shift of scalars; those at vacated places keep their values."""
    assert isinstance(stmt.amount, Const)
    array, amount = stmt.array, signed(stmt.amount.bits, stmt.amount.value)
    shifted = shifted_dimension(array, len(stmt.index))
    extent = array.shape[shifted]
    # Every place is read before it is written.
    order = range(extent - 1, amount - 1, -1) if amount > 0 else range(extent + amount)
    ranges = [order if d == shifted else range(n) for d, n in enumerate(array.shape)]
    for d, expr in enumerate(stmt.index):
        assert isinstance(expr, Const)
        ranges[d] = range(expr.value, min(expr.value + 1, array.shape[d]))
    for place in product(*ranges) if amount else ():
        source = (*place[:shifted], place[shifted] - amount, *place[shifted + 1 :])
        target, value = split.piece(place), split.piece(source)
        assert isinstance(target, Variable) and isinstance(value, Variable)
        yield _assign(target, Read(value), stmt)


def _piece_shifts(stmt: ir.Shift, split: _Split) -> Iterator[Stmt]:
    """A shift of all the pieces that it concerns."""
    fixed = dict(enumerate(stmt.index))
    rest = tuple(expr for d, expr in fixed.items() if d not in split.dimensions)
    ranges = []
    for d in split.dimensions:
        extent = stmt.array.shape[d]
        match fixed.get(d):
            case Const(value):
                ranges.append(range(value, min(value + 1, extent)))
            case _:
                ranges.append(range(extent))
    for places in product(*ranges):
        piece = split.piece(places)
        assert isinstance(piece, Array)
        yield replace(stmt, array=piece, index=rest)


def _captures(capture: ir.Capture, split: _Split, changed: set[Piece]) -> Iterator[ir.Capture]:
    """Captures of the pieces that the kernel touches."""
    for places, piece in sorted(split.pieces.items(), key=lambda item: item[0]):
        source = element_source(capture.source, dict(zip(split.dimensions, places, strict=True)))
        out = capture.out and piece in changed
        yield replace(capture, what=piece, source=source, out=out)
