"""What is left of sums in which something is added and taken away again, and of what is only zeros.

(x + a) - x            a
(x ^ a) ^ x            a
(x << 7) & 63          0
"""

from __future__ import annotations

from backend.dfg import Const, Place, Use
from macah.graph import ONE, ZERO, Draft, Graph, Value

_WORD = 1 << 32
_MOST_TERMS = 16
_OPPOSITE = {"smin": "smax", "smax": "smin", "umin": "umax", "umax": "umin", "and": "or", "or": "and"}


class Terms:
    """Makes operations of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sums: dict[Value, dict[Value, int]] = {}
        self.parities: dict[Value, dict[Value, None]] = {}

    def made(self, op: str, args: list[Value], where: Place | None) -> Value:
        """An operation, or what it comes to."""
        args = self._needed(op, args, where)
        match op:
            case "add" if kept := self._rounded(args):
                return kept
            case "add" | "sub" | "neg" | "shl" | "mul":
                return self.sum(op, args, where)
            case "xor":
                return self.parity(args, where)
            case "and" if self._no_bits(args):
                return ZERO
            case "smin" | "smax" | "umin" | "umax" | "and" | "or" if kept := self._absorbed(op, args):
                return kept
            case "eq" | "ne" if (left := self._difference(args, where)) is not None:
                return self.graph.pure(op, left, ZERO, where=where)
            case "slt" | "sle" | "ult" | "ule" if known := self._beyond(op, args):
                return known
            case _:
                return self.graph.pure(op, *args, where=where)

    def sum(self, op: str, args: list[Value], where: Place | None) -> Value:
        """A sum or multiple by terms: what cancels out is not added."""
        parts = [self.sums.get(value, {value: 1}) for value in args]
        match op, args:
            case "add", (a, b) if a == b:
                return self.sum("shl", [a, Const(1)], where)
            case "neg", _:
                total = _plus({}, parts[0], -1)
            case "add", _:
                total = _plus(parts[0], parts[1])
            case "sub", _:
                total = _plus(parts[0], parts[1], -1)
            case "shl", (_, Const(k)) if k < 32:
                total = _plus({}, parts[0], 1 << k)
            case "mul", (_, Const(k)):
                total = _plus({}, parts[0], k)
            case _:
                return self.graph.pure(op, *args, where=where)
        made = {value for part in parts for value in part if not isinstance(value, Const)}
        if len(total.keys() & made) < len(made):
            value = self._summed(total, where)
        else:
            value = self.graph.pure(op, *args, where=where)
        if isinstance(value, Use) and len(total) <= _MOST_TERMS:
            self.sums.setdefault(value, total)
        return value

    def _summed(self, terms: dict[Value, int], where: Place | None) -> Value:
        total: Value = ZERO
        for value, factor in terms.items():
            if factor == _WORD - 1:
                total = self.graph.pure("sub", total, value, where=where)
            else:
                product = self.graph.pure("mul", value, Const(factor), where=where)
                total = self.graph.pure("add", total, product, where=where)
        return total

    def parity(self, args: list[Value], where: Place | None) -> Value:
        """An exclusive or by terms: what occurs twice cancels out."""
        left, right = (self.parities.get(value, {value: None}) for value in args)
        odd = {v: None for v in (*left, *right) if (v in left) != (v in right)}
        if len(odd) < len(left) + len(right):
            total = self._combined(odd, where)
        else:
            total = self.graph.pure("xor", *args, where=where)
        if isinstance(total, Use) and len(odd) <= _MOST_TERMS:
            self.parities.setdefault(total, odd)
        return total

    def _difference(self, args: list[Value], where: Place | None) -> Value | None:
        """a of `x + a == x` and of `x ^ a == x`."""
        a, b = (self.sums.get(value, {value: 1}) for value in args)
        total = _plus(a, b, -1)
        if len({v for v in (*a, *b, *total) if not isinstance(v, Const)}) > len(total):
            return self._summed(total, where)
        left, right = (self.parities.get(value, {value: None}) for value in args)
        odd = {v: None for v in (*left, *right) if (v in left) != (v in right)}
        return self._combined(odd, where) if len(odd) < len(left) + len(right) else None

    def _combined(self, odd: dict[Value, None], where: Place | None) -> Value:
        total: Value = ZERO
        for value in odd:
            total = self.graph.pure("xor", total, value, where=where)
        return total

    def _needed(self, op: str, args: list[Value], where: Place | None) -> list[Value]:
        """The operands without what changes only bits that are dropped: `x` of `(x ^ 5) >> 3`."""
        match op, args:
            case (("shr" | "sar"), (value, Const(k))) if k < 32:
                return [self._bits(value, _WORD - (1 << k), where), args[1]]
            case "shl", (value, Const(k)) if k < 32:
                return [self._bits(value, (1 << 32 - k) - 1, where), args[1]]
            case "and", (value, Const(mask)):
                return [self._bits(value, mask, where), args[1]]
            case "and", (Const(mask), value):
                return [self._bits(value, mask, where), args[0]]
            case _:
                return args

    def _bits(self, value: Value, bits: int, where: Place | None, depth: int = 4) -> Value:
        """A value that is the same in some bits."""
        draft = self._draft(value)
        match (draft.op, draft.operands) if draft and depth else ("", ()):
            case (("xor" | "or"), (inner, Const(number))) if not number & bits:
                return self._bits(inner, bits, where, depth - 1)
            case "and", (inner, Const(mask)) if not bits & ~mask:
                return self._bits(inner, bits, where, depth - 1)
            case "and", (inner, Const() as mask):
                left = self._bits(inner, bits & mask.value, where, depth - 1)
                return value if left == inner else self.graph.pure("and", left, mask, where=where)
            case _:
                return value

    def _rounded(self, args: list[Value]) -> Value | None:
        """x of `x + (x < 0 ? 7 : 0)`, with which x is divided by 8: it may be known not to be negative."""
        for value, other in (args, reversed(args)):
            draft = self.graph.drafts[other.node] if isinstance(other, Use) else None
            if draft is not None and draft.op == "and" and isinstance(sign := draft.operands[0], Use):
                draft = self.graph.drafts[sign.node]
            if draft is not None and draft.op in ("sar", "shr") and draft.operands == (value, Const(31)):
                return value
        return None

    def _absorbed(self, op: str, args: list[Value]) -> Value | None:
        """x of `min(max(x, a), x)`, and `min(x, a)` of `min(min(x, a), x)`."""
        for value, other in (args, reversed(args)):
            draft = self._draft(value)
            if draft is not None and other in draft.operands:
                if draft.op == _OPPOSITE[op]:
                    return other
                if draft.op == op:
                    return value
        return None

    def _beyond(self, op: str, args: list[Value]) -> Value | None:
        """Whether `max(x, a) < x`, `x <= max(x, a)`, and so on."""
        less, more = op[0] + "min", op[0] + "max"
        for value, other, extreme in ((args[0], args[1], more), (args[1], args[0], less)):
            draft = self._draft(value)
            if draft is not None and draft.op == extreme and other in draft.operands and op[1:] == "lt":
                return ZERO
        for value, other, extreme in ((args[0], args[1], less), (args[1], args[0], more)):
            draft = self._draft(value)
            if draft is not None and draft.op == extreme and other in draft.operands and op[1:] == "le":
                return ONE
        return None

    def _draft(self, value: Value) -> Draft | None:
        return self.graph.drafts[value.node] if isinstance(value, Use) else None

    def _no_bits(self, args: list[Value]) -> bool:
        shifted, mask = args
        if not (isinstance(shifted, Use) and isinstance(mask, Const)):
            return False
        draft = self.graph.drafts[shifted.node]
        amount = draft.operands[1] if draft.op == "shl" else None
        return isinstance(amount, Const) and mask.value < 1 << min(amount.value, 32)


def _plus(a: dict[Value, int], b: dict[Value, int], times: int = 1) -> dict[Value, int]:
    total = dict(a)
    for value, factor in b.items():
        total[value] = (total.get(value, 0) + times * factor) % _WORD
    return {value: factor for value, factor in total.items() if factor}
