"""Renumbers what is left of a graph's nodes, live-ins and memories."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import is_

from backend.dfg import DFG, Const, LiveIn, Node, Operand, Order, Use


def live_ins_of(nodes: Iterable[Node]) -> Iterator[LiveIn]:
    """The words from the host that nodes read, first values of carried ones too."""
    for node in nodes:
        for operand in node.operands:
            found = operand.initial if isinstance(operand, Use) and operand.distance else operand
            if isinstance(found, LiveIn):
                yield found


def positions(numbers: Iterable[int]) -> dict[int, int]:
    """New numbers, without gaps, for those that occur."""
    return {number: position for position, number in enumerate(sorted(set(numbers)))}


def compacted(node: Node, live_ins: Mapping[int, int], memories: Mapping[int, int]) -> Node:
    """The node with the new numbers of live-ins and memories."""
    memory = None if node.memory is None else memories[node.memory]
    operands = tuple([_operand(operand, live_ins) for operand in node.operands])
    if memory == node.memory and all(map(is_, operands, node.operands)):
        return node
    return replace(node, operands=operands, memory=memory)


def _operand(old: Operand, live_ins: Mapping[int, int]) -> Operand:
    if not isinstance(old, Use):
        return _leaf(old, live_ins)
    if old.distance and isinstance(old.initial, LiveIn):
        return replace(old, initial=_leaf(old.initial, live_ins))
    return old


def _leaf(value: Const | LiveIn, live_ins: Mapping[int, int]) -> Const | LiveIn:
    if isinstance(value, LiveIn) and live_ins[value.index] != value.index:
        return LiveIn(live_ins[value.index])
    return value


def without_nodes(dfg: DFG, gone: Container[int]) -> DFG:
    """The graph without nodes that nothing refers to."""
    kept = [node for node in dfg.nodes if node.id not in gone]
    numbers = {node.id: number for number, node in enumerate(kept)}

    def operand(old: Operand) -> Operand:
        if not isinstance(old, Use) or numbers[old.node] == old.node:
            return old
        return Use(numbers[old.node], old.distance, old.initial, old.output)

    nodes = tuple([numbered(node, numbers[node.id], tuple(map(operand, node.operands))) for node in kept])
    orders = [Order(numbers[o.before], numbers[o.after], o.distance, o.delay) for o in dfg.orders]
    return replace(dfg, nodes=nodes, orders=tuple(orders))


def numbered(node: Node, number: int, operands: tuple[Operand, ...]) -> Node:
    """A node with another number and other operands; itself if they are the same objects as before."""
    if number == node.id and all(map(is_, operands, node.operands)):
        return node
    return Node(number, node.op, operands, node.stream, node.memory, node.index, node.where, node.variable)
