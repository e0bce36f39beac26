# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""The search for routes through the time-expanded resource graph.

A route leaves its net's *tree*, which is what the other routes of the net hold. As each edge of the graph
takes 0 or 1 cycles, a route of known length is a dynamic program over layers (flow.py says what those are).

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from .flat import Board, Problem

FAR = cython.declare(cython.double, 1e9)
# Where a search has room for so many states, a route is first looked for with hardly any detour, and no
# further if it costs no more than so much besides what its cycles cost.
ROOM = cython.declare(cython.int, 60_000)
SMALL = cython.declare(cython.double, 1.0)


@cython.final
@cython.cclass
class Paths:
    """The search for routes of one problem at one interval, at the board's prices."""

    interval: cython.int
    units: cython.int
    ports: cython.int
    resources: cython.int
    layers: cython.int
    stride: cython.int
    stamp: cython.int
    notes: cython.int
    work: cython.longlong
    code: cython.int[::1]
    latency: cython.int[::1]
    result: cython.int[::1]
    source: cython.int[::1]
    target: cython.int[::1]
    distance: cython.int[::1]
    position: cython.int[::1]
    output: cython.int[::1]
    out_at: cython.int[::1]
    outs: cython.int[::1]
    delay: cython.int[::1]
    is_operand: cython.int[::1]
    basin: cython.int[::1]
    plane: cython.int[::1]
    gap: cython.int[::1]
    spring: cython.int[::1]
    far: cython.int[::1]
    unit_operands: cython.int[::1]
    sources_at: cython.int[::1]
    sources: cython.int[::1]
    unit: cython.int[::1]
    start: cython.int[::1]
    toll: cython.double[::1]
    present: cython.double[::1]
    noted: cython.int[::1]
    turn: cython.int[::1]
    length: cython.int[::1]
    steps: cython.int[::1]
    cost: cython.double[::1]
    mark: cython.int[::1]
    pred: cython.int[::1]
    queued: cython.int[::1]
    here: cython.int[::1]
    later: cython.int[::1]
    tree: cython.int[::1]
    owner: cython.int[::1]
    tree_list: cython.int[::1]

    def __init__(self, problem: Problem, board: Board) -> None:
        t = problem.terrain
        self.interval, self.units, self.resources = board.interval, t.units, t.resources
        self.ports = t.ports
        self.code, self.latency, self.result = problem.code, problem.latency, problem.result
        self.source, self.target, self.distance = problem.source, problem.target, problem.distance
        self.position, self.output = problem.position, problem.output
        self.layers, self.stride = board.layers, board.stride
        self.stamp, self.notes, self.work = 0, 0, 0
        self.out_at, self.outs = problem.out_at, problem.outs
        self.delay, self.is_operand, self.basin, self.gap = t.delay, t.operand, t.basin, t.gap
        self.spring, self.far, self.plane = t.spring, t.far, problem.plane
        self.unit_operands = t.unit_operands
        self.sources_at, self.sources = t.sources_at, t.sources
        self.unit, self.start = board.unit, board.start
        self.toll, self.present = board.toll, board.present
        self.length, self.steps, self.tree_list = board.length, board.steps, board.tree_list
        self.tree = board.tree
        size = (board.layers + 1) * t.resources
        self.noted = array("i", [0]) * t.resources
        self.cost = array("d", [0.0]) * size
        self.turn, self.mark, self.pred = (array("i", [0]) * size for _ in range(3))
        self.queued, self.owner = (array("i", [0]) * size for _ in range(2))
        self.here = array("i", [0]) * (t.resources + 1)
        self.later = array("i", [0]) * (t.resources + 1)

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
    def span(self, e: cython.int) -> cython.int:
        """The layer in which an edge ends."""
        return self.start[self.target[e]] + self.distance[e] * self.interval - self.done(self.source[e])

    @cython.ccall
    @cython.locals(i=cython.int, k=cython.int, s=cython.int, f=cython.int)
    def load_tree(self, e: cython.int) -> cython.int:
        """Mark what the other routes of an edge's net hold; how much that is."""
        self.stamp += 1
        p: cython.int = self.source[e]
        count: cython.int = 1
        root: cython.int = self.root(e)
        self.tree[root] = self.stamp
        self.owner[root] = -1
        self.tree_list[0] = root
        for i in range(self.out_at[p], self.out_at[p + 1]):
            f = self.outs[i]
            if f == e or self.length[f] < 0 or self.output[f] != self.output[e]:
                continue
            for k in range(1, self.length[f] - 1):
                s = self.steps[f * self.stride + k]
                if self.tree[s] != self.stamp:
                    self.tree[s] = self.stamp
                    self.owner[s] = f
                    self.tree_list[count] = s
                    count += 1
        return count

    @cython.ccall
    def find(self, e: cython.int, wary: cython.bint) -> cython.bint:
        """Find a cheapest route for an edge that has none.

        Long ways have much room for detours, of which few are worth their price: the price of the best way
        that hardly has any bounds the search among the others.
        """
        last: cython.int = self.span(e)
        detour: cython.int = 2 + min(3, last // (2 * self.interval))
        best: cython.double = FAR
        if last * self.resources >= ROOM:
            best = self.search(e, wary, 1, FAR)
            if best < last + SMALL:
                return True
        return self.search(e, wary, detour, best) < FAR

    @cython.cfunc
    @cython.locals(
        i=cython.int,
        j=cython.int,
        layer=cython.int,
        there=cython.int,
        q=cython.int,
        r=cython.int,
        s=cython.int,
        least=cython.double,
        price=cython.double,
        own=cython.double,
        crossing=cython.bint,
        left=cython.int,
        far=cython.int,
    )
    def search(
        self, e: cython.int, wary: cython.bint, detour: cython.int, best: cython.double
    ) -> cython.double:
        """Find a route cheaper than `best`; its price, or `best`.

        If `wary`, ways that cross themselves pay for that. A way goes no farther from the operand than the
        root is, and `detour`; where there is much room, its hops are at most so many more than
        the fewest.

        The search goes back from the operand, layer by layer, until no way to the net's tree can be cheaper
        than the best found. A state's cost is that of what comes after it; what comes before it, back to the
        last layer that the tree is in, costs at least 1 a layer.
        """
        last: cython.int = self.span(e)
        goal: cython.int = self.goal(e)
        root: cython.int = self.root(e)
        if last < 0 or last > self.layers or goal < 0 or root < 0:
            return best
        size: cython.int = self.resources
        row: cython.int = self.basin[self.plane[e] + goal] * size
        if self.gap[row + root] > last:
            return best
        spring: cython.int = self.spring[self.plane[e] + root] * size
        base: cython.int = self.slot(self.done(self.source[e]))
        interval: cython.int = self.interval
        top: cython.int = 0
        for i in range(self.load_tree(e)):
            top = max(top, self.tree_list[i] // size)
        stamp: cython.int = self.stamp
        widest: cython.int = self.gap[row + root] + detour
        roomy: cython.bint = last * size >= ROOM
        best_state: cython.int = -1
        mark = self.mark
        cost = self.cost
        pred = self.pred
        queued = self.queued
        s = last * size + goal
        mark[s] = stamp
        cost[s] = 0.0
        queued[s] = stamp
        self.later[0] = goal
        waiting: cython.int = 0
        ahead: cython.int = 0
        tail: cython.int = 0
        coming: cython.int = 1
        slot: cython.int = (base + last) % interval
        for layer in range(last, -1, -1):
            self.here, self.later = self.later, self.here
            here = self.here
            later = self.later
            waiting = coming
            coming = 0
            ahead = 0
            tail = waiting % size
            least = FAR
            for i in range(waiting):
                if cost[layer * size + here[i]] < least:
                    least = cost[layer * size + here[i]]
            left = layer - top if layer > top else 0
            if least + left >= best:
                break
            while waiting > 0:
                r = here[ahead]
                ahead += 1
                if ahead == size:
                    ahead = 0
                waiting -= 1
                self.work += 1
                s = layer * size + r
                queued[s] = 0
                own = cost[s]
                if own + left >= best:
                    continue
                if self.tree[s] == stamp:
                    best = own
                    best_state = s
                    continue
                if r != goal:
                    own += self.toll[r * interval + slot]
                there = layer - self.delay[r]
                if there < 0 or own + (there - top if there > top else 0) >= best:
                    continue
                crossing = wary and last - there >= interval
                if crossing:
                    self.look_ahead(s, layer, there, last)
                for i in range(self.sources_at[r], self.sources_at[r + 1]):
                    q = self.sources[i]
                    far = self.far[spring + q]
                    if far > there or self.gap[row + q] + (far if roomy else 0) > widest:
                        continue
                    j = there * size + q
                    price = own
                    if mark[j] == stamp and price >= cost[j]:
                        continue
                    if crossing and self.noted[q] == self.notes and self.tree[j] != stamp:
                        price += 4.0 + 2.0 * self.present[0]
                        if mark[j] == stamp and price >= cost[j]:
                            continue
                    mark[j] = stamp
                    cost[j] = price
                    pred[j] = s
                    if queued[j] != stamp:
                        queued[j] = stamp
                        if there < layer:
                            later[coming] = q
                            coming += 1
                        else:
                            here[tail] = q
                            tail += 1
                            if tail == size:
                                tail = 0
                            waiting += 1
            slot = slot - 1 if slot > 0 else interval - 1
        if best_state >= 0 and not self.keep(e, best_state, last * size + goal):
            return FAR
        return best

    @cython.cfunc
    @cython.locals(s=cython.int, t=cython.int)
    def look_ahead(
        self, state: cython.int, layer: cython.int, there: cython.int, last: cython.int
    ) -> cython.void:
        """Note what the way from `state` in `layer` to `last` holds whole intervals after layer `there`."""
        size: cython.int = self.resources
        interval: cython.int = self.interval
        self.notes += 1
        s = state
        if there < layer:
            while s < (there + interval) * size:
                s = self.pred[s]
        t = s
        while layer + interval <= last and t < (layer + interval) * size:
            t = self.pred[t]
        self.turn[state] = t
        layer = there if there == layer else there + interval
        while layer <= last:
            t = s
            while t < (layer + 1) * size and not self.is_operand[t - layer * size]:
                self.noted[t - layer * size] = self.notes
                t = self.pred[t]
            s = self.turn[s]
            layer += interval

    @cython.cfunc
    def keep(self, e: cython.int, state: cython.int, end: cython.int) -> cython.bint:
        """Store the route that leaves the net's tree in `state`, from the root to `end`."""
        base: cython.int = e * self.stride
        f: cython.int = self.owner[state]
        s: cython.int = state
        k: cython.int = 0
        if f >= 0:
            while self.steps[f * self.stride + k] != state:
                self.steps[base + k] = self.steps[f * self.stride + k]
                k += 1
        while s != end:
            if k + 2 > self.stride:
                return False
            self.steps[base + k] = s
            k += 1
            s = self.pred[s]
        self.steps[base + k] = end
        self.length[e] = k + 1
        return True

    def spent(self) -> int:
        """The states visited so far: a measure of time that is the same everywhere."""
        return self.work
