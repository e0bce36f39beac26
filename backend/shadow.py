"""Values that a graph does not compute, from those that it does: what to look at beside a design at work.

The wanted values are operands of another graph of the same program, which was made to compute them. Nodes of
the two are equal if they are the same operation on equal operands: the coarsest such partition, refined from
one class for each kind of operation (Hopcroft's idea, in its simplest form), also equates recurrences. What
has no equal is a node of the shadow.

Graphs that were improved, each in its own way, may have nothing in common. Then the other graph is one that
was not (`plain_shadow`), and all is computed again but for what comes from outside: words of streams, tables.
"""

from __future__ import annotations

from collections.abc import Mapping as Map
from collections.abc import Sequence
from dataclasses import dataclass

from arch.ops import OPS

from .dfg import DFG, Const, LiveIn, Node, Operand, Use

Key = tuple[object, ...]


@dataclass(frozen=True)
class Shadow:
    """Nodes whose ids follow those of the graph, and the wanted operands, which use both.

    The nodes are pure, or load from tables. `stop`, if there is one, is not 0 in the last iteration that the
    nodes know of: the graph's own, unless values that the program leaves undefined decide on it.
    """

    nodes: tuple[Node, ...]
    wanted: tuple[tuple[Operand, ...], ...]
    stop: Operand | None = None


class _NotThere(Exception):
    """A wanted value depends on an effect that the graph does not have."""


def shadow_of(dfg: DFG, other: DFG, wanted: Sequence[Sequence[Operand]]) -> Shadow | None:
    """What `dfg` lacks of operands of `other`; None if that cannot be had, or loops may end differently."""
    classes = _classes(dfg, other)
    if not _end_alike((dfg, other), classes):
        return None
    first: dict[int, int] = {}
    for node, number in enumerate(classes[0]):
        first.setdefault(number, node)
    equal = {node: first[number] for node, number in enumerate(classes[1]) if number in first}
    return _shadow(_Builder(dfg, other, equal), wanted)


def plain_shadow(dfg: DFG, plain: DFG, other: DFG, wanted: Sequence[Sequence[Operand]]) -> Shadow | None:
    """The same where `dfg` was made of `plain`, whose loop it keeps, and `other` is as plain as that."""
    if not _end_alike((plain, other), _classes(plain, other)):
        return None
    return _shadow(_Builder(dfg, other, _stream_operations(dfg, other)), wanted, _stop(other).operands[0])


def _shadow(
    builder: _Builder, wanted: Sequence[Sequence[Operand]], stop: Operand | None = None
) -> Shadow | None:
    try:
        found = tuple(tuple(builder.operand(operand) for operand in operands) for operands in wanted)
        end = None if stop is None else builder.operand(stop)
        return Shadow(tuple(builder.finish()), found, end)
    except _NotThere:
        return None


def _stop(graph: DFG) -> Node:
    return next(node for node in graph.nodes if node.op == "stop")


def _end_alike(graphs: tuple[DFG, DFG], classes: Sequence[Sequence[int]]) -> bool:
    """Whether two graphs surely make the same number of iterations."""
    stops = [numbers[_stop(graph).id] for graph, numbers in zip(graphs, classes, strict=True)]
    return stops[0] == stops[1]


def _stream_operations(dfg: DFG, other: DFG) -> dict[int, int]:
    """By operation of `other` on a stream, that of `dfg`, where both do the same in the same order."""
    found: dict[int, int] = {}
    theirs = _by_stream(other)
    for stream, nodes in _by_stream(dfg).items():
        others = theirs.get(stream, [])
        if [node.op for node in nodes] == [node.op for node in others]:
            found |= {node.id: own.id for node, own in zip(others, nodes, strict=True)}
    return found


def _by_stream(graph: DFG) -> dict[tuple[str, bool], list[Node]]:
    found: dict[tuple[str, bool], list[Node]] = {}
    for node in graph.nodes:
        if node.stream is not None:
            port = graph.streams[node.stream]
            found.setdefault((port.name, port.sends), []).append(node)
    return found


def _classes(*graphs: DFG) -> list[list[int]]:
    """For each graph, the class of each node: nodes of one class have equal values in all iterations."""
    kinds = [_kinds(graph) for graph in graphs]
    found = _numbered(kinds)
    count = -1
    while (classes := 1 + max(max(row) for row in found)) != count:
        count = classes
        found = _numbered(
            [
                [(kinds[g][n.id], _operands(graph, n, found[g])) for n in graph.nodes]
                for g, graph in enumerate(graphs)
            ]
        )
    return found


def _numbered(keys: Sequence[Sequence[Key]]) -> list[list[int]]:
    numbers: dict[Key, int] = {}
    return [[numbers.setdefault(key, len(numbers)) for key in row] for row in keys]


def _kinds(graph: DFG) -> list[Key]:
    """What nodes must have in common before their operands are looked at.

    Operations on a stream, or on an array that is stored to, are told apart by their order.
    """
    stored = {node.memory for node in graph.nodes if node.op == "store"}
    turns: dict[Key, int] = {}
    found: list[Key] = []
    for node in graph.nodes:
        key: Key = (node.op,)
        place: Key | None = None
        if node.stream is not None:
            port = graph.streams[node.stream]
            place = ("stream", port.name, port.sends)
        elif node.memory is not None:
            memory = ("memory", graph.memories[node.memory].name)
            place, key = (memory, key) if node.memory in stored else (None, (*memory, node.op))
        elif node.op == "result":
            key = ("result", graph.live_outs[node.index])
        elif node.op == "fail":
            key = ("fail", graph.assertions[node.index])
        if place is not None:
            turns[place] = turns.get(place, 0) + 1
            key = (*place, turns[place], node.op)
        found.append(key)
    return found


def _operands(graph: DFG, node: Node, classes: Sequence[int]) -> Key:
    keys = [_operand(graph, operand, classes) for operand in node.operands]
    return tuple(sorted(keys, key=repr) if OPS[node.op].commutative else keys)


def _operand(graph: DFG, operand: Operand, classes: Sequence[int]) -> Key:
    match operand:
        case Const(value):
            return ("constant", value)
        case LiveIn(index):
            return ("scalar", graph.live_ins[index])
        case Use(node, distance, initial, output):
            first = _operand(graph, initial, classes) if distance else ()
            return ("use", classes[node], output, distance, first)


class _Builder:
    """`equal` has nodes of the other graph, and those of the graph that have their values."""

    def __init__(self, dfg: DFG, other: DFG, equal: Map[int, int]) -> None:
        self._dfg, self._other, self._equal = dfg, other, equal
        self._new: dict[int, int] = {}

    def operand(self, operand: Operand) -> Operand:
        """The operand in terms of the graph and its shadow."""
        match operand:
            case Use(node, distance, initial, output):
                return Use(
                    self._node(node), distance, self._initial(initial) if distance else Const(0), output
                )
            case LiveIn():
                return self._initial(operand)
        return operand

    def _initial(self, operand: Const | LiveIn) -> Const | LiveIn:
        if isinstance(operand, Const):
            return operand
        name = self._other.live_ins[operand.index]
        if name not in self._dfg.live_ins:
            raise _NotThere
        return LiveIn(self._dfg.live_ins.index(name))

    def _node(self, node: int) -> int:
        if (equal := self._equal.get(node)) is not None:
            return equal
        op = self._other.nodes[node].op
        if not OPS[op].pure and op != "load":
            raise _NotThere
        return self._new.setdefault(node, len(self._dfg.nodes) + len(self._new))

    def finish(self) -> list[Node]:
        """The shadow's nodes; asking for their operands makes more of them."""
        found: list[Node] = []
        while len(found) < len(self._new):
            node = self._other.nodes[list(self._new)[len(found)]]
            operands = tuple(self.operand(operand) for operand in node.operands)
            memory = None if node.memory is None else self._table(node.memory)
            found.append(Node(self._new[node.id], node.op, operands, memory=memory, where=node.where))
        return found

    def _table(self, memory: int) -> int:
        """The graph's number of an array of the other graph, if nothing is stored in it."""
        name = self._other.memories[memory].name
        places = [m for m, own in enumerate(self._dfg.memories) if own.name == name]
        for graph, own in ((self._dfg, {*places}), (self._other, {memory})):
            if not own or any(node.op == "store" and node.memory in own for node in graph.nodes):
                raise _NotThere
        return places[0]
