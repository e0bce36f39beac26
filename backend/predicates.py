"""Which values of a graph are only ever 0 or 1: they need one bit instead of a word."""

from __future__ import annotations

from collections.abc import Set

from arch.ops import COMPARISONS, OPS

from .dfg import DFG, Const, Node, Operand, Use

Value = tuple[int, int]
"""A node and which of its outputs."""

_ALWAYS = COMPARISONS | {"ended", "try_send"}
_IF_ALL = frozenset({"or", "xor", "mov"})


def predicates(dfg: DFG) -> frozenset[Value]:
    """The values that are 0 or 1 in every iteration: all that cannot be shown to be anything else.

    What is read in place of a value before the first iteration shares its bits, so it must be 0 or 1 too.
    """
    found = {(node.id, output) for node in dfg.nodes for output in range(OPS[node.op].outputs)}
    found -= {(u.node, u.output) for _, _, u in dfg.uses() if u.distance and not narrow(u.initial, found)}
    while wrong := {value for value in found if not _holds(dfg.nodes[value[0]], value[1], found)}:
        found -= wrong
    return frozenset(found)


def _holds(node: Node, output: int, found: set[Value]) -> bool:
    """Whether this output is 0 or 1 if the values in `found` are."""
    bits = [narrow(operand, found) for operand in node.operands]
    if node.op in _ALWAYS or (output == 1 and node.op in ("try_recv", "await")):
        return True
    if node.op in _IF_ALL:
        return all(bits)
    if node.op == "select":
        return all(bits[1:])
    return node.op == "and" and any(bits)


def narrow(operand: Operand, found: Set[Value]) -> bool:
    """Whether an operand is 0 or 1 if the values in `found` are."""
    match operand:
        case Const(value):
            return value in (0, 1)
        case Use(node, distance, initial, output):
            return (node, output) in found and (distance == 0 or narrow(initial, found))
    return False
