# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""The ways of words while `settler.py` moves operations, where words leave tiles through one register alone.

A word is in the output of a tile in the cycle in which it is made, and in some later ones: there its own tile
and its neighbours read it. From there it goes on to a neighbour's output in the next cycle, or into
registers of the tile, whence the tile reads it, or puts it out again, up to an interval later. `finder.py`
finds the cheapest ways.

Types are in `words.pxd`, as `settler.py` needs them, too. Compiled by Cython, or run as it is: both give the
same result.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

import cython

from .finder import Finder, Ways

if TYPE_CHECKING:
    from .flat import Problem

# Hundredths of a cycle: a conflict, a slot of an output, a cycle of a value's life.
AGAIN = cython.declare(cython.int, 60)
DEAR = cython.declare(cython.int, 780)  # CROSSED slots
WAIT = cython.declare(cython.int, 12)
MOST = cython.declare(cython.int, 24)  # slots that a value claims
FARTHEST = cython.declare(cython.int, 64)  # as in finder.py
LAYERS = cython.declare(cython.int, 62)  # cycles until a value is read: bits of a word


class Words:
    """The ways of all words of a problem at one interval. `unit` and `start` are those of the settler."""

    def __init__(
        self, problem: Problem, interval: int, ways: Ways, unit: Sequence[int], start: Sequence[int]
    ) -> None:
        t, nodes = problem.terrain, problem.nodes
        self.interval, self.units, self.tiles, self.room = interval, t.units, t.tiles, ways.room
        self.nodes = nodes
        self.stamp, self.touched, self.dear, self.clashes = 0, 0, DEAR, 0
        self.code, self.latency, self.result = problem.code, problem.latency, problem.result
        self.source, self.target, self.distance = problem.source, problem.target, problem.distance
        self.in_at, self.ins = problem.in_at, problem.ins
        self.out_at, self.outs = problem.out_at, problem.outs
        self.tile, self.apart = t.tile, ways.apart
        self.unit, self.start = unit, start
        slots = t.tiles * interval
        self.held, self.full = (array("i", [0]) * slots for _ in range(2))
        self.owner = array("i", [-1]) * slots
        self.sore, self.rank = (array("i", [0]) * slots for _ in range(2))
        self.shared = 0
        self.number, self.paid, self.stays = (array("i", [0]) * (nodes + 1) for _ in range(3))
        self.old_number, self.old_paid, self.old_stays = (array("i", [0]) * (nodes + 1) for _ in range(3))
        self.seen, self.touch, self.floor = (array("i", [0]) * (nodes + 1) for _ in range(3))
        self.spot, self.cycle = (array("i", [0]) * (MOST * nodes + 1) for _ in range(2))
        self.old_spot, self.old_cycle = (array("i", [0]) * (MOST * nodes + 1) for _ in range(2))
        self.stay, self.old_stay = (array("i", [0]) * (3 * MOST * nodes + 1) for _ in range(2))
        self.want = array("i", [0]) * (2 * len(problem.source) + 2)
        self.finder = Finder(t.tiles, interval, ways)

    def slot(self, cycle: cython.int) -> cython.int:
        """The cycle modulo the interval, not negative."""
        r: cython.int = cycle % self.interval
        return r + self.interval if r < 0 else r

    def done(self, n: cython.int) -> cython.int:
        """The cycle in which a node's result is there."""
        return self.start[n] + self.latency[self.code[n] * self.units + self.unit[n]] - 1

    def share(self, k: cython.int, change: cython.int) -> cython.int:
        """Count a word once more or less in a slot of a tile's output; the price of those that it meets."""
        self.held[k] += min(change, 0)
        price: cython.int = DEAR * self.held[k]
        if price > 0:
            self.clashes += change
        self.held[k] += max(change, 0)
        if self.held[k] < 3:
            self.finder.mark(k, self.held[k])
            if price == DEAR:
                self.note(k, change)
        return price

    def note(self, k: cython.int, change: cython.int) -> cython.void:
        """Add a slot to those that are shared (change 1), or take it from them (-1)."""
        if change > 0:
            self.rank[k] = self.shared
            self.sore[self.shared] = k
            self.shared += 1
        else:
            self.shared -= 1
            other: cython.int = self.sore[self.shared]
            self.sore[self.rank[k]] = other
            self.rank[other] = self.rank[k]

    def claim(self, n: cython.int, change: cython.int) -> cython.int:
        """Count a node's result once more (1) or less (-1); the price of those that it meets."""
        if self.result[2 * self.code[n] * self.units + self.unit[n]] < 0:
            return 0
        return self.share(self.tile[self.unit[n]] * self.interval + self.slot(self.done(n)), change)

    @cython.locals(i=cython.int)
    def lift(self, p: cython.int) -> cython.int:
        """Free what a value claims; its price."""
        price: cython.int = self.paid[p]
        for i in range(self.number[p]):
            price += AGAIN + self.share(self.spot[MOST * p + i], -1)
        self.number[p] = 0
        for i in range(3 * MOST * p, 3 * (MOST * p + self.stays[p]), 3):
            price += self.fill(self.stay[i], self.stay[i + 1] + 1, self.stay[i + 2], -1)
        self.stays[p] = 0
        return price

    def hold(self, p: cython.int, q: cython.int, cycle: cython.int) -> cython.int:
        """Have a value in a tile's output in a cycle; the price."""
        i: cython.int = self.number[p]
        if i == MOST:
            self.paid[p] += DEAR
            return DEAR
        k: cython.int = q * self.interval + self.slot(cycle)
        self.spot[MOST * p + i] = k
        self.cycle[MOST * p + i] = cycle
        self.number[p] = i + 1
        self.owner[k] = p
        return AGAIN + self.share(k, 1)

    @cython.locals(_=cython.int, k=cython.int)
    def fill(self, q: cython.int, first: cython.int, last: cython.int, change: cython.int) -> cython.int:
        """Have a word more or less in a tile's own registers in some cycles; the price."""
        price: cython.int = 0
        if last < first:
            return price
        end: cython.int = (q + 1) * self.interval
        k = q * self.interval + self.slot(first)
        for _ in range(first, last + 1):
            self.full[k] += change
            if self.full[k] + (change < 0) > self.room:
                price += DEAR
                self.clashes += change
            k += 1
            if k == end:
                k -= self.interval
        return price

    @cython.locals(i=cython.int)
    def wait(self, p: cython.int, q: cython.int, since: cython.int, until: cython.int) -> cython.int:
        """Keep a value that was in a tile's output in registers of the tile; the price."""
        if until <= since:
            return 0
        end: cython.int = 3 * (MOST * p + self.stays[p])
        for i in range(3 * MOST * p, end, 3):
            if self.stay[i] == q and self.stay[i + 1] == since:
                price: cython.int = self.fill(q, self.stay[i + 2] + 1, until, 1)
                self.stay[i + 2] = max(self.stay[i + 2], until)
                return price
        if self.stays[p] == MOST:
            self.paid[p] += DEAR
            return DEAR
        self.stay[end] = q
        self.stay[end + 1] = since
        self.stay[end + 2] = until
        self.stays[p] += 1
        return self.fill(q, since + 1, until, 1)

    @cython.locals(i=cython.int, j=cython.int, e=cython.int, q=cython.int, t=cython.int, far=cython.int)
    def lay(self, p: cython.int, most: cython.int) -> cython.int:
        """Bring a value to its readers, one by one, until the price is more than `most`; the price."""
        here: cython.int = self.tile[self.unit[p]]
        done: cython.int = self.done(p)
        longest: cython.int = 0
        late: cython.int = 0
        home: cython.int = 0
        wanted: cython.int = 0
        for i in range(self.out_at[p], self.out_at[p + 1]):
            e = self.outs[i]
            q = self.tile[self.unit[self.target[e]]]
            t = self.start[self.target[e]] + self.distance[e] * self.interval - done
            far = self.apart[here * self.tiles + q]
            if t < far or t > LAYERS:
                late += DEAR * min(max(far - t, t - LAYERS), 1000)
                continue
            longest = max(longest, t)
            if q == here and t <= self.interval:
                home = max(home, t)
                continue
            if t == 0:
                continue
            j = wanted
            while j > 0 and self.want[2 * j - 2] > t:
                self.want[2 * j] = self.want[2 * j - 2]
                self.want[2 * j + 1] = self.want[2 * j - 1]
                j -= 1
            self.want[2 * j] = t
            self.want[2 * j + 1] = q
            wanted += 1
        price: cython.int = late + WAIT * longest
        self.paid[p] = price
        price += self.wait(p, here, done, done + home)
        for i in range(wanted):
            t = self.want[2 * i]
            q = self.want[2 * i + 1]
            far = self.there(p, done, q, t)
            price += far if far >= 0 else self.bring(p, done, q, t, most - price)
            if price > most:
                return price
        return price

    @cython.locals(i=cython.int, q=cython.int, t=cython.int)
    def there(self, p: cython.int, done: cython.int, reader: cython.int, when: cython.int) -> cython.int:
        """The price of reading a value where it already is, so many cycles after it is made; -1: nowhere."""
        for i in range(self.number[p]):
            q = self.finder.at[self.spot[MOST * p + i]]
            t = self.cycle[MOST * p + i] - done
            if t == when and self.apart[q * self.tiles + reader] == 0:
                return 0
            if q == reader and when - self.interval <= t <= when:
                return self.wait(p, q, done + t, done + when)
        return -1

    @cython.locals(i=cython.int, t=cython.int, c=cython.int)
    def bring(
        self,
        p: cython.int,
        done: cython.int,
        reader: cython.int,
        when: cython.int,
        most: cython.int,
    ) -> cython.int:
        """Bring a value where a tile can read it in a cycle, the cheapest way; the price.

        If that is more than `most`, nothing is claimed.
        """
        finder: Finder = self.finder
        finder.begin()
        finder.add(self.tile[self.unit[p]], 0)
        for i in range(self.number[p]):
            t = self.cycle[MOST * p + i] - done
            if t <= when:
                finder.add(finder.at[self.spot[MOST * p + i]], t)
        price: cython.int = FARTHEST * AGAIN
        if most < 0 or finder.find(reader, self.slot(done), when, min(most, price) // AGAIN) < 0:
            if most < price:
                return most + 1
            self.paid[p] += price
            return price
        price = 0
        if finder.tile[0] == reader:
            price += self.wait(p, reader, done + finder.cycle[0], done + when)
        for i in range(finder.steps):
            c = done + finder.cycle[i] - 1
            price += self.hold(p, finder.tile[i], c + 1)
            if finder.tile[i] == finder.tile[i + 1]:
                price += self.wait(p, finder.tile[i], done + finder.cycle[i + 1], c)
        return price

    @cython.locals(i=cython.int)
    def take(self, p: cython.int) -> cython.int:
        """Free what a value claims, and remember it; its price. Nothing if that was done in this move."""
        if p < 0 or self.seen[p] == self.stamp:
            return 0
        self.seen[p] = self.stamp
        self.touch[self.touched] = p
        self.touched += 1
        self.old_number[p] = self.number[p]
        self.old_paid[p] = self.paid[p]
        for i in range(MOST * p, MOST * p + self.number[p]):
            self.old_spot[i] = self.spot[i]
            self.old_cycle[i] = self.cycle[i]
        self.old_stays[p] = self.stays[p]
        for i in range(3 * MOST * p, 3 * (MOST * p + self.stays[p])):
            self.old_stay[i] = self.stay[i]
        return self.lift(p)

    @cython.locals(i=cython.int)
    def take_all(self, n: cython.int) -> cython.int:
        """The same for what a node makes and reads."""
        price: cython.int = self.take(n)
        for i in range(self.in_at[n], self.in_at[n + 1]):
            price += self.take(self.source[self.ins[i]])
        return price

    @cython.locals(i=cython.int, k=cython.int, p=cython.int)
    def take_back(self) -> cython.void:
        """Claim again what was remembered."""
        for k in range(self.touched):
            p = self.touch[k]
            self.number[p] = self.old_number[p]
            self.paid[p] = self.old_paid[p]
            for i in range(MOST * p, MOST * p + self.number[p]):
                self.spot[i] = self.old_spot[i]
                self.cycle[i] = self.old_cycle[i]
                self.share(self.spot[i], 1)
                self.owner[self.spot[i]] = p
            self.stays[p] = self.old_stays[p]
            for i in range(3 * MOST * p, 3 * (MOST * p + self.stays[p])):
                self.stay[i] = self.old_stay[i]
            for i in range(3 * MOST * p, 3 * (MOST * p + self.stays[p]), 3):
                self.fill(self.stay[i], self.stay[i + 1] + 1, self.stay[i + 2], 1)

    @cython.locals(i=cython.int)
    def in_way(self, n: cython.int) -> cython.int:
        """Free the value that claims the slot of a node's result, if one does; its price."""
        k: cython.int = self.tile[self.unit[n]] * self.interval + self.slot(self.done(n))
        p: cython.int = self.owner[k]
        if p < 0 or self.held[k] < 2 or self.seen[p] == self.stamp:
            return 0
        for i in range(MOST * p, MOST * p + self.number[p]):
            if self.spot[i] == k:
                return self.take(p)
        return 0

    @cython.locals(i=cython.int, e=cython.int, q=cython.int, t=cython.int, far=cython.int)
    def least(self, p: cython.int) -> cython.int:
        """What laying a value costs at least: the cycles that readers are too early or too late, those that
        it lives, and the steps to the reader that is farthest, if no word is in the way."""
        here: cython.int = self.tile[self.unit[p]]
        done: cython.int = self.done(p)
        late: cython.int = 0
        longest: cython.int = 0
        steps: cython.int = 0
        for i in range(self.out_at[p], self.out_at[p + 1]):
            e = self.outs[i]
            q = self.tile[self.unit[self.target[e]]]
            t = self.start[self.target[e]] + self.distance[e] * self.interval - done
            far = self.apart[here * self.tiles + q]
            if t < far or t > LAYERS:
                late += min(max(far - t, t - LAYERS), 1000)
                continue
            longest = max(longest, t)
            if t > (self.interval if q == here else far):
                far += 1  # a word that is where it is read too soon goes on, or takes another slot
            steps = max(steps, far)
        return DEAR * late + WAIT * longest + AGAIN * min(steps, FARTHEST)

    @cython.locals(k=cython.int, rest=cython.int)
    def lay_all(self, change: cython.int, most: cython.int) -> cython.int:
        """Lay all that was taken, until the change is sure to be more than `most`; the change with that."""
        rest = 0
        for k in range(self.touched):
            self.floor[k] = self.least(self.touch[k])
            rest += self.floor[k]
            if change + rest > most:
                return change + rest
        for k in range(self.touched):
            rest -= self.floor[k]
            change += self.lay(self.touch[k], most - rest - change)
            if change + rest > most:
                return change + rest
        return change

    @cython.locals(k=cython.int)
    def lift_all(self) -> cython.void:
        """Free what was laid."""
        for k in range(self.touched):
            self.lift(self.touch[k])

    @cython.locals(i=cython.int)
    def whereabouts(self, p: cython.int) -> list[tuple[int, int, int, bool]]:
        """Where a value is: a tile, the first and the last cycle, and whether in the tile's own registers."""
        found = []
        for i in range(3 * MOST * p, 3 * (MOST * p + self.stays[p]), 3):
            found.append((self.stay[i], self.stay[i + 1] + 1, self.stay[i + 2], True))
        if self.result[2 * self.code[p] * self.units + self.unit[p]] >= 0:
            found.append((self.tile[self.unit[p]], self.done(p), self.done(p), False))
        for i in range(MOST * p, MOST * p + self.number[p]):
            found.append((self.finder.at[self.spot[i]], self.cycle[i], self.cycle[i], False))
        return found

    @cython.locals(p=cython.int)
    def late(self) -> cython.bint:
        """Whether a reader is too early or too late, or a word has found no way."""
        p = 0
        while p < self.nodes and self.paid[p] < DEAR:
            p += 1
        return p < self.nodes

    def conflicts(self) -> int:
        """How many slots are shared, and readers too early."""
        found = sum(max(0, k - 1) for k in self.held) + sum(max(0, k - self.room) for k in self.full)
        return found + sum(price >= DEAR for price in self.paid)
