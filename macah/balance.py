"""Rearranges chains of one associative operation, so that what is late comes last.

    ((sum + a) + b) + c          ->         sum + (a + (b + c))

A value that comes round from the iteration before is combined last, so that a loop's recurrence is one
operation; other values are combined two by two, the earliest first.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count

import networkx as nx

from arch.ops import OPS
from backend.dfg import Const, Use
from macah.graph import Before, Draft, Graph, Value
from macah.ir import Variable

ASSOCIATIVE = frozenset({"add", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax"})
# A guess of cycles, for what may come early or late
_LATENCY = {"alu": 1, "mul": 2, "mem": 2, "io": 1, "div": 8, "ctl": 1}


def balance(graph: Graph, final: Mapping[Variable, Value]) -> None:
    """Change the operands of drafts in place; `final` is what variables are at the end of the iteration."""
    _Balancer(graph, final).run()


class _Balancer:
    def __init__(self, graph: Graph, final: Mapping[Variable, Value]) -> None:
        self.graph = graph
        self.final = final
        self.uses: Counter[int] = Counter()
        self.parent: dict[int, int] = {}
        self.live = self._find_live()
        self.component = self._components()
        self.depth: dict[int, int] = {}
        self.inner: dict[int, int] = {}  # depth within the node's component
        self.tie = count()

    def run(self) -> None:
        for number in sorted(self.live):
            draft = self.graph.drafts[number]
            if draft.op in ASSOCIATIVE and not self._absorbed(number):
                leaves = list(self._leaves(draft))
                if len(leaves) > 2:
                    draft.operands = self._rebuilt(number, draft, leaves)
            self._measure(number)

    # --- What there is

    def source(self, value: Value) -> int | None:
        """The node that makes a value, in this iteration or an earlier one."""
        seen = set[Variable]()
        while isinstance(value, Before) and value.variable not in seen:
            seen.add(value.variable)
            value = self.final[value.variable]
        return value.node if isinstance(value, Use) else None

    def _find_live(self) -> set[int]:
        pending = [number for number, draft in enumerate(self.graph.drafts) if draft.effect]
        live = set(pending)
        while pending:
            user = pending.pop()
            for value in self.graph.drafts[user].operands:
                node = self.source(value)
                if node is None:
                    continue
                # A use in a later iteration counts twice: there is no chain through it.
                self.uses[node] += 1 if isinstance(value, Use) else 2
                self.parent[node] = user
                if node not in live:
                    live.add(node)
                    pending.append(node)
        return live

    def _components(self) -> dict[int, int]:
        """The recurrence that each node is part of, if it is."""
        edges = nx.DiGraph()
        loops = set[int]()
        for user in self.live:
            for value in self.graph.drafts[user].operands:
                node = self.source(value)
                if node is not None:
                    edges.add_edge(node, user)
                    loops |= {node} & {user}
        found: dict[int, int] = {}
        for number, nodes in enumerate(nx.strongly_connected_components(edges)):
            if len(nodes) > 1 or nodes & loops:
                found.update(dict.fromkeys(nodes, number))
        return found

    def _absorbed(self, number: int) -> bool:
        """True if the node is in the middle of a chain."""
        same = self.uses[number] == 1 and self.graph.drafts[self.parent[number]].op
        return same == self.graph.drafts[number].op

    def _leaves(self, draft: Draft) -> Iterator[Value]:
        pending = list(reversed(draft.operands))
        while pending:
            value = pending.pop()
            if isinstance(value, Use) and self.uses[value.node] == 1:
                inner = self.graph.drafts[value.node]
                if inner.op == draft.op:
                    pending.extend(reversed(inner.operands))
                    continue
            yield value

    # --- What it becomes

    def _rebuilt(self, number: int, draft: Draft, leaves: list[Value]) -> tuple[Value, ...]:
        component = self.component.get(number)
        late = [v for v in leaves if component is not None and self._component(v) == component]
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
                if component is not None and component in (self._component(a), self._component(b)):
                    self.component[value.node] = component
                self._measure(value.node)
            heapq.heappush(heap, (max(time, other) + _latency(draft), next(self.tie), value))
        return [value for _, _, value in sorted(heap)]

    def _component(self, value: Value) -> int | None:
        node = self.source(value)
        return None if node is None else self.component.get(node)

    def _arrival(self, value: Value, component: int | None) -> int:
        if isinstance(value, Const):
            return 1 << 30  # a constant is combined last: it is an operand of no value
        if not isinstance(value, Use):
            return 0
        return self.depth[value.node] if component is None else self.inner[value.node]

    def _measure(self, number: int) -> None:
        draft = self.graph.drafts[number]
        operands = [value.node for value in draft.operands if isinstance(value, Use)]
        self.depth[number] = max((self.depth[n] for n in operands), default=0) + _latency(draft)
        mine = self.component.get(number)
        inside = [self.inner[n] for n in operands if mine is not None and self.component.get(n) == mine]
        self.inner[number] = max(inside, default=0) + _latency(draft)


def _latency(draft: Draft) -> int:
    return _LATENCY[OPS[draft.op].latency_class]
