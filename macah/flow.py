"""Where the values of a graph under construction go, and which of them come round again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

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
        self.component = self._components()

    def component_of(self, value: Value) -> int | None:
        """The recurrence that the node that makes a value is part of."""
        node = self.source(value)
        return None if node is None else self.component.get(node)

    def source(self, value: Value) -> int | None:
        """The node that makes a value, in this iteration or an earlier one."""
        seen = set[Variable]()
        while isinstance(value, Before) and value.variable not in seen:
            seen.add(value.variable)
            value = self.final[value.variable]
        return value.node if isinstance(value, Use) else None

    def _find_live(self) -> set[int]:
        drafts = self.graph.drafts
        pending = [number for number, draft in enumerate(drafts) if draft.effect]
        live = set(pending)
        while pending:
            user = pending.pop()
            for value in drafts[user].operands:
                node = value.node if isinstance(value, Use) else self.source(value)
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
        sources: dict[int, list[int]] = {}
        for user in self.live:
            found = [self.source(value) for value in self.graph.drafts[user].operands]
            sources[user] = [node for node in found if node is not None]
        component: dict[int, int] = {}
        for number, nodes in enumerate(strong_components(sources)):
            if len(nodes) > 1 or nodes[0] in sources[nodes[0]]:
                component.update(dict.fromkeys(nodes, number))
        return component


def strong_components(leaving: Mapping[int, Sequence[int]]) -> Iterator[list[int]]:
    """The strongly connected components of a graph: from each node of it, the nodes to which there are edges.

    R. Tarjan, Depth-first search and linear graph algorithms, SIAM Journal on Computing 1, 1972; networkx is
    told every edge in a call, which takes longer than all of this.
    """
    number: dict[int, int] = {}
    least: dict[int, int] = {}  # of those that are not in a component yet
    waiting: list[int] = []
    for root in leaving:
        if root in number:
            continue
        path = [(root, iter(leaving[root]))]
        number[root] = least[root] = len(number)
        waiting.append(root)
        while path:
            node, targets = path[-1]
            for target in targets:
                if target not in number:
                    number[target] = least[target] = len(number)
                    waiting.append(target)
                    path.append((target, iter(leaving[target])))
                    break
                if target in least and number[target] < least[node]:
                    least[node] = number[target]
            else:
                path.pop()
                if path and least[node] < least[path[-1][0]]:
                    least[path[-1][0]] = least[node]
                if least[node] == number[node]:
                    found: list[int] = []
                    while not found or found[-1] != node:
                        found.append(waiting.pop())
                        del least[found[-1]]
                    yield found
