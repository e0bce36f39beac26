"""Arithmetic on 64-bit values as pairs of 32-bit halves, lower half first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from macah.fold import fold_apply
from macah.ir import Apply, Const, Expr

Pair = tuple[Expr, Expr]
ZERO = Const(0)
_MASK = 0xFFFFFFFF


def halves(value: int) -> tuple[Const, Const]:
    """The halves of a 64-bit constant."""
    return Const(value & _MASK), Const(value >> 32)


@dataclass(frozen=True, slots=True)
class Wide:
    """Builds pairs. `keep` gives an expression a name, so that it can be used several times."""

    keep: Callable[[Expr], Expr]

    def do(self, op: str, *args: Expr) -> Expr:
        """A 32-bit operation."""
        return self.keep(fold_apply(op, args, 32))

    def binary(self, op: str, a: Pair, b: Pair) -> Pair:
        """The result of an operation on two 64-bit values."""
        match op:
            case "add":
                low = self.do("add", a[0], b[0])
                carry = self.do("ult", low, a[0])
                return low, self.do("add", self.do("add", a[1], b[1]), carry)
            case "sub":
                borrow = self.do("ult", a[0], b[0])
                return self.do("sub", a[0], b[0]), self.do("sub", self.do("sub", a[1], b[1]), borrow)
            case "and" | "or" | "xor":
                return self.do(op, a[0], b[0]), self.do(op, a[1], b[1])
            case "mul":
                cross = self.do("add", self.do("mul", a[0], b[1]), self.do("mul", a[1], b[0]))
                return self.do("mul", a[0], b[0]), self.do("add", self.do("umulh", a[0], b[0]), cross)
            case "absdiff":
                return self.unary("abs", self.binary("sub", a, b))
            case "smin" | "umin":
                return self.select(self.compare(op[0] + "lt", a, b), a, b)
            case "smax" | "umax":
                return self.select(self.compare(op[0] + "lt", b, a), a, b)
        raise AssertionError(f"no {op} of 64 bits")

    def unary(self, op: str, a: Pair) -> Pair:
        """The result of an operation on one 64-bit value."""
        match op:
            case "mov":
                return a
            case "not":
                return self.do("not", a[0]), self.do("not", a[1])
            case "neg":
                whole = self.do("eq", a[0], ZERO)
                return self.do("neg", a[0]), self.do("add", self.do("not", a[1]), whole)
            case "abs":
                return self.select(self.do("slt", a[1], ZERO), self.unary("neg", a), a)
            case "sext8" | "sext16":
                return self.extend(self.do(op, a[0]))
            case "zext8" | "zext16":
                return self.do(op, a[0]), ZERO
        raise AssertionError(f"no {op} of 64 bits")

    def extend(self, value: Expr) -> Pair:
        """A 32-bit value sign-extended."""
        return value, self.do("sar", value, Const(31))

    def product(self, extension: str, a: Expr, b: Expr) -> Pair:
        """The product of two 32-bit values that are extended by sign or by zeros."""
        upper = "smulh" if extension == "sext32" else "umulh"
        return self.do("mul", a, b), self.do(upper, a, b)

    def truth(self, a: Pair) -> Expr:
        """Something that is 0 iff the value is."""
        return self.do("or", a[0], a[1])

    def compare(self, op: str, a: Pair, b: Pair) -> Expr:
        """A comparison of two 64-bit values."""
        if b == (ZERO, ZERO):
            if op in ("eq", "ne"):
                return self.do(op, self.truth(a), ZERO)
            if op == "slt":
                return self.do(op, a[1], ZERO)
        match op:
            case "eq":
                return self.do("and", self.do("eq", a[0], b[0]), self.do("eq", a[1], b[1]))
            case "ne":
                return self.do("or", self.do("ne", a[0], b[0]), self.do("ne", a[1], b[1]))
        upper = self.do(op[0] + "lt", a[1], b[1])
        lower = self.do("u" + op[1:], a[0], b[0])
        return self.do("or", upper, self.do("and", self.do("eq", a[1], b[1]), lower))

    def select(self, condition: Expr, a: Pair, b: Pair) -> Pair:
        """A choice between two 64-bit values."""
        return self.do("select", condition, a[0], b[0]), self.do("select", condition, a[1], b[1])

    def shift(self, op: str, a: Pair, count: Expr) -> Pair:
        """A shift or rotation by `count` modulo 64."""
        far = self.do("and", count, Const(32))
        if op == "rotl":
            low, high = self.select(far, (a[1], a[0]), a)
            return self._leftwards(low, high, count), self._leftwards(high, low, count)
        if op == "shl":
            low = self.do("shl", a[0], count)
            near = self._leftwards(a[1], a[0], count)
            return self.select(far, (ZERO, low), (low, near))
        high = self.do(op, a[1], count)
        near = self._rightwards(a[0], a[1], count)
        vacated = ZERO if op == "shr" else self.do("sar", a[1], Const(31))
        return self.select(far, (high, vacated), (near, high))

    def _leftwards(self, upper: Expr, lower: Expr, count: Expr) -> Expr:
        """The upper word of two shifted left by `count` modulo 32; what comes in takes two steps,

        as a shift by 32 - 0 places would be one by 0.
        """
        if isinstance(count, Const) and count.value % 32 == 0:
            return upper
        entering = self.do("shr", self.do("shr", lower, Const(1)), self.do("not", count))
        return self.do("or", self.do("shl", upper, count), entering)

    def _rightwards(self, lower: Expr, upper: Expr, count: Expr) -> Expr:
        """The lower word of two shifted right by `count` modulo 32."""
        if isinstance(count, Const) and count.value % 32 == 0:
            return lower
        entering = self.do("shl", self.do("shl", upper, Const(1)), self.do("not", count))
        return self.do("or", self.do("shr", lower, count), entering)


def operation(op: str, *args: Expr) -> Apply:
    """A 64-bit operation, or a comparison."""
    bits = 32 if op in ("eq", "ne", "slt", "sle", "ult", "ule") else 64
    return Apply(op, args, bits)
