"""C's values in Python: how they are stored, byte by byte, on a little-endian machine.

An integer is an `int`, a struct a named tuple, an array a sequence. What goes in may be anything that has
the same parts: a struct may be a mapping or a sequence of its members, an array a NumPy array, and any
type the bytes that it consists of.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer type; `boolean` if a conversion to it asks for 'not 0'."""

    name: str
    size: int
    signed: bool
    boolean: bool = False

    @property
    def code(self) -> str:
        """Its letter in `array` and NumPy's type of it, less the byte order."""
        return _CODES[self.size] if self.signed else _CODES[self.size].upper()


@dataclass(frozen=True, slots=True)
class Floating:
    """`float` or `double`."""

    name: str
    size: int

    @property
    def code(self) -> str:
        """As of an integer."""
        return "f" if self.size == 4 else "d"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array."""

    element: Type
    length: int

    @property
    def name(self) -> str:
        return f"{self.element.name}[{self.length}]"

    @property
    def size(self) -> int:
        return self.element.size * self.length


@dataclass(frozen=True, slots=True)
class Member:
    """A member at a byte offset; a bit-field is `width` bits from number `bit` of that byte on."""

    name: str
    offset: int
    type: Type
    bit: int = 0
    width: int | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct or union; the members of anonymous ones are among its own."""

    name: str
    size: int
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """What has no value in Python but its bytes, such as a pointer."""

    name: str
    size: int


Type = Integer | Floating | ArrayType | Struct | Opaque


def read_type(table: Mapping[str, Any]) -> Type:
    """A type as `--emit design` writes it."""
    name, size = table.get("name", ""), table.get("size", 0)
    match table["kind"]:
        case "bool":
            return Integer(name, size, False, True)
        case "int" if size in _CODES:
            return Integer(name, size, table["signed"])
        case "float":
            return Floating(name, size)
        case "array":
            return ArrayType(read_type(table["element"]), table["length"])
        case "struct" | "union":
            return Struct(name, size, tuple(_member(member) for member in table["members"]))
    return Opaque(name, size)


def _member(table: Mapping[str, Any]) -> Member:
    bit, width = table.get("bit", 0), table.get("width")
    return Member(table["name"], table["offset"], read_type(table["type"]), bit, width)


class Elements(Sequence[Any]):
    """Values of one type, one after the other: equal to any sequence of the same ones.

    `numpy.asarray` makes an array of the right type of it, several dimensions and structs included.
    """

    def __init__(self, type: Type, data: bytes) -> None:
        self.type, self._data = type, data

    def __len__(self) -> int:
        return len(self._data) // self.type.size

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        k = range(len(self))[index]
        return decode(self.type, self._data[k * self.type.size : (k + 1) * self.type.size])

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.type, Integer | Floating):
            return iter(array(self.type.code, self._data))
        return (self[k] for k in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Elements) and other.type == self.type:
            return self._data == other._data
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self._data)

    def __repr__(self) -> str:
        return repr(list(self))

    def __bytes__(self) -> bytes:
        return self._data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        found = numpy.frombuffer(self._data, dtype=_dtype(self.type))
        if copy is False and dtype in (None, found.dtype):
            return found
        return found.astype(dtype or found.dtype)


def decode(type: Type, data: bytes) -> Any:
    """The value that bytes stand for."""
    match type:
        case Integer(signed=signed):
            return int.from_bytes(data, "little", signed=signed)
        case Floating():
            return struct.unpack(f"<{type.code}", data)[0]
        case ArrayType(element):
            return Elements(element, data)
        case Struct(members=members):
            return _tuple_of(type)(*(_read_member(member, data) for member in members))
    return data


def encode(type: Type, value: Any) -> bytes:
    """The bytes of a value. Errors: ValueError, TypeError."""
    if isinstance(value, bytes | bytearray | Elements) and not isinstance(type, Integer):
        if len(bytes(value)) != type.size:
            raise ValueError(f"{type.name} has {type.size} bytes, not {len(bytes(value))}")
        return bytes(value)
    match type:
        case Integer(boolean=True):
            return bytes([bool(value)])
        case Integer() | Floating():
            return encode_all(type, (value,))
        case ArrayType(element, length):
            if not hasattr(value, "__len__"):
                raise TypeError(f"{type.name} is made of a sequence, not of {value!r}")
            if len(value) != length:
                raise ValueError(f"{type.name} has {length} elements, not {len(value)}")
            return encode_all(element, value)
        case Struct():
            return _encode_struct(type, value)
    raise TypeError(f"{type.name} is made of {type.size} bytes, not of {value!r}")


def encode_all(type: Type, values: Iterable[Any]) -> bytes:
    """The bytes of values, one after the other. Errors: ValueError, TypeError."""
    if isinstance(values, Elements) and values.type == type:
        return bytes(values)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(values, numpy.ndarray):
        return _from_array(type, values)
    if isinstance(type, Floating) or isinstance(type, Integer) and not type.boolean:
        values = values if isinstance(values, list | tuple | range | array) else list(values)
        try:
            return array(type.code, values).tobytes()
        except OverflowError:
            raise ValueError(_misfit(type, values)) from None
    return b"".join(encode(type, value) for value in values)


def _misfit(type: Integer | Floating, values: Iterable[Any]) -> str:
    assert isinstance(type, Integer)
    low, high = _range(type)
    for k, value in enumerate(values):
        if not low <= value <= high:
            return f"{value} does not fit {type.name}, which holds {low} to {high} (value number {k})"
    raise AssertionError(values)


def _range(type: Integer) -> tuple[int, int]:
    if type.boolean:
        return 0, 1
    half = 1 << (8 * type.size - 1)
    return (-half, half - 1) if type.signed else (0, 2 * half - 1)


def _from_array(type: Type, values: Any) -> bytes:
    """The bytes of a NumPy array, whose last dimensions may be those of the type."""
    if isinstance(type, Struct | Opaque) and values.dtype.kind != "V":
        return b"".join(encode(type, value) for value in values.tolist())
    inner, shape = type, list[int]()
    while isinstance(inner, ArrayType):
        shape.append(inner.length)
        inner = inner.element
    if list(values.shape[1:]) != shape:
        raise ValueError(f"an array of shape {values.shape} has no elements of {type.name}")
    dtype = _dtype(inner)
    if isinstance(inner, Integer) and values.dtype != dtype:
        if values.dtype.kind not in "biu":
            raise TypeError(f"{inner.name} is made of integers, not of {values.dtype}")
        low, high = _range(inner)
        if values.size and not low <= int(values.min()) <= int(values.max()) <= high:
            raise ValueError(_misfit(inner, values.reshape(-1).tolist()))
    if isinstance(inner, Struct) and values.dtype.names != dtype.names:
        raise TypeError(f"{inner.name} has the members {dtype.names}, not {values.dtype.names}")
    return cast(bytes, values.astype(dtype).tobytes())


def _encode_struct(type: Struct, value: Any) -> bytes:
    """Members that a mapping does not name are 0."""
    if isinstance(value, Mapping):
        parts = dict(value)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != len(type.members):
            raise ValueError(f"{type.name} has {len(type.members)} members, not {len(value)}")
        parts = dict(zip((m.name for m in type.members), value, strict=True))
    else:
        raise TypeError(f"{type.name} is made of a mapping or a sequence, not of {value!r}")
    data = bytearray(type.size)
    for member in type.members:
        if member.name in parts:
            _write_member(member, data, parts.pop(member.name))
    if parts:
        raise ValueError(f"{type.name} has no member '{next(iter(parts))}'")
    return bytes(data)


def _read_member(member: Member, data: bytes) -> Any:
    if member.width is None:
        return decode(member.type, data[member.offset : member.offset + member.type.size])
    assert isinstance(member.type, Integer)
    value = get_bits(data, member.offset, member.bit, member.width)
    return value - (1 << member.width) if member.type.signed and value >> (member.width - 1) else value


def _write_member(member: Member, data: bytearray, value: Any) -> None:
    if member.width is None:
        data[member.offset : member.offset + member.type.size] = encode(member.type, value)
        return
    signed = isinstance(member.type, Integer) and member.type.signed
    low, high = (-(1 << (member.width - 1)), 1 << (member.width - 1)) if signed else (0, 1 << member.width)
    if not low <= value < high:
        raise ValueError(f"{value} does not fit {member.name}, which has {member.width} bits")
    set_bits(data, member.offset, member.bit, member.width, value)


def get_bits(data: bytes | bytearray, offset: int, bit: int, width: int) -> int:
    """`width` bits from number `bit` of a byte on, without sign."""
    end = offset + (bit + width + 7) // 8
    return int.from_bytes(data[offset:end], "little") >> bit & ((1 << width) - 1)


def set_bits(data: bytearray, offset: int, bit: int, width: int, value: int) -> None:
    """Replaces these bits by the low ones of `value`."""
    end = offset + (bit + width + 7) // 8
    mask = (1 << width) - 1
    old = int.from_bytes(data[offset:end], "little")
    new = old & ~(mask << bit) | (value & mask) << bit
    data[offset:end] = new.to_bytes(end - offset, "little")


@cache
def _tuple_of(type: Struct) -> Any:
    """The named tuple for a struct; a member whose name Python cannot have is `_0`, `_1`, …"""
    words = (word for word in reversed(type.name.split()) if word.isidentifier())
    names = [member.name for member in type.members]
    return namedtuple(next(words, "struct"), names, rename=True)


def _dtype(type: Type) -> Any:
    """NumPy's type."""
    import numpy

    match type:
        case Integer(boolean=True):
            return numpy.dtype("?")
        case Integer(size=size, signed=signed):
            return numpy.dtype(f"<{'i' if signed else 'u'}{size}")
        case Floating(size=size):
            return numpy.dtype(f"<f{size}")
        case ArrayType(element, length):
            return numpy.dtype((_dtype(element), (length,)))
        case Struct(size=size, members=members) if all(m.width is None for m in members):
            names, offsets = [m.name for m in members], [m.offset for m in members]
            formats = [_dtype(m.type) for m in members]
            return numpy.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})
    return numpy.dtype(f"V{type.size}")
