"""Finds variables of a loop that always have the same value, as they start and change alike."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping

from arch.ops import OPS
from backend.dfg import Const, LiveIn, Use
from macah.graph import Before, Graph, Value
from macah.ir import Variable

_Number = tuple[str, int, int]


def congruent(
    graph: Graph, initial: Mapping[Variable, Const | LiveIn], final: Mapping[Variable, Value]
) -> dict[Variable, Variable]:
    """Variables, and the one in place of which each can be.

    All that start alike are taken to be the same, until their new values show that they are not.
    """
    alike = Counter((initial.get(v, v), _kind(graph, value)) for v, value in final.items())
    if max(alike.values(), default=0) < 2:
        return {}
    classes = _Classes(graph, initial, final)
    renumbered = classes.split(final)
    while renumbered:
        renumbered = classes.split(classes.affected(renumbered))
    first: dict[int, Variable] = {}
    return {v: first[c] for v, c in classes.of.items() if first.setdefault(c, v) is not v}


class _Classes:
    """Variables that are the same as far as is known, by number.

    Where a class falls apart, the largest part keeps its number, and only what depends on the others is
    looked at again: each variable gets a new number log n times at most, not in each of up to n rounds.
    """

    def __init__(
        self, graph: Graph, initial: Mapping[Variable, Const | LiveIn], final: Mapping[Variable, Value]
    ) -> None:
        self.graph, self.final = graph, final
        numbers: dict[object, int] = {}
        self.of = {v: numbers.setdefault(initial.get(v, v), len(numbers)) for v in final}
        self.members: list[dict[Variable, None]] = [{} for _ in numbers]
        for variable, number in self.of.items():
            self.members[number][variable] = None
        self.keys: dict[object, int] = {}  # what nodes compute, of which values
        self.nodes: list[int] = []  # a number for each node, the same for nodes with the same value
        for node in range(len(graph.drafts)):
            self.nodes.append(self._computed(node))
        self.users: dict[Variable | int | None, list[int]] = {}  # of variables and nodes
        self.ends: dict[Variable | int | None, list[Variable]] = {}  # which variables a value is at the end

    def _computed(self, node: int) -> int:
        draft = self.graph.drafts[node]
        key: object = node
        op = OPS[draft.op]
        if op.pure:
            operands = [self._number(value) for value in draft.operands]
            if op.commutative:
                operands.sort()
            key = (draft.op, *operands)
        return self.keys.setdefault(key, len(self.keys))

    def _number(self, value: Value) -> _Number:
        if isinstance(value, Use):
            return ("node", self.nodes[value.node], value.output)
        if isinstance(value, Before):
            return ("before", self.of[value.variable], 0)
        if isinstance(value, Const):
            return ("constant", value.value, 0)
        return ("live-in", value.index, 0)

    def split(self, variables: Iterable[Variable]) -> list[Variable]:
        """Take classes apart whose members end an iteration differently; returns what has a new number.

        Parts are those of these `variables` that end alike, and the rest, which ends as it did before.
        """
        touched: dict[int, dict[_Number, list[Variable]]] = {}
        for variable in variables:
            parts = touched.setdefault(self.of[variable], {})
            parts.setdefault(self._number(self.final[variable]), []).append(variable)
        renumbered: list[Variable] = []
        for number, parts in touched.items():
            members, groups = self.members[number], list(parts.values())
            largest = max(groups, key=len)
            rest = len(members) - sum(map(len, groups))
            if rest < len(largest):
                groups.remove(largest)
                if rest:
                    touching = {variable for group in parts.values() for variable in group}
                    groups.append([variable for variable in members if variable not in touching])
            for group in groups:
                self.members.append(dict.fromkeys(group))
                for variable in group:
                    del members[variable]
                    self.of[variable] = len(self.members) - 1
                renumbered += group
        return renumbered

    def affected(self, renumbered: list[Variable]) -> list[Variable]:
        """Number again what depends on these variables; returns those that end otherwise than before."""
        if not self.users:
            self._note_users()
        found = dict.fromkeys(end for v in renumbered for end in self.ends.get(v, ()))
        queued = {node for v in renumbered for node in self.users.get(v, ())}
        pending = sorted(queued)
        while pending:
            node = heapq.heappop(pending)
            queued.discard(node)
            number = self._computed(node)
            if number != self.nodes[node]:
                self.nodes[node] = number
                found |= dict.fromkeys(self.ends.get(node, ()))
                for user in self.users.get(node, ()):
                    if user not in queued:
                        queued.add(user)
                        heapq.heappush(pending, user)
        return list(found)

    def _note_users(self) -> None:
        for node, draft in enumerate(self.graph.drafts):
            if OPS[draft.op].pure:
                for value in draft.operands:
                    self.users.setdefault(_source(value), []).append(node)
        for variable, value in self.final.items():
            self.ends.setdefault(_source(value), []).append(variable)


def _kind(graph: Graph, value: Value) -> object:
    """The same for values that may be the same: not constants, nor results of different operations."""
    match value:
        case Use(node, output=output):
            return graph.drafts[node].op, output
        case Const():
            return value
        case _:
            return "before"


def _source(value: Value) -> Variable | int | None:
    """The node or the variable that a value comes from."""
    if isinstance(value, Use):
        return value.node
    return value.variable if isinstance(value, Before) else None
