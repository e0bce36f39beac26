# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""Where an operation should go: the cheapest unit and start at the prices of the moment.

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from .flat import Board, Problem
    from .flood import Flood

MASK = cython.declare(cython.ulonglong, (1 << 64) - 1)  # in words of C: Python's product handles signals
FACTOR = cython.declare(cython.ulonglong, 0x2545F4914F6CDD1D)
FAR = cython.declare(cython.double, 1e9)
# Of an operation's edges, so many that leave it are flooded, and none that takes longer than so many cycles.
FLOODS = cython.declare(cython.int, 6)
PATIENT = cython.declare(cython.int, 10)
WIDEST = cython.declare(cython.int, 40)


@cython.final
@cython.cclass
class Relocation:
    """Chooses places for operations whose edges have been ripped."""

    flood: object
    interval: cython.int
    units: cython.int
    ports: cython.int
    resources: cython.int
    layers: cython.int
    streams: cython.int
    seed: cython.ulonglong
    wide: cython.int
    code: cython.int[::1]
    latency: cython.int[::1]
    result: cython.int[::1]
    source: cython.int[::1]
    target: cython.int[::1]
    distance: cython.int[::1]
    position: cython.int[::1]
    output: cython.int[::1]
    outputs: cython.int[::1]
    in_at: cython.int[::1]
    ins: cython.int[::1]
    out_at: cython.int[::1]
    outs: cython.int[::1]
    before: cython.int[::1]
    after: cython.int[::1]
    order_distance: cython.int[::1]
    order_delay: cython.int[::1]
    orders_at: cython.int[::1]
    orders: cython.int[::1]
    group: cython.int[::1]
    home: cython.int[::1]
    bank: cython.int[::1]
    kind: cython.int[::1]
    class_at: cython.int[::1]
    class_units: cython.int[::1]
    basin: cython.int[::1]
    plane: cython.int[::1]
    gap: cython.int[::1]
    unit_operands: cython.int[::1]
    unit: cython.int[::1]
    start: cython.int[::1]
    used: cython.int[::1]
    history: cython.double[::1]
    busy: cython.int[::1]
    weary: cython.double[::1]
    grudge: cython.double[::1]
    order_grudge: cython.double[::1]
    sums: cython.double[::1]

    def __init__(self, problem: Problem, board: Board, flood: Flood, seed: int) -> None:
        t = problem.terrain
        self.interval, self.units, self.resources = board.interval, t.units, t.resources
        self.ports = t.ports
        self.code, self.latency, self.result = problem.code, problem.latency, problem.result
        self.source, self.target, self.distance = problem.source, problem.target, problem.distance
        self.position, self.output = problem.position, problem.output
        self.flood = flood
        self.layers, self.streams, self.wide = board.layers, problem.streams, 0
        self.seed = (seed * 0x9E3779B97F4A7C15 + 0x7654321) & 0xFFFFFFFFFFFFFFFF
        self.outputs = problem.outputs
        self.in_at, self.ins = problem.in_at, problem.ins
        self.out_at, self.outs = problem.out_at, problem.outs
        self.before, self.after = problem.before, problem.after
        self.order_distance, self.order_delay = problem.order_distance, problem.delay
        self.orders_at, self.orders = problem.orders_at, problem.orders
        self.group, self.bank, self.home = problem.group, problem.bank, board.home
        self.kind, self.class_at, self.class_units = problem.kind, problem.class_at, problem.class_units
        self.basin, self.gap, self.plane, self.unit_operands = t.basin, t.gap, problem.plane, t.unit_operands
        self.unit, self.start = board.unit, board.start
        self.used, self.history, self.busy, self.weary = board.used, board.history, board.busy, board.weary
        self.grudge, self.order_grudge, self.sums = board.grudge, board.order_grudge, board.sums

    @cython.cfunc
    def random(self, below: cython.int) -> cython.int:
        """A number in [0, below): xorshift64*."""
        x: cython.ulonglong = self.seed
        x ^= x >> 12
        x ^= (x << 25) & MASK
        x ^= x >> 27
        self.seed = x
        x = (x * FACTOR) & MASK
        return cython.cast(cython.int, cython.cast(cython.uint, x >> 33) % cython.cast(cython.uint, below))

    @cython.cfunc
    def slot(self, cycle: cython.int) -> cython.int:
        """The cycle modulo the interval, not negative."""
        r: cython.int = cycle % self.interval
        return r + self.interval if r < 0 else r

    @cython.cfunc
    def done(self, n: cython.int) -> cython.int:
        """The cycle in which a node's result is there."""
        return self.start[n] + self.latency[self.code[n] * self.units + self.unit[n]] - 1

    @cython.cfunc
    def root(self, e: cython.int) -> cython.int:
        """The resource in which an edge's value appears."""
        p: cython.int = self.source[e]
        return self.result[(2 * self.code[p] + self.output[e]) * self.units + self.unit[p]]

    @cython.cfunc
    def goal(self, e: cython.int) -> cython.int:
        """The operand that an edge ends in."""
        return self.unit_operands[self.ports * self.unit[self.target[e]] + self.position[e]]

    @cython.cfunc
    @cython.locals(i=cython.int, e=cython.int, t=cython.int)
    def window(self, n: cython.int) -> cython.int:
        """The starts to look at for a node: the first one; `self.wide` says how many."""
        low: cython.int = -(1 << 20)
        high: cython.int = 1 << 20
        row: cython.int = self.class_at[self.kind[n]]
        least: cython.int = self.latency[self.code[n] * self.units + self.class_units[row]]
        for i in range(self.in_at[n], self.in_at[n + 1]):
            e = self.ins[i]
            if self.source[e] != n:
                t = self.done(self.source[e]) + 1 - self.distance[e] * self.interval
                low = t if t > low else low
        for i in range(self.out_at[n], self.out_at[n + 1]):
            e = self.outs[i]
            if self.target[e] != n:
                t = self.start[self.target[e]] + self.distance[e] * self.interval - least
                high = t if t < high else high
        for i in range(self.orders_at[n], self.orders_at[n + 1]):
            e = self.orders[i]
            if self.before[e] == self.after[e]:
                continue
            if self.after[e] == n:
                t = self.start[self.before[e]] + self.order_delay[e] - self.order_distance[e] * self.interval
                low = t if t > low else low
            else:
                t = self.start[self.after[e]] - self.order_delay[e] + self.order_distance[e] * self.interval
                high = t if t < high else high
        most: cython.int = self.interval + 6
        if most > WIDEST:
            most = WIDEST
        now: cython.int = self.start[n]
        if low < -(1 << 19) and high > (1 << 19):
            low = now - most // 2
            high = low + most - 1
        elif low < -(1 << 19):
            low = high - most + 1
        elif high > (1 << 19):
            high = low + most - 1
        if low > high:
            t = low
            low = high - 1
            high = t + 1
        if high - low + 1 > most:
            # Around the present start, inside the window.
            t = now - most // 2
            if t < low:
                t = low
            if t > high - most + 1:
                t = high - most + 1
            low = t
            high = t + most - 1
        self.wide = high - low + 1
        return low

    @cython.cfunc
    def allowed(self, n: cython.int, u: cython.int) -> cython.bint:
        """Whether a node may be on a unit, groups staying where they are."""
        g: cython.int = self.group[n]
        if g < 0:
            return True
        return self.home[g] == (u if g < self.streams else self.bank[u])

    @cython.cfunc
    @cython.locals(i=cython.int, e=cython.int, lack=cython.int)
    def order_price(self, n: cython.int, s: cython.int) -> cython.double:
        """The price of the orders that a start of n would break."""
        price: cython.double = 0.0
        for i in range(self.orders_at[n], self.orders_at[n + 1]):
            e = self.orders[i]
            lack = self.order_delay[e] - self.order_distance[e] * self.interval
            if self.before[e] != self.after[e]:
                lack += (
                    s - self.start[self.after[e]] if self.before[e] == n else self.start[self.before[e]] - s
                )
            if lack > 0:
                price += self.order_grudge[e] + 2.0 * lack
        return price

    @cython.cfunc
    @cython.locals(
        i=cython.int,
        k=cython.int,
        u=cython.int,
        r=cython.int,
        q=cython.int,
        avail=cython.int,
        need=cython.int,
    )
    def wait_price(
        self, e: cython.int, n: cython.int, first: cython.int, forward: cython.bint
    ) -> cython.void:
        """Like a flood, but only by distance: for edges that are long or many."""
        row: cython.int = self.class_at[self.kind[n]]
        code: cython.int = self.code[n]
        for i in range(self.class_at[self.kind[n] + 1] - row):
            u = self.class_units[row + i]
            if forward:
                r = self.root(e)
                q = self.unit_operands[self.ports * u + self.position[e]]
                avail = first + self.distance[e] * self.interval - self.done(self.source[e])
            else:
                r = self.result[(2 * code + self.output[e]) * self.units + u]
                q = self.goal(e)
                avail = (
                    self.start[self.target[e]]
                    + self.distance[e] * self.interval
                    - (first + self.latency[code * self.units + u] - 1)
                )
            need = 40 if r < 0 or q < 0 else self.gap[self.basin[self.plane[e] + q] * self.resources + r]
            for k in range(self.wide):
                if avail >= need:
                    self.sums[i * WIDEST + k] += 0.5 * need + 0.5 * avail
                else:
                    self.sums[i * WIDEST + k] += self.grudge[e] + 2.0 * (
                        need - avail if need - avail < 20 else 20
                    )
                avail += 1 if forward else -1

    @cython.cfunc
    @cython.exceptval(check=True)
    @cython.locals(i=cython.int, e=cython.int, a=cython.int, last=cython.int)
    def price_edges(self, n: cython.int, first: cython.int, radius: cython.int) -> cython.void:
        """Sum the prices of all edges of n over its units and the starts of the window."""
        row: cython.int = self.class_at[self.kind[n]]
        least: cython.int = self.latency[self.code[n] * self.units + self.class_units[row]]
        for i in range(self.in_at[n], self.in_at[n + 1]):
            e = self.ins[i]
            if self.source[e] == n:
                continue
            a = first + self.distance[e] * self.interval - self.done(self.source[e])
            last = a + self.wide - 1
            if a > PATIENT or last > self.layers or last < 0:
                self.wait_price(e, n, first, True)
            else:
                self.flood.forward(e, a, last, n, radius)
        floods: cython.int = 0
        many: cython.int = self.out_at[n + 1] - self.out_at[n]
        skip: cython.int = self.random(many) if many > FLOODS else 0
        for i in range(many):
            e = self.outs[self.out_at[n] + (i + skip) % many]
            if self.target[e] == n:
                continue
            last = self.start[self.target[e]] + self.distance[e] * self.interval - (first + least - 1)
            a = last - self.wide + 1
            if a > PATIENT or last > self.layers or last < 0 or floods >= FLOODS:
                self.wait_price(e, n, first, False)
            else:
                floods += 1
                self.flood.backward(e, a, last, n, radius)

    @cython.cfunc
    @cython.locals(i=cython.int, e=cython.int, r=cython.int, q=cython.int)
    def self_price(self, n: cython.int, u: cython.int) -> cython.double:
        """The price of a node's edges to itself on a unit: all or nothing."""
        price: cython.double = 0.0
        for i in range(self.in_at[n], self.in_at[n + 1]):
            e = self.ins[i]
            if self.source[e] == n:
                r = self.result[(2 * self.code[n] + self.output[e]) * self.units + u]
                q = self.unit_operands[self.ports * u + self.position[e]]
                if (
                    r < 0
                    or q < 0
                    or self.gap[self.basin[self.plane[e] + q] * self.resources + r]
                    > self.distance[e] * self.interval - self.latency[self.code[n] * self.units + u] + 1
                ):
                    price += 2.0 * self.grudge[e]
        return price

    @cython.locals(
        i=cython.int,
        k=cython.int,
        price=cython.double,
        fixed=cython.double,
        u=cython.int,
        at=cython.int,
        r=cython.int,
        out=cython.int,
    )
    def choose(self, n: cython.int, present: cython.double) -> tuple[int, int]:
        """The cheapest unit and start for a node, `present` being the price of sharing."""
        first: cython.int = self.window(n)
        # Mostly near where it is now.
        radius: cython.int = 3 if self.random(4) else 1 << 20
        row: cython.int = self.class_at[self.kind[n]]
        size: cython.int = self.class_at[self.kind[n] + 1] - row
        for i in range(size):
            for k in range(self.wide):
                self.sums[i * WIDEST + k] = 0.0
        self.price_edges(n, first, radius)
        best: cython.double = FAR
        best_unit: cython.int = self.unit[n]
        best_start: cython.int = self.start[n]
        code: cython.int = self.code[n]
        for i in range(size):
            u = self.class_units[row + i]
            if not self.allowed(n, u):
                continue
            fixed = self.self_price(n, u)
            for k in range(self.wide):
                price = self.sums[i * WIDEST + k] + fixed
                if price >= best:
                    continue
                at = u * self.interval + self.slot(first + k)
                price += self.weary[at] + 4.0 * present * self.busy[at]
                for out in range(self.outputs[n]):
                    r = self.result[(2 * code + out) * self.units + u]
                    if r >= 0:
                        at = self.slot(first + k + self.latency[code * self.units + u] - 1)
                        at += r * self.interval
                        price += self.history[at] + 4.0 * present * self.used[at]
                price += self.order_price(n, first + k)
                price += 0.05 * self.random(16)
                if price < best:
                    best = price
                    best_unit = u
                    best_start = first + k
        return best_unit, best_start

    def pick(self, below: cython.int) -> int:
        """A number in [0, below) of the negotiation's generator."""
        return self.random(below)
