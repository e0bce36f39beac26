"""Schedules that keep few values alive at once, and what a schedule keeps alive.

With a long interval there is time to do one thing after the other. A schedule that does everything as early
as it can then holds most values at once; this one finishes what it has begun before it begins something else.
"""

from __future__ import annotations

from collections.abc import Sequence

from .bound import delays
from .flat import Problem
from .schedule import SlotTable

SPREAD = 0.85
"""The part of an interval over which the operations are spread; the rest is for what has to wait."""


def latencies(problem: Problem) -> list[int]:
    """The least latency of each node."""
    units = problem.terrain.units
    of_code = [
        min((latency for latency in problem.latency[c : c + units] if latency), default=1)
        for c in range(0, len(problem.latency), units)
    ]
    return [of_code[c] for c in problem.code]


def lives(problem: Problem, interval: int, start: Sequence[int]) -> dict[tuple[int, int], int]:
    """For how many cycles after its result each (node, output) that is used has to be held."""
    latency = latencies(problem)
    found: dict[tuple[int, int], int] = {}
    for e in range(len(problem.source)):
        p = problem.source[e]
        last = start[problem.target[e]] + problem.distance[e] * interval
        held = last - (start[p] + latency[p] - 1)
        found[p, problem.output[e]] = max(found.get((p, problem.output[e]), 0), held)
    return found


def demand(problem: Problem, interval: int, start: Sequence[int]) -> list[int]:
    """How many registers a schedule needs in each slot, if no value were in two of them."""
    latency = latencies(problem)
    whole = 0
    change = [0] * (interval + 1)
    for (n, _), held in lives(problem, interval, start).items():
        whole += held // interval
        first = (start[n] + latency[n]) % interval
        end = first + held % interval
        change[first] += 1
        change[min(end, interval)] -= 1
        if end > interval:
            change[0] += 1
            change[end - interval] -= 1
    found = []
    for slot in range(interval):
        whole += change[slot]
        found.append(whole)
    return found


def gentle_schedule(problem: Problem, interval: int) -> list[int] | None:
    """Starts within one interval that hold few values, or None if the interval is too short for that."""
    arcs = [a for a in delays(problem) if a.source != a.target]
    into: list[list[tuple[int, int]]] = [[] for _ in range(problem.nodes)]
    for a in arcs:
        if a.distance == 0:
            into[a.target].append((a.source, a.cycles))
    table = SlotTable(problem, interval)
    start = [-1] * problem.nodes
    order = _Order(problem, [[p for p, _ in row] for row in into]).all()
    for k, n in enumerate(order):
        low = int(k * SPREAD * interval / problem.nodes)
        low = max([low, *(start[p] + cycles for p, cycles in into[n])])
        at = next((t for t in range(low, interval) if table.free(n, t)), None)
        if at is None:
            return None
        start[n] = at
        table.add(n, at)
    late = any(start[a.source] + a.cycles > start[a.target] + a.distance * interval for a in arcs)
    return None if late else start


class _Order:
    """An order of the operations of one iteration that finishes what it has begun.

    Sinks are taken one by one, each with all that it still needs: always the one after which the fewest
    values are alive. An iteration begins with the values that its predecessors have left for it.
    """

    def __init__(self, problem: Problem, before: list[list[int]]) -> None:
        self.problem, self.before = problem, before
        self.done: set[int] = set()
        uses: dict[tuple[int, int, bool], set[int]] = {}
        for e in range(len(problem.source)):
            key = (problem.source[e], problem.output[e], problem.distance[e] > 0)
            uses.setdefault(key, set()).add(problem.target[e])
        self.readers = uses
        self.reads: list[list[tuple[int, int, bool]]] = [[] for _ in range(problem.nodes)]
        for key, readers in uses.items():
            for n in readers:
                self.reads[n].append(key)
        self.outputs: list[list[int]] = [[] for _ in range(problem.nodes)]
        for n, output in dict.fromkeys((n, output) for n, output, _ in uses):
            self.outputs[n].append(output)

    def all(self) -> list[int]:
        """The whole order."""
        needed = {p for row in self.before for p in row}
        sinks = [n for n in range(self.problem.nodes) if n not in needed]
        order: list[int] = []
        while sinks:
            cones = {n: self._cone(n) for n in sinks}
            best = min(sinks, key=lambda n: (self._growth(cones[n]), len(cones[n]), n))
            order += cones[best]
            self.done.update(cones[best])
            sinks.remove(best)
        return order

    def _cone(self, sink: int) -> list[int]:
        """What a sink still needs, and itself, operands first."""
        found: list[int] = []
        seen = set(self.done)
        stack = [(sink, False)]
        while stack:
            n, ready = stack.pop()
            if ready:
                found.append(n)
            elif n not in seen:
                seen.add(n)
                stack.append((n, True))
                stack += [(p, False) for p in self.before[n] if p not in seen]
        return found

    def _growth(self, cone: list[int]) -> int:
        """How many more values are alive after a cone."""
        inside = set(cone)
        growth = 0
        for n in cone:
            for output in self.outputs[n]:
                here = self.readers.get((n, output, False), set())
                growth += (n, output, True) in self.readers or not here <= inside
        for key in {key for n in cone for key in self.reads[n]}:
            n, output, carried = key
            born_before = carried or n in self.done
            stays = not carried and (n, output, True) in self.readers
            if born_before and not stays and self.readers[key] <= inside | self.done:
                growth -= 1
        return growth
