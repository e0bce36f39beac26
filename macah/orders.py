"""The orders that effects of a graph must keep: accesses to a memory, operations on a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backend.dfg import Order
from macah.graph import ZERO, Value


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store; its address is `base + offset`, where `base` is ZERO if that is a constant."""

    node: int
    stores: bool
    base: Value
    offset: int


def stream_orders(operations: Sequence[int]) -> list[Order]:
    """Operations on one port keep their order, and follow those of the iteration before."""
    orders = [Order(a, b) for a, b in zip(operations, operations[1:], strict=False)]
    if len(operations) > 1:
        orders.append(Order(operations[-1], operations[0], 1))
    return orders


def memory_orders(accesses: Sequence[Access]) -> list[Order]:
    """Orders between the accesses to one memory, in program order, without those that others imply."""
    if not any(access.stores for access in accesses):
        return []
    orders: list[Order] = []
    count = len(accesses)
    # reach[a]: bit set of the accesses that come after a in the same iteration
    reach = [1 << a for a in range(count)]
    for a in reversed(range(count)):
        for b in range(a + 1, count):
            if not reach[a] >> b & 1 and _conflict(accesses[a], accesses[b], same_iteration=True):
                orders.append(_order(accesses[a], accesses[b], 0))
                reach[a] |= reach[b]
    # later[a]: bit set of the accesses that come after a in the next iteration
    later = [0] * count
    for a in reversed(range(count)):
        for between in range(a + 1, count):
            if reach[a] >> between & 1:
                later[a] |= later[between]
        for b in range(count):
            implied = later[a] >> b & 1 or reach[a] >> b & 1
            if not implied and _conflict(accesses[a], accesses[b], same_iteration=False):
                orders.append(_order(accesses[a], accesses[b], 1))
                later[a] |= reach[b]
    return orders


def _order(a: Access, b: Access, distance: int) -> Order:
    return Order(a.node, b.node, distance, delay=1 if a.stores else 0)


def _conflict(a: Access, b: Access, same_iteration: bool) -> bool:
    """True if the two may touch the same word and one of them stores."""
    if not (a.stores or b.stores):
        return False
    comparable = a.base == b.base and (same_iteration or a.base == ZERO)
    return not (comparable and a.offset != b.offset)
