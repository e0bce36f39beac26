"""Cycles of dependences, component by component: the least interval that they allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import networkx as nx

from backend.bound import Delay, longest_paths


def components(arcs: Sequence[Delay]) -> Iterator[list[Delay]]:
    """The arcs inside each component of a graph, components in a fixed order."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edges_from((arc.source, arc.target) for arc in arcs)
    of: dict[int, int] = {}
    for component in nx.strongly_connected_components(graph):
        first = min(component)
        of |= dict.fromkeys(component, first)
    inside: dict[int, list[Delay]] = {}
    for arc in arcs:
        if of[arc.source] == of[arc.target]:
            inside.setdefault(of[arc.source], []).append(arc)
    for first in sorted(inside):
        yield inside[first]


def tightest(arcs: Sequence[Delay], least: int = 1) -> tuple[int, tuple[int, ...]]:
    """The least interval that all cycles allow if that is above `least`, and a cycle that needs it."""
    best, worst = least, tuple[int, ...]()
    for inside in components(arcs):
        interval, cycle = _longest(inside, best)
        if interval > best:
            best, worst = interval, cycle
    return best, worst


def _longest(arcs: list[Delay], least: int) -> tuple[int, tuple[int, ...]]:
    """The least interval of a component if it is above `least`, and a cycle that needs it."""
    names = sorted({n for arc in arcs for n in (arc.source, arc.target)})
    local = {name: k for k, name in enumerate(names)}
    mine = [Delay(local[a.source], local[a.target], a.distance, a.cycles) for a in arcs]
    low, high, worst = least, max(least, sum(a.cycles for a in mine)), tuple[int, ...]()
    while low < high:
        middle = (low + high) // 2
        cycle = longest_paths(len(names), mine, middle)[1]
        if cycle:
            low, worst = middle + 1, cycle
        else:
            high = middle
    if low > least:
        worst = longest_paths(len(names), mine, low - 1)[1] or worst
    return low, tuple(names[n] for n in worst)
