"""Orders of accesses to arrays at indices that are the same whatever the data are: exactly those that meet.

    for (j = SIZE / 2; j > 0; j /= 2)
      for (i = 0; i < SIZE; i++)
        if ((i ^ j) > i) … exchange t[i] and t[i ^ j]

No two iterations of the inner loop touch the same element, which no comparison of forms in `i` and `j` tells.
Loops with constant bounds take the same course each time, so their indices are computed here, one after the
other, and compared.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeGuard

from backend.cycles import components, tightest_of
from backend.dfg import DFG, Const, Node, Operand, Order, Use
from macah.capacity import Capacity
from macah.course import Course, course_of, independent
from macah.matters import Matters
from macah.shorten import delays

MOST_ITERATIONS = 4096
MOST_ACCESSES = 24

FAR = 64
"""Accesses that meet after more iterations than this keep such an order: it holds nothing up."""


_LOGIC: dict[str, Callable[..., int]] = {
    "and": lambda a, b: int(bool(a and b)),
    "or": lambda a, b: int(bool(a or b)),
}
"""What makes guards of others: 0 whatever those are that nothing is known of, where what is known says so."""


def with_exact_orders(dfg: DFG, capacity: Capacity) -> DFG:
    """The graph with later accesses waiting only for those that touch the same, where such waiting binds."""
    known: _Known | None = None
    for memory in _binding(dfg, capacity.least_interval(dfg)):
        known = known or _Known(dfg, frozenset(independent(dfg)))
        accesses = [node for node in dfg.nodes if node.memory == memory]
        if len(accesses) <= MOST_ACCESSES and all(_is_index(node, known) for node in accesses):
            dfg = _exact(dfg, memory, known.own)
    return dfg


def _binding(dfg: DFG, floor: int) -> list[int]:
    """The arrays with an order on a cycle that needs more than an interval."""
    memories = {(o.before, o.after): dfg.nodes[o.before].memory for o in dfg.orders}
    found = set[int]()
    for inside in components(delays(dfg)):
        touched = {memories.get((delay.source, delay.target)) for delay in inside} - {None}
        if touched and tightest_of(inside, floor)[0] > floor:
            found |= {memory for memory in touched if memory is not None}
    return sorted(found)


@lru_cache(maxsize=16)
def _exact(dfg: DFG, memory: int, own: frozenset[int]) -> DFG:
    accesses = [node for node in dfg.nodes if node.memory == memory]
    known = _Known(dfg, own)
    needed = known.below(operand for node in accesses for operand in node.operands)
    others = [use.node for consumer, _, use in dfg.uses() if consumer not in own and known.tells(use)]
    course = course_of(dfg, own, [*needed, *others], MOST_ITERATIONS)
    course = course or course_of(dfg, own, needed, MOST_ITERATIONS)
    if course is None:
        return dfg
    known.follow(course, 1 + -(-FAR // (len(course.rows) - course.again)))
    touched = known.touched(accesses)
    numbers = {node.id for node in accesses}
    orders = [o for o in dfg.orders if not {o.before, o.after} <= numbers]
    return replace(dfg, orders=(*orders, *_without_implied(list(_orders(dfg, accesses, touched)))))


def _is_index(node: Node, known: _Known) -> bool:
    return isinstance(node.operands[0], Const) or known.tells(node.operands[0])


class _Known:
    """What `own` nodes, which depend on nothing else, tell of accesses."""

    def __init__(self, dfg: DFG, own: frozenset[int]) -> None:
        self.dfg, self.own = dfg, own
        self.columns: dict[Operand, list[int]] = {}
        self.places: list[int] = []

    def below(self, operands: Iterable[Operand]) -> list[int]:
        """The nodes that tell something of operands."""
        found, seen, pending = list[int](), set[Operand](), list(operands)
        while pending:
            operand = pending.pop()
            if operand in seen:
                continue
            seen.add(operand)
            if self.tells(operand):
                found.append(operand.node)
            elif inner := self.inner(operand):
                pending += inner.operands
        return found

    def follow(self, course: Course, times: int) -> None:
        """Take values from a course whose circle is gone through so many times."""
        self.course, self.places = course, course.numbers(times)

    def touched(self, accesses: Sequence[Node]) -> dict[int, list[int | None]]:
        """The word that each access may touch in each iteration, if it does and if that matters."""
        loads = [node.id for node in accesses if node.op == "load"]
        matters = Matters(self.dfg, self.may, self.surely, len(self.places)).of(loads)
        found = dict[int, list[int | None]]()
        for node in accesses:
            bits = matters[node.id] if node.op == "load" else self.may(node.operands[2])
            words = self.values(node.operands[0])
            found[node.id] = [word if bits >> n & 1 else None for n, word in enumerate(words)]
        return found

    def may(self, operand: Operand) -> int:
        """A bit for each iteration in which an operand may be another word than 0."""
        return sum([1 << n for n, word in enumerate(self.values(operand)) if word])

    def surely(self, operand: Operand) -> int:
        """A bit for each iteration in which it certainly is."""
        known = self.tells(operand) and operand.node in self.course.nodes
        return self.may(operand) if known else 0

    def values(self, operand: Operand) -> list[int]:
        """An operand in each iteration; 1 where nothing is known."""
        if operand not in self.columns:
            self.columns[operand] = self._values(operand)
        return self.columns[operand]

    def _values(self, operand: Operand) -> list[int]:
        if isinstance(operand, Const):
            return [operand.value] * len(self.places)
        if self.tells(operand) and operand.node in self.course.nodes:
            assert isinstance(operand.initial, Const)
            rows = [self.course.rows[place][operand.node] for place in self.places]
            return [*[operand.initial.value] * operand.distance, *rows][: len(rows)]
        if (inner := self.inner(operand)) is not None:
            columns = [self.values(each) for each in inner.operands]
            return [_LOGIC[inner.op](*words) for words in zip(*columns, strict=True)]
        return [1] * len(self.places)

    def tells(self, operand: Operand) -> TypeGuard[Use]:
        """True if an operand depends on nothing but these nodes."""
        if not isinstance(operand, Use) or operand.node not in self.own:
            return False
        return operand.distance == 0 or isinstance(operand.initial, Const)

    def inner(self, operand: Operand) -> Node | None:
        """What makes a guard of others, in the same iteration."""
        if not isinstance(operand, Use) or operand.distance:
            return None
        node = self.dfg.nodes[operand.node]
        return node if node.op in _LOGIC else None


def _orders(
    dfg: DFG, accesses: Sequence[Node], touched: Mapping[int, Sequence[int | None]]
) -> Iterator[Order]:
    """Between all accesses of which an earlier one may come before a later one, as the orders so far say."""
    after = _successors(dfg)
    for one in accesses:
        reached = _distances(one.id, after)
        for other in accesses:
            if one is other or other.id not in reached or "store" not in (one.op, other.op):
                continue
            distance = _meeting(touched[one.id], touched[other.id], reached[other.id])
            yield Order(one.id, other.id, distance, delay=1 if one.op == "store" else 0)


def _meeting(one: Sequence[int | None], other: Sequence[int | None], least: int) -> int:
    """The fewest iterations, `least` or more, from an access to another of the same word."""
    found, soonest = max(least, FAR), dict[int, int]()
    for n in reversed(range(len(one) - least)):
        if (there := other[n + least]) is not None:
            soonest[there] = n + least
        if (here := one[n]) is not None and here in soonest:
            found = min(found, soonest[here] - n)
    return found


def _successors(dfg: DFG) -> dict[int, list[tuple[int, int]]]:
    """What must come after each node, so many iterations later."""
    found: dict[int, list[tuple[int, int]]] = {node.id: [] for node in dfg.nodes}
    for consumer, _, use in dfg.uses():
        found[use.node].append((consumer, use.distance))
    for order in dfg.orders:
        found[order.before].append((order.after, order.distance))
    return found


def _distances(start: int, after: Mapping[int, Sequence[tuple[int, int]]]) -> dict[int, int]:
    """The fewest iterations on the ways from a node to others (Dijkstra)."""
    found, heap = dict[int, int](), [(0, start)]
    while heap:
        distance, node = heapq.heappop(heap)
        if node not in found:
            found[node] = distance
            for following, more in after[node]:
                if following not in found:
                    heapq.heappush(heap, (distance + more, following))
    return found


def _without_implied(orders: list[Order]) -> Iterator[Order]:
    """The orders that two others together do not say already."""
    kept = {(o.before, o.after): o for o in orders}
    # the longest first, so that what implies them is there yet
    for order in sorted(orders, key=lambda o: (-o.distance, o.before, o.after)):
        del kept[order.before, order.after]
        middles = {after for before, after in kept if before == order.before}
        if not any(
            (last := kept.get((middle, order.after))) is not None
            and (first := kept[order.before, middle]).distance + last.distance <= order.distance
            and first.delay + last.delay >= order.delay
            for middle in middles
        ):
            kept[order.before, order.after] = order
    yield from (kept[pair] for pair in sorted(kept))
