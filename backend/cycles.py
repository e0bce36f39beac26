"""Cycles of dependences, component by component: the least interval that they allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import networkx as nx

from backend.record import made_quickly

from .dfg import DFG
from .longest import Arcs, longest


@made_quickly
@dataclass(frozen=True, slots=True)
class Delay:
    """`target`, `distance` iterations later, starts at least `cycles` after `source`."""

    source: int
    target: int
    distance: int
    cycles: int


def longest_paths(nodes: int, arcs: list[Delay], interval: int) -> tuple[list[int], tuple[int, ...]]:
    """Earliest starts, and the nodes of a cycle that the interval is too short for (then starts are void)."""
    flat = Arcs()
    for arc in arcs:
        flat.add(arc.source, arc.target, arc.distance, arc.cycles)
    return longest(nodes, flat, interval)


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


def dependences(dfg: DFG) -> nx.DiGraph[int]:
    """The nodes of a kernel's graph, each before those that need it, or must follow it, in some iteration."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edges_from((use.node, consumer) for consumer, _, use in dfg.uses())
    graph.add_edges_from((order.before, order.after) for order in dfg.orders)
    return graph


def on_cycles(graph: nx.DiGraph[int]) -> set[int]:
    """The nodes that a way leads back to."""
    loops = {node for node in graph if graph.has_edge(node, node)}
    return loops.union(*(nodes for nodes in nx.strongly_connected_components(graph) if len(nodes) > 1))


def tightest(arcs: Sequence[Delay], least: int = 1) -> tuple[int, tuple[int, ...]]:
    """The least interval that all cycles allow if that is above `least`, and a cycle that needs it."""
    best, worst = least, tuple[int, ...]()
    for inside in components(arcs):
        interval, cycle = tightest_of(inside, best)
        if interval > best:
            best, worst = interval, cycle
    return best, worst


def tightest_of(arcs: list[Delay], least: int) -> tuple[int, tuple[int, ...]]:
    """The least interval of a component if it is above `least`, and a cycle that needs it."""
    names = sorted({n for arc in arcs for n in (arc.source, arc.target)})
    local = {name: k for k, name in enumerate(names)}
    mine = Arcs()
    for arc in arcs:
        mine.add(local[arc.source], local[arc.target], arc.distance, arc.cycles)
    if not longest(len(names), mine, least)[1]:
        return least, ()
    # No smaller distance is on a cycle, and no more cycles.
    apart = min((distance for distance in mine.distance if distance > 0), default=1)
    high = max(least + 1, -(-sum(max(0, cycles) for cycles in mine.cycles) // apart))
    low, worst = least + 1, tuple[int, ...]()
    while low < high:
        middle = (low + high) // 2
        cycle = longest(len(names), mine, middle)[1]
        if cycle:
            low, worst = middle + 1, cycle
        else:
            high = middle
    worst = longest(len(names), mine, low - 1)[1] or worst
    return low, tuple(names[n] for n in worst)
