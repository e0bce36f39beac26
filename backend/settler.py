# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""Annealing of places, times and ways at once, where words leave tiles through one register alone.

There, a word on its way takes the slot of an operation's result, and a graph that nearly fills the array has
few mappings: whether a place is good shows only with the ways that it leaves. So each move of an operation
lays the words that it makes and reads anew (`words.py`). A state without conflicts is a mapping, if private
registers, of which the most at once are counted, can be given to all that waits.

Costs are integers in hundredths of a cycle, as in `anneal.py`, and so is how moves are picked. Types are in
`settler.pxd`. Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import cython
from cython.cimports.libc.math import log

from .words import Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .finder import Ways
    from .flat import Problem

FAR = cython.declare(cython.int, 1 << 19)
FEW = cython.declare(cython.int, 4)  # on so many tiles nearly all is in the way of what shares a slot
MASK = cython.declare(cython.ulonglong, (1 << 64) - 1)  # in words of C, as in anneal.py
FACTOR = cython.declare(cython.ulonglong, 0x2545F4914F6CDD1D)


class Settler:
    """The placement of one problem at one initiation interval, with the ways of its words."""

    def __init__(
        self, problem: Problem, interval: int, seed: int, places: tuple[Sequence[int], ...], ways: Ways
    ) -> None:
        t = problem.terrain
        self.interval, self.units, self.tiles = interval, t.units, t.tiles
        self.nodes, self.streams = problem.nodes, problem.streams
        self.seed = (seed * 0x9E3779B97F4A7C15 + 0x1234567) & 0xFFFFFFFFFFFFFFFF
        self.code, self.latency = problem.code, problem.latency
        self.source, self.target, self.distance = problem.source, problem.target, problem.distance
        self.in_at, self.ins = problem.in_at, problem.ins
        self.out_at, self.outs = problem.out_at, problem.outs
        self.before, self.after, self.order_distance = problem.before, problem.after, problem.order_distance
        self.delay, self.orders_at, self.orders = problem.delay, problem.orders_at, problem.orders
        self.kind, self.near_at, self.near = problem.kind, problem.near_at, problem.near
        self.group, self.bank, self.tile, self.apart = problem.group, problem.bank, t.tile, ways.apart
        unit, start, home = (array("i", some) for some in places)
        self.unit, self.start, self.home = unit, start, home
        self.head, self.count = (array("i", [k]) * (t.units * interval) for k in (-1, 0))
        self.following = array("i", [-1]) * (problem.nodes + 1)
        self.words = Words(problem, interval, ways, unit, start)
        self.dear = self.words.dear
        for n in range(self.nodes):
            self.put(n, self.unit[n], self.start[n])
        for n in range(self.nodes):
            self.words.lay(n, FAR << 8)

    def random(self, below: cython.int) -> cython.int:
        """A number in [0, below): xorshift64*."""
        x: cython.ulonglong = self.seed
        x ^= x >> 12
        x ^= (x << 25) & MASK
        x ^= x >> 27
        self.seed = x
        x = (x * FACTOR) & MASK
        return cython.cast(cython.int, cython.cast(cython.uint, x >> 33) % cython.cast(cython.uint, below))

    def put(self, n: cython.int, unit: cython.int, start: cython.int) -> cython.int:
        """Put a node somewhere; the price of the conflicts that this adds."""
        self.unit[n] = unit
        self.start[n] = start
        k: cython.int = unit * self.interval + self.words.slot(start)
        price: cython.int = self.dear * self.count[k]
        if price > 0:
            self.words.clashes += 1
        self.following[n] = self.head[k]
        self.head[k] = n
        self.count[k] += 1
        return price + self.words.claim(n, 1)

    def remove(self, n: cython.int) -> cython.int:
        """Take a node away; the price of the conflicts that this ends."""
        k: cython.int = self.unit[n] * self.interval + self.words.slot(self.start[n])
        m: cython.int = self.head[k]
        if m == n:
            self.head[k] = self.following[n]
        else:
            while self.following[m] != n:
                m = self.following[m]
            self.following[m] = self.following[n]
        self.count[k] -= 1
        if self.count[k] > 0:
            self.words.clashes -= 1
        return self.dear * self.count[k] + self.words.claim(n, -1)

    def fits(self, n: cython.int, u: cython.int) -> cython.bint:
        """Whether a node can be on a unit while the groups stay where they are."""
        if self.latency[self.code[n] * self.units + u] == 0:
            return False
        g: cython.int = self.group[n]
        return g < 0 or self.home[g] == (u if g < self.streams else self.bank[u])

    @cython.locals(k=cython.int, u=cython.int, _=cython.int)
    def pick_unit(self, n: cython.int, reach: cython.int) -> cython.int:
        """A unit for a node, near a neighbour of it or near where it is; -1 if none was found."""
        around: cython.int = self.unit[n]
        inputs: cython.int = self.in_at[n + 1] - self.in_at[n]
        outputs: cython.int = self.out_at[n + 1] - self.out_at[n]
        if inputs + outputs > 0 and self.random(4) != 0:
            k = self.random(inputs + outputs)
            if k < inputs:
                around = self.unit[self.source[self.ins[self.in_at[n] + k]]]
            else:
                around = self.unit[self.target[self.outs[self.out_at[n] + k - inputs]]]
        g: cython.int = self.group[n]
        if 0 <= g < self.streams:
            return self.unit[n]
        row: cython.int = self.kind[n] * (self.units + 1) + around
        size: cython.int = self.near_at[row + 1] - self.near_at[row]
        if size > reach and g < 0:
            size = reach
        for _ in range(4 if g < 0 else 24):
            u = self.near[self.near_at[row] + self.random(size)]
            if self.fits(n, u):
                return u
        return -1 if g < 0 else self.unit[n]

    def ready(self, e: cython.int) -> cython.int:
        """The first cycle of the consumer's iteration in which edge e can have brought its value."""
        p: cython.int = self.source[e]
        far: cython.int = self.apart[
            self.tile[self.unit[p]] * self.tiles + self.tile[self.unit[self.target[e]]]
        ]
        return self.words.done(p) + far - self.distance[e] * self.interval

    @cython.locals(i=cython.int, e=cython.int, t=cython.int, width=cython.int)
    def pick_start(self, n: cython.int) -> cython.int:
        """A start for a node on its present unit: in its window, or between the ends that cross."""
        low: cython.int = -FAR
        high: cython.int = FAR
        for i in range(self.in_at[n], self.in_at[n + 1]):
            e = self.ins[i]
            if self.source[e] != n:
                low = max(low, self.ready(e))
        for i in range(self.out_at[n], self.out_at[n + 1]):
            e = self.outs[i]
            if self.target[e] != n:
                high = min(high, self.start[self.target[e]] - self.ready(e) + self.start[n])
        for i in range(self.orders_at[n], self.orders_at[n + 1]):
            e = self.orders[i]
            if self.before[e] == self.after[e]:
                continue
            t = self.delay[e] - self.order_distance[e] * self.interval
            if self.after[e] == n:
                low = max(low, self.start[self.before[e]] + t)
            else:
                high = min(high, self.start[self.after[e]] - t)
        if low == -FAR and high == FAR:
            return self.start[n] + self.random(self.interval)
        if low == -FAR:
            return high - self.random(self.interval)
        if high == FAR:
            return low + self.random(self.interval)
        if low > high:
            return high - 1 + self.random(min(low - high, 64) + 3)
        width = min(high - low + 1, self.interval + 4)
        return low + self.random(width) if self.random(2) == 0 else high - self.random(width)

    @cython.locals(i=cython.int, e=cython.int, lack=cython.int)
    def order_cost(self, n: cython.int, other: cython.int) -> cython.int:
        """The price of the cycles that orders at a node lack, but of those with another node."""
        price: cython.int = 0
        for i in range(self.orders_at[n], self.orders_at[n + 1]):
            e = self.orders[i]
            if self.before[e] == other or self.after[e] == other:
                continue
            lack = (
                self.start[self.before[e]]
                + self.delay[e]
                - self.start[self.after[e]]
                - self.order_distance[e] * self.interval
            )
            if lack > 0:
                price += self.dear * min(lack, 1000)
        return price

    def most(self, temperature: cython.double) -> cython.int:
        """What a move may cost: the criterion of Metropolis, with its random number drawn first.

        So ways need not be found that cost more, which is what most moves fail at.
        """
        if temperature <= 0.0:
            return 0
        return cython.cast(cython.int, -log((self.random(1 << 30) + 0.5) / (1 << 30)) * temperature)

    def move_node(self, n: cython.int, reach: cython.int, temperature: cython.double) -> cython.bint:
        """Try one move of a node, with the node in its way taking its place."""
        old_unit: cython.int = self.unit[n]
        old_start: cython.int = self.start[n]
        u: cython.int = self.pick_unit(n, reach)
        if u < 0:
            return False
        self.unit[n] = u
        s: cython.int = self.pick_start(n)
        self.unit[n] = old_unit
        if u == old_unit and s == old_start:
            return False
        w: cython.int = self.head[u * self.interval + self.words.slot(s)]
        if w == n or (w >= 0 and not self.fits(w, old_unit)):
            w = -1
        most: cython.int = self.most(temperature)
        swap: cython.bint = w >= 0
        other_start: cython.int = self.start[w] if swap else 0
        self.words.stamp += 1
        self.words.touched = 0
        change: cython.int = -self.words.take_all(n) - self.order_cost(n, -1)
        if swap:
            change -= self.words.take_all(w) + self.order_cost(w, n)
            change -= self.remove(w)
        change -= self.remove(n)
        if swap:
            shift: cython.int = self.words.slot(old_start - other_start)
            if 2 * shift > self.interval or (2 * shift == self.interval and self.random(2) == 0):
                shift -= self.interval
            change += self.put(w, old_unit, other_start + shift)
        change += self.put(n, u, s) + self.order_cost(n, -1)
        if swap:
            change += self.order_cost(w, n)
        change -= self.words.in_way(n)
        if swap:
            change -= self.words.in_way(w)
        change = self.words.lay_all(change, most)
        if change <= most:
            return True
        self.words.lift_all()
        self.remove(n)
        if swap:
            self.remove(w)
            self.put(w, u, other_start)
        self.put(n, old_unit, old_start)
        self.words.take_back()
        return False

    def move_value(self, p: cython.int, temperature: cython.double) -> cython.bint:
        """Lay a value anew."""
        if self.words.number[p] == 0:
            return False
        self.words.stamp += 1
        self.words.touched = 0
        most: cython.int = self.most(temperature)
        change: cython.int = -self.words.take(p)
        change += self.words.lay(p, most - change)
        if change <= most:
            return True
        self.words.lift_all()
        self.words.take_back()
        return False

    @cython.locals(_=cython.longlong, n=cython.int)
    def cool(self, moves: cython.longlong, reach: cython.int, temperature: cython.double) -> int:
        """Try `moves` moves at a temperature, in hundredths of a cycle; the conflicts there are then.

        It ends with the first state that has none: at a temperature that makes some again at once there are
        such states, too, long before there is hardly any other.
        """
        moved: cython.bint
        for _ in range(moves if self.nodes else 0):
            n = self.random(self.nodes)
            if self.tiles > FEW and self.words.shared > 0 and self.random(4) == 0:
                n = self.sharer(n)
            if self.random(8) == 0:
                moved = self.move_value(n, temperature)
            else:
                moved = self.move_node(n, reach, temperature)
            if moved and self.words.clashes == 0 and self.clear():
                return 0
        return self.conflicts()

    def sharer(self, n: cython.int) -> cython.int:
        """A node whose value shares a slot, or one that reads it; `n`, where that is not known."""
        p: cython.int = self.words.owner[self.words.sore[self.random(self.words.shared)]]
        if p < 0:
            return n
        some: cython.int = self.out_at[p + 1] - self.out_at[p]
        if some == 0 or self.random(2) == 0:
            return p
        return self.target[self.outs[self.out_at[p] + self.random(some)]]

    @cython.locals(n=cython.int)
    def clear(self) -> cython.bint:
        """Whether nothing is too early or too late; with no clashes, nothing is in conflict then."""
        n = 0
        while n < self.nodes and self.order_cost(n, -1) <= 0:
            n += 1
        return n == self.nodes and not self.words.late()

    def conflicts(self) -> int:
        """How many slots are shared, and readers and orders too early."""
        found: int = self.words.conflicts() + sum(max(0, k - 1) for k in self.count)
        return found + sum(self.order_cost(n, -1) > 0 for n in range(self.nodes))

    def places(self) -> tuple[list[int], list[int], list[int]]:
        """Units, starts and homes as found."""
        return list(self.unit), list(self.start), list(self.home)

    def whereabouts(self) -> list[list[tuple[int, int, int, bool]]]:
        """For each node where what it makes is: a tile, the first and the last cycle, and whether in the
        tile's own registers."""
        return [self.words.whereabouts(n) for n in range(self.nodes)]
