"""Finds variables of a loop that always have the same value, as they start and change alike."""

from __future__ import annotations

from collections.abc import Mapping

from arch.ops import OPS
from backend.dfg import Const, LiveIn, Use
from macah.graph import Before, Graph, Value
from macah.ir import Variable


def congruent(
    graph: Graph, initial: Mapping[Variable, Const | LiveIn], final: Mapping[Variable, Value]
) -> dict[Variable, Variable]:
    """Variables, and the one in place of which each can be.

    All that start alike are taken to be the same, until their new values show that they are not.
    """
    classes = _numbered({v: initial.get(v, v) for v in final})
    while True:
        values = _values(graph, classes)
        split = _numbered({v: (classes[v], _value(final[v], classes, values)) for v in final})
        if len(set(split.values())) == len(set(classes.values())):
            break
        classes = split
    first: dict[int, Variable] = {}
    return {v: first[c] for v, c in classes.items() if first.setdefault(c, v) is not v}


def _numbered(keys: Mapping[Variable, object]) -> dict[Variable, int]:
    numbers: dict[object, int] = {}
    return {v: numbers.setdefault(key, len(numbers)) for v, key in keys.items()}


def _values(graph: Graph, classes: Mapping[Variable, int]) -> list[int]:
    """A number for each node, the same for nodes with the same value."""
    numbers: dict[object, int] = {}
    found: list[int] = []
    for node, draft in enumerate(graph.drafts):
        key: object = node
        op = OPS[draft.op]
        if op.pure:
            operands = [_value(value, classes, found) for value in draft.operands]
            if op.commutative:
                operands.sort()
            key = (draft.op, *operands)
        found.append(numbers.setdefault(key, len(numbers)))
    return found


def _value(value: Value, classes: Mapping[Variable, int], values: list[int]) -> tuple[str, int, int]:
    if isinstance(value, Use):
        return ("node", values[value.node], value.output)
    if isinstance(value, Before):
        return ("before", classes[value.variable], 0)
    if isinstance(value, Const):
        return ("constant", value.value, 0)
    return ("live-in", value.index, 0)
