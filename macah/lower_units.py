"""Memory that is read as values of different types: unions, and what pointers are cast from.

It is kept as units, unsigned words of 1, 2, 4 or 8 bytes. A scalar is some of the bits of one unit, or of
several together, little end first as on the host:

    union { uint32_t w; uint8_t b[4]; } u;     one unit of 4 bytes
    u.b[i]                                     zext8(u >> (i & 3) * 8)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Integer, StructType, align_of, size_of
from macah.diagnostic import MacahError, Place
from macah.lower_arithmetic import apply, convert

UNITS = {1: ctypes.UCHAR, 2: ctypes.USHORT, 4: ctypes.UINT, 8: ctypes.ULONG}


@dataclass(frozen=True, slots=True)
class As:
    """A step on the way to a part of a variable: from here on, its bytes are of another type."""

    type: CType


Step = str | ir.Expr | As


@dataclass(frozen=True, slots=True)
class Position:
    """A number of bytes: `start`, and each expression times its factor. A bit-field has a bit in the byte."""

    start: int = 0
    terms: tuple[tuple[ir.Expr, int], ...] = ()
    bit: int | None = None

    def divided_by(self, size: int) -> ir.Expr | None:
        """As a number of things of `size` bytes, rounded down; None if that is not certain."""
        if any(factor % size for _, factor in self.terms):
            return None
        parts = [times(expr, factor // size) for expr, factor in self.terms]
        return total([*parts, number(self.start // size)])


def number(value: int) -> ir.Const:
    """A word of 32 bits."""
    return ir.Const(value & 0xFFFFFFFF)


def times(expr: ir.Expr, factor: int) -> ir.Expr:
    """`expr * factor`."""
    return expr if factor == 1 else apply("mul", expr, number(factor))


def total(parts: Sequence[ir.Expr]) -> ir.Expr:
    """The sum."""
    result: ir.Expr = ir.Const(0)
    for part in parts:
        if part != ir.Const(0):
            result = part if result == ir.Const(0) else apply("add", result, part)
    return result


def member_of(ctype: CType, name: str) -> ctypes.Member:
    """The member of a struct or union that a step names."""
    assert isinstance(ctype, StructType), ctype
    return ctype.named[name]


def after(ctype: CType, step: Step) -> CType:
    """The type of the part of a value to which a step leads."""
    match step:
        case As(other):
            return other
        case str(name):
            return member_of(ctype, name).type
        case _:
            assert isinstance(ctype, ArrayType), ctype
            return ctype.element


def position(ctype: CType, steps: Sequence[Step]) -> Position:
    """Where in a value of `ctype` a part of it begins."""
    start, terms, bit = 0, list[tuple[ir.Expr, int]](), None
    for step in steps:
        match step:
            case str(name):
                member = member_of(ctype, name)
                bit = None if member.bit is None else member.bit % 8
                start += member.offset if member.bit is None else member.bit // 8
            case As():
                pass
            case ir.Const(value):
                start += ctypes.INT.wrap(value) * (size_of(after(ctype, step)) or 0)
            case expr:
                terms.append((expr, size_of(after(ctype, step)) or 0))
        ctype = after(ctype, step)
    return Position(start, tuple(terms), bit)


def overlaps(ctype: CType) -> bool:
    """Whether a value has scalars that share bytes: bit-fields, or members of a union."""
    match ctype:
        case StructType(kind=kind, members=members):
            return kind == "union" or any(m.bitfield or overlaps(m.type) for m in members)
        case ArrayType(element):
            return overlaps(element)
        case _:
            return False


def unit_of(ctype: CType) -> Integer:
    """The largest unit in which every scalar of a value is either inside one unit, or made of whole ones."""
    size = size_of(ctype) or 0
    scalars = list(_scalars(ctype, 0, ()))
    wide = all(leaf == 8 for leaf, _, _ in scalars)
    for unit in (8, 4, 2) if wide else (4, 2):
        if size % unit == 0 and all(_fits(unit, *scalar) for scalar in scalars):
            return UNITS[unit]
    return UNITS[1]


def _fits(unit: int, size: int, offset: int, strides: tuple[int, ...]) -> bool:
    step = min(size, unit)
    return offset % step == 0 and all(stride % step == 0 for stride in strides)


def _scalars(
    ctype: CType, offset: int, strides: tuple[int, ...]
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """The size of each scalar, its offset in the first elements of the arrays it is in, and their strides."""
    match ctype:
        case StructType(members=members):
            for member in members:
                if member.bitfield:
                    # It is read with all bytes of its storage unit, wherever it is in it.
                    yield align_of(ctype) if align_of(ctype) < 4 else 4, offset, strides
                else:
                    yield from _scalars(member.type, offset + member.offset, strides)
        case ArrayType(element):
            yield from _scalars(element, offset, (*strides, size_of(element) or 1))
        case _:
            yield size_of(ctype) or 1, offset, strides


@dataclass(frozen=True, slots=True)
class Window:
    """A scalar in the units of `leaf`, whose index begins with `prefix`; `count` of them stand in a row."""

    leaf: ir.Variable | ir.Array | int
    unit: Integer
    prefix: tuple[ir.Expr, ...]
    count: int
    at: Position
    type: Integer
    where: Place

    def read(self) -> ir.Expr:
        """Its value."""
        first, inner = self._first()
        if not isinstance(inner, int):
            container = ctypes.ULONG if self.unit.bits == 64 else ctypes.UINT
            word = apply("shr", self._load(first), inner, bits=container.bits)
            return convert(self._alone(word, container), container, self.type)
        if self._is_whole(inner):
            return convert(self._load(first), self.unit, self.type)
        container = self._container(inner)
        word = ir.Const(0, container.bits)
        for k in range(self._touched(inner)):
            part = convert(self._load(self._next(first, k)), self.unit, container)
            part = apply("shl", part, number(8 * self.unit.size * k), bits=container.bits) if k else part
            word = part if k == 0 else apply("or", word, part, bits=container.bits)
        if inner:
            word = apply("shr", word, number(inner), bits=container.bits)
        return convert(self._alone(word, container), container, self.type)

    def _alone(self, word: ir.Expr, container: Integer) -> ir.Expr:
        """Without the bits above, which no conversion to `_Bool` cuts off."""
        if not self.type.is_bool or self._width >= container.precision:
            return word
        return apply("and", word, ir.Const((1 << self._width) - 1, container.bits), bits=container.bits)

    def write(self, value: ir.Expr) -> list[tuple[tuple[ir.Expr, ...], ir.Expr]]:
        """Which units to assign what, for the scalar to become `value`."""
        first, inner = self._first()
        if not isinstance(inner, int):
            return [self._within(first, inner, value)]
        if self._is_whole(inner):
            return [(self._index(first), convert(value, self.type, self.unit))]
        container = self._container(inner)
        word = convert(value, self.type, container)
        if inner:
            word = apply("shl", word, number(inner), bits=container.bits)
        mask = ((1 << self._width) - 1) << inner
        stores = []
        for k in range(self._touched(inner)):
            bits = 8 * self.unit.size
            part = apply("shr", word, number(bits * k), bits=container.bits) if k else word
            covered = mask >> bits * k & (1 << bits) - 1
            place = self._next(first, k)
            stores.append(
                (self._index(place), self._merged(place, convert(part, container, self.unit), covered))
            )
        return stores

    @property
    def is_single(self) -> bool:
        """Whether no more than one unit is read or written."""
        inner = self._first()[1]
        return not isinstance(inner, int) or self._touched(inner) == 1

    @property
    def _width(self) -> int:
        return self.type.precision if self.at.bit is not None else 8 * self.type.size

    def _is_whole(self, inner: int) -> bool:
        return inner == 0 and self._width == 8 * self.unit.size

    def _touched(self, inner: int) -> int:
        return -(-(inner + self._width) // (8 * self.unit.size))

    def _container(self, inner: int) -> Integer:
        span = max(inner + self._width, 8 * self.unit.size)
        if self._touched(inner) > 1:
            span = self._touched(inner) * 8 * self.unit.size
        if inner + self._width > 64:
            raise MacahError(
                "a bit-field that touches more than 8 bytes is not supported in a kernel",
                self.where,
                hint="move it to the beginning of its struct",
                code="bit-field",
            )
        return ctypes.UINT if span <= 32 else ctypes.ULONG

    def _first(self) -> tuple[ir.Expr, int | ir.Expr]:
        """The number of the first unit, and the bit at which the scalar begins in it."""
        size = self.unit.size
        inner = self.at.start % size * 8 + (self.at.bit or 0)
        exact = self.at.divided_by(size)
        if exact is not None:
            return exact, inner
        step = min(self.type.size, size)
        # C wants pointers to be aligned; so where that is not certain, they are.
        aligned = self.at.start % step == 0 or any(f % step for _, f in self.at.terms)
        if self.at.bit is not None or not aligned:
            raise MacahError(
                "a value at a place that is not a multiple of its size cannot be read or written in a kernel",
                self.where,
                hint="read it byte by byte",
                code="alignment",
            )
        byte = total([*(times(e, f) for e, f in self.at.terms), number(self.at.start)])
        place = apply("shr", byte, number(size.bit_length() - 1))
        if self.type.size >= size:
            return place, 0
        return place, apply("shl", apply("and", byte, number(size - 1)), number(3))

    def _next(self, first: ir.Expr, k: int) -> ir.Expr:
        return total([first, number(k)]) if k else first

    def _index(self, place: ir.Expr) -> tuple[ir.Expr, ...]:
        return (*self.prefix, place) if self.count > 1 else self.prefix

    def _load(self, place: ir.Expr) -> ir.Expr:
        match self.leaf:
            case ir.Variable():
                return ir.Read(self.leaf)
            case ir.Array():
                return ir.Load(self.leaf, self._index(place))
            case value:
                return ir.Const(value, self.unit.bits)

    def _merged(self, place: ir.Expr, new: ir.Expr, covered: int) -> ir.Expr:
        """A unit with the covered bits replaced."""
        bits, everything = self.unit.bits, (1 << 8 * self.unit.size) - 1
        if covered == everything:
            return new
        kept = apply("and", self._load(place), ir.Const(everything & ~covered, bits), bits=bits)
        new = apply("and", new, ir.Const(covered, bits), bits=bits)
        return apply("or", kept, new, bits=bits)

    def _within(self, place: ir.Expr, shift: ir.Expr, value: ir.Expr) -> tuple[tuple[ir.Expr, ...], ir.Expr]:
        """The assignment of a scalar smaller than a unit, at a bit that is not constant."""
        container = ctypes.ULONG if self.unit.bits == 64 else ctypes.UINT
        bits = container.bits
        ones = ir.Const((1 << self._width) - 1, bits)
        hole = apply("not", apply("shl", ones, shift, bits=bits), bits=bits)
        kept = apply("and", self._load(place), hole, bits=bits)
        new = apply("and", convert(value, self.type, container), ones, bits=bits)
        merged = apply("or", kept, apply("shl", new, shift, bits=bits), bits=bits)
        return self._index(place), convert(merged, container, self.unit)
