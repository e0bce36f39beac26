"""The course that control takes which depends on nothing but itself: what nodes are in each iteration."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from arch.ops import OPS
from backend.dfg import DFG, Const, Operand, Use, evaluation_order
from macah.graph import WIDTH

REST = 8
"""So many iterations behind the last one are what all later ones do."""


@dataclass(frozen=True, slots=True)
class Course:
    """The values of nodes, by number, in each iteration; after the last row comes row `again`."""

    nodes: frozenset[int]
    rows: Sequence[dict[int, int]]
    again: int

    def values(self, node: int) -> tuple[int, ...]:
        """Those of a node."""
        return tuple([row[node] for row in self.rows])

    def numbers(self, times: int) -> list[int]:
        """The row of each iteration until what is done again and again has been done so many times."""
        return [*range(self.again), *list(range(self.again, len(self.rows))) * times]


def independent(dfg: DFG) -> set[int]:
    """The nodes that need constants and one another only, in whatever iteration."""
    found = {node.id for node in dfg.nodes if OPS[node.op].pure}
    while wrong := {number for number in found if not all(_within(dfg.nodes[number].operands, found))}:
        found -= wrong
    return found


def _within(operands: Sequence[Operand], found: Collection[int]) -> Iterator[bool]:
    for operand in operands:
        match operand:
            case Const():
                yield True
            case Use(node, distance, initial):
                yield node in found and (distance == 0 or isinstance(initial, Const))
            case _:
                yield False


def closed(dfg: DFG, nodes: Sequence[int]) -> frozenset[int]:
    """Nodes with all that they need."""
    found, pending = set[int](), list(nodes)
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            pending += [operand.node for operand in dfg.nodes[number].operands if isinstance(operand, Use)]
    return frozenset(found)


def following(dfg: DFG, own: Collection[int], nodes: frozenset[int]) -> frozenset[int]:
    """Nodes, and those that need nothing else."""
    found = set(nodes)
    while more := {n for n in own if n not in found and all(_within(dfg.nodes[n].operands, found))}:
        found |= more
    return frozenset(found)


def course_of(dfg: DFG, own: Collection[int], nodes: Sequence[int], most: int) -> Course | None:
    """What some of the nodes that need nothing else do, with what they need; None if that is too long.

    It has `most` iterations until it is repeated, or until the kernel ends if that is known, too.
    """
    needed = closed(dfg, nodes)
    if (found := _run(dfg, needed, most)) is not None:
        return found
    stop = next(node for node in dfg.nodes if node.op == "stop")
    match stop.operands:
        case (Use(last, 0),) if last in own:
            return _run(dfg, closed(dfg, [last]) | needed, most, last)
    return None


def _run(dfg: DFG, nodes: frozenset[int], most: int, last: int | None = None) -> Course | None:
    """What nodes do until they repeat it, or until `last` is not 0; None after `most` iterations."""
    order = [number for number in evaluation_order(dfg) if number in nodes]
    reach = dict.fromkeys(order, 0)
    for consumer, _, use in dfg.uses():
        if consumer in nodes:
            reach[use.node] = max(reach[use.node], use.distance)
    states = [(number, back) for number in order for back in range(reach[number])]
    settled = max(reach.values(), default=0)  # no first values are used from there on
    rows, known = list[dict[int, int]](), dict[tuple[int, ...], int]()
    while len(rows) <= most + settled:
        if len(rows) >= settled:
            state = tuple([rows[-1 - back][number] for number, back in states])
            if state in known:
                return Course(nodes, rows, known[state])
            known[state] = len(rows)
        row: dict[int, int] = {}
        for number in order:
            node = dfg.nodes[number]
            evaluate = OPS[node.op].evaluate
            assert evaluate is not None
            row[number] = evaluate(WIDTH, *[_value(operand, row, rows) for operand in node.operands])
        rows.append(row)
        if last is not None and any(row[last] for row in rows[-1 - REST - settled : -REST - settled]):
            # nothing has effects any more, so that any of these may be repeated
            return Course(nodes, rows, len(rows) - REST)
    return None


def _value(operand: Operand, row: dict[int, int], rows: Sequence[dict[int, int]]) -> int:
    match operand:
        case Const(value):
            return value
        case Use(node, 0):
            return row[node]
        case Use(node, distance, Const(initial)):
            return rows[-distance][node] if distance <= len(rows) else initial
        case _:
            raise AssertionError(operand)
