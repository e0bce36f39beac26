"""Routing: negotiation between routes, and between operations, for the fabric's resources.

Conflicts become dearer until none is left. An operation whose unit or routes stay in conflict moves to where
the prices of the moment are least; that succeeds where routing between fixed places fails.
"""

from __future__ import annotations

from .flat import Problem
from .flow import Flow
from .mapping import Mapping, Placement, Route
from .place import placement_of

GROWTH = 1.03
"""How fast the price of sharing grows."""

PATIENCE = 400
"""Iterations without a new best number of conflicts, at effort 1, until the attempt is given up."""

SETTLING = 3
"""Iterations in which only routes move, before operations do."""


def route(problem: Problem, placement: Placement, seed: int, effort: float = 1.0) -> Mapping | None:
    """A mapping near a placement, or None if the negotiation does not end."""
    interval = placement.schedule.interval
    streams = [-1] * problem.streams
    for node in problem.dfg.nodes:
        if node.stream is not None:
            streams[node.stream] = placement.unit[node.id]
    banks = [place.bank for place in placement.memory]
    start = placement.schedule.start
    longest = (
        max(
            (start[problem.target[e]] + problem.distance[e] * interval - start[problem.source[e]])
            for e in range(len(problem.source))
        )
        if problem.source
        else 0
    )
    layers = max(longest, 0) + 2 * interval + 24
    flow = Flow(problem, interval, seed, placement.unit, start, streams + banks, layers)
    for n in sorted(range(problem.nodes), key=lambda n: (start[n], n)):
        flow.route_node(n)
    if not negotiate(flow, int(PATIENCE * effort)):
        return None
    return _mapping_of(problem, flow, interval, banks)


def negotiate(flow: Flow, patience: int) -> bool:
    """Move routes and operations until nothing conflicts; False when that makes no progress any more."""
    best, stale, iteration = 1 << 30, 0, 0
    while True:
        nodes, edges = flow.survey()
        conflicts = len(nodes) + len(edges)
        if conflicts == 0:
            return True
        stale = 0 if conflicts < best else stale + 1
        best = min(best, conflicts)
        if stale > patience:
            return False
        flow.remember(GROWTH)
        for node in _shuffled(flow, nodes):
            if flow.node_state(node):
                flow.relocate(node)
        for edge in _shuffled(flow, edges):
            _mend(flow, edge, iteration)
        iteration += 1


def _mend(flow: Flow, edge: int, iteration: int) -> None:
    """Route an edge in conflict anew, or move one of its ends."""
    state = flow.edge_state(edge)
    if state == 0:
        return
    if state == 2 or (iteration >= SETTLING and flow.pick(3) == 0):
        flow.relocate(flow.end_of(edge, flow.pick(2)))
    else:
        flow.reroute(edge)


def _shuffled(flow: Flow, items: list[int]) -> list[int]:
    for k in range(len(items) - 1, 0, -1):
        other = flow.pick(k + 1)
        items[k], items[other] = items[other], items[k]
    return items


def _mapping_of(problem: Problem, flow: Flow, interval: int, banks: list[int]) -> Mapping:
    units, start = flow.places()
    placement = placement_of(problem, interval, units, start, banks)
    first = min(start, default=0)
    routes = tuple(
        Route(
            problem.target[e],
            problem.position[e],
            tuple((r, cycle - first) for r, cycle in flow.path(e)),
        )
        for e in range(len(problem.source))
    )
    return Mapping(placement, routes)
