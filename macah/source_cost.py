"""How few cycles an operation of the source needs on a recurrence, however it is written.

    s = (s + a) + b            one cycle: s + (a + b)
    x = ((x ^ a) & m) ^ b      two cycles: (x & m) ^ ((a & m) ^ b)
    if (c) s = s + a           one cycle: s + (c ? a : 0)
    s = s + a * b              one cycle beyond the product, and none if the product is on the recurrence
    m = a < m ? a : m          one cycle: a minimum
    x + a == b                 one cycle: x == b - a
    x = (short)(x + a)         one cycle: x may be wider, or its range may show that it fits
    x = (x + a) % 12           one cycle: what several iterations add can be added at once

So operations form chains by what they may be exchanged with, conversions cost nothing, and neither does logic
on predicates. What can be computed an iteration ahead is not on a recurrence in the first place.
"""

from __future__ import annotations

from collections.abc import Iterator

from arch.fabric import Fabric
from arch.ops import COMPARISONS, OPS
from backend.dfg import Const, Use
from macah.graph import Before, Draft, Value
from macah.ir import Array, Stream
from macah.source_graph import SourceGraph

DATA = "data"
SUM, SIGNED, UNSIGNED = "sum", "signed extreme", "unsigned extreme"
_BITS = ("and", "or", "xor")
_GROUPS = {
    **dict.fromkeys(("add", "sub", "neg", "muladd"), SUM),
    **{op: op for op in (*_BITS, "mul")},
    **dict.fromkeys(("smin", "smax"), SIGNED),
    **dict.fromkeys(("umin", "umax"), UNSIGNED),
}
"""The chains that operations are links of: a minimum of a maximum is a maximum of minima, and so on."""

_DISTRIBUTES = {
    **dict.fromkeys(("shr", "sar", "rotl"), _BITS),
    **dict.fromkeys(("add", "sub", "neg"), (SIGNED, UNSIGNED)),
}
_DISTRIBUTES |= {
    "shl": (*_BITS, SUM, "mul"),
    "mul": (SUM,),
    "muladd": (SUM,),
    "and": ("or", "xor"),
    "or": ("and",),
    **dict.fromkeys(_REMAINDERS := ("urem", "srem"), (SUM,)),
}
"""`f(a) + f(b)` is `f(a + b)`: a chain goes on behind these."""

BEHIND = " behind "
"""Between the names of chains: of the first one's operands, if each is behind all of the second one."""

EXTREMES = frozenset({SIGNED, UNSIGNED})
"""Chains that are choices as well."""

_FACTORS = frozenset({("xor", "and"), ("or", "and"), ("and", "or"), (SUM, "mul")})
_FACTORS |= {(SUM, op) for op in ("smin", "smax", "umin", "umax")}
"""`x & a ^ x & b` is `x & (a ^ b)`, and `x - max(x, a)` is `min(x - a, 0)`."""

_RING = frozenset({"add", "sub", "neg", "mul", "muladd", "and", "or", "xor", "not", "shl"})
_EXTENSIONS = frozenset({"sext8", "sext16", "zext8", "zext16"})
_NARROW = frozenset({"add", "and", "shl", "or", "select", "xor"})
"""Of narrow values, these give narrow ones, if there are few."""
_SUMS = frozenset({"add", "sub", "select"})
# Two operations that the machine has as one, or that are written as one.
_JOINED = frozenset({("mul", SUM)})
# A multiplication by the reciprocal; what comes before and after it may be part of something else.
_BY_CONSTANT = 2
_MOST_LINKS = 16


def _is_small(what: Stream | Array) -> bool:
    """Whether elements are less than words."""
    return what.element.bits < 32 if isinstance(what, Array) else all(word.size < 4 for word in what.words)


class Costs:
    """What operations cost, and how they may be rewritten."""

    def __init__(self, source: SourceGraph, fabric: Fabric) -> None:
        self.graph = graph = source.graph
        self.fabric = fabric
        self.small = {effect.node for effect in source.effects if _is_small(effect.what)}
        self.used_in_ring = {
            value.node
            for draft in graph.drafts
            if draft.op in _RING
            for value in draft.operands
            if isinstance(value, Use)
        }

    def group(self, draft: Draft) -> str | None:
        """The chains that an operation is a link of."""
        return _GROUPS.get(draft.op)

    def is_extreme(self, draft: Draft) -> bool:
        """True for a minimum or a maximum with a constant."""
        constant = any(isinstance(value, Const) for value in draft.operands)
        return constant and _GROUPS.get(draft.op) in EXTREMES

    def compared(self, draft: Draft, operand: Draft | None) -> str:
        """The chain of which a comparison may be one more link: x + a == b is x == b - a."""
        found = None if operand is None else _GROUPS.get(operand.op)
        exact = (SUM, "xor") if draft.op in ("eq", "ne") else (SIGNED, UNSIGNED)
        return found if found in exact else DATA

    def distributes(self, draft: Draft, node: int, group: str) -> bool:
        """Whether a chain goes on behind an operation: it may be done to the operands instead of the result.

        What one iteration multiplies by is not combined with what the next one does.
        """
        if draft.op in ("mul", "muladd") and any(isinstance(value, Before) for value in draft.operands):
            return False
        if draft.op in _REMAINDERS and not self._turns(draft):
            return False
        nothing = group in (SUM, *_BITS) and self._is_nothing(node, draft)
        return nothing or group in _DISTRIBUTES.get(draft.op, ())

    def behind(self, draft: Draft, group: str) -> int:
        """The cycles that such an operation takes, if the chain is one of results."""
        if draft.op in (*_EXTENSIONS, *_REMAINDERS, "not") or self.is_shift(draft):
            return 0
        return self.latency(draft) - self.joins(draft, group)

    def is_shift(self, draft: Draft) -> bool:
        """True for a shift to the left: what it gives is kept as well, and what that gives, and so on."""
        return draft.op == "shl" and isinstance(draft.operands[1], Const)

    def inside(self, group: str, operand: Draft | None) -> str:
        """The chain of which a product may take the links one by one: (x + a) * k is x * k + a * k."""
        sum_ = operand is not None and _GROUPS.get(operand.op) == SUM
        return SUM if group == "mul" and sum_ else group

    def goes_on(self, group: str, draft: Draft | None) -> bool:
        """Whether a chain that ends an iteration with this goes on in the next one."""
        links = group.rpartition(BEHIND)[2]
        if links in EXTREMES:
            # but not behind a sum: how far that goes without wrapping around is not known
            return draft is None or draft.op == "select" or self.group(draft) == links
        return links == "mul" or draft is None or draft.op not in ("mul", "muladd")

    def has_factors(self, group: str, draft: Draft) -> bool:
        """Whether links of a chain may have something in common that is taken out."""
        return (group, draft.op) in _FACTORS

    def joins(self, draft: Draft, group: str) -> bool:
        """Whether the machine does an operation and the link after it in one."""
        return (draft.op, group) in _JOINED

    def cycles(self, node: int, draft: Draft, operand: Draft | None) -> int:
        """From an operand to the result, where there is no chain."""
        if (
            self._is_nothing(node, draft)
            or self.is_shift(draft)
            or node in self.graph.logical
            and draft.op in ("and", "or", "xor")
        ):
            return 0
        if draft.op == "abs" and operand is not None and operand.op == "sub":
            return 0
        return self.latency(draft)

    def latency(self, draft: Draft) -> int:
        """The cycles that an operation takes."""
        cycles = min(self.fabric.latency(draft.op), 8)
        if OPS[draft.op].latency_class != "div":
            return cycles
        if isinstance(by := draft.operands[1], Const):
            wraps = self._wraps_once if draft.op[1:] == "rem" else self._is_narrow
            simple = not by.value & (by.value - 1) or wraps(draft.operands[0])
            return 1 if simple else min(cycles, _BY_CONSTANT)
        return 1 if self._is_narrow(draft.operands[1]) else cycles

    def arms(self, draft: Draft) -> tuple[Value, ...]:
        """What a choice chooses from: of `x == a ? x : b`, `b` alone, as `x` is as good as `a`."""
        if draft.op != "select":
            return draft.operands
        condition, *arms = draft.operands
        test = self._draft(condition)
        if test is not None and test.op in ("eq", "ne"):
            same = arms[0] if test.op == "eq" else arms[1]
            if same in test.operands:
                arms.remove(same)
        return tuple(arms)

    def is_free(self, draft: Draft) -> bool:
        """True if a choice by a comparison of what it chooses from: a minimum or an absolute value."""
        test = self._draft(draft.operands[0])
        return (
            test is not None
            and test.op in COMPARISONS - {"eq", "ne"}
            and set(draft.operands[1:]) <= {*test.operands, Const(0)}
        )

    def is_conditional(self, draft: Draft) -> bool:
        """True for `c ? x + a : x` and `c ? x + a : x + b`: the choice is one of what is added."""
        *_, a, b = draft.operands
        for group in dict.fromkeys(_GROUPS.values()):
            left, right = self._links(a, group), self._links(b, group)
            both = left.keys() & right.keys()
            if len(left) + len(right) > 2 and any(not isinstance(value, Const) for value in both):
                return True
        return False

    def _links(self, value: Value, group: str) -> dict[Value, None]:
        """What a chain of one operation combines; the chain's own links as well."""
        pending, found = [value], dict[Value, None]()
        while pending and len(found) < _MOST_LINKS:
            value = pending.pop()
            found[value] = None
            draft = self._draft(value)
            if draft is not None and _GROUPS.get(draft.op) == group:
                pending.extend(draft.operands)
        return found

    def _is_nothing(self, node: int, draft: Draft) -> bool:
        return draft.op in _EXTENSIONS or draft.op == "not" and node in self.used_in_ring

    def _is_narrow(self, value: Value) -> bool:
        """True for a value that ranges may show to be one of a few: what divides by it is a choice."""
        return any(
            draft.op in COMPARISONS
            or draft.op in _EXTENSIONS
            or (draft.op == "and" and any(isinstance(v, Const) for v in draft.operands))
            for draft in self._made_of(value, _NARROW)
        )

    def _wraps_once(self, value: Value) -> bool:
        """True for a value that ranges may show to be less than two divisors: the remainder is a minimum."""
        return not any(
            draft.op == "mul"
            and not any(v.value <= 2 if isinstance(v, Const) else self._is_narrow(v) for v in draft.operands)
            for draft in self._made_of(value, _SUMS)
        )

    def _turns(self, draft: Draft) -> bool:
        """True for a remainder by a constant of a sum of what is small, and of what is carried."""
        made = list(self._made_of(draft.operands[0], _SUMS))
        values = [value for inner in made if inner.op in _SUMS for value in inner.operands]
        return isinstance(draft.operands[1], Const) and all(
            value.node in self.small
            or (leaf := self.graph.drafts[value.node]).op in COMPARISONS | _EXTENSIONS | _SUMS
            or leaf.op in _REMAINDERS
            or leaf.op == "and"
            and any(isinstance(operand, Const) for operand in leaf.operands)
            for value in values
            if isinstance(value, Use)
        )

    def _made_of(self, value: Value, through: frozenset[str]) -> Iterator[Draft]:
        """What a value is made of, as far as that goes through some operations, up to a number of links."""
        pending, count = [value], 0
        while pending and count < _MOST_LINKS:
            draft = self._draft(pending.pop())
            count += 1
            if draft is not None:
                yield draft
                if draft.op in through:
                    pending.extend(draft.operands)

    def _draft(self, value: Value) -> Draft | None:
        return self.graph.drafts[value.node] if isinstance(value, Use) else None
