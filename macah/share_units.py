"""One operation for two of which at most one acts in an iteration, where that makes the interval less.

    if (c) a[i] = x; else a[j] = y;      ->      a[c ? i : j] = c ? x : y;
    z = c ? b[i] : b[j] + 1;             ->      t = b[c ? i : j];  z = c ? t : t + 1;
    z = c ? x / u : y / v;               ->      z = (c ? x : y) / (c ? u : v);

Where units, ports and streams suffice it would be no gain, as the operation then waits for `c`. So as few as
make the lower bound of the interval less are joined: then no recurrence has become the longer one. Effects
that are one need no order, either, which may be what a recurrence waits for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice

from arch.fabric import Fabric
from arch.ops import OPS
from backend.bound import Bounds, minimum_interval
from backend.dfg import DFG, Node, Use, is_ordered
from backend.flat import Problem
from backend.mapping import DoesNotFit
from macah import ir
from macah.exclusion import GUARDS, Exclusion
from macah.join_nodes import joined
from macah.later import Later
from macah.optional import enabled

MOST_NODES = 2000
"""Larger graphs are left as they are."""

MOST_PAIRS = 2000
"""So many pairs of operations are looked at for each that is joined."""

MOST_GRAPHS = 20
"""So many of them are joined on trial."""

MOST_TESTS = 3
"""So many values that tell which of two operations acts are tried."""

REMEMBERED = 16
"""What became of so many graphs is known, as choices for a kernel often come to the same graph."""

MOST_TRIED = 400_000
"""So many nodes the graphs may have in all that are made on trial for a kernel: some seconds."""


Element = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Crowd:
    """Operations on a stream, on an array, of some kinds, or of those on an array; room for so many."""

    room: int
    stream: int | None = None
    memory: int | None = None
    ops: frozenset[str] = frozenset()

    def members(self, dfg: DFG) -> list[int]:
        return [n.id for n in dfg.nodes if self._has(n)]

    def _has(self, node: Node) -> bool:
        if self.stream is not None:
            return node.stream == self.stream
        mine = self.memory is None or node.memory == self.memory
        return mine and (not self.ops or node.op in self.ops)

    def excess(self, dfg: DFG) -> int:
        """How many there are too many."""
        return len(self.members(dfg)) - self.room


@dataclass(slots=True)
class Effort:
    """How many nodes graphs made on trial may still have in all, and whether flags tell what to join.

    What is known of the last graph that was looked at serves all of its crowds.
    """

    left: int = MOST_TRIED
    flags: bool = False
    known: tuple[DFG, Exclusion, Later] | None = None

    def of(self, dfg: DFG) -> tuple[Exclusion, Later]:
        """What of a graph excludes each other, and what comes later."""
        if self.known is None or self.known[0] is not dfg:
            self.known = dfg, Exclusion(dfg, self.flags), Later(dfg)
        return self.known[1:]


def with_shared_units(kernel: ir.Kernel, dfg: DFG, fabric: Fabric) -> DFG:
    """The graph with as few operations joined as make its lower bound less."""
    if not enabled(kernel, "share_units") or len(dfg.nodes) > MOST_NODES:
        return dfg
    try:
        bound = minimum_interval(dfg, fabric)
    except DoesNotFit:
        return dfg
    best, least, made, effort = dfg, bound.mii, dfg, Effort()
    while bound.mii > 1:
        if bound.recurrence == bound.mii:
            better = _hurried(made, fabric, bound, effort)
        else:
            better = relieved(made, fabric, bound.mii - 1, effort)
        if better is made:
            break
        made, bound = better, minimum_interval(better, fabric)
        if bound.mii > least:
            break
        if bound.mii < least:
            best, least = made, bound.mii
    return best


def relieved(dfg: DFG, fabric: Fabric, interval: int, effort: Effort | None = None) -> DFG:
    """The graph with operations joined until nothing is crowded at an interval, or none are left to join."""
    effort = effort or Effort()
    for crowd in _crowds(dfg, fabric, interval):
        dfg = _relieved_of(dfg, crowd, effort)
    return dfg


@lru_cache(maxsize=REMEMBERED)
def relieved_ports(dfg: DFG, ports: int, flags: bool = False) -> DFG:
    """The graph with as few operations on each stream, and on each array that is stored to, as there can be.

    Arrays are left alone once their memories, with so many ports, have room for all in a cycle. `flags`: what
    they say of which never two are set (`apart.py`) tells operations apart, too.
    """
    effort = Effort(flags=flags)
    for s in range(len(dfg.streams)):
        dfg = _relieved_of(dfg, Crowd(1, stream=s), effort)
    for memory in _stored(dfg):
        dfg = _relieved_of(dfg, Crowd(ports, memory=memory), effort)
    return dfg


def with_joined_stores(dfg: DFG) -> DFG:
    """The graph with as few stores to each array as there can be."""
    effort = Effort()
    for memory in _stored(dfg):
        dfg = _relieved_of(dfg, Crowd(1, memory=memory, ops=frozenset({"store"})), effort)
    return dfg


def _stored(dfg: DFG) -> list[int]:
    """The arrays that are stored to."""
    return sorted({n.memory for n in dfg.nodes if n.op == "store" and n.memory is not None})


def _relieved_of(dfg: DFG, crowd: Crowd, effort: Effort) -> DFG:
    while crowd.excess(dfg) > 0:
        better = next(_relief(dfg, crowd, effort), None)
        if better is None:
            break
        dfg = better
    return dfg


def _relief(dfg: DFG, crowd: Crowd, effort: Effort) -> Iterator[DFG]:
    """The graph with two operations of a crowd joined, or elements of several words."""
    members = [number for number in crowd.members(dfg) if _joins(dfg.nodes[number])]
    chosen = _chosen(dfg) if "select" in crowd.ops else None

    def pays(a: Element, b: Element) -> bool:
        return chosen is None or _may_be_fewer(dfg.nodes[a[0]], dfg.nodes[b[0]], chosen)

    for made in _joined(dfg, members, pays, effort):
        if crowd.excess(made) < crowd.excess(dfg):
            yield made


def _hurried(dfg: DFG, fabric: Fabric, bound: Bounds, effort: Effort) -> DFG:
    """The graph with two effects joined that keep an order on the recurrence that binds."""
    effects = [node.id for node in dfg.nodes if node.op in GUARDS]
    critical = frozenset(bound.cycle)
    pairs = _joined(dfg, effects, lambda a, b: not critical.isdisjoint(a + b), effort)
    for made in islice(pairs, MOST_GRAPHS):
        if minimum_interval(made, fabric).mii <= bound.mii:
            return made
    return dfg


def _joined(
    dfg: DFG, members: list[int], pays: Callable[[Element, Element], bool], effort: Effort
) -> Iterator[DFG]:
    """Graphs in which two operations are one that exclude each other, of those for which that may pay."""
    if max(Counter(_kind(dfg.nodes[number]) for number in members).values(), default=0) < 2:
        return
    exclusion, later = effort.of(dfg)
    where = {number: exclusion.matters(number) for number in members}
    pairs = (
        (a, b)
        for a, b in combinations(_elements(dfg, members), 2)
        if _kind(dfg.nodes[a[0]]) == _kind(dfg.nodes[b[0]]) and pays(a, b)
    )
    for a, b in islice(pairs, MOST_PAIRS):
        one, other = where[a[0]], where[b[0]]
        if exclusion.exclude(one, other):
            for test, first in islice(exclusion.telling(one, other), MOST_TESTS):
                if later.forbids(a, b, test):
                    continue
                if effort.left < 0:
                    return
                effort.left -= len(dfg.nodes)
                made = joined(exclusion, list(zip(a, b, strict=True)), test, first)
                if is_ordered(made):
                    yield made


def _joins(node: Node) -> bool:
    return node.op in GUARDS or node.op == "load" or (OPS[node.op].pure and node.op != "select")


def _kind(node: Node) -> tuple[str, int | None, int | None]:
    """Operations of a kind can be one."""
    return node.op, node.stream, node.memory


def _may_be_fewer(one: Node, other: Node, chosen: Set[frozenset[int]]) -> bool:
    """False if joining two operations leaves no fewer, the choices between their operands among them.

    Of pure ones, one goes, and so does what chooses between their results.
    """
    if not OPS[one.op].pure:
        return True
    alike = len({*one.operands} & {*other.operands}) >= OPS[one.op].arity - 1
    return one.operands == other.operands or (alike and frozenset((one.id, other.id)) in chosen)


def _chosen(dfg: DFG) -> set[frozenset[int]]:
    """The pairs of operations between whose results something chooses."""
    selects = (node.operands[1:] for node in dfg.nodes if node.op == "select")
    return {frozenset((a.node, b.node)) for a, b in selects if isinstance(a, Use) and isinstance(b, Use)}


def _elements(dfg: DFG, members: list[int]) -> list[Element]:
    """The operations on each element of a stream; others one by one."""
    found: list[Element] = []
    for number in members:
        stream = dfg.nodes[number].stream
        words = 1 if stream is None else len(dfg.streams[stream].words)
        if words == 1:
            found.append((number,))
    many = [s for s, stream in enumerate(dfg.streams) if len(stream.words) > 1]
    for s in many:
        own = [node.id for node in dfg.nodes if node.stream == s]
        words = len(dfg.streams[s].words)
        if set(own) <= set(members):
            found += [tuple(own[k : k + words]) for k in range(0, len(own), words)]
    return found


# --- What is crowded


def _crowds(dfg: DFG, fabric: Fabric, interval: int) -> Iterator[Crowd]:
    """Streams, arrays and classes of units, small classes first."""
    problem = Problem(dfg, fabric)
    for s in range(len(dfg.streams)):
        yield Crowd(interval, stream=s)
    for m in range(len(dfg.memories)):
        homes = problem.homes[problem.streams + m]
        yield Crowd(max((len(fabric.memories[b].ports) for b in homes), default=1) * interval, memory=m)
    for units in sorted(map(frozenset, problem.classes), key=lambda units: (len(units), sorted(units))):
        ops = frozenset(op for op in OPS if fabric.units_for(op) and units.issuperset(fabric.units_for(op)))
        yield Crowd(len(units) * interval, ops=ops)
