"""C's types as the host has them (Linux, LP64): sizes, layout, conversions, and their spelling in messages.

Types are values; a struct is equal only to itself. Qualifiers are not part of a type but for what a pointer
points to; whether an object is const is known where it is declared.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field

CHAR_IS_SIGNED = platform.machine() not in {"aarch64", "arm64", "armv7l", "ppc64le", "riscv64", "s390x"}


@dataclass(frozen=True, slots=True)
class Void:
    """`void`."""

    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer type; `rank` orders the types as C's conversion rank does.

    The type of a bit-field has a `width` of its own; 0 stands for all bits of its size.
    """

    name: str
    size: int
    signed: bool
    rank: int
    width: int = 0

    def __str__(self) -> str:
        return f"{self.name}:{self.width}" if self.width else self.name

    @property
    def precision(self) -> int:
        """How many bits values have."""
        return 1 if self.is_bool else self.width or 8 * self.size

    @property
    def bits(self) -> int:
        """The width of the word that holds a value."""
        return 64 if self.size == 8 else 32

    @property
    def is_bool(self) -> bool:
        """Whether a conversion to it asks for 'not 0'."""
        return self.rank == 0

    def wrap(self, number: int) -> int:
        """`number` converted to this type."""
        if self.is_bool:
            return int(number != 0)
        number &= (1 << self.precision) - 1
        return number - (1 << self.precision) if self.signed and number >> (self.precision - 1) else number

    def holds(self, other: Integer) -> bool:
        """Whether every value of `other` is a value of this type."""
        if self.is_bool or other.is_bool:
            return other.is_bool
        if self.signed == other.signed:
            return self.precision >= other.precision
        return self.signed and self.precision > other.precision


@dataclass(frozen=True, slots=True)
class Floating:
    """A floating-point type."""

    name: str
    size: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer; `const` if what it points to must not be written through it."""

    target: CType
    const: bool = False

    def __str__(self) -> str:
        return spell(self, "")


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array; `length` is None if not known (`[]`), -1 if not constant."""

    element: CType
    length: int | None
    shiftable: bool = False

    def __str__(self) -> str:
        return spell(self, "")


@dataclass(frozen=True, slots=True)
class StreamType:
    """A handle of a stream."""

    element: CType

    def __str__(self) -> str:
        return f"{self.element} stream"


@dataclass(frozen=True, slots=True)
class FunctionType:
    """A function; `parameters` is None if they are not declared."""

    result: CType
    parameters: tuple[CType, ...] | None
    variadic: bool = False

    def __str__(self) -> str:
        return spell(self, "")


@dataclass(frozen=True, slots=True)
class Member:
    """A member at `offset` bytes; `name` begins with "@" for an anonymous struct.

    A bit-field begins at bit number `bit` of the struct, and its type has its width.
    """

    name: str
    type: CType
    offset: int
    const: bool = False
    bit: int | None = None

    @property
    def bitfield(self) -> bool:
        """Whether it is a bit-field."""
        return self.bit is not None


@dataclass(slots=True, eq=False)
class StructType:
    """A struct or union, which may still be incomplete; `alias` is the first typedef of one without a tag."""

    kind: str
    tag: str
    members: tuple[Member, ...] = ()
    complete: bool = False
    size: int = 0
    align: int = 1
    alias: str = ""
    _index: tuple[tuple[Member, ...], dict[str, Member]] = field(default=((), {}), init=False, repr=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.tag}" if self.tag else self.alias or f"{self.kind} <anonymous>"

    @property
    def named(self) -> Mapping[str, Member]:
        """The members by their names."""
        if self._index[0] is not self.members:
            self._index = self.members, {member.name: member for member in reversed(self.members)}
        return self._index[1]

    def find(self, name: str) -> tuple[Member, ...]:
        """The way to a member, through anonymous members; () if there is none."""
        if name in self.named:
            return (self.named[name],)
        for member in self.members:
            if member.name.startswith("@") and isinstance(member.type, StructType):
                inner = member.type.find(name)
                if inner:
                    return (member, *inner)
        return ()


CType = Void | Integer | Floating | Pointer | ArrayType | StreamType | FunctionType | StructType

VOID = Void()
BOOL = Integer("_Bool", 1, False, 0)
CHAR = Integer("char", 1, CHAR_IS_SIGNED, 1)
SCHAR = Integer("signed char", 1, True, 1)
UCHAR = Integer("unsigned char", 1, False, 1)
SHORT = Integer("short", 2, True, 2)
USHORT = Integer("unsigned short", 2, False, 2)
INT = Integer("int", 4, True, 3)
UINT = Integer("unsigned int", 4, False, 3)
LONG = Integer("long", 8, True, 4)
ULONG = Integer("unsigned long", 8, False, 4)
LLONG = Integer("long long", 8, True, 5)
ULLONG = Integer("unsigned long long", 8, False, 5)
INT128 = Integer("__int128", 16, True, 6)
UINT128 = Integer("unsigned __int128", 16, False, 6)
FLOAT = Floating("float", 4)
DOUBLE = Floating("double", 8)
LONG_DOUBLE = Floating("long double", 16)

_UNSIGNED = {t.rank: t for t in (UCHAR, USHORT, UINT, ULONG, ULLONG, UINT128)}
_WORDS: dict[str, CType] = {
    "void": VOID,
    "_Bool": BOOL,
    "bool": BOOL,
    "char": CHAR,
    "char signed": SCHAR,
    "char unsigned": UCHAR,
    "short": SHORT,
    "short unsigned": USHORT,
    "": INT,
    "unsigned": UINT,
    "long": LONG,
    "long unsigned": ULONG,
    "long long": LLONG,
    "long long unsigned": ULLONG,
    "__int128": INT128,
    "__int128_t": INT128,
    "__int128 unsigned": UINT128,
    "__uint128_t": UINT128,
    "float": FLOAT,
    "double": DOUBLE,
    "double long": LONG_DOUBLE,
    "__builtin_va_list": ArrayType(ULONG, 3),
}


def basic_type(words: list[str]) -> CType | None:
    """The type that type specifiers as `unsigned`, `long` name, in any order."""
    if exact := _WORDS.get(" ".join(sorted(words))):
        return exact
    plain = [w for w in words if w != "int"]
    if "char" not in plain:
        plain = [w for w in plain if w != "signed"]
    return _WORDS.get(" ".join(sorted(plain)))


def size_of(ctype: CType) -> int | None:
    """`sizeof`; None for what has no size known at compile time. GNU C gives void and functions 1."""
    match ctype:
        case Integer(size=size) | Floating(size=size):
            return size
        case Pointer() | StreamType():
            return 8
        case ArrayType(element, length):
            size_of_element = size_of(element)
            if length is None or length < 0 or size_of_element is None:
                return None
            return length * size_of_element
        case StructType():
            return ctype.size if ctype.complete else None
        case Void() | FunctionType():
            return 1


def align_of(ctype: CType) -> int:
    """`_Alignof`."""
    match ctype:
        case Integer(size=size) | Floating(size=size):
            return size
        case Pointer() | StreamType():
            return 8
        case ArrayType(element):
            return align_of(element)
        case StructType():
            return ctype.align
        case Void() | FunctionType():
            return 1


def promote(ctype: Integer) -> Integer:
    """C's integer promotions; gcc keeps the widths of bit-fields that are wider than `int`."""
    if ctype.width:
        return INT if ctype.precision < 8 * INT.size else ctype
    return ctype if ctype.rank >= INT.rank else INT


def common_type(a: Integer, b: Integer) -> Integer:
    """C's usual arithmetic conversions."""
    a, b = promote(a), promote(b)
    if a.width or b.width:
        return max(a, b, key=lambda t: (t.precision, not t.signed))
    if a.signed == b.signed:
        return a if a.rank >= b.rank else b
    unsigned, signed = (b, a) if a.signed else (a, b)
    if unsigned.rank >= signed.rank:
        return unsigned
    return signed if signed.size > unsigned.size else _UNSIGNED[signed.rank]


def decay(ctype: CType) -> CType:
    """The type of an array or function when it is used as a value or declared as a parameter."""
    match ctype:
        case ArrayType(element):
            return Pointer(element)
        case FunctionType():
            return Pointer(ctype)
        case _:
            return ctype


def compatible(a: CType, b: CType) -> bool:
    """Whether two types are compatible, without regard to qualifiers."""
    match a, b:
        case Pointer(x), Pointer(y):
            return compatible(x, y)
        case ArrayType(x, n), ArrayType(y, m):
            return compatible(x, y) and (n is None or m is None or n == m)
        case StreamType(x), StreamType(y):
            return compatible(x, y)
        case _:
            return a == b


def spell(ctype: CType, inner: str) -> str:
    """The declaration of `inner` as C writes it."""
    match ctype:
        case Pointer(target, const):
            nested = f"(*{inner})" if isinstance(target, ArrayType | FunctionType) else f"*{inner}"
            return ("const " if const else "") + spell(target, nested)
        case ArrayType(element, length, shiftable):
            extent = "" if length is None else "*" if length < 0 else str(length)
            return spell(element, f"{inner}[^{extent}^]" if shiftable else f"{inner}[{extent}]")
        case FunctionType(result, parameters, variadic):
            names = [str(p) for p in parameters or ()] + ["..."] * variadic
            return spell(result, f"{inner}({', '.join(names) or 'void'})")
        case _:
            gap = " " if inner and not inner.startswith("[") else ""
            return f"{ctype}{gap}{inner}"
