"""Says operations more simply where it is known what their operands may be, and divides by constants.

i = 0; do { a[i & 63] = (i >= 0) + i / 10; … i = i + 1; } while (i < 64);

becomes, as i is one of 0 to 63,

i = 0; do { a[i] = 1 + umulh(i, 429496730); … i = i + 1; } while (i < 64);
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from backend.dfg import Const, Place, Use
from macah.clip import clipped
from macah.divide import Builder, remainder, signed_quotient, signed_remainder, unsigned_quotient
from macah.graph import Before, Draft, Graph, Value
from macah.ranges import HALF, WORD, Range
from macah.ranges_of import COMPARE, EXTENSIONS
from macah.rewrite import Loop, Rebuilt, Rules, rebuilt
from macah.widths import Widths

Do = Builder[Value]


def narrow(loop: Loop, words: Mapping[int, Range]) -> tuple[Rebuilt, Loop]:
    """The loop with what its ranges make simpler; `words` are those of drafts that are not pure."""
    widths = Widths(loop, words)
    bits = {variable for variable, found in widths.before.items() if found.high <= 1}
    return rebuilt(loop, _Rules(widths), widths.needed, bits)


def _do(graph: Graph, where: Place | None, op: str, *operands: Value | int) -> Value:
    values = [Const(operand) if isinstance(operand, int) else operand for operand in operands]
    return graph.pure(op, *values, where=where)


class _Rules(Rules):
    def __init__(self, widths: Widths) -> None:
        self.widths = widths

    def apply(self, new: Rebuilt, number: int, draft: Draft, operands: tuple[Value, ...]) -> Value:
        """What stands for a draft in the new graph."""
        result = self.widths.ranges[number]
        if result.constant is not None:
            return Const(result.constant)
        do: Do = partial(_do, new.graph, draft.where)
        ranges = tuple([self.widths.range(operand) for operand in draft.operands])
        found = _simpler(do, draft.op, operands, ranges)
        if found is None:
            found = self._related(new, do, draft)
        if found is None:
            found = do(draft.op, *operands)
        if result.high <= 1:
            new.graph.mark_predicate(found)
        return found

    def _related(self, new: Rebuilt, do: Do, draft: Draft) -> Value | None:
        """What depends on how the operands are made."""
        match draft.op, draft.operands:
            case "select", (Use(), Use(x), Before() as kept):
                return clipped(self.widths, new, do, draft.operands[0], Use(x), kept)
            case "select", (Use(c), Use(x), Use(y)):
                made = [self.widths.drafts[node] for node in (c, x, y)]
                return self._difference(new, do, *made)
            case "ult", (Use(node), x):  # the carry of a sum
                match self.widths.drafts[node]:
                    case Draft("add", (a, b)) if x in (a, b):
                        return (
                            Const(0)
                            if self.widths.range(a).high + self.widths.range(b).high <= WORD
                            else None
                        )
        return None

    def _difference(self, new: Rebuilt, do: Do, condition: Draft, x: Draft, y: Draft) -> Value | None:
        """a < b ? b - a : a - b, where no difference wraps."""
        if condition.op not in COMPARE or x.op != "sub" or x.operands != y.operands[::-1] or y.op != "sub":
            return None
        if condition.op in ("eq", "ne") or condition.operands not in (x.operands, y.operands):
            return None
        a, b = [self.widths.range(value) for value in x.operands]
        is_signed = condition.op[0] == "s"
        ends = (a.most - b.least, b.most - a.least) if is_signed else (a.high - b.low, b.high - a.low)
        if max(ends) >= HALF:
            return None
        size = do("absdiff", *[new.value(value) for value in x.operands])
        return size if condition.operands == y.operands else do("neg", size)


def _simpler(do: Do, op: str, operands: tuple[Value, ...], ranges: tuple[Range, ...]) -> Value | None:
    match op, operands, ranges:
        case "and", (x, Const(mask)), (a, _) if a.bits & ~mask == 0:
            return x
        case _, (x,), (a,) if op in EXTENSIONS:
            return x if a.within(EXTENSIONS[op]) else None
        case "sar", (x, n), (a, _) if a.positive:
            return do("shr", x, n)
        case "abs", (x,), (a,) if a.positive:
            return x
        case "select", (_, x, y), (c, _, _) if c.low > 0 or c.high == 0:
            return x if c.low > 0 else y
        case (("smin" | "smax" | "umin" | "umax"), (x, y), (a, b)):
            return _extreme(op, x, y, a, b)
        case "smulh", (x, y), (a, b) if a.size * b.size < HALF:
            return do("sar", do("mul", x, y), 31)
        case (("udiv" | "urem" | "sdiv" | "srem"), (x, Const(divisor)), (a, _)):
            return _divided(op, do, x, divisor, a)
    return None


def _extreme(op: str, x: Value, y: Value, a: Range, b: Range) -> Value | None:
    """The one of two values that is always the smaller or the larger."""
    if op[0] == "s":
        less, more = a.most <= b.least, a.least >= b.most
    else:
        less, more = a.high <= b.low, a.low >= b.high
    if op[1:] == "max":
        less, more = more, less
    return x if less else y if more else None


def _divided(op: str, do: Do, x: Value, divisor: int, dividend: Range) -> Value | None:
    if divisor in (0, 1):
        return None
    number = divisor - WORD - 1 if divisor >= HALF else divisor
    if op[0] == "u" or (dividend.positive and number > 0):
        if divisor & (divisor - 1) == 0:
            return do("u" + op[1:], x, divisor)
        if dividend.high < 2 * divisor:
            return _wrapped(op, do, x, divisor, dividend)
        quotient = unsigned_quotient(do, x, divisor, dividend.high)
        return quotient if op[1:] == "div" else remainder(do, x, divisor, quotient)
    if op == "srem" and number != -HALF:
        number = abs(number)  # the sign of the remainder is the dividend's
    if abs(number) == 1:
        return do("neg", x) if op == "sdiv" else Const(0)
    if op == "srem" and number != -HALF and number & (number - 1) == 0:
        return signed_remainder(do, x, number.bit_length() - 1)
    quotient = signed_quotient(do, x, number, dividend.least, dividend.most)
    return quotient if op == "sdiv" else remainder(do, x, number, quotient)


def _wrapped(op: str, do: Do, x: Value, divisor: int, dividend: Range) -> Value:
    """The quotient, which is 0 or 1, or the remainder: x - divisor is far above x where x is less."""
    if op[1:] == "div":
        return do("ule", divisor, x)
    if dividend.high == divisor:
        return do("select", do("eq", x, divisor), 0, x)
    return do("umin", x, do("add", x, -divisor & WORD))
