"""How few cycles an operation of the source needs on a recurrence, however it is written.

    s = (s + a) + b            one cycle: s + (a + b)
    if (c) s = s + a           one cycle: s + (c ? a : 0)
    s = s + a * b              one cycle beyond the product, and none if the product is on the recurrence
    m = a < m ? a : m          one cycle: a minimum
    x = (short)(x + a)         one cycle: x may be wider, or its range may show that it fits

So a chain of one associative operation costs one operation, choices among its links and conversions nothing,
a choice of a choice one choice, and logic on predicates nothing. What can be computed an iteration ahead is
not on a recurrence in the first place (`source_bound.ahead`).
"""

from __future__ import annotations

from collections.abc import Iterator

from arch.fabric import Fabric
from arch.ops import COMPARISONS, OPS
from backend.dfg import Const, Use
from macah.graph import Before, Draft, Value
from macah.source_graph import SourceGraph

_GROUPS = {
    **dict.fromkeys(("add", "sub", "neg", "muladd"), "sum"),
    **{op: op for op in ("and", "or", "xor", "mul", "smin", "smax", "umin", "umax")},
}
_RING = frozenset({"add", "sub", "neg", "mul", "muladd", "and", "or", "xor", "not", "shl"})
_EXTREMES = frozenset({"smin", "smax"})  # a sum of one is one of sums
_EXTENSIONS = frozenset({"sext8", "sext16", "zext8", "zext16"})
# Two operations that the machine has as one, or that are written as one.
_FUSED = frozenset({("mul", "add"), ("mul", "sub"), ("sub", "abs"), ("shl", "or"), ("shr", "or")})
# A multiplication by the reciprocal, and a shift.
_BY_CONSTANT = 3
_MOST_LINKS = 16


class Costs:
    """The fewest cycles between an operation and an operand of it."""

    def __init__(self, source: SourceGraph, fabric: Fabric) -> None:
        self.graph = graph = source.graph
        self.ends = {variable: join.sources[-1][0] for variable, join in source.joins.items()}
        self.fabric = fabric
        self.used_in_ring = {
            value.node
            for draft in graph.drafts
            if draft.op in _RING
            for value in draft.operands
            if isinstance(value, Use)
        }

    def arc(self, node: int, position: int) -> int:
        """Cycles from operand `position` of a node to its result."""
        draft = self.graph.drafts[node]
        value = draft.operands[position]
        source = self._draft(value)
        if source is not None and self._absorbs(draft, position, source):
            return 0
        if isinstance(value, Before) and self._continues(node, draft, value):
            return 0
        if draft.op in _EXTENSIONS:
            return 0
        if draft.op == "not" and node in self.used_in_ring:
            return 0
        if node in self.graph.logical and draft.op in ("and", "or", "xor"):
            return 0
        if draft.op == "select" and position and self.is_conditional(draft):
            return 0
        return self.latency(draft)

    def latency(self, draft: Draft) -> int:
        """The cycles that an operation takes."""
        cycles = min(self.fabric.latency(draft.op), 8)
        if OPS[draft.op].latency_class != "div":
            return cycles
        if isinstance(draft.operands[1], Const):
            return min(cycles, _BY_CONSTANT)
        return 1 if self._is_narrow(draft.operands[1]) else cycles

    def _is_narrow(self, value: Value) -> bool:
        """True for a value that ranges may show to be one of a few: what divides by it is a choice."""
        pending, count = [value], 0
        while pending and count < _MOST_LINKS:
            draft = self._draft(pending.pop())
            count += 1
            if draft is None:
                continue
            masks = draft.op == "and" and any(isinstance(v, Const) for v in draft.operands)
            if masks or draft.op in COMPARISONS or draft.op in _EXTENSIONS:
                return True
            if draft.op in ("add", "and", "shl", "or", "select", "xor"):
                pending.extend(draft.operands)
        return False

    def _draft(self, value: Value) -> Draft | None:
        return self.graph.drafts[value.node] if isinstance(value, Use) else None

    def _absorbs(self, draft: Draft, position: int, source: Draft) -> bool:
        """True if the operation and the one before it cost no more than the one before."""
        group = _GROUPS.get(draft.op)
        if group is not None and self._group(source) == group:
            return True
        if (source.op, draft.op) in _FUSED:
            return True
        if group in _EXTREMES and source.op in ("add", "sub"):
            return any(
                found is not None and found.op == draft.op for found in map(self._draft, source.operands)
            )
        if draft.op == "select" and position and source.op == "select":
            return True
        if draft.op in ("eq", "ne") and isinstance(draft.operands[1], Const):
            return source.op in ("add", "sub", "xor") and any(isinstance(v, Const) for v in source.operands)
        return draft.op == "select" and position == 0 and self._is_extreme(draft, source)

    def _continues(self, node: int, draft: Draft, start: Before) -> bool:
        """True if the iteration before ended with the same associative operation, not this very one."""
        group, last = _GROUPS.get(draft.op), self.ends.get(start.variable, start)
        end = self._draft(last)
        if group is None or group == "mul" or end is None:
            return False
        return self._group(end) == group and Use(node) not in self._links(last, group)

    def _group(self, draft: Draft) -> str | None:
        """The associative operation at the end of a value, behind choices among links of its chain."""
        for _ in range(_MOST_LINKS):
            if draft.op != "select" or not self.is_conditional(draft):
                return _GROUPS.get(draft.op)
            links = [found for value in draft.operands[1:] if (found := self._draft(value)) is not None]
            draft = next((d for d in links if d.op in _GROUPS), links[0])
        return None

    def is_conditional(self, draft: Draft) -> bool:
        """True for `c ? x + a : x` and `c ? x + a : x + b`: the choice is one of what is added."""
        _, a, b = draft.operands
        for op in ("sum", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax"):
            left, right = set(self._links(a, op)), set(self._links(b, op))
            if (len(left) > 1 or len(right) > 1) and any(not isinstance(v, Const) for v in left & right):
                return True
        return False

    def _links(self, value: Value, group: str) -> Iterator[Value]:
        """What a chain of one operation combines; the chain's own links as well."""
        pending, count = [value], 0
        while pending and count < _MOST_LINKS:
            value = pending.pop()
            count += 1
            yield value
            draft = self._draft(value)
            if draft is None:
                continue
            if _GROUPS.get(draft.op) == group or group in _EXTREMES and draft.op in ("add", "sub"):
                pending.extend(draft.operands)

    def _is_extreme(self, choice: Draft, test: Draft) -> bool:
        """True if a choice by a comparison of what it chooses from: a minimum or an absolute value."""
        return test.op in COMPARISONS and set(choice.operands[1:]) <= {*test.operands, Const(0)}
