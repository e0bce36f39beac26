"""What the kernel IR computes with: variables, arrays, streams, expressions; `macah.ir` has the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from arch.ops import COMPARISONS, OPS
from backend.dfg import Place, Word
from backend.record import made_quickly
from macah.site import Site


@made_quickly
@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A scalar. It holds an unspecified value until it is assigned, unless it is captured."""

    name: str
    bits: int = 32
    where: Place | None = None

    def __post_init__(self) -> None:
        assert self.bits in (32, 64), self


@dataclass(frozen=True, slots=True)
class ElementType:
    """How the host stores an array's element: `bits` 8, 16, 32 or 64. Stored words are extended already."""

    bits: int
    signed: bool


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """An array of words, of any rank. `shiftable[d]`: dimension d was written `[^N^]`.

    `shape[0]` of a parameter may be 0: not known. `initial`: the first elements of a table, row by row.
    """

    name: str
    shape: tuple[int, ...]
    element: ElementType = ElementType(32, True)
    shiftable: tuple[bool, ...] = ()
    where: Place | None = None
    initial: tuple[int, ...] = ()

    @property
    def bits(self) -> int:  # width of an element's word
        return 64 if self.element.bits == 64 else 32

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """A captured stream, or an array of them if `shape` is not ().

    An element is `size` bytes, cut into `words`; one of these has 8 bytes until `split_wide` halves it.
    """

    name: str
    size: int
    words: tuple[Word, ...]
    shape: tuple[int, ...] = ()
    where: Place | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """The name of a `Block`."""

    name: str


# --- Expressions


@made_quickly
@dataclass(frozen=True, slots=True)
class Const:
    """A word, in [0, 2**bits)."""

    value: int
    bits: int = 32

    def __post_init__(self) -> None:
        assert not self.value >> self.bits, self


@made_quickly
@dataclass(frozen=True, slots=True)
class Read:
    """The value of a variable."""

    variable: Variable

    @property
    def bits(self) -> int:
        return self.variable.bits


@made_quickly
@dataclass(frozen=True, slots=True)
class Load:
    """An element of an array; an unspecified value where an index is out of range."""

    array: Array
    index: tuple[Expr, ...]
    site: Site | None = None  # from `find_sites`
    settled: int = 0  # stores of so many iterations before this one need not be seen
    variables: tuple[Variable, ...] = field(init=False, repr=False, compare=False)  # see `walk.variables_in`
    loads: tuple[Load, ...] = field(init=False, repr=False, compare=False)  # see `walk.loads_in`

    @property
    def bits(self) -> int:
        return self.array.bits


@made_quickly
@dataclass(frozen=True, slots=True)
class Apply:
    """A pure operation.

    Operands have `bits` bits, but for comparisons (their result has 32), conversions, counts of shifts and
    the condition of `select` (both of any width).
    """

    op: str
    args: tuple[Expr, ...]
    bits: int = 32
    variables: tuple[Variable, ...] = field(init=False, repr=False, compare=False)  # see `walk.variables_in`
    loads: tuple[Load, ...] = field(init=False, repr=False, compare=False)  # see `walk.loads_in`

    def __post_init__(self) -> None:
        op, args, bits = self.op, self.args, self.bits
        assert len(args) == _ARITY.get(op), self
        if op not in _MIXED:
            for arg in args:
                assert arg.bits == bits, self
        elif op in COMPARISONS:
            assert args[0].bits == args[1].bits and bits == 32, self
        else:
            self._check_mixed([arg.bits for arg in args])

    def _check_mixed(self, widths: list[int]) -> None:
        match self.op:
            case "select":
                assert widths[1:] == [self.bits, self.bits], self
            case "sext32" | "zext32":
                assert widths == [32] and self.bits == 64, self
            case "trunc":
                assert widths == [64] and self.bits == 32, self
            case _:
                assert widths[0] == self.bits, self


_ARITY = {name: op.arity for name, op in OPS.items() if op.pure}
_MIXED = COMPARISONS | {"select", "sext32", "zext32", "trunc", "shl", "shr", "sar", "rotl"}

Expr = Const | Read | Load | Apply


def unspecified(bits: int = 32) -> Read:
    """A value that the compiler may choose: that of a variable that nothing assigns."""
    return Read(Variable("unspecified", bits))


TRUE = Const(1)
FALSE = Const(0)
