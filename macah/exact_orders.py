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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from backend.cycles import components, tightest_of
from backend.dfg import DFG, Const, Node, Order
from macah.capacity import Capacity
from macah.known import Known
from macah.shorten import delays

MOST_NODES = 2000
"""Larger graphs are left as they are."""

MOST_ITERATIONS = 4096
MOST_ACCESSES = 24

FAR = 64
"""Accesses that meet after more iterations than this keep such an order: it holds nothing up."""


def with_exact_orders(dfg: DFG, capacity: Capacity) -> DFG:
    """The graph with later accesses waiting only for those that touch the same, where such waiting binds."""
    if len(dfg.nodes) > MOST_NODES:
        return dfg
    for memory in _binding(dfg, capacity.least_interval(dfg)):
        if sum(node.memory == memory for node in dfg.nodes) <= MOST_ACCESSES:
            dfg = _exact(dfg, memory)
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
def _exact(dfg: DFG, memory: int) -> DFG:
    accesses, known = [node for node in dfg.nodes if node.memory == memory], Known(dfg)
    if not all(isinstance(node.operands[0], Const) or known.tells(node.operands[0]) for node in accesses):
        return dfg
    needed = known.below(operand for node in accesses for operand in node.operands)
    more = [*needed, *known.all()]
    if not (known.follow(more, MOST_ITERATIONS, FAR) or known.follow(needed, MOST_ITERATIONS, FAR)):
        return dfg
    touched = known.touched(accesses)
    numbers = {node.id for node in accesses}
    orders = [o for o in dfg.orders if not {o.before, o.after} <= numbers]
    return replace(dfg, orders=(*orders, *_without_implied(list(_orders(dfg, accesses, touched)))))


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
