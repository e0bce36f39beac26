"""Mapping a graph that is almost one that was mapped before: from where its operations were then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arch.fabric import Fabric

from .bound import match_streams, minimum_interval, pack_memories
from .check import check_mapping
from .clock import Clock, OutOfTime
from .dfg import DFG, evaluation_order
from .flat import Problem
from .mapping import MapOptions, Mapping
from .place import placement_of
from .route import route

FOUND = 0.5
"""At least this share of the operations must be found again: else the old mapping is of another graph."""


@dataclass(frozen=True, slots=True)
class Old:
    """What is used of an old mapping: of each named node the operation, the start and the unit's name."""

    interval: int
    places: dict[str, tuple[str, int, str]]


def remap(dfg: DFG, fabric: Fabric, names: Sequence[str], old: Old, options: MapOptions) -> Mapping | None:
    """A checked mapping at the old interval, or at the bound if that has grown; None if there is none near.

    None, too, if few nodes are old ones: the old interval tells nothing of another graph.

    Nodes with the name and operation of an old one begin where that was, others next to what they read and
    give; negotiation moves what is in conflict. `names` are those of the first nodes.
    """
    bounds, clock = minimum_interval(dfg, fabric), Clock(options.time_limit)
    interval = options.interval or max(old.interval, bounds.mii)
    limit = min(options.max_interval or fabric.max_interval, fabric.max_interval)
    if not bounds.mii <= interval <= limit:
        return None
    problem = Problem(dfg, fabric)
    guess = _Guess(problem, interval, old, names)
    if len(guess.unit) < FOUND * problem.nodes:
        return None
    start, unit = guess.places()
    placement = placement_of(problem, interval, unit, start, pack_memories(problem))
    try:
        found = route(problem, placement, options.seed, options.effort, lambda _: clock.check())
    except OutOfTime:
        return None
    if not isinstance(found, Mapping):
        return None
    check_mapping(found)
    return found


class _Guess:
    """Starts and units to begin with."""

    def __init__(self, problem: Problem, interval: int, old: Old, names: Sequence[str]) -> None:
        self.problem, self.interval = problem, interval
        self.start: dict[int, int] = {}
        self.unit: dict[int, int] = {}
        self.ports = match_streams(problem)
        numbers = {unit.name: unit.id for unit in problem.fabric.units}
        for n, name in enumerate(names):
            op, start, unit_name = old.places.get(name, ("", 0, ""))
            unit = numbers.get(unit_name, -1)
            if op == problem.dfg.nodes[n].spelling and unit in problem.candidates(n):
                self.start[n], self.unit[n] = start, unit
        self.taken = {(u, self.start[n] % interval) for n, u in self.unit.items()}

    def places(self) -> tuple[list[int], list[int]]:
        """The starts and units of all nodes."""
        for n in evaluation_order(self.problem.dfg):
            if n not in self.start:
                self.start[n] = self._first_start(n)
                self.unit[n] = self._nearest_unit(n)
                self.taken.add((self.unit[n], self.start[n] % self.interval))
        every = range(self.problem.nodes)
        return [self.start[n] for n in every], [self.unit[n] for n in every]

    def _first_start(self, n: int) -> int:
        """The earliest that what it reads allows; without any, the latest that its readers do."""
        p, nodes = self.problem, self.problem.dfg.nodes
        ins = p.ins[p.in_at[n] : p.in_at[n + 1]]
        outs = p.outs[p.out_at[n] : p.out_at[n + 1]]
        latency = p.fabric.latency
        ready = [
            self.start[p.source[e]] + latency(nodes[p.source[e]].op) - p.distance[e] * self.interval
            for e in ins
            if p.source[e] in self.start
        ]
        wanted = [
            self.start[p.target[e]] - latency(nodes[n].op) + p.distance[e] * self.interval
            for e in outs
            if p.target[e] in self.start
        ]
        return max(ready) if ready else min(wanted, default=0)

    def _nearest_unit(self, n: int) -> int:
        """The unit that is free then and nearest to those that it reads from and gives to."""
        p, node = self.problem, self.problem.dfg.nodes[n]
        if node.stream is not None:
            return self.ports[node.stream]
        slot = self.start[n] % self.interval
        sources = [p.source[e] for e in p.ins[p.in_at[n] : p.in_at[n + 1]] if p.source[e] in self.unit]
        targets = [p.target[e] for e in p.outs[p.out_at[n] : p.out_at[n + 1]] if p.target[e] in self.unit]

        def cost(unit: int) -> tuple[bool, int, int]:
            there = sum(p.terrain.apart(self.unit[s], unit) for s in sources)
            back = sum(p.terrain.apart(unit, self.unit[t]) for t in targets)
            return (unit, slot) in self.taken, there + back, unit

        return min(p.candidates(n), key=cost)
