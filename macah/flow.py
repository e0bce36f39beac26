"""Where the values of a graph under construction go, and which of them come round again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

import networkx as nx

from backend.dfg import Use
from macah.graph import Before, Graph, Value
from macah.ir import Variable


class Flow:
    """The live drafts: how often each is used, by which, and the recurrence (component) it is part of."""

    def __init__(self, graph: Graph, final: Mapping[Variable, Value]) -> None:
        self.graph = graph
        self.final = final
        self.uses: Counter[int] = Counter()
        self.parent: dict[int, int] = {}
        self.live = self._find_live()

    @cached_property
    def component(self) -> dict[int, int]:
        """The recurrence that each node is part of, if it is; not everybody asks."""
        return self._components()

    def component_of(self, value: Value) -> int | None:
        """The recurrence that the node that makes a value is part of."""
        node = self.source(value)
        return None if node is None else self.component.get(node)

    def source(self, value: Value) -> int | None:
        """The node that makes a value, in this iteration or an earlier one."""
        if isinstance(value, Use):
            return value.node
        if not isinstance(value, Before):
            return None
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
        arcs = [
            (node, user)
            for user in self.live
            for value in self.graph.drafts[user].operands
            if (node := self.source(value)) is not None
        ]
        edges: nx.DiGraph[int] = nx.DiGraph(arcs)
        loops = {node for node, user in arcs if node == user}
        found: dict[int, int] = {}
        for number, nodes in enumerate(nx.strongly_connected_components(edges)):
            if len(nodes) > 1 or nodes & loops:
                found.update(dict.fromkeys(nodes, number))
        return found
