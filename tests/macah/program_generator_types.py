"""What random programs are made of: choices, types, variables and constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class Choices(Protocol):
    """Where a generator's decisions come from. Lower choices make simpler programs."""

    def integer(self, low: int, high: int) -> int:
        """A number, both ends included."""
        ...


class Seeded:
    """Choices of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)


@dataclass(frozen=True)
class Scalar:
    """An integer type: its name in C, its width, and the constants it may be given."""

    name: str
    bits: int
    signed: bool
    suffix: str = ""

    @property
    def zero(self) -> str:
        return "0"


@dataclass(frozen=True)
class Struct:
    """A struct type; a member is a name, a type and a shape."""

    name: str
    members: tuple[tuple[str, Scalar | Struct, tuple[int, ...]], ...]


Type = Scalar | Struct

INT = Scalar("int", 32, True)
UNSIGNED = Scalar("unsigned", 32, False, "u")
ENUM = Scalar("enum tint", 32, True)
BOOL = Scalar("_Bool", 1, False)
CHAR = Scalar("char", 8, True)
NARROW = (
    INT,
    Scalar("short", 16, True),
    Scalar("unsigned char", 8, False),
    UNSIGNED,
    Scalar("signed char", 8, True),
    CHAR,
    Scalar("unsigned short", 16, False),
    BOOL,
    ENUM,
)
WIDE = (
    Scalar("long long", 64, True, "LL"),
    Scalar("unsigned long long", 64, False, "ULL"),
    Scalar("long", 64, True, "L"),
)
ENUMERATORS = {"RED": 0, "GREEN": 5, "BLUE": 6, "DARK": -3}
CORNERS = (0, 1, 2, 7, 31, 32, 127, 128, 255, 256, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1)


@dataclass(frozen=True)
class Var:
    """A variable or parameter.

    `home` is the object that its effects are on: pointers and file-scope variables may stand for the same one
    in a function, so they share a home there. `fixed` may not be written: constants and loop counters.
    """

    name: str
    type: Type
    shape: tuple[int, ...] = ()
    shiftable: tuple[bool, ...] = ()
    fixed: bool = False
    home: str = ""
    pointer: bool = False  # `name->member`, `*name`; for arrays, nothing but the name shows it
    compile_time: bool = False  # a FOR variable

    @property
    def object(self) -> str:
        return self.home or self.name


@dataclass(frozen=True)
class Channel:
    """A stream, or an array of them."""

    name: str
    type: Type
    sends: bool
    count: int = 0
    closed: bool = True


@dataclass(frozen=True)
class Function:
    """A function to call. A parameter is a `Var`; those with a shape or `pointer` are by reference."""

    name: str
    result: Type | None
    parameters: tuple[Var | Channel, ...]
    touches: frozenset[str]


@dataclass(frozen=True)
class Ex:
    """An expression and the objects that evaluating it reads and writes."""

    text: str
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    atom: bool = False

    def clashes(self, other: Ex) -> bool:
        """Whether the two may not stand unsequenced next to each other."""
        mine, its = self.reads | self.writes, other.reads | other.writes
        return bool(self.writes & its or other.writes & mine)

    def wrapped(self) -> str:
        return self.text if self.atom else f"({self.text})"


class Base:
    """Draws from the choices."""

    def __init__(self, choices: Choices, wide: bool = True) -> None:
        self.choices = choices
        self.wide = wide
        self.fresh = 0

    def pick(self, options: Sequence[T]) -> T:
        return options[self.choices.integer(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        return self.choices.integer(0, 99) >= 100 - percent

    def weighted(self, options: dict[str, int]) -> str:
        """One of the names, by weight; the first is the simplest."""
        at = self.choices.integer(0, sum(options.values()) - 1)
        for name, weight in options.items():
            if at < weight:
                return name
            at -= weight
        raise AssertionError(options)

    def name(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def scalar_type(self) -> Scalar:
        return self.pick(WIDE if self.wide and self.chance(20) else NARROW)

    def constant(self, kind: Scalar) -> str:
        """A constant expression of about that type, never an overflowing one."""
        if kind is ENUM:
            return self.pick(list(ENUMERATORS))
        if kind is BOOL:
            return str(self.choices.integer(0, 1))
        form = self.choices.integer(0, 9)
        if form < 2:
            value = self.pick(CORNERS)
        else:
            value = self.choices.integer(0, (1 << self.choices.integer(1, kind.bits - kind.signed)) - 1)
        value = min(value, 2 ** (kind.bits - kind.signed) - 1)
        if kind is CHAR and 64 < value < 91:
            return f"'{chr(value)}'"
        text = (hex(value) if form == 9 else str(value)) + kind.suffix
        return f"-{text}" if kind.signed and self.chance(35) else text

    def initializer(self, kind: Type, shape: tuple[int, ...]) -> str:
        """A constant initializer, often of a part only."""
        if shape:
            given = self.choices.integer(1, shape[0])
            parts = [self.initializer(kind, shape[1:]) for _ in range(given)]
            if self.chance(20):
                parts[-1] = f"[{self.choices.integer(given - 1, shape[0] - 1)}] = {parts[-1]}"
            return f"{{ {', '.join(parts)} }}"
        if isinstance(kind, Scalar):
            return self.constant(kind)
        members = [(name, self.initializer(t, s)) for name, t, s in kind.members]
        if self.chance(30):
            return "{ " + ", ".join(f".{name} = {text}" for name, text in reversed(members)) + " }"
        return "{ " + ", ".join(text for _, text in members[: self.choices.integer(1, len(members))]) + " }"


def dimensions(shape: tuple[int, ...], shiftable: tuple[bool, ...] = ()) -> str:
    """`[3][^4^]`."""
    marks = [*shiftable, *[False] * len(shape)]
    return "".join(f"[^{n}^]" if mark else f"[{n}]" for n, mark in zip(shape, marks, strict=False))
