# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""Where operations and routes are, and what they hold.

A *net* is one output of one node. A route's *layer* counts cycles since the net's result is there. The slot
of a resource may hold one (net, layer); more is a conflict, whose price grows.

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import cython

from .paths import Paths

if TYPE_CHECKING:
    from .flat import Board, Problem

# Where a search has room for so many states, it is dear to ask at each step whether a way crosses itself.
ROOM = cython.declare(cython.int, 60_000)
# A route of so many intervals will most likely do so.
TURNS = cython.declare(cython.int, 4)


@cython.final
@cython.cclass
class Flow:
    """The operations and routes of one problem at one interval; the board's counts follow them."""

    interval: cython.int
    units: cython.int
    resources: cython.int
    stride: cython.int
    code: cython.int[::1]
    latency: cython.int[::1]
    result: cython.int[::1]
    source: cython.int[::1]
    target: cython.int[::1]
    distance: cython.int[::1]
    output: cython.int[::1]
    outputs: cython.int[::1]
    in_at: cython.int[::1]
    ins: cython.int[::1]
    out_at: cython.int[::1]
    outs: cython.int[::1]
    unit: cython.int[::1]
    start: cython.int[::1]
    used: cython.int[::1]
    static: cython.int[::1]
    board: object
    paths: object
    toll: cython.double[::1]
    present: cython.double[::1]
    crossed: cython.int[::1]
    busy: cython.int[::1]
    length: cython.int[::1]
    steps: cython.int[::1]
    tree: cython.int[::1]

    def __init__(self, problem: Problem, board: Board) -> None:
        t = problem.terrain
        self.interval, self.units, self.resources = board.interval, t.units, t.resources
        self.code, self.latency, self.result = problem.code, problem.latency, problem.result
        self.source, self.target, self.distance = problem.source, problem.target, problem.distance
        self.output, self.outputs = problem.output, problem.outputs
        self.stride = board.stride
        self.in_at, self.ins = problem.in_at, problem.ins
        self.out_at, self.outs = problem.out_at, problem.outs
        self.static, self.board, self.paths = t.static, board, Paths(problem, board)
        self.unit, self.start = board.unit, board.start
        self.used, self.toll, self.busy, self.present = board.used, board.toll, board.busy, board.present
        self.length, self.steps, self.tree = board.length, board.steps, board.tree
        self.crossed = array("i", [-1]) * (t.resources * board.interval)
        for n in range(problem.nodes):
            self.settle(n, 1)

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
    @cython.exceptval(check=True)
    @cython.locals(k=cython.int, r=cython.int)
    def settle(self, n: cython.int, change: cython.int) -> cython.void:
        """Claim (1) or free (-1) a node's unit and results."""
        u: cython.int = self.unit[n]
        self.busy[u * self.interval + self.slot(self.start[n])] += change
        c: cython.int = self.code[n]
        for k in range(self.outputs[n]):
            r = self.result[(2 * c + k) * self.units + u]
            if r >= 0:
                self.take(r * self.interval + self.slot(self.done(n)), change)

    @cython.cfunc
    @cython.exceptval(check=True)
    def take(self, k: cython.int, change: cython.int) -> cython.void:
        """Count a word more or less in place k, resource times interval plus slot."""
        self.used[k] += change
        self.toll[k] += change * self.present[0]
        if self.static[k // self.interval] >= 0:
            self.board.ledger.want(k // self.interval, change)

    @cython.cfunc
    def root(self, e: cython.int) -> cython.int:
        """The resource in which an edge's value appears."""
        p: cython.int = self.source[e]
        return self.result[(2 * self.code[p] + self.output[e]) * self.units + self.unit[p]]

    @cython.cfunc
    def span(self, e: cython.int) -> cython.int:
        """The layer in which an edge ends."""
        return self.start[self.target[e]] + self.distance[e] * self.interval - self.done(self.source[e])

    @cython.cfunc
    @cython.exceptval(check=True)
    @cython.locals(k=cython.int, s=cython.int)
    def claim(self, e: cython.int, change: cython.int) -> cython.void:
        """Claim or free what an edge's route holds alone in its net, whose tree is loaded."""
        base: cython.int = self.done(self.source[e])
        stamp: cython.int = self.tree[self.root(e)]
        for k in range(1, self.length[e] - 1):
            s = self.steps[e * self.stride + k]
            if self.tree[s] != stamp:
                self.take(
                    (s % self.resources) * self.interval + self.slot(base + s // self.resources), change
                )

    @cython.cfunc
    @cython.exceptval(check=True)
    def rip(self, e: cython.int) -> cython.void:
        """Take an edge's route away."""
        if self.length[e] >= 0:
            self.paths.load_tree(e)
            self.claim(e, -1)
            self.length[e] = -1

    @cython.cfunc
    @cython.exceptval(-1)
    def route(self, e: cython.int) -> cython.bint:
        """Find a cheapest route for an edge that has none, and claim it."""
        last: cython.int = self.span(e)
        # Whether a way comes back to a resource's slot is dear to ask at each step; few short ways do.
        wary: cython.bint = last >= TURNS * self.interval and last * self.resources >= ROOM
        if not self.paths.find(e, wary):
            return False
        self.claim(e, 1)
        if wary or last < self.interval or not self.self_crossing(e):
            return True
        self.rip(e)
        if not self.paths.find(e, True):
            return False
        self.claim(e, 1)
        return True

    @cython.cfunc
    @cython.locals(k=cython.int, s=cython.int, at=cython.int)
    def self_crossing(self, e: cython.int) -> cython.bint:
        """Whether a route claims one place for two of its own layers."""
        base: cython.int = self.done(self.source[e])
        size: cython.int = self.resources
        crossing: cython.bint = False
        for k in range(1, self.length[e] - 1):
            s = self.steps[e * self.stride + k]
            at = (s % size) * self.interval + self.slot(base + s // size)
            if self.used[at] > 1 and self.crossed[at] == e:
                crossing = True
            self.crossed[at] = e
        for k in range(1, self.length[e] - 1):
            s = self.steps[e * self.stride + k]
            self.crossed[(s % size) * self.interval + self.slot(base + s // size)] = -1
        return crossing

    def lift(self, n: cython.int) -> None:
        """Take a node away, with its routes."""
        i: cython.int
        for i in range(self.in_at[n], self.in_at[n + 1]):
            self.rip(self.ins[i])
        for i in range(self.out_at[n], self.out_at[n + 1]):
            self.rip(self.outs[i])
        self.settle(n, -1)

    def put(self, n: cython.int, unit: cython.int, start: cython.int) -> None:
        """Put a node that was lifted somewhere, and route its edges."""
        self.unit[n] = unit
        self.start[n] = start
        self.settle(n, 1)
        self.route_node(n)

    def load_tree(self, e: cython.int) -> int:
        """Mark what the other routes of an edge's net hold; how much that is."""
        return self.paths.load_tree(e)

    def spent(self) -> int:
        """The states visited so far: a measure of time that is the same everywhere."""
        return self.paths.spent()

    def sharing(self) -> float:
        """The price of sharing now."""
        return self.present[0]

    @cython.locals(i=cython.int, k=cython.int, e=cython.int, best_span=cython.int)
    def route_node(self, n: cython.int) -> None:
        """Route the edges of a node that have no route: what enters first, then shorter ones first."""
        for i in range(self.in_at[n], self.in_at[n + 1]):
            if self.length[self.ins[i]] < 0:
                self.route(self.ins[i])
        tried: cython.int = -(1 << 30)
        # Selection by span; equal spans are taken together.
        while True:
            best_span = 1 << 30
            for i in range(self.out_at[n], self.out_at[n + 1]):
                k = self.span(self.outs[i])
                if tried < k < best_span:
                    best_span = k
            if best_span == 1 << 30:
                return
            for i in range(self.out_at[n], self.out_at[n + 1]):
                e = self.outs[i]
                if self.length[e] < 0 and self.span(e) == best_span:
                    self.route(e)
            tried = best_span

    @cython.locals(i=cython.int)
    def renew(self, n: cython.int) -> None:
        """Give all edges that leave a node new routes: a way that several share moves only as a whole."""
        for i in range(self.out_at[n], self.out_at[n + 1]):
            self.rip(self.outs[i])
        self.route_node(n)

    @cython.locals(n=cython.int, e=cython.int)
    def restore(self, units: list[int], start: list[int]) -> None:
        """Put all nodes back to where they were, and route all edges anew."""
        nodes: cython.int = len(units)
        for e in range(len(self.source)):
            self.rip(e)
        for n in range(nodes):
            self.settle(n, -1)
            self.unit[n] = units[n]
            self.start[n] = start[n]
            self.settle(n, 1)
        for n in sorted(range(nodes), key=start.__getitem__):
            self.route_node(n)

    def reroute(self, e: cython.int) -> bool:
        """Give an edge a new route at today's prices."""
        self.rip(e)
        return self.route(e)
