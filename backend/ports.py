"""Lower bounds of the interval from what words go through: write-back ports, ways between tiles, registers.

In each slot, a resource carries one word. So of the words that must go through some resources in an
iteration there are no more than resources times slots, wherever operations are and however scheduled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import networkx as nx

from .flat import Problem
from .mapping import DoesNotFit, Shortage
from .terrain import Terrain

MOST_SETS = 8
"""Up to this many sets of ports, all unions of sets are bounded; beyond, single ones and all."""


class Bound(NamedTuple):
    """The least interval, and why."""

    interval: int
    why: str


def port_bound(problem: Problem) -> Bound:
    """The best of all bounds of this kind."""
    return max((write_back(problem), *_crossings(problem)), key=lambda bound: bound.interval)


# --- Write-back


def write_back(problem: Problem) -> Bound:
    """Each value that somebody reads takes a slot of one of the results that its operation may have."""
    used = {(problem.source[e], problem.output[e]) for e in range(len(problem.source))}
    alike: dict[tuple[int, int], list[int]] = {}
    for node, output in sorted(used):
        alike.setdefault((problem.code[node], output), []).append(node)
    counts = Counter[frozenset[int]]()
    for (_, output), nodes in alike.items():
        counts[_results(problem, nodes[0], output)] += len(nodes)
    sets = [ports for ports in counts if ports]
    unions = [frozenset().union(*some) for some in _families(sets)]
    best = Bound(1, "nothing")
    for union in dict.fromkeys(unions):
        values = sum(counts[ports] for ports in sets if ports <= union)
        if (interval := -(-values // len(union))) > best.interval:
            best = Bound(interval, f"{values} results on {len(union)} write-back ports")
    return best


def _families(sets: list[frozenset[int]]) -> Iterable[tuple[frozenset[int], ...]]:
    if len(sets) > MOST_SETS:
        return [(one,) for one in sets] + [tuple(sets)]
    return [some for k in range(1, len(sets) + 1) for some in combinations(sets, k)]


def _results(problem: Problem, node: int, output: int) -> frozenset[int]:
    units = problem.terrain.units
    row = (2 * problem.code[node] + output) * units
    return frozenset(
        problem.result[row + u] for u in problem.candidates(node) if problem.result[row + u] >= 0
    )


# --- Ways between tiles


BOTH, WORDS, BITS = (False, True), (False,), (True,)
"""Values that share ways: of one bit or not."""


class Border(NamedTuple):
    """The units inside some tiles, and through how many resources values can leave and enter in a slot.

    `kinds` says which values: of one bit (True), words (False), or both.
    """

    units: frozenset[int]
    out: int
    into: int
    kinds: tuple[bool, ...]

    @property
    def what(self) -> str:
        """What goes through."""
        return {BOTH: "values", WORDS: "words", BITS: "values of one bit"}[self.kinds]


def _crossings(problem: Problem) -> Iterable[Bound]:
    """Values between operations that only some tiles can do, and those that are not there."""
    fabric = problem.fabric
    for units in dict.fromkeys(problem.classes):
        tiles = frozenset(fabric.units[u].tile for u in units)
        if len(tiles) < len({unit.tile for unit in fabric.units}):
            for border in borders(problem.terrain, tiles):
                yield from _crossing(problem, border, len(tiles))


def borders(terrain: Terrain, tiles: frozenset[int]) -> Iterable[Border]:
    """The border for all values and, where there are planes, for those that have ways of their own."""
    yield _border(terrain, tiles, BOTH)
    if terrain.fabric.planes:
        yield _border(terrain, tiles, WORDS)
    if terrain.fabric.apart:
        yield _border(terrain, tiles, BITS)


@lru_cache(maxsize=64)
def _border(terrain: Terrain, tiles: frozenset[int], kinds: tuple[bool, ...]) -> Border:
    """Values pass the last resource on this side, and the first one on the other: the fewer of them count."""
    fabric = terrain.fabric
    allowed = [any(fabric.allows(r.id, one_bit) for one_bit in kinds) for r in fabric.resources]
    inside = [resource.tile in tiles for resource in fabric.resources]
    ends: tuple[tuple[set[int], set[int]], ...] = ((set(), set()), (set(), set()))
    for sink in fabric.resources:
        for source in sink.sources:
            if inside[source] != inside[sink.id] and allowed[source] and allowed[sink.id]:
                before, after = ends[inside[sink.id]]
                before.add(source)
                after.add(sink.id)
    out, into = (min(len(before), len(after)) for before, after in ends)
    return Border(frozenset(unit.id for unit in fabric.units if unit.tile in tiles), out, into, kinds)


def _crossing(problem: Problem, border: Border, tiles: int) -> Iterable[Bound]:
    """Values out of the tiles, and into them.

    A value that could stay inside keeps an operation there that could be elsewhere, in a slot that is left.
    """
    where = [frozenset(problem.candidates(n)) for n in range(problem.nodes)]
    only = [units <= border.units for units in where]
    never = [not units & border.units for units in where]
    readers: dict[tuple[int, int], set[int]] = {}
    reads: Counter[int] = Counter()
    for e in range(len(problem.source)):
        if problem.one_bit(e) in border.kinds:
            readers.setdefault((problem.source[e], problem.output[e]), set()).add(problem.target[e])
            reads[problem.target[e]] += 1

    def bound(ways: int, must: int, may: int, guests: set[int], each: int, what: str) -> Bound:
        hosts = border.units & frozenset[int]().union(*(where[n] for n in guests))
        own = sum(only[n] and where[n] <= hosts for n in range(problem.nodes))
        return _through(ways, must, may, lambda t: each * max(0, len(hosts) * t - own), what)

    leaving = [some for (n, _), some in readers.items() if only[n]]
    must = sum(any(never[r] for r in some) for some in leaving)
    may = sum(not all(only[r] for r in some) for some in leaving) - must
    guests = {r for some in leaving for r in some if not (only[r] or never[r])}
    each = max((reads[r] for r in guests), default=0)
    yield bound(border.out, must, may, guests, each, f"{border.what} out of {tiles} tiles")
    entering = [n for (n, _), some in readers.items() if any(only[r] for r in some) and not only[n]]
    must = sum(never[n] for n in entering)
    guests = {n for n in entering if not never[n]}
    yield bound(border.into, must, len(entering) - must, guests, 2, f"{border.what} into {tiles} tiles")


def _through(ways: int, must: int, may: int, kept: Callable[[int], int], what: str) -> Bound:
    """The least interval at which `ways` values cross in a slot at most; `kept` of `may` need not."""
    interval, values = 1, must + max(0, may - kept(1))
    why = "nothing"
    while ways and values > ways * interval:
        why = f"{values} {what}, through {ways} ways"
        interval += 1
        values = must + max(0, may - kept(interval))
    return Bound(interval, why)


# --- Registers


def refuse_recurrences(problem: Problem, interval: int) -> None:
    """Raise DoesNotFit if recurrences that share no operation hold more words than there are registers.

    At an interval, a recurrence of distance d holds its words in registers for d intervals less the latencies
    of its operations. With a longer interval it needs more registers: if the least does not help, none does.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    for e in range(len(problem.source)):
        p, c, distance = problem.source[e], problem.target[e], problem.distance[e]
        if not graph.has_edge(p, c) or graph[p][c]["distance"] > distance:
            graph.add_edge(p, c, distance=distance)
    distances, latencies, nodes = 0, 0, list[int]()
    for component in nx.strongly_connected_components(graph):
        first = min(component)
        if len(component) == 1 and not graph.has_edge(first, first):
            continue
        cycle = [p for p, _ in nx.find_cycle(graph.subgraph(component), first)]
        distances += sum(graph[p][c]["distance"] for p, c in zip(cycle, cycle[1:] + cycle[:1], strict=True))
        latencies += sum(_outside(problem, n) for n in cycle)
        nodes += cycle
    needed, registers = -(-(distances * interval - latencies) // interval), problem.terrain.registers
    if needed > registers:
        raise DoesNotFit(
            f"{problem.dfg.name}: recurrences hold {needed} values at once; {problem.fabric.name} has"
            f" {registers} registers",
            Shortage.REGISTERS,
            needed,
            registers,
            tuple(sorted(nodes)),
        )


def _outside(problem: Problem, node: int) -> int:
    """The most cycles from its issue in which what an operation makes is not yet in a register."""
    terrain, code = problem.terrain, problem.code[node]
    delays = []
    for u in problem.candidates(node):
        result = problem.result[2 * code * terrain.units + u]
        entered = result >= 0 and terrain.delay[result]
        delays.append(problem.latency[code * terrain.units + u] - (2 if entered else 1))
    return max(delays)
