# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""What it costs to bring values to, or from, every place that an operation could take.

A flood is a search without a goal: from a net's tree forward, or from an operand backward, over layers of
cycles. Its prices are added up over the units and starts that an operation has to choose from.

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from .flat import Board, Problem
    from .flow import Flow

FAR = cython.declare(cython.double, 1e9)
# Ways that cost so much more than the cheapest one to their layer are not followed.
DETOUR = cython.declare(cython.double, 8.0)
WIDEST = cython.declare(cython.int, 40)


@cython.final
@cython.cclass
class Flood:
    """Sums of prices: column k of unit i of the operation's class is `sums[i * WIDEST + k]`."""

    flow: object
    interval: cython.int
    units: cython.int
    ports: cython.int
    resources: cython.int
    work: cython.longlong
    stamp: cython.int
    code: cython.int[::1]
    latency: cython.int[::1]
    result: cython.int[::1]
    source: cython.int[::1]
    target: cython.int[::1]
    position: cython.int[::1]
    output: cython.int[::1]
    kind: cython.int[::1]
    class_at: cython.int[::1]
    class_units: cython.int[::1]
    delay: cython.int[::1]
    is_operand: cython.int[::1]
    basin: cython.int[::1]
    plane: cython.int[::1]
    gap: cython.int[::1]
    unit_operands: cython.int[::1]
    sinks_at: cython.int[::1]
    sinks: cython.int[::1]
    sources_at: cython.int[::1]
    sources: cython.int[::1]
    unit: cython.int[::1]
    start: cython.int[::1]
    toll: cython.double[::1]
    grudge: cython.double[::1]
    mark: cython.int[::1]
    cost: cython.double[::1]
    queued: cython.int[::1]
    here: cython.int[::1]
    later: cython.int[::1]
    tree_list: cython.int[::1]
    tree_head: cython.int[::1]
    tree_next: cython.int[::1]
    sums: cython.double[::1]

    def __init__(self, problem: Problem, board: Board, flow: Flow) -> None:
        t = problem.terrain
        self.interval, self.units, self.resources = board.interval, t.units, t.resources
        self.ports = t.ports
        self.code, self.latency, self.result = problem.code, problem.latency, problem.result
        self.source, self.target = problem.source, problem.target
        self.position, self.output = problem.position, problem.output
        self.flow = flow
        self.work = 0
        self.kind, self.class_at, self.class_units = problem.kind, problem.class_at, problem.class_units
        self.delay, self.is_operand, self.basin, self.gap = t.delay, t.operand, t.basin, t.gap
        self.unit_operands, self.plane = t.unit_operands, problem.plane
        self.sinks_at, self.sinks = t.sinks_at, t.sinks
        self.sources_at, self.sources = t.sources_at, t.sources
        self.unit, self.start = board.unit, board.start
        self.toll, self.grudge, self.tree_list = board.toll, board.grudge, board.tree_list
        self.sums = board.sums
        size = (board.layers + 1) * t.resources
        self.cost = array("d", [0.0]) * size
        self.mark = array("i", [0]) * size
        self.queued = array("i", [0]) * size
        self.here = array("i", [0]) * (t.resources + 1)
        self.later = array("i", [0]) * (t.resources + 1)
        self.tree_head = array("i", [-1]) * (board.layers + 2)
        self.tree_next = array("i", [0]) * size
        self.stamp = 0

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

    @cython.locals(
        i=cython.int,
        j=cython.int,
        k=cython.int,
        layer=cython.int,
        slot=cython.int,
        q=cython.int,
        r=cython.int,
        s=cython.int,
        price=cython.double,
        floor=cython.double,
        waiting=cython.int,
        ahead=cython.int,
        tail=cython.int,
        lack=cython.int,
    )
    def forward(
        self, e: cython.int, first: cython.int, last: cython.int, n: cython.int, radius: cython.int
    ) -> None:
        """Add to `sums` what it costs to bring edge e's value to each unit of n in layers first..last.

        Sum column k stands for layer first + k.
        """
        count: cython.int = self.flow.load_tree(e)
        self.stamp += 1
        stamp: cython.int = self.stamp
        size: cython.int = self.resources
        base: cython.int = self.slot(self.done(self.source[e]))
        present: cython.double = self.flow.sharing()
        plane: cython.int = self.plane[e]
        center: cython.int = self.basin[plane + self.unit_operands[self.ports * self.unit[n]]] * size
        nearby: cython.int = self.gap[center + self.root(e)]
        if radius < nearby:
            radius = nearby
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
            floor += DETOUR + present
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
                        price = (
                            cost[s]
                            + self.toll[q * self.interval + (slot + 1 if slot + 1 < self.interval else 0)]
                        )
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
                        price = cost[s] + self.toll[q * self.interval + slot]
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
        for i in range(self.class_at[self.kind[n] + 1] - row):
            q = self.unit_operands[self.ports * self.class_units[row + i] + self.position[e]]
            for k in range(last - first + 1):
                layer = first + k
                if q >= 0 and layer >= 0 and mark[layer * size + q] == stamp:
                    self.sums[i * WIDEST + k] += cost[layer * size + q]
                else:
                    lack = 20 if q < 0 else self.gap[self.basin[plane + q] * size + root] - layer
                    self.sums[i * WIDEST + k] += self.grudge[e] + 2.0 * (lack if lack < 20 else 20)

    @cython.locals(
        i=cython.int,
        j=cython.int,
        k=cython.int,
        layer=cython.int,
        slot=cython.int,
        q=cython.int,
        r=cython.int,
        s=cython.int,
        price=cython.double,
        floor=cython.double,
        waiting=cython.int,
        ahead=cython.int,
        tail=cython.int,
        u=cython.int,
        lack=cython.int,
    )
    def backward(
        self, e: cython.int, first: cython.int, last: cython.int, n: cython.int, radius: cython.int
    ) -> None:
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
        present: cython.double = self.flow.sharing()
        plane: cython.int = self.plane[e]
        center: cython.int = self.basin[plane + self.unit_operands[self.ports * self.unit[n]]] * size
        nearby: cython.int = self.gap[self.basin[plane + goal] * size + self.root(e)] if goal >= 0 else 0
        if radius < nearby:
            radius = nearby
        mark = self.mark
        cost = self.cost
        queued = self.queued
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
            floor += DETOUR + present
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
                    price += self.toll[r * self.interval + slot]
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
                    lack = 20 if q < 0 or goal < 0 else self.gap[self.basin[plane + goal] * size + q] - layer
                    self.sums[i * WIDEST + k] += self.grudge[e] + 2.0 * (lack if lack < 20 else 20)

    def spent(self) -> int:
        """The states visited so far."""
        return self.work
