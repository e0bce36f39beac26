"""Why the interval of a graph is not shorter: recurrences and resources that bind.

    for (i = 0; i < n; i++) a[i + k] = a[i] * 3;

has the recurrence  load of a -> mul -> store to a -> load of a  of the next iteration, as `k` may be 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arch.fabric import Fabric
from backend.bound import delays, minimum_interval
from backend.cycles import Delay, tightest
from backend.dfg import DFG, Node
from backend.flat import Problem

MOST_RECURRENCES = 6
"""So many are told."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """An access to an array or stream that must come before another one, `distance` iterations later."""

    name: str
    before: Node
    after: Node
    distance: int


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A cycle of operations that takes `cycles` in `distance` iterations; `meetings` are orders on it."""

    nodes: tuple[Node, ...]
    cycles: int
    distance: int
    meetings: tuple[Meeting, ...]


@dataclass(frozen=True, slots=True)
class Resource:
    """`needed` operations in an iteration for what can do `available` in a cycle."""

    kind: str  # "stream", "array" or "units"
    name: str
    needed: int
    available: int

    @property
    def interval(self) -> int:
        """The least interval for that."""
        return -(-self.needed // self.available)


@dataclass(frozen=True, slots=True)
class Why:
    """What binds: all distinct recurrences and resources at the bound."""

    recurrences: tuple[Recurrence, ...]
    resources: tuple[Resource, ...]

    @property
    def only_units(self) -> bool:
        """Whether fewer operations, or more units, would do."""
        return not self.recurrences and any(resource.kind == "units" for resource in self.resources)


def why(dfg: DFG, fabric: Fabric) -> Why:
    """Explain a graph's bound."""
    return _Explainer(dfg, fabric).why()


class _Explainer:
    def __init__(self, dfg: DFG, fabric: Fabric) -> None:
        self.dfg = dfg
        self.fabric = fabric
        self.bounds = minimum_interval(dfg, fabric)
        self.problem = Problem(dfg, fabric)
        self.arcs = delays(self.problem)
        self.uses = len(self.problem.source)
        self.ports = {k for k, node in enumerate(dfg.nodes) if node.stream is not None}

    def why(self) -> Why:
        mii = self.bounds.mii
        if mii == 1:
            return Why((), ())
        recurrences = self.recurrences() if self.bounds.recurrence == mii else []
        return Why(tuple(recurrences), tuple(r for r in self.resources() if r.interval == mii))

    # --- Recurrences

    def recurrences(self) -> list[Recurrence]:
        """The cycles at the bound, one after the other, each without what carried those before."""
        arcs, found = dict(enumerate(self.arcs)), dict[object, Recurrence]()
        for _ in range(MOST_RECURRENCES):
            interval, cycle = tightest(list(arcs.values()), self.bounds.recurrence - 1)
            if interval < self.bounds.recurrence:
                break
            on = self.on(cycle, arcs, interval - 1)
            if len({self.dfg.nodes[n].stream for n in cycle}) > 1 or cycle[0] not in self.ports:
                one = self.described(cycle, on)  # else it is the stream's port that binds
                found.setdefault(_likeness(one), one)
            for k in on:
                if self.arcs[k].distance:
                    del arcs[k]
        return list(found.values())

    def on(self, cycle: Sequence[int], arcs: dict[int, Delay], interval: int) -> list[int]:
        """The arcs of a cycle, by number: between two nodes the one that takes longest."""
        following = dict(zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        best: dict[int, int] = {}
        for k, arc in arcs.items():
            if following.get(arc.source) == arc.target:
                other = best.get(arc.source)
                if other is None or _slack(arc, interval) > _slack(self.arcs[other], interval):
                    best[arc.source] = k
        return [best[n] for n in cycle]

    def described(self, cycle: Sequence[int], on: Sequence[int]) -> Recurrence:
        arcs = [self.arcs[k] for k in on]
        meetings = tuple(self.meeting(k) for k in on if k >= self.uses)
        nodes = tuple(self.dfg.nodes[n] for n in cycle)
        return Recurrence(nodes, sum(a.cycles for a in arcs), sum(a.distance for a in arcs), meetings)

    def meeting(self, number: int) -> Meeting:
        arc = self.arcs[number]
        before, after = self.dfg.nodes[arc.source], self.dfg.nodes[arc.target]
        return Meeting(_name(self.dfg, before), before, after, arc.distance)

    # --- Resources

    def resources(self) -> list[Resource]:
        """What streams, arrays and units are asked for; of the copies of an array, the busiest."""
        found = []
        for group in range(self.problem.groups):
            members = self.problem.members_at[group + 1] - self.problem.members_at[group]
            if group < self.problem.streams:
                found.append(Resource("stream", self.dfg.streams[group].shown, members, 1))
            else:
                ports = max(len(self.fabric.memories[b].ports) for b in self.problem.homes[group])
                name = self.dfg.memories[group - self.problem.streams].name
                found.append(Resource("array", name, members, ports))
        best = max((r.interval for r in found), default=1)
        if self.bounds.resource > best:
            units = len(self.fabric.units_for("add"))
            found.append(Resource("units", self.bounds.binding, units * self.bounds.resource, units))
        busiest: dict[tuple[str, str], Resource] = {}
        for resource in found:
            known = busiest.setdefault((resource.kind, resource.name), resource)
            if resource.needed > known.needed:
                busiest[resource.kind, resource.name] = resource
        return [resource for resource in busiest.values() if resource.needed]


def _slack(arc: Delay, interval: int) -> int:
    return arc.cycles - arc.distance * interval


def _likeness(one: Recurrence) -> object:
    """What two recurrences that are the same to a reader have in common."""
    meetings = [(m.name, _place(m.before), _place(m.after)) for m in one.meetings]
    return frozenset((_place(node), node.op) for node in one.nodes), frozenset(meetings)


def _place(node: Node) -> tuple[str, int]:
    return (node.where.file, node.where.line) if node.where is not None else ("", 0)


def _name(dfg: DFG, node: Node) -> str:
    if node.memory is not None:
        return dfg.memories[node.memory].name
    return dfg.streams[node.stream].shown if node.stream is not None else ""
