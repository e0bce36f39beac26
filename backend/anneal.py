# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""Placement in space and time by simulated annealing.

A move gives a node another unit and start; a node in the way takes the place that became free. Groups of
nodes move as a whole (groups.py). Costs are integers in hundredths of a cycle: the length of each edge's
shortest way, a tenth of what it has to wait besides, a quarter of each value's life, a price for each value
that leaves its tile (the fewer ways lead out the dearer), and one for each lacking cycle and shared slot.
Where words leave tiles through one register alone, which the next result overwrites, the slots are shared
with values that neighbours read later (see `hold`); two words of a memory may share a way (`pair_cost`).

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import cython
from cython.cimports.libc.math import exp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .flat import Problem
    from .groups import Groups

SHARED = cython.declare(cython.int, 1500)
WAIT = cython.declare(cython.int, 25)
EACH = cython.declare(cython.int, 10)
HOP = cython.declare(cython.int, 100)
LEAVE = cython.declare(cython.int, 120)
NEVER = cython.declare(cython.int, 1 << 19)
# The price of a value that is again in the register through which words leave its tile, and of each tile
# farther than a neighbour that it has to get to.
AGAIN = cython.declare(cython.int, 100)
FARTHER = cython.declare(cython.int, 150)
FARTHEST = cython.declare(cython.int, 255)  # as in terrain.py
MASK = cython.declare(cython.ulonglong, (1 << 64) - 1)  # in words of C: Python's product handles signals
FACTOR = cython.declare(cython.ulonglong, 0x2545F4914F6CDD1D)
LAST = cython.declare(cython.int, 62)  # later cycles count as this one


@cython.final
@cython.cclass
class Annealer:
    """The placement of one problem at one initiation interval."""

    interval: cython.int
    units: cython.int
    ports: cython.int
    resources: cython.int
    nodes: cython.int
    groups: cython.int
    streams: cython.int
    order_count: cython.int
    seed: cython.ulonglong
    stamp: cython.int
    late: cython.int
    leave: cython.int
    overwritten: cython.bint
    sign: cython.int
    code: cython.int[::1]
    latency: cython.int[::1]
    result: cython.int[::1]
    source: cython.int[::1]
    target: cython.int[::1]
    distance: cython.int[::1]
    position: cython.int[::1]
    output: cython.int[::1]
    in_at: cython.int[::1]
    ins: cython.int[::1]
    out_at: cython.int[::1]
    outs: cython.int[::1]
    before: cython.int[::1]
    after: cython.int[::1]
    order_distance: cython.int[::1]
    delay: cython.int[::1]
    orders_at: cython.int[::1]
    orders: cython.int[::1]
    kind: cython.int[::1]
    near_at: cython.int[::1]
    near: cython.int[::1]
    gap: cython.int[::1]
    hops: cython.uchar[::1]
    outlets: cython.int
    outlet: cython.int[::1]
    operand_basin: cython.int[::1]
    group: cython.int[::1]
    bank: cython.int[::1]
    home: cython.int[::1]
    tile: cython.int[::1]
    unit: cython.int[::1]
    start: cython.int[::1]
    head: cython.int[::1]
    following: cython.int[::1]
    leading: cython.int[::1]
    count: cython.int[::1]
    results: cython.int[::1]
    seen: cython.int[::1]
    net_seen: cython.int[::1]
    order_seen: cython.int[::1]
    pairs: cython.int[::1]

    def __init__(self, problem: Problem, interval: int, seed: int, places: tuple[Sequence[int], ...]) -> None:
        t = problem.terrain
        self.interval, self.units, self.resources, self.ports = interval, t.units, t.resources, t.ports
        self.nodes, self.groups, self.streams = problem.nodes, problem.groups, problem.streams
        self.seed = (seed * 0x9E3779B97F4A7C15 + 0x1234567) & 0xFFFFFFFFFFFFFFFF
        self.late, self.leave = SHARED, LEAVE * t.tiles // t.ways_out if t.ways_out else 0
        self.overwritten, self.stamp, self.sign = t.overwritten, 0, 1
        self.code, self.latency, self.result = problem.code, problem.latency, problem.result
        self.source, self.target, self.distance = problem.source, problem.target, problem.distance
        self.position, self.output = problem.position, problem.output
        self.in_at, self.ins = problem.in_at, problem.ins
        self.out_at, self.outs = problem.out_at, problem.outs
        self.before, self.after, self.order_distance = problem.before, problem.after, problem.order_distance
        self.delay, self.orders_at, self.orders = problem.delay, problem.ties_at, problem.ties
        self.order_count, self.pairs = len(problem.before), problem.pairs
        self.kind, self.near_at, self.near = problem.kind, problem.near_at, problem.near
        self.gap, self.hops, self.tile, self.outlets = t.gap, t.hops, t.tile, len(t.outlets)
        self.outlet = array("i", [t.outlet_of[r] if r >= 0 else -1 for r in problem.result])
        self.operand_basin = array("i", [t.basin[o] if o >= 0 else -1 for o in t.unit_operands])
        self.group, self.bank = problem.group, problem.bank
        self.unit, self.start, self.home = (array("i", some) for some in places)
        slots = t.units * interval
        self.head = array("i", [-1]) * slots
        self.following, self.leading = (array("i", [-1]) * (problem.nodes + 1) for _ in range(2))
        self.count = array("i", [0]) * slots
        self.results = array("i", [0]) * (t.resources * interval)
        sizes = len(problem.source), problem.nodes, len(problem.before) + len(problem.pairs) // 2
        self.seen, self.net_seen, self.order_seen = (array("i", [0]) * (size + 1) for size in sizes)
        for n in range(self.nodes):
            self.insert(n)
        if self.overwritten:
            for n in range(self.nodes):
                self.hold(n)

    @cython.ccall
    def random(self, below: cython.int) -> cython.int:
        """A number in [0, below): xorshift64*."""
        x: cython.ulonglong = self.seed
        x ^= x >> 12
        x ^= (x << 25) & MASK
        x ^= x >> 27
        self.seed = x
        x = (x * FACTOR) & MASK
        # Of 32 bits, as a division of 64 takes several times as long.
        return cython.cast(cython.int, cython.cast(cython.uint, x >> 33) % cython.cast(cython.uint, below))

    @cython.cfunc
    def slot(self, cycle: cython.int) -> cython.int:
        """The cycle modulo the interval, not negative."""
        r: cython.int = cycle % self.interval
        return r + self.interval if r < 0 else r

    @cython.ccall
    def insert(self, n: cython.int) -> cython.int:
        """Put a node at its place; the price of the conflicts that this adds."""
        k: cython.int = self.unit[n] * self.interval + self.slot(self.start[n])
        price: cython.int = SHARED * self.count[k]
        first: cython.int = self.head[k]
        self.following[n] = first
        self.leading[n] = -1
        if first >= 0:
            self.leading[first] = n
        self.head[k] = n
        self.count[k] += 1
        return price + self.claim(n, 1)

    @cython.cfunc
    def put(self, n: cython.int, unit: cython.int, start: cython.int) -> cython.int:
        """Put a node that was taken away somewhere; the price of the conflicts that this adds."""
        self.unit[n] = unit
        self.start[n] = start
        return self.insert(n)

    @cython.ccall
    def remove(self, n: cython.int) -> cython.int:
        """Take a node away; the price of the conflicts that this ends."""
        k: cython.int = self.unit[n] * self.interval + self.slot(self.start[n])
        a: cython.int = self.leading[n]
        b: cython.int = self.following[n]
        if a < 0:
            self.head[k] = b
        else:
            self.following[a] = b
        if b >= 0:
            self.leading[b] = a
        self.count[k] -= 1
        return SHARED * self.count[k] + self.claim(n, -1)

    @cython.cfunc
    def claim(self, n: cython.int, change: cython.int) -> cython.int:
        """Count a node's result once more (1) or less (-1); the price of those that it meets."""
        r: cython.int = self.result[2 * self.code[n] * self.units + self.unit[n]]
        return self.share(r * self.interval + self.slot(self.done(n)), change) if r >= 0 else 0

    @cython.cfunc
    def share(self, k: cython.int, change: cython.int) -> cython.int:
        """Count a word once more or less in a slot of a result; the price of those that it meets."""
        self.results[k] += min(change, 0)
        price: cython.int = SHARED * self.results[k]
        self.results[k] += max(change, 0)
        return price

    @cython.cfunc
    def done(self, n: cython.int) -> cython.int:
        """The cycle in which a node's result is there."""
        return self.start[n] + self.latency[self.code[n] * self.units + self.unit[n]] - 1

    @cython.cfunc
    def away(self, e: cython.int) -> cython.int:
        """The fewest cycles that edge e's value needs on its way."""
        p: cython.int = self.source[e]
        k: cython.int = (2 * self.code[p] + self.output[e]) * self.units + self.unit[p]
        basin: cython.int = self.operand_basin[self.ports * self.unit[self.target[e]] + self.position[e]]
        outlet: cython.int = self.outlet[k]
        if basin < 0 or outlet < 0:
            return NEVER
        hops: cython.int = self.hops[basin * self.outlets + outlet]
        return hops if hops < FARTHEST else min(self.gap[basin * self.resources + self.result[k]], NEVER)

    @cython.ccall
    def ready(self, e: cython.int) -> cython.int:
        """The first cycle of the consumer's iteration in which edge e can have brought its value."""
        return self.done(self.source[e]) + self.away(e) - self.distance[e] * self.interval

    @cython.cfunc
    def edge_cost(self, e: cython.int) -> cython.int:
        """The cost of one edge."""
        slack: cython.int = self.start[self.target[e]] - self.ready(e)
        if slack >= 0:
            return HOP * self.away(e) + EACH * slack
        return 100 + self.late * (-slack if slack > -1000 else 1000)

    @cython.cfunc
    @cython.locals(i=cython.int, e=cython.int, t=cython.int)
    def net_cost(self, p: cython.int) -> cython.int:
        """The price of a value's life and of leaving its tile, if this stamp has not counted it."""
        if self.net_seen[p] == self.stamp:
            return 0
        self.net_seen[p] = self.stamp
        longest: cython.int = 0
        price: cython.int = 0
        here: cython.int = self.tile[self.unit[p]]
        if self.out_at[p] == self.out_at[p + 1]:
            return 0
        for i in range(self.out_at[p], self.out_at[p + 1]):
            e = self.outs[i]
            t = self.start[self.target[e]] + self.distance[e] * self.interval
            if t > longest or i == self.out_at[p]:
                longest = t
            if self.tile[self.unit[self.target[e]]] != here:
                price = self.leave
        longest -= self.start[p]
        if self.overwritten:
            price += self.hold(p)
        return price + WAIT * longest if longest > 0 else price

    @cython.cfunc
    @cython.locals(i=cython.int, e=cython.int, span=cython.int, gap=cython.int, r=cython.int)
    def hold(self, p: cython.int) -> cython.int:
        """Claim (if `sign` is 1) or free the slots in which a value is again in its tile's output; the price.

        A neighbour reads it there in the cycle in which it is made; if later, it has to be kept there, or put
        there again in that cycle. Its own tile keeps it in registers of its own, which are many. Where in
        between a value is that goes farther is left open, but has a price.
        """
        u: cython.int = self.unit[p]
        here: cython.int = self.tile[u]
        done: cython.int = self.done(p)
        spans: cython.ulonglong = 0
        price: cython.int = 0
        for i in range(self.out_at[p], self.out_at[p + 1]):
            e = self.outs[i]
            if self.tile[self.unit[self.target[e]]] == here:
                continue
            span = self.start[self.target[e]] + self.distance[e] * self.interval - done
            gap = self.away(e)
            if span < gap or span == 0:
                continue
            if gap > 0:
                price += FARTHER * (gap + (span > gap))
                continue
            if (spans >> min(span, LAST)) & 1:
                continue
            spans |= cython.cast(cython.ulonglong, 1) << min(span, LAST)
            r = self.result[(2 * self.code[p] + self.output[e]) * self.units + u]
            price += AGAIN + self.share(r * self.interval + self.slot(done + span), self.sign)
        return price

    @cython.cfunc
    def pair_cost(self, k: cython.int) -> cython.int:
        """The price of two words that must take one way out of a memory's tile in the same cycle."""
        e: cython.int = self.pairs[k]
        n: cython.int = self.target[e]
        if self.start[n] != self.ready(e) or self.start[n] != self.ready(self.pairs[k + 1]):
            return 0
        return SHARED if self.tile[self.unit[n]] != self.tile[self.unit[self.source[e]]] else 0

    @cython.ccall
    @cython.locals(i=cython.int, e=cython.int)
    def node_cost(self, n: cython.int) -> cython.longlong:
        """The cost of the edges and orders at a node that this stamp has not counted."""
        cost: cython.longlong = self.net_cost(n)
        for i in range(self.in_at[n], self.in_at[n + 1]):
            e = self.ins[i]
            if self.seen[e] != self.stamp:
                self.seen[e] = self.stamp
                cost += self.edge_cost(e) + self.net_cost(self.source[e])
        for i in range(self.out_at[n], self.out_at[n + 1]):
            e = self.outs[i]
            if self.seen[e] != self.stamp:
                self.seen[e] = self.stamp
                cost += self.edge_cost(e)
        for i in range(self.orders_at[n], self.orders_at[n + 1]):
            e = self.orders[i]
            if self.order_seen[e] != self.stamp:
                self.order_seen[e] = self.stamp
                cost += self.order_cost(e)
        return cost

    @cython.cfunc
    def count_nodes(self, n: cython.int, w: cython.int, sign: cython.int) -> cython.longlong:
        """The cost of two nodes (w -1: one), whose values claim slots (sign 1) or free them (-1)."""
        self.begin(sign)
        cost: cython.longlong = self.node_cost(n)
        return cost + self.node_cost(w) if w >= 0 else cost

    @cython.cfunc
    def order_cost(self, e: cython.int) -> cython.int:
        """The price of the cycles that an order lacks, or of a pair, whose numbers follow those of orders."""
        if e >= self.order_count:
            return self.pair_cost(2 * (e - self.order_count))
        lack: cython.int = (
            self.start[self.before[e]]
            + self.delay[e]
            - self.start[self.after[e]]
            - self.order_distance[e] * self.interval
        )
        return self.late * lack if lack > 0 else 0

    @cython.cfunc
    def fits(self, n: cython.int, u: cython.int) -> cython.bint:
        """Whether a node can be on a unit while the groups stay where they are."""
        if self.latency[self.code[n] * self.units + u] == 0:
            return False
        g: cython.int = self.group[n]
        return g < 0 or self.home[g] == (u if g < self.streams else self.bank[u])

    @cython.cfunc
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

    @cython.cfunc
    @cython.locals(i=cython.int, e=cython.int, t=cython.int, width=cython.int)
    def pick_start(self, n: cython.int) -> cython.int:
        """A start for a node on its present unit: in its window, or between the ends that cross."""
        low: cython.int = -NEVER
        high: cython.int = NEVER
        for i in range(self.in_at[n], self.in_at[n + 1]):
            e = self.ins[i]
            if self.source[e] != n:
                t = self.ready(e)
                if low < t < NEVER // 2:
                    low = t
        for i in range(self.out_at[n], self.out_at[n + 1]):
            e = self.outs[i]
            if self.target[e] != n:
                t = self.start[self.target[e]] - self.ready(e) + self.start[n]
                if -NEVER // 2 < t < high:
                    high = t
        for i in range(self.orders_at[n], self.orders_at[n + 1]):
            e = self.orders[i]
            if e >= self.order_count or self.before[e] == self.after[e]:
                continue
            t = self.delay[e] - self.order_distance[e] * self.interval
            if self.after[e] == n:
                low = max(low, self.start[self.before[e]] + t)
            else:
                high = min(high, self.start[self.after[e]] - t)
        if low == -NEVER and high == NEVER:
            return self.start[n] + self.random(self.interval)
        if low == -NEVER:
            return high - self.random(self.interval)
        if high == NEVER:
            return low + self.random(self.interval)
        if low > high:
            return high - 1 + self.random(min(low - high, 64) + 3)
        width = min(high - low + 1, self.interval + 4)
        return low + self.random(width) if self.random(2) == 0 else high - self.random(width)

    @cython.ccall
    def accept(self, change: cython.longlong, temperature: cython.double) -> cython.bint:
        """The criterion of Metropolis."""
        if change <= 0:
            return True
        if temperature <= 0.0 or change > 12.0 * temperature:
            return False
        return self.random(1 << 30) < exp(-change / temperature) * (1 << 30)

    @cython.cfunc
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
        w: cython.int = self.head[u * self.interval + self.slot(s)]
        if w == n or w < 0 or not self.fits(w, old_unit):
            w = -1
        swap: cython.bint = w >= 0
        other_start: cython.int = self.start[w] if swap else 0
        change: cython.longlong = -self.count_nodes(n, w, -1)
        if swap:
            change -= self.remove(w)
        change -= self.remove(n)
        if swap:
            shift: cython.int = self.slot(old_start - other_start)
            if 2 * shift > self.interval or (2 * shift == self.interval and self.random(2) == 0):
                shift -= self.interval
            change += self.put(w, old_unit, other_start + shift)
        change += self.put(n, u, s)
        change += self.count_nodes(n, w, 1)
        if self.accept(change, temperature):
            return True
        if self.overwritten:
            self.count_nodes(n, w, -1)
        self.remove(n)
        if swap:
            self.remove(w)
            self.put(w, u, other_start)
        self.put(n, old_unit, old_start)
        if self.overwritten:
            self.count_nodes(n, w, 1)
        return False

    @cython.ccall
    def begin(self, sign: cython.int) -> cython.void:
        """Count every edge, order and value again; values claim slots (sign 1) or free them (-1)."""
        self.stamp += 1
        self.sign = sign

    @cython.locals(_=cython.longlong)
    def cool(
        self,
        groups: Groups | None,
        moves: cython.longlong,
        reach: cython.int,
        late: cython.int,
        temperature: cython.double,
    ) -> None:
        """Try `moves` moves at a temperature, in hundredths of a cycle, to one of the nearest `reach` units,
        with a price of `late` for a lacking cycle."""
        self.late = late
        for _ in range(moves if self.nodes else 0):
            if groups is not None and self.groups > 0 and self.random(24) == 0:
                groups.move(self.random(self.groups), temperature)
            else:
                self.move_node(self.random(self.nodes), reach, temperature)

    def board(self) -> tuple[object, ...]:
        """The arrays of where things are, and of how much stands where, for moves of several at once."""
        return self.unit, self.start, self.home, self.count, self.results

    def places(self) -> tuple[list[int], list[int], list[int]]:
        """Units, starts and homes as found."""
        return list(self.unit), list(self.start), list(self.home)
