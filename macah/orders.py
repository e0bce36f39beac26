"""The orders that effects of a graph must keep: accesses to a memory, operations on a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from backend.dfg import Order
from backend.record import made_quickly
from macah.dependence import Distances
from macah.graph import ZERO, Value
from macah.site import Site

MOST_LOCATED = 400
"""Of more accesses to one array, the places in the program are not compared."""

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

    def shared_with(self, other: Access) -> Access:
        """The one load for two of the same word."""
        sites = tuple(dict.fromkeys((*self.sites, *other.sites)))
        return replace(self, sites=sites, settled=min(self.settled, other.settled))


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


def memory_orders(accesses: Sequence[Access]) -> list[Order]:
    """Orders between the accesses to one memory, in program order, without those that others imply.

    Sets of accesses are bits of numbers.
    """
    if not any(access.stores for access in accesses):
        return []
    rivals = _Rivals(accesses)
    orders: list[Order] = []
    reach = [1 << a for a in range(len(accesses))]  # what comes after an access in the same iteration
    direct: list[list[int]] = [[] for _ in accesses]
    for a, access in reversed(list(enumerate(accesses))):
        open_ = rivals.of(access, same_iteration=True) & -(2 << a)
        while open_:
            b = _lowest(open_)
            open_ &= open_ - 1
            if rivals.distance(a, b) == 0:
                orders.append(_order(access, accesses[b], 0))
                direct[a].append(b)
                reach[a] |= reach[b]
                open_ &= ~reach[a]
    later = [0] * len(accesses)  # what comes after it in the next iteration
    for a, access in reversed(list(enumerate(accesses))):
        for b in direct[a]:
            later[a] |= later[b]
        far: list[tuple[int, int]] = []
        open_ = rivals.of(access, same_iteration=False) & ~later[a] & ~reach[a]
        while open_:
            b = _lowest(open_)
            open_ &= open_ - 1
            distance = rivals.distance(a, b)
            if distance is not None and distance > 1:
                far.append((distance, b))
            elif distance is not None:
                orders.append(_order(access, accesses[b], 1))
                later[a] |= reach[b]
                open_ &= ~later[a]
        follows = later[a] | reach[a]
        for distance, b in sorted(far):
            if not follows >> b & 1:
                orders.append(_order(access, accesses[b], distance))
                follows |= reach[b]
    return orders


class _Rivals:
    """Which accesses may touch the same word as another, where one of the two stores."""

    def __init__(self, accesses: Sequence[Access]) -> None:
        self.accesses = accesses
        self.distances = Distances()
        self.everything = (1 << len(accesses)) - 1
        self.stores = 0
        self.bases: dict[Value, int] = {}
        self.places: dict[tuple[Value, int], int] = {}
        for a, access in enumerate(accesses):
            place = (access.base, access.offset)
            self.stores |= access.stores << a
            self.bases[access.base] = self.bases.get(access.base, 0) | 1 << a
            self.places[place] = self.places.get(place, 0) | 1 << a

    def of(self, access: Access, same_iteration: bool) -> int:
        found = self.everything if access.stores else self.stores
        if same_iteration or access.base == ZERO:
            # Other offsets from the same base are other words.
            found &= ~(self.bases[access.base] & ~self.places[access.base, access.offset])
        return found

    def distance(self, a: int, b: int) -> int | None:
        """How many iterations lie at least between two rivals, `a` first; None if they never meet."""
        least = int(b <= a)
        if self.accesses[b].settled and self.accesses[a].stores:
            least = self.accesses[b].settled + 1
        if len(self.accesses) > MOST_LOCATED:
            return least
        found: list[int] = []
        for one in self.accesses[a].sites:
            for other in self.accesses[b].sites:
                distance = self.distances.least(one, other) if one and other else 0
                if distance is not None:
                    found.append(max(distance, least))
        return min(found, default=None)


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _order(a: Access, b: Access, distance: int) -> Order:
    return Order(a.node, b.node, distance, delay=1 if a.stores else 0)
