"""Why the interval of a graph is not shorter: recurrences and resources that bind, and what would help.

    for (i = 0; i < n; i++) a[i + k] = a[i] * 3;

has the recurrence  load of a -> mul -> store to a -> load of a  of the next iteration, as `k` may be 1. What
would help is found by trying: one order between accesses, one test, one carried variable or one long
operation is left out of the graph at a time, and the bound is computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from arch.fabric import Fabric
from arch.ops import COMPARISONS, OPS
from backend.bound import delays, minimum_interval
from backend.cycles import Delay, tightest
from backend.dfg import DFG, Node, Place
from backend.flat import Problem

MOST_RECURRENCES = 6
"""So many are told."""

MOST_PARTS, MOST_TRIALS = 4, 8
"""Where nothing helps alone, so many things are left out together, each the best of so many."""


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
class Part:
    """Something that could be left out: all orders between accesses to an array, the tests at a place, ...

    `kind`: "order" with its first meeting; "test", "operation" (if it took a cycle only) or "carried" (what a
    variable has from the iteration before) with a node; or that of a resource.
    """

    kind: str
    meeting: Meeting | None = None
    node: Node | None = None
    resource: Resource | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What would have to be left out together, and the least interval then."""

    interval: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class _Trial:
    """Arcs that are gone, or take a cycle at most, without something."""

    part: Part
    gone: frozenset[int]
    short: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Why:
    """What binds: all distinct recurrences and resources at the bound, and the change that helps most."""

    recurrences: tuple[Recurrence, ...]
    resources: tuple[Resource, ...]
    change: Change | None


def why(dfg: DFG, fabric: Fabric, tests: Iterable[Place] = ()) -> Why:
    """Explain a graph's bound; `tests` are the places of the source's loops."""
    return _Explainer(dfg, fabric, tests).why()


class _Explainer:
    def __init__(self, dfg: DFG, fabric: Fabric, tests: Iterable[Place]) -> None:
        self.dfg = dfg
        self.fabric = fabric
        self.bounds = minimum_interval(dfg, fabric)
        self.problem = Problem(dfg, fabric)
        self.arcs = delays(self.problem)
        self.uses = len(self.problem.source)
        self.tests = {(place.file, place.line) for place in tests}
        self.ports = {k for k, node in enumerate(dfg.nodes) if node.stream is not None}

    def why(self) -> Why:
        mii = self.bounds.mii
        if mii == 1:
            return Why((), (), None)
        recurrences = self.recurrences() if self.bounds.recurrence == mii else []
        demands = self.resources()
        resources = tuple(r for r in demands if r.interval == mii)
        return Why(tuple(recurrences), resources, self.change(recurrences, demands))

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
        """What streams, arrays and units are asked for."""
        found = []
        for group in range(self.problem.groups):
            members = self.problem.members_at[group + 1] - self.problem.members_at[group]
            if group < self.problem.streams:
                found.append(Resource("stream", self.dfg.streams[group].name, members, 1))
            else:
                ports = max(len(self.fabric.memories[b].ports) for b in self.problem.homes[group])
                name = self.dfg.memories[group - self.problem.streams].name
                found.append(Resource("array", name, members, ports))
        best = max((r.interval for r in found), default=1)
        if self.bounds.resource > best:
            units = len(self.fabric.units_for("add"))
            found.append(Resource("units", self.bounds.binding, units * self.bounds.resource, units))
        return [resource for resource in found if resource.needed]

    # --- What would help

    def change(self, recurrences: Sequence[Recurrence], demands: Sequence[Resource]) -> Change | None:
        """The change after which the interval is least; of equals, the easiest, and one rather than two."""
        rest = max((r.interval for r in demands), default=1)
        if recurrences and rest == self.bounds.mii:
            return None  # more than one thing would have to change
        if not recurrences:
            return self.relieved(demands)
        trials = list(self.trials([n for r in recurrences for n in r.nodes], recurrences))
        found = [Change(self.without([trial])[0], (trial.part,)) for trial in trials]
        better = [change for change in found if change.interval < self.bounds.mii]
        return min(better, key=lambda change: change.interval) if better else self.several(trials)

    def several(self, trials: list[_Trial]) -> Change | None:
        """Changes one after the other, each of what then binds, until the interval is shorter."""
        chosen: list[_Trial] = []
        while trials and len(chosen) < MOST_PARTS:
            left = [(self.without([*chosen, trial]), trial) for trial in trials[:MOST_TRIALS]]
            (interval, cycle), best = min(left, key=lambda pair: pair[0][0])
            chosen.append(best)
            if interval < self.bounds.mii:
                return Change(interval, tuple(trial.part for trial in chosen))
            gone = frozenset[int]().union(*(trial.gone for trial in chosen))
            left_over = {k: arc for k, arc in enumerate(self.arcs) if k not in gone}
            rest = self.described(cycle, self.on(cycle, left_over, interval - 1))
            trials = list(self.trials(rest.nodes, [rest]))
        return None

    def relieved(self, demands: Sequence[Resource]) -> Change | None:
        """What comes of asking the resource that binds for less."""
        binding = [r for r in demands if r.interval == self.bounds.mii]
        others = [r.interval for r in demands if r.interval < self.bounds.mii]
        # Operations on one stream come one after the other: that is its port again.
        arcs = [arc for arc in self.arcs if not self.same_port(arc)]
        interval = max(tightest(arcs)[0], 1, *others)
        return Change(interval, tuple(Part(r.kind, resource=r) for r in binding))

    def same_port(self, arc: Delay) -> bool:
        """True between two operations on one stream."""
        stream = self.dfg.nodes[arc.source].stream
        return stream is not None and stream == self.dfg.nodes[arc.target].stream

    def trials(self, nodes: Iterable[Node], recurrences: Sequence[Recurrence] = ()) -> Iterator[_Trial]:
        """What could be left out of the orders on recurrences and of these nodes, the easiest first."""
        on = list({node.id: node for node in nodes}.values())
        meetings = [m for r in recurrences for m in r.meetings if m.before.memory is not None]
        for first in {m.name: m for m in reversed(meetings)}.values():
            gone = {k for k in range(self.uses, len(self.arcs)) if self.meeting(k).name == first.name}
            yield _Trial(Part("order", meeting=first), frozenset(gone))
        tests = [n for n in on if n.op in COMPARISONS and n.where and _place(n) in self.tests]
        for node in {_place(n): n for n in reversed(tests)}.values():
            same = {n.id for n in self.dfg.nodes if n.op in COMPARISONS and _place(n) == _place(node)}
            yield _Trial(Part("test", node=node), self.from_(same))
        for node in on:
            if OPS[node.op].latency_class in ("div", "mul", "mem") and OPS[node.op].outputs:
                yield _Trial(Part("operation", node=node), frozenset(), self.from_({node.id}))
        for node in on:
            carried = {k for k in self.from_({node.id}) if self.arcs[k].distance}
            if node.variable and carried:
                yield _Trial(Part("carried", node=node), frozenset(carried))

    def from_(self, nodes: set[int]) -> frozenset[int]:
        """The uses of what some nodes compute."""
        return frozenset(k for k in range(self.uses) if self.arcs[k].source in nodes)

    def without(self, trials: Sequence[_Trial]) -> tuple[int, tuple[int, ...]]:
        """The interval without some things, and a cycle that binds then."""
        gone = frozenset[int]().union(*(trial.gone for trial in trials))
        short = frozenset[int]().union(*(trial.short for trial in trials))
        arcs = [_shortened(a) if k in short else a for k, a in enumerate(self.arcs) if k not in gone]
        return tightest(arcs, self.bounds.resource)


def _slack(arc: Delay, interval: int) -> int:
    return arc.cycles - arc.distance * interval


def _likeness(one: Recurrence) -> object:
    """What two recurrences that are the same to a reader have in common."""
    meetings = [(m.name, _place(m.before), _place(m.after)) for m in one.meetings]
    return frozenset((_place(node), node.op) for node in one.nodes), frozenset(meetings)


def _shortened(arc: Delay) -> Delay:
    return Delay(arc.source, arc.target, arc.distance, min(arc.cycles, 1))


def _place(node: Node) -> tuple[str, int]:
    return (node.where.file, node.where.line) if node.where is not None else ("", 0)


def _name(dfg: DFG, node: Node) -> str:
    if node.memory is not None:
        return dfg.memories[node.memory].name
    return dfg.streams[node.stream].name if node.stream is not None else ""
