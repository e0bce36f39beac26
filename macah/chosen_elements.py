"""The element at a chosen index as the choice between elements that are loaded anyway.

    c = h[i + 1] > h[i] ? i + 1 : i          ->          h[c] = h[i + 1] > h[i] ? h[i + 1] : h[i]

The index need not be chosen before the element can be loaded, and there is one load less.
"""

from __future__ import annotations

from collections.abc import Callable

from backend.dfg import Const, Place, Use
from macah.graph import ONE, Graph, Value

DEPTH = 3
"""So many choices may be behind one another."""

Loaded = Callable[[Value], Use | None]


def chosen_element(
    graph: Graph, address: Value, loaded: Loaded, where: Place | None, depth: int = DEPTH
) -> Value | None:
    """The element at an address, from those that were `loaded` in the same state of the memory, or None."""
    if (use := loaded(address)) is not None:
        return use
    base, offset = graph.split(address)
    if depth == 0 or (choice := _choice(graph, base)) is None:
        return None
    condition, *arms = choice
    elements: list[Value] = []
    for arm in arms:
        there = graph.pure("add", arm, Const(offset))
        element = chosen_element(graph, there, loaded, where, depth - 1)
        if element is None:
            return None
        elements.append(element)
    return graph.pure("select", condition, *elements, where=where)


def _choice(graph: Graph, value: Value) -> tuple[Value, Value, Value] | None:
    """A value as a condition and what it is if that holds, and if not: a predicate may have been added."""
    if not isinstance(value, Use):
        return None
    draft = graph.drafts[value.node]
    match draft.op, draft.operands:
        case "select", (condition, then, other):
            return condition, then, other
        case "add", (a, b):
            for condition, number in ((a, b), (b, a)):
                if graph.holds(condition):
                    return condition, graph.pure("add", number, ONE), number
    return None
