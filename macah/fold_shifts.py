"""Folding of shifts: counts are modulo the width; two shifts may be one operation, or a rotation together.

x >> 6 | x << 26              ->     rotl(x, 26)
x << n | x >> (32 - n)        ->     rotl(x, n)
x << 24 >> 24                 ->     sext8(x)
"""

from __future__ import annotations

from collections.abc import Callable

from macah.ir import Apply, Const, Expr

SHIFTS = frozenset({"shl", "shr", "sar", "rotl"})
_EXTENSIONS = {("shr", 8): "zext8", ("shr", 16): "zext16", ("sar", 8): "sext8", ("sar", 16): "sext16"}

Same = Callable[[Expr, Expr], bool]


def fold_shift(op: str, a: Expr, count: Expr, bits: int) -> Expr | None:
    """A shift or rotation said more simply, or None."""
    plain = _count(count, bits)
    if plain is not count:
        return fold_shift(op, a, plain, bits) or Apply(op, (a, plain), bits)
    match a, count:
        case _, Const(0):
            return a
        case Apply(inner, (b, Const(c))), Const(d) if inner in SHIFTS and c < bits:
            return _two(inner, op, b, c, d, bits)
    return None


def _count(count: Expr, bits: int) -> Expr:
    """What is the same count modulo the width, without the operations that only reduce it."""
    match count:
        case Const(value) if value >= bits:
            return Const(value % bits, count.bits)
        case Apply("and", (n, Const(mask))) if mask % bits == bits - 1:
            return _count(n, bits)
        case Apply("add", (n, Const(c))) if c % bits == 0:
            return _count(n, bits)
        case Apply("zext8" | "zext16" | "sext8" | "sext16", (n,)):
            return _count(n, bits)
        case Apply("sub", (Const(c), n)) if c % bits == 0:
            return Apply("neg", (_count(n, bits),), count.bits)
        case Apply("neg", (n,)):
            inner = _count(n, bits)
            return count if inner is n else Apply("neg", (inner,), count.bits)
        case _:
            return count


def _two(first: str, second: str, a: Expr, c: int, d: int, bits: int) -> Expr | None:
    """`a` shifted by c, then by d."""
    match first, second:
        case ("rotl", "rotl"):
            return Apply("rotl", (a, Const((c + d) % bits)), bits) if (c + d) % bits else a
        case ("shl", "shl") | ("shr", "shr"):
            return Apply(first, (a, Const(c + d)), bits) if c + d < bits else Const(0, bits)
        case ("sar", "sar"):
            return Apply("sar", (a, Const(min(c + d, bits - 1))), bits)
        case ("shl", "shr" | "sar") if c == d:
            if (second, bits - c) in _EXTENSIONS:
                return Apply(_EXTENSIONS[second, bits - c], (a,), bits)
            return Apply("and", (a, Const((1 << (bits - c)) - 1, bits)), bits) if second == "shr" else None
        case ("shr" | "sar", "shl") if c == d:
            return Apply("and", (a, Const((1 << bits) - (1 << c), bits)), bits)
    return None


def fold_rotation(op: str, a: Expr, b: Expr, bits: int, same: Same) -> Expr | None:
    """Two shifts of one value that are combined, as a rotation, or None."""
    match a, b:
        case Apply("shr", _), Apply("shl", _):
            a, b = b, a
    match a, b:
        case Apply("shl", (x, Const(c))), Apply("shr", (y, Const(d))) if c + d == bits and same(x, y):
            return Apply("rotl", (x, Const(c)), bits)
        # By 0 places, both shifts are the value itself: only `or` is then a rotation.
        case Apply("shl", (x, n)), Apply("shr", (y, m)) if op == "or" and same(x, y):
            return Apply("rotl", (x, n), bits) if _opposite(n, m, same) else None
    return None


def _opposite(n: Expr, m: Expr, same: Same) -> bool:
    match n, m:
        case (Apply("neg", (x,)), y) | (y, Apply("neg", (x,))):
            return same(x, y)
    return False
