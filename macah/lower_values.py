"""The values of expressions while they are lowered: parts of variables, numbers and pointers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from backend.record import made_quickly
from macah import ctypes, ir
from macah.ctypes import ArrayType, CType, Integer, Pointer
from macah.lower_scope import Constant, FunctionName, Object
from macah.lower_units import As, Step, after


@made_quickly
@dataclass(frozen=True, slots=True)
class Lvalue:
    """A variable or part of it: `steps` are the members and the indices on the way, in order.

    `others`: it is the first of these whose condition holds, if one does.
    """

    object: Object
    type: CType
    const: bool = False
    steps: tuple[Step, ...] = ()
    others: tuple[tuple[ir.Expr, Lvalue], ...] = ()

    def member(self, member: ctypes.Member) -> Lvalue:
        """The part `.name`."""
        const = self.const or member.const
        others = tuple((condition, other.member(member)) for condition, other in self.others)
        return replace(self, type=member.type, const=const, steps=(*self.steps, member.name), others=others)

    def element(self, index: ir.Expr) -> Lvalue:
        """The part `[index]` of an array."""
        assert isinstance(self.type, ArrayType), self
        others = tuple((condition, other.element(index)) for condition, other in self.others)
        return replace(self, type=self.type.element, steps=(*self.steps, index), others=others)

    @property
    def path(self) -> tuple[str, ...]:
        """The names among the steps."""
        return tuple(step for step in self.steps if isinstance(step, str))

    @property
    def index(self) -> tuple[ir.Expr, ...]:
        """The indices among the steps."""
        return tuple(step for step in self.steps if not isinstance(step, str | As))

    @property
    def whole(self) -> CType:
        """The type of what the steps lead to, as it is declared; `type` may be a cast of it."""
        ctype = self.object.type
        for step in self.steps:
            ctype = after(ctype, step)
        return ctype

    def viewed(self, ctype: CType) -> Lvalue:
        """Its bytes as elements of another type, the first of them."""
        element = ArrayType(ctype, None)
        return replace(self, type=ctype, steps=(*self.steps, As(element), ir.Const(0)))


@made_quickly
@dataclass(frozen=True, slots=True)
class Rvalue:
    """A number, or nothing if its type is void."""

    type: Integer | ctypes.Void
    expr: ir.Expr = ir.FALSE


@dataclass(frozen=True, slots=True)
class Reference:
    """A pointer value: the address of `target`; null where `valid` is 0."""

    target: Lvalue
    valid: ir.Expr = ir.TRUE
    is_void: bool = False

    @property
    def type(self) -> Pointer:
        """Its C type."""
        return Pointer(ctypes.VOID if self.is_void else self.target.type, self.target.const)


@dataclass(frozen=True, slots=True)
class Pointee:
    """What a pointer variable points to; it is null where `valid` is 0."""

    target: Lvalue
    valid: ir.Variable | None = None
    is_void: bool = False


Value = Lvalue | Rvalue | Reference | FunctionName | Constant
Leaf = ir.Variable | ir.Array | ir.Stream | int
