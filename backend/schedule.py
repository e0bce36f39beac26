"""Modulo scheduling: first starts for the operations, by Rau's iterative method.

The start times are where placement begins; it moves them further.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush
from itertools import combinations

import networkx as nx

from arch.fabric import Fabric

from .bound import MOST_CLASSES, delays
from .cycles import Delay, longest_paths
from .dfg import DFG
from .flat import Problem
from .mapping import Schedule

TRIES = 12
"""How often, in the mean, each operation may be scheduled."""

PUSHY = 4
"""After so many tries an operation takes the first cycle it can have, so that groups can close ranks."""


class SlotTable:
    """The modulo reservation table: what may issue in each slot, by Hall's condition over unit classes."""

    def __init__(self, problem: Problem, interval: int) -> None:
        self.problem, self.interval = problem, interval
        self.held: list[list[int]] = [[] for _ in range(interval)]
        classes = [frozenset(units) for units in problem.classes]
        kinds = sorted(set(problem.kind))
        most = len(kinds) if len(kinds) <= MOST_CLASSES else 1
        unions = {
            frozenset[int]().union(*(classes[k] for k in subset))
            for size in range(1, most + 1)
            for subset in combinations(kinds, size)
        }
        self.limits: dict[int, list[int]] = {}
        self.sizes = [len(u) for u in unions]
        for kind in kinds:
            self.limits[kind] = [k for k, u in enumerate(unions) if classes[kind] <= u]
        self.count = [[0] * len(self.sizes) for _ in range(interval)]
        self.group_room = [
            1
            if g < problem.streams
            else max((len(problem.fabric.memories[b].ports) for b in problem.homes[g]), default=1)
            for g in range(problem.groups)
        ]
        self.group_count = [[0] * problem.groups for _ in range(interval)]

    def free(self, node: int, cycle: int) -> bool:
        """Whether there is room for a node."""
        slot = cycle % self.interval
        group = self.problem.group[node]
        if group >= 0 and self.group_count[slot][group] >= self.group_room[group]:
            return False
        count = self.count[slot]
        return all(count[k] < self.sizes[k] for k in self.limits[self.problem.kind[node]])

    def add(self, node: int, cycle: int, change: int = 1) -> None:
        """Claim or free room."""
        slot = cycle % self.interval
        if change > 0:
            self.held[slot].append(node)
        else:
            self.held[slot].remove(node)
        for k in self.limits[self.problem.kind[node]]:
            self.count[slot][k] += change
        if self.problem.group[node] >= 0:
            self.group_count[slot][self.problem.group[node]] += change


def schedule(dfg: DFG, fabric: Fabric, interval: int) -> Schedule | None:
    """Starts that respect units, streams, arrays and delays at least distances; None if none is found."""
    start = modulo_schedule(Problem(dfg, fabric), interval)
    return None if start is None else Schedule(dfg, interval, tuple(start))


def modulo_schedule(problem: Problem, interval: int, stretch: int = 0) -> list[int] | None:
    """See `schedule`; delays outside recurrences are longer by `stretch`."""
    arcs = stretched(problem, stretch)
    earliest, cycle = longest_paths(problem.nodes, arcs, interval)
    if cycle:
        return None
    # Reversed, as producers come before consumers mostly: so times settle in few rounds.
    back = [Delay(a.target, a.source, a.distance, a.cycles) for a in reversed(arcs)]
    height = longest_paths(problem.nodes, back, interval)[0]
    # What much depends on goes first; where that runs in circles, what can start early does.
    by_height = _iterate(problem, arcs, interval, [-h for h in height])
    return by_height or _iterate(problem, arcs, interval, earliest)


def schedule_from(problem: Problem, interval: int, arcs: list[Delay], wanted: list[int]) -> list[int] | None:
    """Starts that keep the delays of the arcs, none before the one that is wanted."""
    return _iterate(problem, arcs, interval, wanted, wanted)


def _iterate(
    problem: Problem, arcs: list[Delay], interval: int, rank: list[int], least: list[int] | None = None
) -> list[int] | None:
    """Schedule by rank, dropping what is in the way, until all is scheduled or the budget is spent.

    Nothing starts before its `least`.
    """
    into: list[list[tuple[int, int]]] = [[] for _ in range(problem.nodes)]
    out: list[list[tuple[int, int]]] = [[] for _ in range(problem.nodes)]
    for a in arcs:
        into[a.target].append((a.source, a.cycles - a.distance * interval))
        out[a.source].append((a.target, a.cycles - a.distance * interval))
    table = SlotTable(problem, interval)
    start: list[int | None] = [None] * problem.nodes
    last = [-1] * problem.nodes
    tries = [0] * problem.nodes
    queue = sorted((rank[n], n) for n in range(problem.nodes))
    budget = TRIES * problem.nodes + 1
    while queue:
        _, n = heappop(queue)
        if start[n] is not None:
            continue
        budget -= 1
        if budget < 0:
            return None
        low = max((t + gap for p, gap in into[n] if p != n and (t := start[p]) is not None), default=0)
        low = max(low, least[n] if least else 0)
        at = next((t for t in range(low, low + interval) if table.free(n, t)), None)
        tries[n] += 1
        if at is None or (tries[n] > PUSHY and at > low > last[n]):
            at = max(low, last[n] + 1)
            for w in list(table.held[at % interval]):
                if not table.free(n, at) and _compete(problem, n, w):
                    _drop(problem, table, start, queue, rank, w)
        start[n] = last[n] = at
        table.add(n, at)
        for c, gap in out[n]:
            begun = start[c]
            if c != n and begun is not None and at + gap > begun:
                _drop(problem, table, start, queue, rank, c)
    return [t for t in start if t is not None]


def earliest_starts(problem: Problem, interval: int) -> list[int]:
    """Starts that respect the delays alone."""
    return longest_paths(problem.nodes, delays(problem), interval)[0]


def stretched(problem: Problem, stretch: int) -> list[Delay]:
    """The delays, those outside recurrences longer by `stretch`."""
    arcs = delays(problem)
    if not stretch:
        return arcs
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edges_from((a.source, a.target) for a in arcs)
    graph.add_nodes_from(range(problem.nodes))
    component = {}
    for k, nodes in enumerate(nx.strongly_connected_components(graph)):
        component.update(dict.fromkeys(nodes, k))
    return [
        replace(a, cycles=a.cycles + stretch) if component[a.source] != component[a.target] else a
        for a in arcs
    ]


def _compete(problem: Problem, a: int, b: int) -> bool:
    return bool(set(problem.candidates(a)) & set(problem.candidates(b)))


def _drop(
    problem: Problem,
    table: SlotTable,
    start: list[int | None],
    queue: list[tuple[int, int]],
    rank: list[int],
    node: int,
) -> None:
    """Unschedule a node."""
    cycle = start[node]
    assert cycle is not None
    table.add(node, cycle, -1)
    start[node] = None
    heappush(queue, (rank[node], node))
