# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""What is in conflict, and what conflicts cost: the books of the negotiation.

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from .flat import Board, Problem


# The first price of an edge without route, as in flat.py.
BROKEN = cython.declare(cython.double, 30.0)
# What a cycle in a register costs besides that others do not have, if all words leave the tile through it.
OUTLET = cython.declare(cython.double, 0.7)


@cython.final
@cython.cclass
class Ledger:
    """Looks at a board, remembers its conflicts and sets its prices."""

    interval: cython.int
    units: cython.int
    resources: cython.int
    nodes: cython.int
    edges: cython.int
    stride: cython.int
    code: cython.int[::1]
    latency: cython.int[::1]
    result: cython.int[::1]
    source: cython.int[::1]
    target: cython.int[::1]
    outputs: cython.int[::1]
    before: cython.int[::1]
    after: cython.int[::1]
    order_distance: cython.int[::1]
    order_delay: cython.int[::1]
    orders_at: cython.int[::1]
    orders: cython.int[::1]
    own: cython.double[::1]
    unit: cython.int[::1]
    start: cython.int[::1]
    used: cython.int[::1]
    busy: cython.int[::1]
    times: cython.int[::1]
    claims: cython.int[::1]
    static: cython.int[::1]
    settings_at: cython.int[::1]
    settings: cython.int[::1]
    length: cython.int[::1]
    steps: cython.int[::1]
    toll: cython.double[::1]
    history: cython.double[::1]
    weary: cython.double[::1]
    grudge: cython.double[::1]
    order_grudge: cython.double[::1]
    present: cython.double[::1]

    def __init__(self, problem: Problem, board: Board) -> None:
        t = problem.terrain
        self.interval, self.units, self.resources = board.interval, t.units, t.resources
        self.nodes, self.edges, self.stride = problem.nodes, len(problem.source), board.stride
        self.code, self.latency, self.result = problem.code, problem.latency, problem.result
        self.source, self.target, self.outputs = problem.source, problem.target, problem.outputs
        self.before, self.after = problem.before, problem.after
        self.order_distance, self.order_delay = problem.order_distance, problem.delay
        self.orders_at, self.orders = problem.orders_at, problem.orders
        own = [0.2 + 0.8 * t.delay[k] + OUTLET * t.outlet[k] for k in range(t.resources)]
        self.own = array("d", own)
        self.unit, self.start = board.unit, board.start
        self.used, self.toll, self.history = board.used, board.toll, board.history
        self.busy, self.weary, self.present = board.busy, board.weary, board.present
        self.grudge, self.order_grudge = board.grudge, board.order_grudge
        self.length, self.steps = board.length, board.steps
        self.times, self.claims, self.static = board.times, board.claims, t.static
        self.settings_at, self.settings = t.settings_at, t.settings
        board.ledger = self
        self.reprice()

    @cython.cfunc
    def slot(self, cycle: cython.int) -> cython.int:
        """The cycle modulo the interval, not negative."""
        r: cython.int = cycle % self.interval
        return r + self.interval if r < 0 else r

    @cython.cfunc
    def done(self, n: cython.int) -> cython.int:
        """The cycle in which a node's result is there."""
        return self.start[n] + self.latency[self.code[n] * self.units + self.unit[n]] - 1

    @cython.locals(g=cython.int, i=cython.int, k=cython.int, other=cython.int)
    def want(self, r: cython.int, change: cython.int) -> None:
        """Count a word more or less that wants this setting: it makes the others dearer in all slots."""
        g = self.static[r]
        self.times[r] += change
        self.claims[g] += change
        for i in range(self.settings_at[g], self.settings_at[g + 1]):
            other = self.settings[i]
            if other != r:
                for k in range(other * self.interval, (other + 1) * self.interval):
                    self.toll[k] += change * self.present[0]

    @cython.cfunc
    def rivals(self, r: cython.int) -> cython.int:
        """How many words want other settings of what is configured once."""
        g: cython.int = self.static[r]
        return self.claims[g] - self.times[r] if g >= 0 else 0

    @cython.cfunc
    @cython.locals(r=cython.int, k=cython.int, rivals=cython.int)
    def reprice(self) -> cython.void:
        """Compute all tolls anew."""
        for r in range(self.resources):
            rivals = self.rivals(r)
            for k in range(r * self.interval, (r + 1) * self.interval):
                self.toll[k] = self.own[r] + self.history[k]
                self.toll[k] += self.present[0] * (self.used[k] + rivals)

    @cython.locals(k=cython.int, s=cython.int)
    def edge_state(self, e: cython.int) -> int:
        """0: routed without conflict; 1: routed with conflicts; 2: not routed."""
        if self.length[e] < 0:
            return 2
        base: cython.int = self.done(self.source[e])
        for k in range(self.length[e] - 1):
            s = self.steps[e * self.stride + k]
            if self.used[(s % self.resources) * self.interval + self.slot(base + s // self.resources)] > 1:
                return 1
            if self.rivals(s % self.resources) > 0:
                return 1
        return 0

    @cython.cfunc
    def lacks(self, o: cython.int) -> cython.bint:
        """Whether an order is not kept."""
        return (
            self.start[self.before[o]] + self.order_delay[o]
            > self.start[self.after[o]] + self.order_distance[o] * self.interval
        )

    @cython.locals(k=cython.int, r=cython.int)
    def node_state(self, n: cython.int) -> bool:
        """Whether a node shares its unit's slot, or a result's, or breaks an order."""
        u: cython.int = self.unit[n]
        if self.busy[u * self.interval + self.slot(self.start[n])] > 1:
            return True
        for k in range(self.outputs[n]):
            r = self.result[(2 * self.code[n] + k) * self.units + u]
            if r >= 0 and self.used[r * self.interval + self.slot(self.done(n))] > 1:
                return True
        broken: cython.bint = False
        for k in range(self.orders_at[n], self.orders_at[n + 1]):
            broken |= self.lacks(self.orders[k])
        return broken

    def survey(self) -> tuple[list[int], list[int]]:
        """The nodes and the edges in conflict."""
        return (
            [n for n in range(self.nodes) if self.node_state(n)],
            [e for e in range(self.edges) if self.edge_state(e)],
        )

    def remember(self, growth: cython.double) -> None:
        """End an iteration: what is shared becomes dearer for good, and sharing dearer."""
        k: cython.int
        r: cython.int
        rivals: cython.int
        for k in range(self.resources * self.interval):
            if self.used[k] > 1:
                self.history[k] += 0.4 * (self.used[k] - 1)
        for r in range(self.resources):
            rivals = self.rivals(r)
            if rivals > 0 and self.times[r] > 0:
                for k in range(r * self.interval, (r + 1) * self.interval):
                    self.history[k] += 0.4 * min(rivals, 3)
        for k in range(self.units * self.interval):
            if self.busy[k] > 1:
                self.weary[k] += 0.8 * (self.busy[k] - 1)
        for k in range(self.edges):
            if self.length[k] < 0:
                self.grudge[k] += 3.0
        for k in range(len(self.order_grudge) - 1):
            if self.lacks(k):
                self.order_grudge[k] += 3.0
        self.present[0] = min(self.present[0] * growth, 10.0)
        self.reprice()

    def forgive(self, keep: cython.double, present: cython.double) -> None:
        """Begin anew where things are: of what was learnt so much is kept, and sharing is cheap again."""
        k: cython.int
        for k in range(self.resources * self.interval):
            self.history[k] *= keep
        for k in range(self.units * self.interval):
            self.weary[k] *= keep
        for k in range(self.edges):
            self.grudge[k] = BROKEN + (self.grudge[k] - BROKEN) * keep
        for k in range(len(self.order_grudge) - 1):
            self.order_grudge[k] = BROKEN + (self.order_grudge[k] - BROKEN) * keep
        self.present[0] = present
        self.reprice()

    def end_of(self, e: cython.int, which: cython.int) -> int:
        """The producer (0) or the consumer (1) of an edge."""
        return self.target[e] if which else self.source[e]

    def path(self, e: cython.int) -> list[tuple[int, int]]:
        """The (resource, cycle) steps of an edge's route."""
        base: cython.int = self.done(self.source[e])
        size: cython.int = self.resources
        found = []
        for k in range(self.length[e]):
            s = self.steps[e * self.stride + k]
            found.append((s % size, base + s // size))
        return found

    def places(self) -> tuple[list[int], list[int]]:
        """Units and starts as they are now."""
        return list(self.unit), list(self.start)
