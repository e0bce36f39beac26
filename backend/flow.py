# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""Routes through the time-expanded resource graph, and the negotiation's state.

A *net* is one output of one node. A route's *layer* counts cycles since the net's result is there. The slot
of a resource may hold one (net, layer); more is a conflict, whose price grows. As each edge of the graph
takes 0 or 1 cycles, a route of known length is a dynamic program over layers.

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .flat import Problem

FAR = cython.declare(cython.double, 1e9)
BROKEN = cython.declare(cython.double, 30.0)
# Ways that cost so much more than the cheapest one to their layer are not followed in floods.
DETOUR = cython.declare(cython.double, 8.0)
FLOODS = cython.declare(cython.int, 6)
PATIENT = cython.declare(cython.int, 10)
WIDEST = cython.declare(cython.int, 40)


def far_to(
    at: cython.int[::1],
    links: cython.int[::1],
    delay: cython.int[::1],
    start: cython.int[::1],
    far: cython.int,
) -> array[int]:
    """The fewest cycles to each resource from any of `start`, walking towards sinks; `start` are entered."""
    size: cython.int = len(delay)
    found = array("i", [far]) * size
    best: cython.int[::1] = found
    layers: list[list[int]] = [[], []]
    cycles: cython.int = 0
    here: cython.int
    there: cython.int
    i: cython.int
    for r in start:
        best[r] = delay[r]
        layers[delay[r]].append(r)
    while cycles < len(layers):
        layer = layers[cycles]
        layers.append([])
        for here in layer:
            if best[here] < cycles:
                continue
            for i in range(at[here], at[here + 1]):
                there = links[i]
                if best[there] > cycles + delay[there]:
                    best[there] = cycles + delay[there]
                    layers[cycles + delay[there]].append(there)
        cycles += 1
        if not layer and not layers[cycles]:
            break
    return found


def far_from(
    at: cython.int[::1],
    links: cython.int[::1],
    delay: cython.int[::1],
    start: cython.int[::1],
    far: cython.int,
) -> array[int]:
    """The fewest cycles from each resource to any of `start`, walking towards sources."""
    size: cython.int = len(delay)
    found = array("i", [far]) * size
    best: cython.int[::1] = found
    layer: list[int] = []
    for r in start:
        if best[r] > 0:
            best[r] = 0
            layer.append(r)
    cycles: cython.int = 0
    here: cython.int
    there: cython.int
    i: cython.int
    while layer:
        later: list[int] = []
        for here in layer:
            if best[here] < cycles:
                continue
            for i in range(at[here], at[here + 1]):
                there = links[i]
                # Entering `here` is what takes the cycle.
                if delay[here]:
                    if best[there] > cycles + 1:
                        best[there] = cycles + 1
                        later.append(there)
                elif best[there] > cycles:
                    best[there] = cycles
                    layer.append(there)
        layer = later
        cycles += 1
    return found


@cython.cclass
class Flow:
    """Places and routes of one problem at one interval, with the prices of what they share."""

    interval: cython.int
    units: cython.int
    resources: cython.int
    nodes: cython.int
    edges: cython.int
    layers: cython.int
    stride: cython.int
    streams: cython.int
    seed: cython.ulonglong
    present: cython.double
    stamp: cython.int
    wide: cython.int
    radius: cython.int
    work: cython.longlong
    code: cython.int[::1]
    latency: cython.int[::1]
    result: cython.int[::1]
    outputs: cython.int[::1]
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
    order_delay: cython.int[::1]
    orders_at: cython.int[::1]
    orders: cython.int[::1]
    group: cython.int[::1]
    home: cython.int[::1]
    bank: cython.int[::1]
    kind: cython.int[::1]
    class_at: cython.int[::1]
    class_units: cython.int[::1]
    delay: cython.int[::1]
    is_operand: cython.int[::1]
    basin: cython.int[::1]
    gap: cython.int[::1]
    spring: cython.int[::1]
    far: cython.int[::1]
    unit_operands: cython.int[::1]
    sinks_at: cython.int[::1]
    sinks: cython.int[::1]
    sources_at: cython.int[::1]
    sources: cython.int[::1]
    unit: cython.int[::1]
    start: cython.int[::1]
    used: cython.int[::1]
    toll: cython.double[::1]
    crossed: cython.int[::1]
    history: cython.double[::1]
    busy: cython.int[::1]
    weary: cython.double[::1]
    grudge: cython.double[::1]
    order_grudge: cython.double[::1]
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
    tree_head: cython.int[::1]
    tree_next: cython.int[::1]
    tree_list: cython.int[::1]
    sums: cython.double[::1]

    def __init__(
        self,
        problem: Problem,
        interval: int,
        seed: int,
        unit: Sequence[int],
        start: Sequence[int],
        home: Sequence[int],
        layers: int,
    ) -> None:
        t = problem.terrain
        self.interval, self.units, self.resources = interval, t.units, t.resources
        self.nodes, self.edges = problem.nodes, len(problem.source)
        self.layers, self.stride = layers, 2 * layers + 8
        self.streams = problem.streams
        self.seed = (seed * 0x9E3779B97F4A7C15 + 0x7654321) & 0xFFFFFFFFFFFFFFFF
        self.present = 0.5
        self.stamp = 0
        self.wide = 0
        self.radius = 0
        self.work = 0
        self.code, self.latency, self.result = problem.code, problem.latency, problem.result
        self.outputs = problem.outputs
        self.source, self.target, self.distance = problem.source, problem.target, problem.distance
        self.position, self.output = problem.position, problem.output
        self.in_at, self.ins = problem.in_at, problem.ins
        self.out_at, self.outs = problem.out_at, problem.outs
        self.before, self.after = problem.before, problem.after
        self.order_distance, self.order_delay = problem.order_distance, problem.delay
        self.orders_at, self.orders = problem.orders_at, problem.orders
        self.group, self.bank, self.kind = problem.group, problem.bank, problem.kind
        self.class_at, self.class_units = problem.class_at, problem.class_units
        self.delay, self.is_operand, self.basin, self.gap = t.delay, t.operand, t.basin, t.gap
        self.spring, self.far = t.spring, t.far
        self.unit_operands = t.unit_operands
        self.sinks_at, self.sinks = t.sinks_at, t.sinks
        self.sources_at, self.sources = t.sources_at, t.sources
        self.home = array("i", home)
        self.unit = array("i", unit)
        self.start = array("i", start)
        self.used = array("i", [0]) * (t.resources * interval)
        self.toll = array("d", [0.0]) * (t.resources * interval)
        self.crossed = array("i", [-1]) * (t.resources * interval)
        self.history = array("d", [0.0]) * (t.resources * interval)
        self.busy = array("i", [0]) * (t.units * interval)
        self.weary = array("d", [0.0]) * (t.units * interval)
        self.grudge = array("d", [BROKEN]) * (self.edges + 1)
        self.order_grudge = array("d", [BROKEN]) * (len(problem.before) + 1)
        self.length = array("i", [-1]) * (self.edges + 1)
        self.steps = array("i", [0]) * (self.stride * self.edges + 1)
        size = (layers + 1) * t.resources
        self.cost = array("d", [0.0]) * size
        self.mark = array("i", [0]) * size
        self.pred = array("i", [0]) * size
        self.queued = array("i", [0]) * size
        self.here = array("i", [0]) * (t.resources + 1)
        self.later = array("i", [0]) * (t.resources + 1)
        self.tree = array("i", [0]) * size
        self.owner = array("i", [0]) * size
        self.tree_head = array("i", [-1]) * (layers + 2)
        self.tree_next = array("i", [0]) * size
        self.tree_list = array("i", [0]) * size
        self.sums = array("d", [0.0]) * (t.units * WIDEST + 1)
        for n in range(self.nodes):
            self.settle(n, 1)
        self.reprice()

    @cython.cfunc
    def random(self, below: cython.int) -> cython.int:
        """A number in [0, below): xorshift64*."""
        x: cython.ulonglong = self.seed
        x ^= x >> 12
        x ^= (x << 25) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 27
        self.seed = x
        x = (x * 0x2545F4914F6CDD1D) & 0xFFFFFFFFFFFFFFFF
        return cython.cast(cython.int, (x >> 33) % cython.cast(cython.ulonglong, below))

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
    def settle(self, n: cython.int, change: cython.int) -> cython.void:
        """Claim (1) or free (-1) a node's unit and results."""
        u: cython.int = self.unit[n]
        self.busy[u * self.interval + self.slot(self.start[n])] += change
        c: cython.int = self.code[n]
        k: cython.int
        r: cython.int
        for k in range(self.outputs[n]):
            r = self.result[(2 * c + k) * self.units + u]
            if r >= 0:
                self.take(r * self.interval + self.slot(self.done(n)), change)

    @cython.cfunc
    def price(self, r: cython.int, slot: cython.int) -> cython.double:
        """What one more word in a resource's slot costs."""
        return self.toll[r * self.interval + slot]

    @cython.cfunc
    def take(self, k: cython.int, change: cython.int) -> cython.void:
        """Count a word more or less in place k, resource times interval plus slot."""
        self.used[k] += change
        self.toll[k] += change * self.present

    @cython.cfunc
    def reprice(self) -> cython.void:
        """Compute all tolls anew."""
        r: cython.int
        k: cython.int
        for r in range(self.resources):
            for k in range(r * self.interval, (r + 1) * self.interval):
                self.toll[k] = 0.2 + 0.8 * self.delay[r] + self.history[k] + self.present * self.used[k]

    @cython.cfunc
    def root(self, e: cython.int) -> cython.int:
        """The resource in which an edge's value appears."""
        p: cython.int = self.source[e]
        return self.result[(2 * self.code[p] + self.output[e]) * self.units + self.unit[p]]

    @cython.cfunc
    def goal(self, e: cython.int) -> cython.int:
        """The operand that an edge ends in."""
        return self.unit_operands[3 * self.unit[self.target[e]] + self.position[e]]

    @cython.cfunc
    def span(self, e: cython.int) -> cython.int:
        """The layer in which an edge ends."""
        return self.start[self.target[e]] + self.distance[e] * self.interval - self.done(self.source[e])

    @cython.cfunc
    def load_tree(self, e: cython.int) -> cython.int:
        """Mark what the other routes of an edge's net hold; how much that is."""
        self.stamp += 1
        p: cython.int = self.source[e]
        count: cython.int = 1
        root: cython.int = self.root(e)
        self.tree[root] = self.stamp
        self.owner[root] = -1
        self.tree_list[0] = root
        i: cython.int
        k: cython.int
        s: cython.int
        f: cython.int
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

    @cython.cfunc
    def claim(self, e: cython.int, change: cython.int) -> cython.void:
        """Claim or free what an edge's route holds alone in its net, whose tree is loaded."""
        base: cython.int = self.done(self.source[e])
        k: cython.int
        s: cython.int
        for k in range(1, self.length[e] - 1):
            s = self.steps[e * self.stride + k]
            if self.tree[s] != self.stamp:
                self.take(
                    (s % self.resources) * self.interval + self.slot(base + s // self.resources), change
                )

    @cython.cfunc
    def rip(self, e: cython.int) -> cython.void:
        """Take an edge's route away."""
        if self.length[e] >= 0:
            self.load_tree(e)
            self.claim(e, -1)
            self.length[e] = -1

    @cython.cfunc
    def returns(self, state: cython.int, layer: cython.int, q: cython.int, there: cython.int) -> cython.bint:
        """Whether the way from `state` in `layer` on is in q a multiple of the interval after `there`."""
        size: cython.int = self.resources
        r: cython.int = state - layer * size
        while not self.is_operand[r]:
            if r == q and (layer - there) % self.interval == 0:
                return True
            r = self.pred[layer * size + r] - layer * size
            if r >= size:
                r -= size
                layer += 1
        return False

    @cython.cfunc
    def route(self, e: cython.int) -> cython.bint:
        """Find a cheapest route for an edge that has none, and claim it."""
        # Whether a way comes back to a resource's slot is dear to ask at each step; few ways do.
        if not self.search(e, False):
            return False
        if self.span(e) < self.interval or not self.self_crossing(e):
            return True
        self.rip(e)
        return self.search(e, True)

    @cython.cfunc
    def self_crossing(self, e: cython.int) -> cython.bint:
        """Whether a route claims one place for two of its own layers."""
        base: cython.int = self.done(self.source[e])
        size: cython.int = self.resources
        crossing: cython.bint = False
        k: cython.int
        s: cython.int
        at: cython.int
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

    @cython.cfunc
    def search(self, e: cython.int, wary: cython.bint) -> cython.bint:
        """Find and claim a route; if `wary`, at the price of the ways that cross themselves.

        The search goes back from the operand, layer by layer, until no way to the net's tree can be cheaper
        than the best found. A state's cost is that of what comes after it.
        """
        last: cython.int = self.span(e)
        goal: cython.int = self.goal(e)
        root: cython.int = self.root(e)
        if last < 0 or last > self.layers or goal < 0 or root < 0:
            return False
        size: cython.int = self.resources
        row: cython.int = self.basin[goal] * size
        if self.gap[row + root] > last:
            return False
        spring: cython.int = self.spring[root] * size
        base: cython.int = self.slot(self.done(self.source[e]))
        interval: cython.int = self.interval
        self.load_tree(e)
        stamp: cython.int = self.stamp
        # Far detours are never worth their price.
        widest: cython.int = self.gap[row + root] + 2 + min(3, last // (2 * interval))
        i: cython.int
        j: cython.int
        layer: cython.int
        there: cython.int
        q: cython.int
        r: cython.int
        s: cython.int
        best: cython.double = FAR
        least: cython.double
        price: cython.double
        own: cython.double
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
            if least >= best:
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
                if own >= best:
                    continue
                if self.tree[s] == stamp:
                    best = own
                    best_state = s
                    continue
                if r != goal:
                    own += self.toll[r * interval + slot]
                there = layer - self.delay[r]
                if own >= best or there < 0:
                    continue
                for i in range(self.sources_at[r], self.sources_at[r + 1]):
                    q = self.sources[i]
                    if self.far[spring + q] > there or self.gap[row + q] > widest:
                        continue
                    j = there * size + q
                    price = own
                    if mark[j] == stamp and price >= cost[j]:
                        continue
                    if (
                        wary
                        and last - there >= interval
                        and self.tree[j] != stamp
                        and self.returns(s, layer, q, there)
                    ):
                        price += 4.0 + 2.0 * self.present
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
        if best_state < 0:
            return False
        return self.keep(e, best_state, last * size + goal)

    @cython.cfunc
    def keep(self, e: cython.int, state: cython.int, end: cython.int) -> cython.bint:
        """Store the route that leaves the net's tree in `state`, from the root to `end`, and claim it."""
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
        self.claim(e, 1)
        return True

    @cython.cfunc
    def flood_forward(self, e: cython.int, first: cython.int, last: cython.int, n: cython.int) -> cython.void:
        """Add to `sums` what it costs to bring edge e's value to each unit of n in layers first..last.

        Sum column k stands for layer first + k.
        """
        count: cython.int = self.load_tree(e)
        stamp: cython.int = self.stamp
        size: cython.int = self.resources
        base: cython.int = self.slot(self.done(self.source[e]))
        i: cython.int
        j: cython.int
        k: cython.int
        layer: cython.int
        slot: cython.int
        q: cython.int
        r: cython.int
        s: cython.int
        price: cython.double
        floor: cython.double
        center: cython.int = self.basin[self.unit_operands[3 * self.unit[n]]] * size
        radius: cython.int = self.gap[center + self.root(e)]
        if radius < self.radius:
            radius = self.radius
        for layer in range(last + 1):
            self.tree_head[layer] = -1
        for k in range(count):
            layer = self.tree_list[k] // size
            if layer <= last:
                self.tree_next[k] = self.tree_head[layer]
                self.tree_head[layer] = k
        mark = self.mark
        cost = self.cost
        queued = self.queued
        waiting: cython.int
        ahead: cython.int
        tail: cython.int
        coming: cython.int = 0
        for layer in range(last + 1):
            self.here, self.later = self.later, self.here
            here = self.here
            later = self.later
            waiting = coming
            coming = 0
            k = self.tree_head[layer]
            while k >= 0:
                s = self.tree_list[k]
                cost[s] = 0.0
                mark[s] = stamp
                if queued[s] != stamp:
                    queued[s] = stamp
                    here[waiting] = s - layer * size
                    waiting += 1
                k = self.tree_next[k]
            ahead = 0
            tail = waiting % size
            floor = FAR
            for i in range(waiting):
                if cost[layer * size + here[i]] < floor:
                    floor = cost[layer * size + here[i]]
            floor += DETOUR + self.present
            slot = (base + layer) % self.interval
            while waiting > 0:
                r = here[ahead]
                ahead += 1
                if ahead == size:
                    ahead = 0
                waiting -= 1
                self.work += 1
                s = layer * size + r
                queued[s] = 0
                if cost[s] > floor:
                    continue
                for i in range(self.sinks_at[r], self.sinks_at[r + 1]):
                    q = self.sinks[i]
                    if self.delay[q]:
                        if layer == last or self.gap[center + q] > radius:
                            continue
                        j = s - r + size + q
                        price = cost[s] + self.price(q, slot + 1 if slot + 1 < self.interval else 0)
                        if mark[j] == stamp:
                            if price < cost[j]:
                                cost[j] = price
                            continue
                        mark[j] = stamp
                        queued[j] = stamp
                        cost[j] = price
                        later[coming] = q
                        coming += 1
                    elif self.is_operand[q]:
                        if layer < first:
                            continue
                        j = s - r + q
                        if mark[j] != stamp or cost[s] < cost[j]:
                            mark[j] = stamp
                            cost[j] = cost[s]
                    elif self.gap[center + q] <= radius:
                        j = s - r + q
                        price = cost[s] + self.price(q, slot)
                        if mark[j] == stamp and price >= cost[j]:
                            continue
                        mark[j] = stamp
                        cost[j] = price
                        if queued[j] != stamp:
                            queued[j] = stamp
                            here[tail] = q
                            tail += 1
                            if tail == size:
                                tail = 0
                            waiting += 1
        row: cython.int = self.class_at[self.kind[n]]
        root: cython.int = self.root(e)
        lack: cython.int
        for i in range(self.class_at[self.kind[n] + 1] - row):
            q = self.unit_operands[3 * self.class_units[row + i] + self.position[e]]
            for k in range(last - first + 1):
                layer = first + k
                if q >= 0 and layer >= 0 and mark[layer * size + q] == stamp:
                    self.sums[i * WIDEST + k] += cost[layer * size + q]
                else:
                    lack = 20 if q < 0 else self.gap[self.basin[q] * size + root] - layer
                    self.sums[i * WIDEST + k] += self.grudge[e] + 2.0 * (lack if lack < 20 else 20)

    @cython.cfunc
    def flood_backward(
        self, e: cython.int, first: cython.int, last: cython.int, n: cython.int
    ) -> cython.void:
        """Add to `sums` what it costs to get from each unit of n to edge e's end in first..last cycles.

        Cycles count from the result; sum column k stands for last - k cycles, with the latency
        of n on its first unit.
        """
        self.stamp += 1
        stamp: cython.int = self.stamp
        size: cython.int = self.resources
        goal: cython.int = self.goal(e)
        c: cython.int = self.target[e]
        end: cython.int = self.slot(self.start[c])
        i: cython.int
        j: cython.int
        k: cython.int
        layer: cython.int
        slot: cython.int
        q: cython.int
        r: cython.int
        s: cython.int
        price: cython.double
        floor: cython.double
        center: cython.int = self.basin[self.unit_operands[3 * self.unit[n]]] * size
        radius: cython.int = self.gap[self.basin[goal] * size + self.root(e)] if goal >= 0 else 0
        if radius < self.radius:
            radius = self.radius
        mark = self.mark
        cost = self.cost
        queued = self.queued
        waiting: cython.int
        ahead: cython.int
        tail: cython.int
        coming: cython.int = 0
        if goal >= 0:
            mark[goal] = stamp
            cost[goal] = 0.0
            queued[goal] = stamp
            self.later[0] = goal
            coming = 1
        for layer in range(last + 1):
            self.here, self.later = self.later, self.here
            here = self.here
            later = self.later
            waiting = coming
            coming = 0
            ahead = 0
            tail = waiting % size
            floor = FAR
            for i in range(waiting):
                if cost[layer * size + here[i]] < floor:
                    floor = cost[layer * size + here[i]]
            floor += DETOUR + self.present
            slot = self.slot(end - layer)
            while waiting > 0:
                r = here[ahead]
                ahead += 1
                if ahead == size:
                    ahead = 0
                waiting -= 1
                self.work += 1
                s = layer * size + r
                queued[s] = 0
                if cost[s] > floor:
                    continue
                price = cost[s]
                if r != goal:
                    price += self.price(r, slot)
                if self.delay[r]:
                    if layer == last:
                        continue
                    for i in range(self.sources_at[r], self.sources_at[r + 1]):
                        q = self.sources[i]
                        if self.gap[center + q] > radius:
                            continue
                        j = s - r + size + q
                        if mark[j] == stamp:
                            if price < cost[j]:
                                cost[j] = price
                            continue
                        mark[j] = stamp
                        queued[j] = stamp
                        cost[j] = price
                        later[coming] = q
                        coming += 1
                    continue
                for i in range(self.sources_at[r], self.sources_at[r + 1]):
                    q = self.sources[i]
                    if self.gap[center + q] > radius:
                        continue
                    j = s - r + q
                    if mark[j] == stamp and price >= cost[j]:
                        continue
                    mark[j] = stamp
                    cost[j] = price
                    if queued[j] != stamp:
                        queued[j] = stamp
                        here[tail] = q
                        tail += 1
                        if tail == size:
                            tail = 0
                        waiting += 1
        row: cython.int = self.class_at[self.kind[n]]
        u: cython.int
        lack: cython.int
        code: cython.int = self.code[n]
        least: cython.int = self.latency[code * self.units + self.class_units[row]]
        for i in range(self.class_at[self.kind[n] + 1] - row):
            u = self.class_units[row + i]
            q = self.result[(2 * code + self.output[e]) * self.units + u]
            for k in range(last - first + 1):
                layer = last - k - (self.latency[code * self.units + u] - least)
                if q >= 0 and layer >= 0 and mark[layer * size + q] == stamp:
                    self.sums[i * WIDEST + k] += cost[layer * size + q]
                else:
                    lack = 20 if q < 0 or goal < 0 else self.gap[self.basin[goal] * size + q] - layer
                    self.sums[i * WIDEST + k] += self.grudge[e] + 2.0 * (lack if lack < 20 else 20)

    @cython.cfunc
    def window(self, n: cython.int) -> cython.int:
        """The starts to look at for a node: the first one; `self.wide` says how many."""
        low: cython.int = -(1 << 20)
        high: cython.int = 1 << 20
        row: cython.int = self.class_at[self.kind[n]]
        least: cython.int = self.latency[self.code[n] * self.units + self.class_units[row]]
        i: cython.int
        e: cython.int
        t: cython.int
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
    def order_price(self, n: cython.int, s: cython.int) -> cython.double:
        """The price of the orders that a start of n would break."""
        price: cython.double = 0.0
        i: cython.int
        e: cython.int
        lack: cython.int
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
    def wait_price(
        self, e: cython.int, n: cython.int, first: cython.int, forward: cython.bint
    ) -> cython.void:
        """Like a flood, but only by distance: for edges that are long or many."""
        i: cython.int
        k: cython.int
        u: cython.int
        r: cython.int
        q: cython.int
        avail: cython.int
        need: cython.int
        row: cython.int = self.class_at[self.kind[n]]
        code: cython.int = self.code[n]
        for i in range(self.class_at[self.kind[n] + 1] - row):
            u = self.class_units[row + i]
            if forward:
                r = self.root(e)
                q = self.unit_operands[3 * u + self.position[e]]
                avail = first + self.distance[e] * self.interval - self.done(self.source[e])
            else:
                r = self.result[(2 * code + self.output[e]) * self.units + u]
                q = self.goal(e)
                avail = (
                    self.start[self.target[e]]
                    + self.distance[e] * self.interval
                    - (first + self.latency[code * self.units + u] - 1)
                )
            need = 40 if r < 0 or q < 0 else self.gap[self.basin[q] * self.resources + r]
            for k in range(self.wide):
                if avail >= need:
                    self.sums[i * WIDEST + k] += 0.5 * need + 0.5 * avail
                else:
                    self.sums[i * WIDEST + k] += self.grudge[e] + 2.0 * (
                        need - avail if need - avail < 20 else 20
                    )
                avail += 1 if forward else -1

    @cython.cfunc
    def price_edges(self, n: cython.int, first: cython.int) -> cython.void:
        """Sum the prices of all edges of n over its units and the starts of the window."""
        i: cython.int
        e: cython.int
        a: cython.int
        row: cython.int = self.class_at[self.kind[n]]
        least: cython.int = self.latency[self.code[n] * self.units + self.class_units[row]]
        last: cython.int
        for i in range(self.in_at[n], self.in_at[n + 1]):
            e = self.ins[i]
            if self.source[e] == n:
                continue
            a = first + self.distance[e] * self.interval - self.done(self.source[e])
            last = a + self.wide - 1
            if a > PATIENT or last > self.layers or last < 0:
                self.wait_price(e, n, first, True)
            else:
                self.flood_forward(e, a, last, n)
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
                self.flood_backward(e, a, last, n)

    @cython.cfunc
    def self_price(self, n: cython.int, u: cython.int) -> cython.double:
        """The price of a node's edges to itself on a unit: all or nothing."""
        i: cython.int
        e: cython.int
        r: cython.int
        q: cython.int
        price: cython.double = 0.0
        for i in range(self.in_at[n], self.in_at[n + 1]):
            e = self.ins[i]
            if self.source[e] == n:
                r = self.result[(2 * self.code[n] + self.output[e]) * self.units + u]
                q = self.unit_operands[3 * u + self.position[e]]
                if (
                    r < 0
                    or q < 0
                    or self.gap[self.basin[q] * self.resources + r]
                    > self.distance[e] * self.interval - self.latency[self.code[n] * self.units + u] + 1
                ):
                    price += 2.0 * self.grudge[e]
        return price

    def relocate(self, n: cython.int) -> None:
        """Rip a node with its edges, put it where that is cheapest now, and route its edges again."""
        i: cython.int
        k: cython.int
        for i in range(self.in_at[n], self.in_at[n + 1]):
            self.rip(self.ins[i])
        for i in range(self.out_at[n], self.out_at[n + 1]):
            self.rip(self.outs[i])
        self.settle(n, -1)
        first: cython.int = self.window(n)
        self.radius = 3 if self.random(4) else 1 << 20
        row: cython.int = self.class_at[self.kind[n]]
        size: cython.int = self.class_at[self.kind[n] + 1] - row
        for i in range(size):
            for k in range(self.wide):
                self.sums[i * WIDEST + k] = 0.0
        self.price_edges(n, first)
        best: cython.double = FAR
        best_unit: cython.int = self.unit[n]
        best_start: cython.int = self.start[n]
        price: cython.double
        fixed: cython.double
        u: cython.int
        at: cython.int
        r: cython.int
        code: cython.int = self.code[n]
        out: cython.int
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
                price += self.weary[at] + 4.0 * self.present * self.busy[at]
                for out in range(self.outputs[n]):
                    r = self.result[(2 * code + out) * self.units + u]
                    if r >= 0:
                        at = self.slot(first + k + self.latency[code * self.units + u] - 1)
                        at += r * self.interval
                        price += self.history[at] + 4.0 * self.present * self.used[at]
                price += self.order_price(n, first + k)
                price += 0.05 * self.random(16)
                if price < best:
                    best = price
                    best_unit = u
                    best_start = first + k
        self.unit[n] = best_unit
        self.start[n] = best_start
        self.settle(n, 1)
        self.route_node(n)

    def route_node(self, n: cython.int) -> None:
        """Route the edges of a node that have no route: what enters first, then shorter ones first."""
        i: cython.int
        k: cython.int
        e: cython.int
        best_span: cython.int
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

    def reroute(self, e: cython.int) -> bool:
        """Give an edge a new route at today's prices."""
        self.rip(e)
        return self.route(e)

    def edge_state(self, e: cython.int) -> int:
        """0: routed without conflict; 1: routed with conflicts; 2: not routed."""
        if self.length[e] < 0:
            return 2
        base: cython.int = self.done(self.source[e])
        k: cython.int
        s: cython.int
        for k in range(self.length[e] - 1):
            s = self.steps[e * self.stride + k]
            if self.used[(s % self.resources) * self.interval + self.slot(base + s // self.resources)] > 1:
                return 1
        return 0

    def node_state(self, n: cython.int) -> bool:
        """Whether a node shares its unit's slot, or a result's, or breaks an order."""
        u: cython.int = self.unit[n]
        if self.busy[u * self.interval + self.slot(self.start[n])] > 1:
            return True
        k: cython.int
        r: cython.int
        for k in range(self.outputs[n]):
            r = self.result[(2 * self.code[n] + k) * self.units + u]
            if r >= 0 and self.used[r * self.interval + self.slot(self.done(n))] > 1:
                return True
        return self.order_price(n, self.start[n]) > 0.0

    def survey(self) -> tuple[list[int], list[int]]:
        """The nodes and the edges in conflict."""
        return (
            [n for n in range(self.nodes) if self.node_state(n)],
            [e for e in range(self.edges) if self.edge_state(e)],
        )

    def remember(self, growth: cython.double) -> None:
        """End an iteration: what is shared becomes dearer for good, and sharing dearer."""
        k: cython.int
        for k in range(self.resources * self.interval):
            if self.used[k] > 1:
                self.history[k] += 0.4 * (self.used[k] - 1)
        for k in range(self.units * self.interval):
            if self.busy[k] > 1:
                self.weary[k] += 0.8 * (self.busy[k] - 1)
        for k in range(self.edges):
            if self.length[k] < 0:
                self.grudge[k] += 3.0
        for k in range(len(self.order_grudge) - 1):
            if (
                self.start[self.before[k]] + self.order_delay[k]
                > self.start[self.after[k]] + self.order_distance[k] * self.interval
            ):
                self.order_grudge[k] += 3.0
        self.present = min(self.present * growth, 10.0)
        self.reprice()

    def spent(self) -> int:
        """The states visited so far: a measure of time that is the same everywhere."""
        return self.work

    def pick(self, below: cython.int) -> int:
        """A number in [0, below) of this flow's generator."""
        return self.random(below)

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
