"""When values can be there if iterations start every `interval` cycles, made in the ways that are soonest.

The time of a value is that of its soonest way; the time of a way that of its last operand, plus a latency.
Where no choice of ways breaks all cycles that take longer than their distance allows, times grow without end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from macah.balance import latency
from macah.graph import Value
from macah.shorten_graph import Choices, Start

NEVER_LATE = -(1 << 40)
"""The time of what is on no recurrence."""

ALWAYS_LATE = 1 << 40


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
        self.arcs: dict[int, tuple[Arc, ...]] = {}
        self.time: dict[int, int] = {}
        self.needed: set[int] = set()
        self.firsts: dict[int, set[Start]] = {}  # initial values of ways that only delay another class
        self.copied: dict[int, int] = {}  # times if such a way needs a copy, to have two initial values
        self.critical: dict[int, tuple[int, Arc]] = {}  # the way of a class, and what it waits for
        self.interval = 1
        self.known = 0  # drafts up to here have a time

    def begin(self, interval: int, repeated: Iterable[int]) -> None:
        """Start anew; all values that depend on cycles are there at the same time at first."""
        self.interval = interval
        self.time = {self.choices.find(node): 0 for node in repeated}
        self.copied = {}
        self.critical = {}
        self.known = 0

    def arcs_of(self, way: int) -> tuple[Arc, ...]:
        if way not in self.arcs:
            draft = self.choices.graph.drafts[way]
            cycles = 0 if draft.op == "mov" else latency(draft.op)
            found = list(self.orders.get(way, ()))
            for position, value in enumerate(draft.operands):
                past = self.choices.meant(value)
                if past is not None:
                    last = past.initials[-1] if past.initials else None
                    found.append(Arc(past.node, past.distance, cycles + past.moves, position, last))
            self.arcs[way] = tuple(found)
        return self.arcs[way]

    def of(self, node: int, last: Start | None = None) -> int:
        """When a value is there to be used, in a later iteration after `last`."""
        node = self.choices.find(node)
        time = self.time.get(node, NEVER_LATE)
        if last is None or time == NEVER_LATE or self.firsts.get(node, {last}) == {last}:
            return time
        return self.copied.get(node, time)

    def of_value(self, value: Value) -> int:
        past = self.choices.meant(value)
        if past is None:
            return NEVER_LATE
        last = past.initials[-1] if past.initials else None
        return self.of(past.node, last) + past.moves - past.distance * self.interval

    def of_arc(self, arc: Arc) -> int:
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
        for arc in self.arcs.get(way) or self.arcs_of(way):
            time = self.of_arc(arc)
            if time > latest:
                latest, last = time, arc
        return latest, last

    def late_operands(self, way: int) -> list[int]:
        """The operands that a way waits for last."""
        latest = self.of_way(way)[0]
        arcs = self.arcs_of(way)
        return [a.operand for a in arcs if a.operand is not None and self.of_arc(a) == latest > NEVER_LATE]

    def order(self, roots: Iterable[int]) -> list[int]:
        """The classes that the roots need, in any of their ways, operands of the same iteration first."""
        choices = self.choices
        done: dict[int, bool] = {}
        found: list[int] = []
        stack: list[tuple[int, bool]] = []
        pending = [choices.find(root) for root in roots]
        later = pending[::-1]
        while later or stack:
            if not stack:
                stack.append((later.pop(), False))
            node, finished = stack.pop()
            if finished:
                found.append(node)
                continue
            if node in done:
                continue
            done[node] = True
            stack.append((node, True))
            for way in choices.ways[node]:
                for arc in self.arcs_of(way):
                    source = choices.find(arc.source)
                    if source not in done:
                        if arc.distance:
                            later.append(source)
                        else:
                            stack.append((source, False))
        self.estimate(len(choices.graph.drafts))
        self.needed = set(found)
        for node in found:
            starts = [self.begins(way) for way in choices.ways[node]]
            firsts = {start for start in starts if start is not None}
            if firsts:
                self.firsts[node] = firsts
        return found

    def begins(self, way: int) -> Start | None:
        """The first initial value of what a way only delays; None if it does something."""
        draft = self.choices.graph.drafts[way]
        past = self.choices.meant(draft.operands[0]) if draft.op == "mov" else None
        return past.initials[0] if past is not None and past.initials else None

    def estimate(self, end: int) -> None:
        """Give drafts that are new, up to number `end`, the times that they have as they were made."""
        for node in range(self.known, end):
            first = self.choices.find(node)
            if first not in self.time:
                self.time[first] = self.of_way(node)[0]
        self.known = end

    def sweep(self, order: Sequence[int]) -> list[int]:
        """Raise times once; returns the classes whose time grew."""
        grown = []
        for node in order:
            soonest, choice, copied = ALWAYS_LATE, None, ALWAYS_LATE
            for way in self.choices.ways[node]:
                time, arc = self.of_way(way)
                if time < soonest:
                    soonest, choice = time, (way, arc)
                copied = min(copied, time + (self.begins(way) is not None))
            assert choice is not None
            if soonest > self.time[node]:
                self.time[node] = soonest
                way, last = choice
                assert last is not None
                self.critical[node] = (way, last)
                grown.append(node)
            if copied > self.copied.get(node, self.time[node]):
                self.copied[node] = copied
                grown.append(node)
        return grown

    def cycle(self, start: int, visited: set[int]) -> list[tuple[int, int, Arc]]:
        """The cycle that is reached by looking for what was waited for, if it is new: class, way, arc.

        All classes on the way are entered into `visited`; what they lead to has been looked for then.
        """
        seen: dict[int, int] = {}
        path: list[tuple[int, int, Arc]] = []
        node = self.choices.find(start)
        while node not in visited and node in self.critical:
            visited.add(node)
            seen[node] = len(path)
            way, arc = self.critical[node]
            path.append((node, way, arc))
            node = self.choices.find(arc.source)
        return path[seen[node] :] if node in seen else []

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
