"""How often a loop runs whose condition compares a counter, or that plus a constant, with a constant."""

from __future__ import annotations

from arch.ops import signed, word
from macah.ir import Apply, Const, Expr, Read, Variable


def trip_count(condition: Expr, variable: Variable, start: int, step: int) -> int | None:
    """How often `v = start; while (condition) v += step` runs; None if that is not simply said.

    `start` and `step` are words. None also where what is compared would wrap around on its way.
    """
    bits = variable.bits
    match condition:
        case Apply(op, (Apply("add", (Read(v), Const(more))), Const() as bound)) if v is variable:
            return trip_count(Apply(op, (Read(v), bound)), v, word(bits, start + more), step)
        case Apply(op, (Const() as bound, Apply("add", (Read(v), Const(more))))) if v is variable:
            return trip_count(Apply(op, (bound, Read(v))), v, word(bits, start + more), step)
        case Apply("ne", (Read(v), Const(bound))) if v is variable:
            return _until_equal(bits, start, signed(bits, step), bound)
        case Apply("slt" | "sle" | "ult" | "ule" as op, (Read(v), Const(bound))) if v is variable:
            sign = 1
        case Apply("slt" | "sle" | "ult" | "ule" as op, (Const(bound), Read(v))) if v is variable:
            sign = -1
        case _:
            return None
    first = signed(bits, start) if op[0] == "s" else start
    limit = signed(bits, bound) if op[0] == "s" else bound
    by = signed(bits, step) * sign
    distance = (limit - first) * sign - (op[1:] == "lt")
    if distance < 0:
        return 0
    if by <= 0:
        return None
    trips = distance // by + 1
    end = first + sign * by * trips
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if op[0] == "s" else (0, (1 << bits) - 1)
    return trips if least <= end <= most else None


def _until_equal(bits: int, start: int, step: int, bound: int) -> int | None:
    """The same for `v != bound`."""
    distance = (bound - start if step > 0 else start - bound) % (1 << bits)
    by = abs(step)
    return distance // by if by and distance % by == 0 else None
