"""When values can be there if iterations start every `interval` cycles, made in the ways that are soonest.

The time of a value is that of its soonest way; the time of a way that of its last operand, plus a latency.
Where no choice of ways breaks all cycles that take longer than their distance allows, times grow without end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from macah.balance import latency
from macah.shorten_graph import Choices

NEVER_LATE = -(1 << 40)
"""The time of what is on no recurrence."""


@dataclass(frozen=True, slots=True)
class Arc:
    """`cycles` from when `source` is there until what needs it is, an order if it is no operand."""

    source: int
    distance: int
    cycles: int
    operand: int | None


class Times:
    """The times of classes; they only grow."""

    def __init__(self, choices: Choices, orders: Mapping[int, Sequence[Arc]]) -> None:
        self.choices = choices
        self.orders = orders
        self.arcs: dict[int, tuple[Arc, ...]] = {}
        self.time: dict[int, int] = {}
        self.critical: dict[int, tuple[int, Arc]] = {}  # the way of a class, and what it waits for
        self.interval = 1

    def arcs_of(self, way: int) -> tuple[Arc, ...]:
        if way not in self.arcs:
            draft = self.choices.graph.drafts[way]
            cycles = 0 if draft.op == "mov" else latency(draft.op)
            found = list(self.orders.get(way, ()))
            for position, value in enumerate(draft.operands):
                past = self.choices.meant(value)
                if past is not None:
                    found.append(Arc(past.node, past.distance, cycles + past.moves, position))
            self.arcs[way] = tuple(found)
        return self.arcs[way]

    def of(self, node: int) -> int:
        return self.time.get(self.choices.find(node), NEVER_LATE)

    def of_way(self, way: int) -> tuple[int, Arc | None]:
        """When a way gives its value, and what it waits for last."""
        latest, last = NEVER_LATE, None
        for arc in self.arcs_of(way):
            source = self.of(arc.source)
            if source > NEVER_LATE:
                time = source + arc.cycles - arc.distance * self.interval
                if time > latest:
                    latest, last = time, arc
        return latest, last

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
        return found

    def sweep(self, order: Sequence[int]) -> list[int]:
        """Raise times once; returns the classes whose time grew."""
        grown = []
        for node in order:
            soonest, choice = None, None
            for way in self.choices.ways[node]:
                time, arc = self.of_way(way)
                if soonest is None or time < soonest:
                    soonest, choice = time, (way, arc)
            assert soonest is not None and choice is not None
            if soonest > self.time.setdefault(node, NEVER_LATE):
                self.time[node] = soonest
                way, arc = choice
                assert arc is not None
                self.critical[node] = (way, arc)
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

    def chosen(self, node: int) -> int:
        """The oldest way of a class that gives it in time."""
        node = self.choices.find(node)
        time = self.time.get(node)
        if time is None:
            return self.choices.ways[node][0]
        return next(way for way in self.choices.ways[node] if self.of_way(way)[0] <= time)
