"""The orders that effects of a graph must keep: accesses to a memory, operations on a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from backend.dfg import Order
from backend.record import made_quickly
from macah.graph import Value
from macah.site import Site

LEAD = 8
"""So many elements may one stream be ahead of another: half of those that fit into one by default."""


@made_quickly
@dataclass(frozen=True, slots=True)
class Access:
    """A load or store; its address is `base + offset`, where `base` is ZERO if that is a constant.

    `sites` are those of the program that it stands for, None one that is not known. `settled`: see `ir.Load`.
    """

    node: int
    stores: bool
    base: Value
    offset: int
    sites: tuple[Site | None, ...] = (None,)
    settled: int = 0

    def at(self, node: int) -> Access:
        """The same by a node of another number."""
        return Access(node, self.stores, self.base, self.offset, self.sites, self.settled)

    def also_for(self, site: Site | None, settled: int) -> Access:
        """The one load where the program has another one of the same word, at a site."""
        return replace(
            self, sites=tuple(dict.fromkeys((*self.sites, site))), settled=min(self.settled, settled)
        )


def stream_orders(operations: Sequence[int]) -> list[Order]:
    """Operations on one stream keep their order, and follow those of the iteration before.

    So do those on all streams of a kernel whose streams are ordered. A delay of one cycle is enough: the word
    of a send leaves at the end of the cycle in which it is issued, and an operation that waits holds back its
    own cycle and later ones only.
    """
    orders = [Order(a, b) for a, b in zip(operations, operations[1:], strict=False)]
    if len(operations) > 1:
        orders.append(Order(operations[-1], operations[0], 1))
    return orders


def lead_orders(ports: Sequence[Sequence[int]], moved: Sequence[int]) -> list[Order]:
    """No stream runs far ahead of another of its direction, so that who serves them in turn is not stuck.

    Each port is its operations, of which `moved` says how many elements they move in one iteration.
    """
    return [
        Order(other[-1], own[0], max(1, LEAD // count))
        for own, count in zip(ports, moved, strict=True)
        for other in ports
        if other is not own
    ]
