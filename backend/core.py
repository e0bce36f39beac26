"""Recurrences whose operations cannot be near enough to each other, whatever their places.

Operations on recurrences that leave nearly no slack at an interval, its *cores*, have fixed times, but for a
cycle or two, and few cycles to bring their values in. Whether they have places at all, one a unit and slot,
a SAT solver decides: without routes, without registers and without all that is not in the core, so that a
refutation holds for every schedule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

from arch.fabric import RESULT_FAR

from .bisection import indivisible
from .bound import Bounds, delays
from .cycles import Delay, components, longest_paths
from .exact_clauses import Clauses
from .flat import Problem
from .packing import unpackable
from .steps import strangers

SLACK = 1
"""Recurrences with so many cycles to spare belong to a core."""

LARGEST = 128
"""Of components of more operations, parts of up to so many are looked at: those of arcs that can be on
recurrences with SLACK, or if these are too many, of arcs that are on some without any."""

PAIRS = 400_000
"""Cores are not looked at that would need more clauses for what no two operations can share."""

CONFLICTS = 20_000
"""So many conflicts are spent on a core."""

SOLVER = "cadical195"

NEVER = -(1 << 30)


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
class Refutation:
    """Why there is no mapping at an interval, in words; if that is a core, its operations."""

    why: str
    nodes: tuple[int, ...] = ()


def refutation(problem: Problem, interval: int) -> Refutation | None:
    """Of a core without places at an interval, of values that have too few ways, or of words without room."""
    if nodes := refuted(problem, interval):
        return Refutation(f"a recurrence of {len(nodes)} operations", nodes)
    if why := indivisible(problem, interval) or (strangers(problem) if interval == 1 else ""):
        return Refutation(why)
    if why := unpackable(problem, interval):
        return Refutation(why)
    return None


def tightened(bounds: Bounds, problem: Problem, reached: int) -> Bounds:
    """Bounds that know of refutations: raised for as long as they are below an interval that was reached."""
    while bounds.mii < reached and (found := refutation(problem, bounds.mii)):
        bounds = raised(bounds, found)
    return bounds


def raised(bounds: Bounds, found: Refutation) -> Bounds:
    """Bounds above an interval that is refuted."""
    mii = bounds.mii + 1
    if not found.nodes:
        return replace(bounds, resource=mii, mii=mii, binding=found.why, cycle=(), crowded=True)
    why = f"{found.why}, too many to be next to each other at {bounds.mii}"
    return Bounds(bounds.resource, mii, mii, why, found.nodes, crowded=True)


def refuted(problem: Problem, interval: int) -> tuple[int, ...]:
    """The operations of a core that has no places at an interval; empty if none is known to have none."""
    return next((core.nodes for core, found in _answers(problem, interval) if found is False), ())


def spots(problem: Problem, interval: int) -> Spots:
    """Places, where the solver has found some at an interval, of the core that has the most operations."""
    some = [found for _, found in _answers(problem, interval) if isinstance(found, Spots)]
    return max(some, key=lambda one: len(one.unit), default=Spots({}, {}))


@lru_cache(maxsize=2)
def _answers(problem: Problem, interval: int) -> tuple[tuple[Core, Spots | bool | None], ...]:
    """The cores of a graph up to the first that has no places, and what the solver says of them. Kept, as who
    has asked whether there are places wants to know, a little later, which."""
    found: list[tuple[Core, Spots | bool | None]] = []
    for core in cores(problem, interval):
        found.append((core, _placed(problem, core, interval)))
        if found[-1][1] is False:
            break
    return tuple(found)


def cores(problem: Problem, interval: int) -> list[Core]:
    """The cores of a graph at an interval that its recurrences allow."""
    found = []
    for inside in _small(components(delays(problem)), problem.nodes, interval):
        names = sorted({n for a in inside for n in (a.source, a.target)})
        if 1 < len(names) <= LARGEST:
            found += _cores_of(names, inside, interval)
    return found


def _small(parts: Iterable[list[Delay]], nodes: int, interval: int) -> Iterator[list[Delay]]:
    """The components, but of large ones those of arcs that can be on recurrences with hardly any slack.

    The slack of a cycle is the sum of that of its arcs, for any starts.
    """
    for part in parts:
        if len({a.source for a in part}) <= LARGEST:
            yield part
            continue
        start, cycle = longest_paths(nodes, part, interval)
        if cycle:
            continue
        for some in components(_within(part, start, interval, SLACK)):
            few = len({a.source for a in some}) <= LARGEST
            yield from (some,) if few else components(_within(some, start, interval, 0))


def _within(arcs: list[Delay], start: list[int], interval: int, slack: int) -> list[Delay]:
    """The arcs that have no more slack for these starts."""
    return [a for a in arcs if start[a.target] - start[a.source] - _gap(a, interval) <= slack]


def _cores_of(names: list[int], arcs: list[Delay], interval: int) -> list[Core]:
    """The cores of one component."""
    local = {name: k for k, name in enumerate(names)}
    far = _longest(len(names), [(local[a.source], local[a.target], _gap(a, interval)) for a in arcs])
    tight = [
        a for a in arcs if _gap(a, interval) + far[local[a.target]][local[a.source]] >= -SLACK
    ]  # the slack of the shortest cycle through the arc
    return [_core(part, far, local, interval) for part in components(tight) if _several(part)]


def _several(arcs: list[Delay]) -> bool:
    return any(a.source != a.target for a in arcs)


def _core(arcs: list[Delay], far: list[list[int]], local: dict[int, int], interval: int) -> Core:
    """The core of arcs that hang together. Its first operation is the one that fixes the others best."""
    nodes = sorted({n for a in arcs for n in (a.source, a.target)})

    def spread(n: int) -> int:
        return sum(-far[local[m]][local[n]] - far[local[n]][local[m]] for m in nodes)

    first = min(nodes, key=lambda n: (spread(n), n))
    nodes.sort(key=lambda n: (n != first, n))
    here = local[first]
    windows = [range(far[here][local[n]], 1 - far[local[n]][here]) for n in nodes]
    windows[0] = range(1)
    return Core(tuple(nodes), tuple(windows), tuple(arcs))


def _gap(arc: Delay, interval: int) -> int:
    return arc.cycles - arc.distance * interval


def _longest(nodes: int, arcs: list[tuple[int, int, int]]) -> list[list[int]]:
    """Longest ways between all pairs (Floyd and Warshall), 0 to itself."""
    far = [[NEVER] * nodes for _ in range(nodes)]
    for n in range(nodes):
        far[n][n] = 0
    for source, target, gap in arcs:
        far[source][target] = max(far[source][target], gap)
    for middle in range(nodes):
        onward = far[middle]
        for row in far:
            if (first := row[middle]) > NEVER // 2:
                row[:] = [max(old, first + new) for old, new in zip(row, onward, strict=True)]
    return far


def _placed(problem: Problem, core: Core, interval: int) -> Spots | bool | None:
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
        return places.spots(solver.get_model()) if answer else answer


class _Places:
    """The clauses of one core."""

    def __init__(self, problem: Problem, core: Core, interval: int, clauses: Clauses) -> None:
        self.problem, self.interval, self.clauses = problem, interval, clauses
        self.time = {n: _one_of(clauses, w) for n, w in zip(core.nodes, core.windows, strict=True)}
        self.unit = {n: _one_of(clauses, problem.candidates(n)) for n in core.nodes}
        self._keep_groups(core.nodes)
        self._share_nothing(core.nodes)
        near: dict[tuple[int, int, int], int] = {}
        for arc in core.arcs:
            self._keep_arc(arc, near)

    def spots(self, model: Sequence[int]) -> Spots:
        """The places that a model of the clauses says."""
        true = {literal for literal in model if literal > 0}
        unit, time = ({n: _chosen(one, true) for n, one in some.items()} for some in (self.unit, self.time))
        return Spots(unit, time)

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

    def _keep_arc(self, arc: Delay, near: dict[tuple[int, int, int], int]) -> None:
        """Operands come in time: how far apart the ends are depends on the cycles between them."""
        shift = arc.distance * self.interval
        uses = [e for e in self._edges(arc.source, arc.target) if self.problem.distance[e] == arc.distance]
        for s, a in self.time[arc.source].items():
            for t, b in self.time[arc.target].items():
                cycles = t + shift - s
                if cycles < arc.cycles:
                    self.clauses.add(-a, -b)
                elif uses and arc.source != arc.target:
                    key = (arc.source, arc.target, cycles)
                    if key not in near:
                        near[key] = self._near(*key)
                    if near[key]:
                        self.clauses.add(-a, -b, near[key])

    def _edges(self, source: int, target: int) -> list[int]:
        p = self.problem
        return [e for e in p.ins[p.in_at[target] : p.in_at[target + 1]] if p.source[e] == source]

    def _near(self, source: int, target: int, cycles: int) -> int:
        """A literal: the places are at most `cycles` apart, latency included; 0 if all are."""
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
        return literal if binds else 0


def _one_of(clauses: Clauses, values: Sequence[int]) -> dict[int, int]:
    """A literal for each value, of which exactly one holds."""
    literals = {value: clauses.fresh() for value in values}
    clauses.some(list(literals.values()))
    clauses.at_most(list(literals.values()), 1)
    return literals


def _chosen(literals: dict[int, int], true: set[int]) -> int:
    """The value whose literal is true."""
    return next(value for value, literal in literals.items() if literal in true)
