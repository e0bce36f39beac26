"""Renumbers what is left of a graph's live-ins and memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from backend.dfg import Const, LiveIn, Node, Operand, Use


def live_ins_of(nodes: Iterable[Node]) -> Iterator[LiveIn]:
    for node in nodes:
        for operand in node.operands:
            found = operand.initial if isinstance(operand, Use) and operand.distance else operand
            if isinstance(found, LiveIn):
                yield found


def positions(numbers: Iterable[int]) -> dict[int, int]:
    """New numbers, without gaps, for those that occur."""
    return {number: position for position, number in enumerate(sorted(set(numbers)))}


def compacted(node: Node, live_ins: Mapping[int, int], memories: Mapping[int, int]) -> Node:
    def leaf(value: Const | LiveIn) -> Const | LiveIn:
        return LiveIn(live_ins[value.index]) if isinstance(value, LiveIn) else value

    def operand(old: Operand) -> Operand:
        if not isinstance(old, Use):
            return leaf(old)
        return replace(old, initial=leaf(old.initial)) if old.distance else old

    memory = None if node.memory is None else memories[node.memory]
    return replace(node, operands=tuple(operand(o) for o in node.operands), memory=memory)
