"""Rearranges chains of one associative operation, so that what is late comes last.

    ((sum + a) + b) + c          ->         sum + (a + (b + c))

A value that comes round from the iteration before is combined last, so that a loop's recurrence is one
operation; other values are combined two by two, the earliest first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from itertools import count

from arch.ops import OPS
from backend.dfg import Const, Use
from macah.flow import Flow
from macah.graph import Draft, Graph, Value
from macah.ir import Variable

ASSOCIATIVE = frozenset({"add", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax"})
# A guess of cycles, for what may come early or late
_LATENCY = {"alu": 1, "mul": 2, "mem": 2, "io": 1, "div": 8, "ctl": 1}


def balance(graph: Graph, final: Mapping[Variable, Value]) -> None:
    """Change the operands of drafts in place; `final` is what variables are at the end of the iteration."""
    flow = Flow(graph, final)
    if any(_is_chain(flow, number) for number in flow.live):
        _Balancer(flow).run()


class _Balancer:
    def __init__(self, flow: Flow) -> None:
        self.graph, self.flow, self.component = flow.graph, flow, flow.component
        self.depth: dict[int, int] = {}
        self.inner: dict[int, int] = {}  # depth within the node's component
        self.tie = count()

    def run(self) -> None:
        for number in sorted(self.flow.live):
            draft = self.graph.drafts[number]
            if _is_chain(self.flow, number):
                draft.operands = self._rebuilt(number, draft, list(chain_leaves(self.flow, draft)))
            self._measure(number)

    # --- What it becomes

    def _rebuilt(self, number: int, draft: Draft, leaves: list[Value]) -> tuple[Value, ...]:
        component = self.component.get(number)
        late = [v for v in leaves if component is not None and self.flow.component_of(v) == component]
        early = [v for v in leaves if v not in late]
        heap = [(self._arrival(value, None), next(self.tie), value) for value in early]
        if late:
            heap = [(-1, next(self.tie), value) for value in self._combined(draft, heap, 1)]
            heap += [(self._arrival(value, component), next(self.tie), value) for value in late]
        return tuple(self._combined(draft, heap, 2, component))

    def _combined(
        self, draft: Draft, heap: list[tuple[int, int, Value]], left: int, component: int | None = None
    ) -> list[Value]:
        """Combine the earliest two until no more than `left` are left."""
        heapq.heapify(heap)
        while len(heap) > left:
            time, _, a = heapq.heappop(heap)
            other, _, b = heapq.heappop(heap)
            value = self.graph.pure(draft.op, a, b, where=draft.where)
            if isinstance(value, Use):
                if component is not None and component in (
                    self.flow.component_of(a),
                    self.flow.component_of(b),
                ):
                    self.component[value.node] = component
                self._measure(value.node)
            heapq.heappush(heap, (max(time, other) + latency(draft.op), next(self.tie), value))
        return [value for _, _, value in sorted(heap)]

    def _arrival(self, value: Value, component: int | None) -> int:
        if isinstance(value, Const):
            return 1 << 30  # a constant is combined last: it is an operand of no value
        if not isinstance(value, Use):
            return 0
        return self.depth[value.node] if component is None else self.inner[value.node]

    def _measure(self, number: int) -> None:
        draft = self.graph.drafts[number]
        operands = [value.node for value in draft.operands if isinstance(value, Use)]
        self.depth[number] = max((self.depth[n] for n in operands), default=0) + latency(draft.op)
        mine = self.component.get(number)
        inside = [self.inner[n] for n in operands if mine is not None and self.component.get(n) == mine]
        self.inner[number] = max(inside, default=0) + latency(draft.op)


def _is_chain(flow: Flow, number: int) -> bool:
    """True if an operation is the last one of a chain of more than two values."""
    draft = flow.graph.drafts[number]
    if draft.op not in ASSOCIATIVE or absorbed(flow, number):
        return False
    return any(_is_inner(flow, value, draft.op) for value in draft.operands)


def absorbed(flow: Flow, number: int) -> bool:
    """True if a node is in the middle of a chain of one operation."""
    drafts = flow.graph.drafts
    return flow.uses[number] == 1 and drafts[flow.parent[number]].op == drafts[number].op


def _is_inner(flow: Flow, value: Value, op: str) -> bool:
    """True if a value is made by the operation, for nothing but its one use."""
    return isinstance(value, Use) and flow.uses[value.node] == 1 and flow.graph.drafts[value.node].op == op


def chain_leaves(flow: Flow, draft: Draft) -> Iterator[Value]:
    """What a chain combines."""
    pending = list(reversed(draft.operands))
    while pending:
        value = pending.pop()
        if isinstance(value, Use) and _is_inner(flow, value, draft.op):
            pending.extend(reversed(flow.graph.drafts[value.node].operands))
        else:
            yield value


def latency(op: str) -> int:
    """A guess of the cycles that an operation takes."""
    return _LATENCY[OPS[op].latency_class]
