"""The orders that accesses to one memory must keep, without those that others imply.

What an access does not come before, by way of others, is kept as bits of a number that begin at the access.
Where many accesses may meet, each soon comes before all that are later, so that these numbers are small.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from backend.dfg import Order
from macah.dependence import Distances
from macah.graph import ZERO, Value
from macah.orders import Access

MOST_LOCATED = 400
"""Of more accesses to one array, the places in the program are not compared."""


def memory_orders(accesses: Sequence[Access]) -> list[Order]:
    """Orders between the accesses to one memory, in program order, without those that others imply."""
    if not any(access.stores for access in accesses):
        return []
    return _Orders(accesses).run()


class _Orders:
    """Of accesses by their places."""

    def __init__(self, accesses: Sequence[Access]) -> None:
        self.accesses = accesses
        self.rivals = _Rivals(accesses)
        self.orders: list[Order] = []
        self.direct: list[list[int]] = [[] for _ in accesses]
        self.unreached: list[int] = [0] * len(accesses)  # bit k: k places later, in the same iteration

    def run(self) -> list[Order]:
        """The orders."""
        count = len(self.accesses)
        for a in reversed(range(count)):
            self.unreached[a] = self._in_iteration(a) & (1 << count - a) - 1
        later = [0] * count  # bit b: not reached in the next iteration
        for a in reversed(range(count)):
            left = -1
            for b in self.direct[a]:
                left &= later[b]
            later[a] = self._in_next(a, left) & (1 << count) - 1
        return self.orders

    def _in_iteration(self, a: int) -> int:
        """Order an access before later ones of the same iteration; what it does not reach then."""
        left = -2
        b = self._next(a, a + 1, left >> 1, same=True)
        while b is not None:
            if self.rivals.distance(a, b) == 0:
                self._order(a, b, 0)
                self.direct[a].append(b)
                left &= self._all_but(b, a)
            b = self._next(a, b + 1, left >> b + 1 - a, same=True)
        return left

    def _in_next(self, a: int, left: int) -> int:
        """The same with those of the next iteration; also orders with those of still later ones."""
        open_ = left & self._all_but(a, 0)
        far: list[tuple[int, int]] = []
        b = self._next(a, 0, open_, same=False)
        while b is not None:
            distance = self.rivals.distance(a, b)
            if distance is not None and distance > 1:
                far.append((distance, b))
            elif distance is not None:
                self._order(a, b, 1)
                left &= self._all_but(b, 0)
                open_ &= left
            b = self._next(a, b + 1, open_ >> b + 1, same=False)
        for distance, b in sorted(far):
            if open_ >> b & 1:
                self._order(a, b, distance)
                open_ &= self._all_but(b, 0)
        return left

    def _order(self, a: int, b: int, distance: int) -> None:
        before, after = self.accesses[a], self.accesses[b]
        self.orders.append(Order(before.node, after.node, distance, delay=1 if before.stores else 0))

    def _all_but(self, b: int, start: int) -> int:
        """What an access does not reach in the same iteration, as bits that begin at an earlier place."""
        return self.unreached[b] << b - start | (1 << b - start) - 1

    def _next(self, a: int, start: int, open_: int, same: bool) -> int | None:
        """The first rival of an access from a place on of which the bit, counted from there, is set."""
        place: int | None = start
        while open_ and place is not None:
            skipped = (open_ & -open_).bit_length() - 1
            found = self.rivals.next(a, place + skipped, same)
            if found == place + skipped:
                return found
            open_ >>= 0 if found is None else found - place
            place = found
        return None


class _Rivals:
    """Which accesses may touch the same word as another, where one of the two stores."""

    def __init__(self, accesses: Sequence[Access]) -> None:
        self.accesses = accesses
        self.distances = Distances()
        self.all = _Places(accesses, range(len(accesses)))
        self.stores = _Places(accesses, [a for a, access in enumerate(accesses) if access.stores])

    def next(self, a: int, start: int, same_iteration: bool) -> int | None:
        """The first rival from a place on."""
        access = self.accesses[a]
        places = self.all if access.stores else self.stores
        # Other offsets from the same base are other words.
        if same_iteration or access.base == ZERO:
            return places.elsewhere(access, start)
        return places.first(start)

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
                distance = self.distances.in_flat_loop(one, other) if one and other else 0
                if distance is not None:
                    found.append(max(distance, least))
        return min(found, default=None)


class _Places:
    """Some accesses, in order, to be looked up by what they touch."""

    def __init__(self, accesses: Sequence[Access], places: Sequence[int]) -> None:
        self.places = places
        self.bases = [accesses[place].base for place in places]
        self.words: dict[tuple[Value, int], list[int]] = {}
        for place in places:
            access = accesses[place]
            self.words.setdefault((access.base, access.offset), []).append(place)
        self.other = [len(places)] * len(places)  # where the next access with another base is
        for k in reversed(range(len(places) - 1)):
            self.other[k] = k + 1 if self.bases[k] != self.bases[k + 1] else self.other[k + 1]

    def first(self, start: int) -> int | None:
        """The first from a place on."""
        k = bisect_left(self.places, start)
        return self.places[k] if k < len(self.places) else None

    def elsewhere(self, access: Access, start: int) -> int | None:
        """The first that touches the same word, or has another base."""
        k = bisect_left(self.places, start)
        if k < len(self.places) and self.bases[k] == access.base:
            k = self.other[k]
        same = self.words.get((access.base, access.offset), [])
        at = bisect_left(same, start)
        found = [*self.places[k : k + 1], *same[at : at + 1]]
        return min(found, default=None)
