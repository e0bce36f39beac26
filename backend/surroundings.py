"""What is around the conflicts of a mapping that is nearly one, in space and time: what a repair may move."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .bound import delays
from .cycles import Delay
from .exact_domain import Domain, Stop, Value
from .exact_model import ground
from .flat import Problem
from .nearly import Nearly

KIN = 2
"""Who makes or reads a value of an operation in conflict counts as nearer by so many cycles."""


class Surroundings:
    """The operations from the nearest to the conflicts on, and domains in which some of them may move.

    Of uses that come too late, one end or the other has to go to another cycle, and who depends on it, too:
    the fewer of those after it and those before it are in the midst of it all.
    """

    def __init__(self, problem: Problem, nearly: Nearly) -> None:
        self.problem, self.nearly = problem, nearly
        self.arcs = [(a.source, a.target, _gap(a, nearly.interval)) for a in delays(problem)]
        start = nearly.start
        later, sooner = list(start), list(start)
        _relax(self.arcs, later, sooner, problem.nodes)
        other = min(later, sooner, key=lambda times: sum(a != b for a, b in zip(times, start, strict=True)))
        self.first = [min(a, b) for a, b in zip(start, other, strict=True)]
        self.last = [max(a, b) for a, b in zip(start, other, strict=True)]
        ends = [end[e] for e in nearly.edges for end in (problem.source, problem.target)]
        moved = [n for n in range(problem.nodes) if other[n] != start[n]]
        self.centre = sorted({*nearly.nodes, *ends, *moved})
        far = self._far()
        self.order = sorted(range(problem.nodes), key=lambda n: (far[n], n))

    def _apart(self, a: int, b: int) -> int:
        terrain = self.problem.terrain
        return min(terrain.apart(a, b), terrain.apart(b, a))

    def _far(self) -> list[int]:
        """How far operations are from the nearest one in conflict: cycles on the way and between slots."""
        problem, nearly = self.problem, self.nearly
        centre, kin = set(self.centre), set[int]()
        for producer, consumer in zip(problem.source, problem.target, strict=True):
            kin |= {consumer} if producer in centre else set()
            kin |= {producer} if consumer in centre else set()

        def far(n: int) -> int:
            if n in centre:
                return -KIN
            between = ((nearly.start[n] - nearly.start[c]) % nearly.interval for c in self.centre)
            waits = [min(d, nearly.interval - d) for d in between]
            ways = [self._apart(nearly.unit[n], nearly.unit[c]) for c in self.centre]
            return 1 + min(map(sum, zip(waits, ways, strict=True))) - KIN * (n in kin)

        return [far(n) for n in range(problem.nodes)]

    def nearest(self, count: int) -> frozenset[int]:
        """The operations in conflict, and others up to so many together."""
        return frozenset(self.order[: max(count, len(self.centre))])

    def domain(self, free: Collection[int], reach: int, shift: int) -> Domain | None:
        """What is left to decide if all but these stay as they are; None if no times are left.

        They may go to units up to `reach` cycles away, and begin up to `shift` cycles earlier or later.
        """
        problem, nearly = self.problem, self.nearly
        here = ground(problem.fabric)
        base = -((min(self.first) - shift) // nearly.interval) * nearly.interval
        sites: list[tuple[int, ...]] = []
        early, late = [], []
        for node in problem.dfg.nodes:
            unit, room = nearly.unit[node.id], shift if node.id in free else 0
            if node.id not in free or node.stream is not None:
                sites.append((here.site_of[unit],))
            else:
                near = (
                    s
                    for s in here.candidates(node.op)
                    if min(self._apart(unit, u) for u in here.sites[s].members) <= reach
                )
                sites.append(tuple(sorted({here.site_of[unit], *near})))
            early.append((self.first[node.id] if room else nearly.start[node.id]) - room + base)
            late.append((self.last[node.id] if room else nearly.start[node.id]) + room + base)
        _relax(self.arcs, early, late, problem.nodes)
        if any(a > b for a, b in zip(early, late, strict=True)):
            return None
        return Domain(tuple(sites), tuple(early), tuple(late), self._kept(free, base))

    def _kept(self, free: Collection[int], base: int) -> dict[Value, frozenset[Stop]]:
        """Where values are that none of the free operations makes or reads, and that are not in conflict."""
        problem = self.problem
        edges = range(len(problem.source))
        value = [(problem.source[e], problem.output[e]) for e in edges]
        loose = {value[e] for e in edges if problem.source[e] in free or problem.target[e] in free}
        found: dict[Value, set[Stop]] = {value[e]: set() for e in edges if value[e] not in loose}
        for e in edges:
            if value[e] in found:
                found[value[e]] |= {(r, t + base) for r, t in self.nearly.paths[e]}
        return {one: frozenset(spots) for one, spots in found.items()}


def _gap(arc: Delay, interval: int) -> int:
    return arc.cycles - arc.distance * interval


def _relax(arcs: Sequence[tuple[int, int, int]], early: list[int], late: list[int], rounds: int) -> None:
    """Raise earliest and lower latest starts until all delays are kept, if that ends at all."""
    for _ in range(rounds + 1):
        changed = False
        for source, target, gap in arcs:
            if early[source] + gap > early[target]:
                early[target], changed = early[source] + gap, True
            if late[target] - gap < late[source]:
                late[source], changed = late[target] - gap, True
        if not changed:
            return
