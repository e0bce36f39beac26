"""Choices between two values that are one operation: minimum, maximum, absolute value, clamping.

x < 0 ? -x : x                          ->     abs(x)
x < 0 ? 0 : min(x, 255)                 ->     max(min(x, 255), 0)
"""

from __future__ import annotations

from collections.abc import Callable

from arch.ops import signed
from macah.ir import Apply, Const, Expr

Same = Callable[[Expr, Expr], bool]

_LEAST = {"s": "smin", "u": "umin"}
_MOST = {"s": "smax", "u": "umax"}


def fold_choice(c: Expr, a: Expr, b: Expr, same: Same) -> Expr | None:
    """The choice of `a` where the comparison `c` holds, else of `b`, as another operation, or None."""
    match c, a:
        case Apply("slt", (Const(0), x)), Apply("smax", (y, Const(0))) if same(x, y):
            return fold_choice(c, x, b, same) or Apply("select", (c, x, b))
    match c:
        case Apply("slt" | "sle" | "ult" | "ule" as op, (x, y)):
            kind = op[0]
            if same(a, x) and same(b, y):
                return Apply(_LEAST[kind], _ordered(x, y))
            if same(a, y) and same(b, x):
                return Apply(_MOST[kind], _ordered(x, y))
            found = _with_constant(kind, op[1:] == "lt", x, y, a, b, same)
            return found or (_absolute(op, x, y, a, b, same) if kind == "s" else None)
        case Apply("eq", (x, y)) if (same(a, x) and same(b, y)) or (same(a, y) and same(b, x)):
            return b
        case Apply("ne", (x, y)) if (same(a, x) and same(b, y)) or (same(a, y) and same(b, x)):
            return a
    return None


def _ordered(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    return (y, x) if isinstance(x, Const) else (x, y)


def _with_constant(kind: str, strict: bool, x: Expr, y: Expr, a: Expr, b: Expr, same: Same) -> Expr | None:
    """x < c ? k : x, where x may be clamped on the other side: the constants may differ by one."""
    match x, y, a, b:
        case Const(), _, Const(), other:  # c < y ? k : y
            limit, value_in, least = _number(kind, x), _number(kind, a), True
            inner, strict_limit = y, limit if strict else limit - 1
        case _, Const(), Const(), other:  # x < c ? k : x
            limit, value_in, least = _number(kind, y), _number(kind, a), False
            inner, strict_limit = x, limit if strict else limit + 1
        case Const(), _, other, Const():  # c < y ? y : k, which is y <= c ? k : y
            limit, value_in, least = _number(kind, x), _number(kind, b), False
            inner, strict_limit = y, limit + 1 if strict else limit
        case _, Const(), other, Const():  # x < c ? x : k, which is c <= x ? k : x
            limit, value_in, least = _number(kind, y), _number(kind, b), True
            inner, strict_limit = x, limit - 1 if strict else limit
        case _:
            return None
    if value_in not in (strict_limit, strict_limit + (1 if least else -1)):
        return None
    bound = a if isinstance(a, Const) else b
    if not same(other, inner) and not _clamped(kind, least, other, inner, value_in, same):
        return None
    return Apply((_LEAST if least else _MOST)[kind], (other, bound))


def _clamped(kind: str, least: bool, value: Expr, x: Expr, bound: int, same: Same) -> bool:
    """True if the value is `x` clamped on the other side, by what does not conflict with the bound."""
    match value:
        case Apply("smin" | "smax" | "umin" | "umax" as op, (y, Const() as limit)) if same(x, y):
            number = _number(kind, limit)
            if least:
                return op == _MOST[kind] and number <= bound
            return op == _LEAST[kind] and bound <= number
    return False


def _number(kind: str, expr: Expr) -> int:
    assert isinstance(expr, Const)
    return signed(32, expr.value) if kind == "s" else expr.value


def _absolute(op: str, x: Expr, y: Expr, a: Expr, b: Expr, same: Same) -> Expr | None:
    match x, y:
        case _, Const(0):  # x < 0, x <= 0
            value, negative, positive = x, a, b
        case Const(0), _:
            value, negative, positive = y, b, a
        case _, Const(value=0xFFFFFFFF) if op == "sle":
            value, negative, positive = x, a, b
        case Const(value=0xFFFFFFFF), _ if op == "slt":
            value, negative, positive = y, b, a
        case _:
            return None
    if same(positive, value) and _opposite(negative, value, same):
        return _magnitude(value)
    if same(negative, value) and _opposite(positive, value, same):
        return Apply("neg", (_magnitude(value),))
    return None


def _magnitude(value: Expr) -> Expr:
    match value:
        case Apply("sub", (a, b)):
            return Apply("absdiff", (a, b))
        case Apply("absdiff") | Apply("abs"):
            return value if value.op == "abs" else Apply("abs", (value,))
        case _:
            return Apply("abs", (value,))


def _opposite(n: Expr, x: Expr, same: Same) -> bool:
    """True if n is certainly -x."""
    match n, x:
        case Apply("neg", (y,)), _ if same(x, y):
            return True
        case Apply("sub", (a, b)), Apply("sub", (c, d)):
            return same(a, d) and same(b, c)
    return False
