"""Whether the operations of a core have places, which a SAT solver decides.

No two are in one slot of a unit, all of an array at one memory, and those who read words near enough to those
who make them. A word that is read in the cycle in which it comes is then on a way from its tile to the
reader's, and where there is one such way, no other word is on it in that slot. What is left out are all other
ways and registers: without places there is no mapping, but with places there may be none either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from arch.fabric import RESULT_FAR

from .cycles import Delay
from .exact_clauses import Clauses
from .flat import Problem

PAIRS = 400_000
"""Cores are not looked at that would need more clauses for what no two operations can share."""

CONFLICTS = 20_000
"""So many conflicts are spent on a core."""

CONFLICTS_OF_WAYS = 4000
"""And so many on its ways, once there are places."""

SOLVER = "cadical195"


@dataclass(frozen=True, slots=True)
class Core:
    """Operations, when each can start (cycles after the first one's start), and the arcs between them."""

    nodes: tuple[int, ...]
    windows: tuple[range, ...]
    arcs: tuple[Delay, ...]


@dataclass(frozen=True, slots=True)
class Spots:
    """For the operations of a core a unit, and a start, in cycles after that of the first of them."""

    unit: dict[int, int]
    start: dict[int, int]


@dataclass(frozen=True, slots=True)
class _Hasty:
    """An edge whose word is read in the cycle in which it comes, in a slot, if a literal holds."""

    edge: int
    slot: int
    literal: int


def placed(problem: Problem, core: Core, interval: int) -> Spots | bool | None:
    """Places of a core, or False if it has none; None if that is too dear to know."""
    units = [problem.candidates(n) for n in core.nodes]
    slots = Counter(slot for w in core.windows for slot in {t % interval for t in w})
    if sum(n * n for n in slots.values()) // 2 * max(len(u) for u in units) > PAIRS:
        return None
    # Imported here: loading a solver takes time, and few kernels need one.
    from .sat import answered, solver_of

    with solver_of(SOLVER) as solver:
        places = _Places(problem, core, interval, Clauses(solver.add_clause))
        solver.conf_budget(CONFLICTS)
        answer = answered(solver)
        if not answer:
            return answer
        found = places.spots(solver.get_model())
        if problem.terrain.one_way:
            places.keep_ways()
            solver.conf_budget(CONFLICTS_OF_WAYS)
            return answered(solver) is not False and found
        return found


class _Places:
    """The clauses of one core."""

    def __init__(self, problem: Problem, core: Core, interval: int, clauses: Clauses) -> None:
        self.problem, self.interval, self.clauses = problem, interval, clauses
        self.time = {n: _one_of(clauses, w) for n, w in zip(core.nodes, core.windows, strict=True)}
        self.unit = {n: _one_of(clauses, problem.candidates(n)) for n in core.nodes}
        self.inside = {n: self._by_tile(n) for n in core.nodes}
        self.edges = [e for n in core.nodes for e in self._edges_into(n)]
        self.known: dict[Hashable, int] = {}
        self._keep_groups(core.nodes)
        self._share_nothing(core.nodes)
        for arc in core.arcs:
            self._keep_arc(arc)

    def spots(self, model: Sequence[int]) -> Spots:
        """The places that a model of the clauses says."""
        true = {literal for literal in model if literal > 0}
        unit, time = ({n: _chosen(one, true) for n, one in some.items()} for some in (self.unit, self.time))
        return Spots(unit, time)

    def _by_tile(self, n: int) -> dict[int, list[int]]:
        """The literals of an operation's units in each tile."""
        found: dict[int, list[int]] = defaultdict(list)
        for u, here in self.unit[n].items():
            found[self.problem.terrain.tile[u]].append(here)
        return found

    def _edges_into(self, n: int) -> Iterator[int]:
        p = self.problem
        for e in p.ins[p.in_at[n] : p.in_at[n + 1]]:
            if p.source[e] != n and p.source[e] in self.unit:
                yield e

    def _keep_groups(self, nodes: Sequence[int]) -> None:
        """Operations on one stream have one unit, those on one array one memory."""
        problem = self.problem
        homes: dict[tuple[int, int], int] = {}
        for n in nodes:
            group = problem.group[n]
            if group >= 0:
                for u, here in self.unit[n].items():
                    home = u if group < problem.streams else problem.bank[u]
                    self.clauses.add(-here, homes.setdefault((group, home), self.clauses.fresh()))
        for group in {g for g, _ in homes}:
            self.clauses.at_most([v for (g, _), v in sorted(homes.items()) if g == group], 1)
        for ((g, here), a), ((h, there), b) in combinations(sorted(homes.items()), 2):
            if g != h and here == there and self._exclude(g, h, here):
                self.clauses.add(-a, -b)

    def _exclude(self, g: int, h: int, home: int) -> bool:
        """Whether two groups cannot both be at a home: streams, or arrays of too many words."""
        problem, streams = self.problem, self.problem.streams
        if min(g, h) < streams:
            return max(g, h) < streams
        return problem.words[g] + problem.words[h] > problem.room[home]

    def _share_nothing(self, nodes: Sequence[int]) -> None:
        """No two operations in one slot of a unit."""
        for n, m in combinations(nodes, 2):
            both = [u for u in self.unit[n] if u in self.unit[m]]
            meet = [
                (a, b)
                for s, a in self.time[n].items()
                for t, b in self.time[m].items()
                if (s - t) % self.interval == 0
            ]
            if not both or not meet:
                continue
            together = self.clauses.fresh()
            for a, b in meet:
                self.clauses.add(-a, -b, together)
            for u in both:
                self.clauses.add(-together, -self.unit[n][u], -self.unit[m][u])

    def _keep_arc(self, arc: Delay) -> None:
        """Operands come in time: how far apart the ends are depends on the cycles between them."""
        shift = arc.distance * self.interval
        uses = [
            e for e in self._edges_into(arc.target)
            if self.problem.source[e] == arc.source and self.problem.distance[e] == arc.distance
        ]  # fmt: skip
        for s, a in self.time[arc.source].items():
            for t, b in self.time[arc.target].items():
                cycles = t + shift - s
                if cycles < arc.cycles:
                    self.clauses.add(-a, -b)
                elif uses and (near := self._near(arc.source, arc.target, cycles)):
                    self.clauses.add(-a, -b, near)

    def _near(self, source: int, target: int, cycles: int) -> int:
        """A literal: the places are at most `cycles` apart, latency included; 0 if all are."""
        key = "near", source, target, cycles
        if key in self.known:
            return self.known[key]
        problem, terrain = self.problem, self.problem.terrain
        literal, binds = self.clauses.fresh(), False
        for u, here in self.unit[source].items():
            left = cycles - problem.latency[problem.code[source] * terrain.units + u] + 1
            there = [
                lit for v, lit in self.unit[target].items() if min(terrain.apart(u, v), RESULT_FAR) <= left
            ]
            if len(there) < len(self.unit[target]):
                binds = True
                self.clauses.some([-literal, -here, *there])
        self.known[key] = literal if binds else 0
        return self.known[key]

    def keep_ways(self) -> None:
        """No two words that are read in the cycle in which they come are on one way."""
        p = self.problem
        for one, other in combinations([hasty for e in self.edges for hasty in self._hasty(e)], 2):
            e, f = one.edge, other.edge
            if one.slot == other.slot and (p.source[e], p.output[e]) != (p.source[f], p.output[f]):
                sources = self._together(p.source[e], p.source[f])
                targets = self._together(p.target[e], p.target[f])
                self.clauses.add(
                    -one.literal, -other.literal, -sources, -targets, self._beside(p.source[e], p.target[e])
                )

    def _hasty(self, e: int) -> Iterator[_Hasty]:
        """When the word of an edge is read in the cycle in which it comes, if it always takes as long."""
        p = self.problem
        units = p.terrain.units
        latencies = {p.latency[p.code[p.source[e]] * units + u] for u in self.unit[p.source[e]]}
        if len(latencies) > 1:
            return
        least = min(latencies) - p.distance[e] * self.interval
        for t, b in self.time[p.target[e]].items():
            if t - least in self.time[p.source[e]]:
                literal = self.clauses.fresh()
                self.clauses.add(-b, -self.time[p.source[e]][t - least], literal)
                yield _Hasty(e, t % self.interval, literal)

    def _together(self, n: int, m: int) -> int:
        """A literal that holds if two operations are in one tile."""
        key = "together", min(n, m), max(n, m)
        if key not in self.known:
            self.known[key] = literal = self.clauses.fresh()
            if n == m:
                self.clauses.add(literal)
            for tile in self.inside[n].keys() & self.inside[m].keys() if n != m else ():
                for a, b in product(self.inside[n][tile], self.inside[m][tile]):
                    self.clauses.add(-a, -b, literal)
        return self.known[key]

    def _beside(self, n: int, m: int) -> int:
        """A literal that holds only if two operations are in one tile."""
        key = "beside", n, m
        if key not in self.known:
            self.known[key] = literal = self.clauses.fresh()
            for tile, units in self.inside[n].items():
                for here in units:
                    self.clauses.some([-literal, -here, *self.inside[m].get(tile, ())])
        return self.known[key]


def _one_of(clauses: Clauses, values: Sequence[int]) -> dict[int, int]:
    """A literal for each value, of which exactly one holds."""
    literals = {value: clauses.fresh() for value in values}
    clauses.some(list(literals.values()))
    clauses.at_most(list(literals.values()), 1)
    return literals


def _chosen(literals: dict[int, int], true: set[int]) -> int:
    """The value whose literal is true."""
    return next(value for value, literal in literals.items() if literal in true)
