"""How many flat iterations lie at least between two accesses that touch the same word.

    for (i = 0; i < 8; i++)  for (j = 0; j < 8; j++)  a[8 * i + j] = a[8 * i + j - 9] + ...

The load meets the store of 9 flat iterations before. For an instance of one site and a later one of another,
either all loops around both are in the same iteration or there is a first one, the p-th, that has come some
iterations further. Then the addresses are equal iff

    address(b) - address(a) = 0 modulo 2**32,

where numbers of iterations outside of the p-th loop are the same in both, and those inside are independent of
each other. The flat iterations between are at least 1, plus `least` for each whole iteration between, for
each iteration inside the p-th loop that comes before b, and for each that follows a. Both are sums over
ranges, so the fewest are found by trying numbers in the order of what they cost, as long as ranges and the
greatest common divisor of what is left allow a solution. Every answer is a lower bound; None means that the
two never meet.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import gcd

from macah.affine import bounds
from macah.dependence_small import MOST_STEPS, Counted, TooLarge
from macah.site import WORD, Affine, Circle, Loop, Site, Symbol, Unknown

Coefficients = dict[Unknown, int]

FARTHEST = 64
"""A larger distance is as good as this one: no pipeline is so deep."""

MOST_COUNTED = 400_000
"""So many steps of nests are counted through for all pairs together."""

MOST_TURNED = 1 << 16
"""Turns are counted in so many iterations: an element of a circle is met again sooner."""

MOST_TRIALS = 2000
"""So many numbers are tried for one answer; what has been excluded by then is a lower bound."""


def least_distance(a: Site, b: Site) -> int | None:
    """The least distance from an instance of `a` to a later one of `b` at the same address."""
    common, separate = common_loops(a, b)
    found: list[int] = []
    if a.order < b.order:
        found += _Equation(a, b, common, None).fewest(int(separate))
    for level in range(common):
        found += _Equation(a, b, level, a.loops[level]).fewest(1)
    return min(found, default=None)


def common_loops(a: Site, b: Site) -> tuple[int, bool]:
    """How many loops are around both, and whether the two never are in the same flat iteration.

    Loops in sequence have iterations of their own; one that runs once may be no loop any more.
    """
    common = 0
    while common < min(len(a.loops), len(b.loops)) and a.loops[common] is b.loops[common]:
        common += 1
    separate = len(a.loops) > common < len(b.loops)
    return common, separate and 1 not in (a.loops[common].trips, b.loops[common].trips)


@dataclass(slots=True)
class Distances:
    """Answers, kept by what they depend on: accesses to neighbouring elements are alike."""

    known: dict[object, int | None] = field(default_factory=dict)
    steps: int = MOST_COUNTED

    def least(self, a: Site, b: Site) -> int | None:
        """`least_distance`."""
        apart = (b.address.constant - a.address.constant) % WORD
        key = (a.loops, b.loops, _key(a.address), _key(b.address), apart, a.order < b.order)
        if key not in self.known:
            found = least_distance(a, b)
            self.known[key] = found if found is None else self.counted(a, b, found)
        return self.known[key]

    def in_flat_loop(self, a: Site, b: Site) -> int | None:
        """The same in the kernel's final form: branches have two sides, and rows empty iterations."""
        found = self.least(a, b)
        if found == 0 and a.excludes(b):
            found = self.least(a, replace(b, order=a.order))  # in an earlier iteration only
        return None if found is None else min(FARTHEST, found + a.delay(b))

    def counted(self, a: Site, b: Site, least: int) -> int | None:
        """The same, counted through if that is little work."""
        counter = Counted(a, b, min(MOST_STEPS, self.steps), least)
        try:
            found = counter.least_distance()
        except TooLarge:
            return least
        finally:
            self.steps -= counter.steps
        return found and min(FARTHEST, found)


def _circle(unknown: Unknown) -> Circle | None:
    return unknown.circle if isinstance(unknown, Symbol) else None


def _key(form: Affine) -> frozenset[tuple[Unknown, int]]:
    return frozenset(form.terms)


@dataclass(frozen=True, slots=True)
class _Term:
    """`factor` times a number of 0 to `last`, which costs `weight` flat iterations for each 1 in it."""

    factor: int
    last: int
    weight: int = 0


class _Equation:
    """`constant` plus the terms is 0 modulo 2**32.

    The outermost `level` loops are in the same iteration; `carrier`, the one inside of them, has gone on.
    """

    def __init__(self, a: Site, b: Site, level: int, carrier: Loop | None) -> None:
        self.constant = b.address.constant - a.address.constant
        self.terms: list[_Term] = []
        self.level = level
        self.place = {loop: place for site in (a, b) for place, loop in enumerate(site.loops)}
        before, after = dict(a.address.terms), dict(b.address.terms)
        self.count_on({*b.loops} - {*a.loops}, before, after)
        further = after.get(carrier, 0) if carrier else 0
        for unknown in {**before, **after}:
            mine, other = before.get(unknown, 0), after.get(unknown, 0)
            if unknown is carrier:
                self.add(other - mine, 0, carrier.last - 1)
            elif self.shared(unknown):
                self.add(other - mine, *bounds(unknown))
            elif mine == other and (circle := _circle(unknown)) and circle.loop is carrier:
                further += mine * circle.step
                self.turns(mine, circle, 1)
            else:
                self.independent(unknown, mine, other)
        if carrier is not None:
            self.add(further, 1, carrier.last, carrier.least)

    def count_on(self, loops: set[Loop], before: Coefficients, after: Coefficients) -> None:
        """What counts in a circle in one of the loops is said by the numbers of its iterations."""
        for unknown, factor in list(after.items()):
            circle = _circle(unknown)
            if circle and circle.loop in loops and unknown not in before:
                del after[unknown]
                self.constant += factor * circle.start.constant
                for inner, times in (*circle.start.terms, (circle.loop, circle.step)):
                    after[inner] = after.get(inner, 0) + factor * times
                self.turns(factor, circle, 0)

    def turns(self, factor: int, circle: Circle, fewest: int) -> None:
        """Takes off the whole turns that a circle makes in `fewest` iterations or more."""
        ways = [circle.step * count for count in (fewest, min(circle.loop.last, MOST_TURNED))]
        least = -(-(min(ways) - circle.period + 1) // circle.period)
        most = (max(ways) + circle.period - 1) // circle.period
        self.add(-factor * circle.period, least, most)

    def shared(self, unknown: Unknown) -> bool:
        if isinstance(unknown, Loop):
            return self.place[unknown] < self.level
        return unknown.level <= self.level

    def independent(self, unknown: Unknown, mine: int, other: int) -> None:
        low, high = bounds(unknown)
        if not isinstance(unknown, Loop):
            self.add(-mine, low, high)
            self.add(other, low, high)
            return
        self.add(other, low, high, unknown.least)
        if unknown.exact:  # counted from its end, as the iterations that follow
            self.constant -= mine * high
            self.add(mine, low, high, unknown.least)
        else:
            self.add(-mine, low, high)

    def add(self, factor: int, low: int, high: int, weight: int = 0) -> None:
        self.constant += factor * low
        if factor or high < low:
            self.terms.append(_Term(factor, high - low, weight))

    def fewest(self, base: int) -> list[int]:
        """The least cost of a solution, `base` included, if there is one."""
        terms = sorted(self.terms, key=lambda term: (-term.weight, -abs(term.factor)))
        if any(term.last < 0 for term in terms):
            return []
        weighted = [term for term in terms if term.weight]
        heap = [(base, 0, self.constant)]
        for _ in range(MOST_TRIALS):
            if not heap:
                return []
            cost, place, constant = heapq.heappop(heap)
            if cost >= FARTHEST:
                return [FARTHEST]
            if not _solvable(constant, terms[place:]):
                continue
            if place == len(weighted):
                return [cost]
            self._push(heap, weighted[place], cost, place, constant)
        return [heap[0][0]] if heap else []

    def _push(
        self, heap: list[tuple[int, int, int]], term: _Term, cost: int, place: int, constant: int
    ) -> None:
        most = min(term.last, (FARTHEST - cost) // term.weight + 1)
        for number in range(most + 1):
            heapq.heappush(heap, (cost + number * term.weight, place + 1, constant + number * term.factor))


def _solvable(constant: int, terms: Sequence[_Term]) -> bool:
    """False if ranges or divisors show that no numbers make the sum a multiple of 2**32."""
    low = constant + sum(min(0, term.factor * term.last) for term in terms)
    high = constant + sum(max(0, term.factor * term.last) for term in terms)
    first, last = -(-low // WORD), high // WORD
    if first > last:
        return False
    divisor = gcd(*(term.factor for term in terms if term.last))
    if first == last:
        rest = first * WORD - constant
        return rest % divisor == 0 if divisor else rest == 0
    return constant % gcd(divisor, WORD) == 0
