"""When values can be there if iterations start every `interval` cycles, made in the ways that are soonest.

The time of a value is that of its soonest way; the time of a way that of its last operand, plus a latency.
Where no choice of ways breaks all cycles that take longer than their distance allows, times grow without end.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from backend.dfg import Use
from backend.record import made_quickly
from macah.balance import latency
from macah.graph import Value
from macah.shorten_graph import Choices, Start
from macah.shorten_plan import Arcs, Plan, ordered, planned
from macah.shorten_sweep import NEVER_LATE, awaited, sweep


@made_quickly
@dataclass(frozen=True, slots=True)
class Arc:
    """`cycles` from when `source` is there until what needs it is, an order if it is no operand.

    `last` is the initial value for the last iteration before there is one.
    """

    source: int
    distance: int
    cycles: int
    operand: int | None
    last: Start | None = None


class Times:
    """The times of classes; they only grow."""

    def __init__(self, choices: Choices, orders: Mapping[int, Sequence[Arc]]) -> None:
        self.choices = choices
        self.orders = orders
        self.arcs: list[tuple[Arc, ...]] = []  # by way
        self.flat = Arcs()  # the same
        self.time: dict[int, int] = {}
        self.needed: set[int] = set()
        self.firsts: dict[int, set[Start]] = {}  # initial values of ways that only delay another class
        self.copied: dict[int, int] = {}  # times if such a way needs a copy, to have two initial values
        self.begun: dict[int, Start] = {}  # what `begins` says, by way
        self.plan = Plan()
        self.classes: list[int] = []  # by position in the plan
        self.places: dict[int, int] = {}  # and the other way round
        self.interval = 1
        self.known = 0  # drafts up to here have a time

    def begin(self, interval: int, repeated: Iterable[int]) -> None:
        """Start anew; all values that depend on cycles are there at the same time at first."""
        self.interval = interval
        self.time = {self.choices.find(node): 0 for node in repeated}
        self.copied = {}
        self.known = 0

    def arcs_of(self, way: int) -> tuple[Arc, ...]:
        """What a way waits for: its operands, and the operations that it is ordered behind."""
        while len(self.arcs) <= way:
            self._enter(len(self.arcs))
        return self.arcs[way]

    def _enter(self, way: int) -> None:
        """Note what the next way waits for, and what it only delays."""
        draft = self.choices.graph.drafts[way]
        cycles = 0 if draft.op == "mov" else latency(draft.op)
        found = [] if draft.turn is None else list(self.orders.get(draft.turn, ()))
        for position, value in enumerate(draft.operands):
            past = self.choices.meant(value)
            if past is not None:
                last = past.initials[-1] if past.initials else None
                found.append(Arc(past.node, len(past.initials), cycles + past.moves, position, last))
                if draft.op == "mov" and past.initials:
                    self.begun[way] = past.initials[0]
        self.arcs.append(tuple(found))
        flat = self.flat
        for arc in found:
            flat.source.append(arc.source)
            flat.distance.append(arc.distance)
            flat.cycles.append(arc.cycles)
            flat.last.append(arc.last)
        flat.first.append(len(flat.source))

    def of(self, node: int, last: Start | None = None) -> int:
        """When a value is there to be used, in a later iteration after `last`."""
        node = self.choices.find(node)
        time = self.time.get(node, NEVER_LATE)
        if last is None or time == NEVER_LATE or self.firsts.get(node, {last}) == {last}:
            return time
        return self.copied.get(node, time)

    def of_value(self, value: Value) -> int:
        if isinstance(value, Use) and not value.output:
            return self.time.get(self.choices.find(value.node), NEVER_LATE)
        past = self.choices.meant(value)
        if past is None:
            return NEVER_LATE
        if not past.initials:
            return self.time.get(past.node, NEVER_LATE)
        return self.of(past.node, past.initials[-1]) + past.moves - len(past.initials) * self.interval

    def of_arc(self, arc: Arc) -> int:
        """When what comes along an arc is there, in cycles of the iteration that waits for it."""
        # most time of the whole search is spent here
        source = arc.source
        if self.choices.parent[source] != source:
            source = self.choices.find(source)
        time = self.time.get(source, NEVER_LATE)
        if time == NEVER_LATE:
            return NEVER_LATE
        if arc.last is not None and source in self.firsts:
            time = self.of(source, arc.last)
        return time + arc.cycles - arc.distance * self.interval

    def of_way(self, way: int) -> tuple[int, Arc | None]:
        """When a way gives its value, and what it waits for last."""
        latest, last = NEVER_LATE, None
        for arc in self.arcs_of(way):
            time = self.of_arc(arc)
            if time > latest:
                latest, last = time, arc
        return latest, last

    def late_operands(self, way: int, last: int) -> list[int]:
        """The operands that a way waits for last, if it waits for any, and no longer than until `last`."""
        arcs = self.arcs_of(way)
        times = [self.of_arc(arc) for arc in arcs]
        latest = max(times, default=NEVER_LATE)
        if latest == NEVER_LATE or latest > last:
            return []
        both = zip(arcs, times, strict=True)
        return [arc.operand for arc, time in both if time == latest and arc.operand is not None]

    def order(self, roots: Iterable[int]) -> None:
        """Order the classes that the roots need, in any of their ways, operands of the same iteration first.

        What `sweep` goes over is made of them.
        """
        choices = self.choices
        self.estimate(len(choices.graph.drafts))
        self.arcs_of(len(choices.graph.drafts) - 1)
        found = ordered([choices.find(root) for root in roots], choices.ways, choices.parent, self.flat)
        self.needed = set(found)
        firsts: dict[int, set[Start]] = {}
        for way, first in self.begun.items():
            if (node := choices.find(way)) in self.needed:
                firsts.setdefault(node, set()).add(first)
        self.firsts |= firsts
        self.classes, self.places = found, {node: k for k, node in enumerate(found)}
        self.plan = planned(
            found,
            choices.ways,
            choices.parent,
            self.flat,
            self.begun,
            self.firsts,
            self.interval,
            self.time,
            self.copied,
        )

    def begins(self, way: int) -> Start | None:
        """The first initial value of what a way only delays; None if it does something."""
        self.arcs_of(way)
        return self.begun.get(way)

    def estimate(self, end: int) -> None:
        """Give drafts that are new, up to number `end`, the times that they have as they were made."""
        for node in range(self.known, end):
            first = self.choices.find(node)
            if first not in self.time:
                self.time[first] = self.of_way(node)[0]
        self.known = end

    def sweep(self) -> list[int]:
        """Raise the times of the classes that were ordered once; returns those whose time grew."""
        plan = self.plan
        grown = []
        for k in plan.grown[: sweep(plan)]:
            node = self.classes[k]
            self.time[node], self.copied[node] = plan.time[k], plan.copied[k]
            grown.append(node)
        return grown

    def critical(self, grown: Iterable[int]) -> list[int]:
        """The classes on the cycles that make times grow: those that the soonest ways wait for."""
        plan, found = self.plan, list[int]()
        growing = array("i", dict.fromkeys(self.places[self.choices.find(node)] for node in grown))
        arcs = array("i", [-1]) * len(growing)
        awaited(plan, growing, arcs)
        waits = dict(zip(growing, arcs, strict=True))
        visited: set[int] = set()
        for start in growing:
            path: dict[int, int] = {}  # how much later each class is than what it waits for
            place = start
            while place not in visited and place in waits:
                visited.add(place)
                if (arc := waits[place]) < 0:
                    break
                path[place] = plan.weight[arc]
                place = plan.source[arc]
            places = list(path)
            if place in path:
                cycle = places[places.index(place) :]
                if sum(path[place] for place in cycle) > 0:
                    found += [self.classes[place] for place in cycle]
        return found

    def chosen(self, node: int, last: Start | None) -> int:
        """The oldest way of a class that gives it in time, for use in a later iteration after `last`."""
        node = self.choices.find(node)
        if node not in self.needed:
            return self.choices.ways[node][0]
        time = self.of(node, last)
        for way in self.choices.ways[node]:
            first = self.begins(way)
            copy = first is not None and last is not None and first != last
            ready = self.of_way(way)[0]
            if ready == NEVER_LATE or ready + copy <= time:  # a copy of what is always there is, too
                return way
        raise AssertionError(node)
