# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""Moves of many nodes in time after annealing: what is late is made up for along a recurrence.

On recurrences without slack times are fixed but for their common start. If one edge is late by a cycle and
another has one to spare, all nodes between the two have to move together, with all that hangs on these: what
moves alone makes other edges late, which annealing cannot afford once it is cold. So an end of a late edge is
pushed as far as it has to go, and before it all that would be later than now then.

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from .anneal import Annealer
    from .flat import Problem

# More cycles are no worse than so many.
FAR = cython.declare(cython.int, 1000)


@cython.final
@cython.cclass
class Pushes:
    """The pushes of one annealer's nodes. Numbers from `edges` on are those of orders."""

    annealer: object
    interval: cython.int
    nodes: cython.int
    edges: cython.int
    count: cython.int
    stamp: cython.int
    source: cython.int[::1]
    target: cython.int[::1]
    distance: cython.int[::1]
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
    unit: cython.int[::1]
    start: cython.int[::1]
    busy: cython.int[::1]
    results: cython.int[::1]
    old_unit: cython.int[::1]
    old_start: cython.int[::1]
    shift: cython.int[::1]
    marked: cython.int[::1]
    pushed: cython.int[::1]

    def __init__(self, problem: Problem, interval: int, annealer: Annealer) -> None:
        self.annealer, self.interval = annealer, interval
        self.nodes, self.edges = problem.nodes, len(problem.source)
        self.source, self.target, self.distance = problem.source, problem.target, problem.distance
        self.in_at, self.ins = problem.in_at, problem.ins
        self.out_at, self.outs = problem.out_at, problem.outs
        self.before, self.after, self.order_distance = problem.before, problem.after, problem.order_distance
        self.delay, self.orders_at, self.orders = problem.delay, problem.orders_at, problem.orders
        self.unit, self.start, _, self.busy, self.results = annealer.board()
        self.old_unit, self.old_start = array("i", self.unit), array("i", self.start)
        self.count, self.stamp = 0, 0
        self.shift, self.marked, self.pushed = (array("i", [0]) * (problem.nodes + 1) for _ in range(3))

    @cython.cfunc
    def first(self, a: cython.int) -> cython.int:
        """The node that an edge or order leaves."""
        return self.source[a] if a < self.edges else self.before[a - self.edges]

    @cython.cfunc
    def second(self, a: cython.int) -> cython.int:
        """The node that it ends in."""
        return self.target[a] if a < self.edges else self.after[a - self.edges]

    @cython.cfunc
    @cython.exceptval(check=True)
    @cython.locals(o=cython.int, there=cython.int)
    def lack(self, a: cython.int) -> cython.int:
        """By how many cycles an edge or order is late; less than 0 if it has some to spare."""
        if a < self.edges:
            there = self.annealer.ready(a)
            return min(there - self.start[self.target[a]], FAR)
        o = a - self.edges
        there = self.start[self.before[o]] + self.delay[o] - self.order_distance[o] * self.interval
        return min(there - self.start[self.after[o]], FAR)

    @cython.cfunc
    def by(self, n: cython.int) -> cython.int:
        """By how many cycles a node is pushed."""
        return self.shift[n] if self.marked[n] == self.stamp else 0

    @cython.cfunc
    def add(self, n: cython.int, shift: cython.int) -> cython.void:
        """Push a node further."""
        if self.marked[n] != self.stamp:
            self.marked[n] = self.stamp
            self.pushed[self.count] = n
            self.count += 1
            self.shift[n] = 0
        self.shift[n] += shift

    @cython.cfunc
    @cython.exceptval(check=True)
    @cython.locals(n=cython.int, more=cython.int)
    def follow(self, a: cython.int, later: cython.bint) -> cython.int:
        """Push the other end of an edge or order, if it would be later than now; the node, or -1."""
        more = self.lack(a)
        # What is late already may stay so, but no more.
        more = (more if more < 0 else 0) + self.by(self.first(a)) - self.by(self.second(a))
        if more <= 0:
            return -1
        n = self.second(a) if later else self.first(a)
        self.add(n, more if later else -more)
        return n

    @cython.cfunc
    @cython.exceptval(check=True)
    @cython.locals(i=cython.int, k=cython.int, n=cython.int, end=cython.int, changed=cython.bint)
    def spread(self, first: cython.int, other: cython.int, shift: cython.int) -> cython.bint:
        """Push a node, and all that would be later than now then; whether `other` stays where it is."""
        later: cython.bint = shift > 0
        self.stamp += 1
        self.count = 0
        self.add(first, shift)
        changed = True
        while changed:  # as who is pushed further pushes others further
            changed = False
            k = 0
            while k < self.count:
                n = self.pushed[k]
                k += 1
                i = self.out_at[n] if later else self.in_at[n]
                end = self.out_at[n + 1] if later else self.in_at[n + 1]
                while i < end:
                    reached = self.follow(self.outs[i] if later else self.ins[i], later)
                    if reached == other:
                        return False
                    changed |= reached >= 0
                    i += 1
                for i in range(self.orders_at[n], self.orders_at[n + 1]):
                    reached = self.follow(self.edges + self.orders[i], later)
                    if reached == other:
                        return False
                    changed |= reached >= 0
        return self.shift[first] == shift

    @cython.locals(k=cython.int)
    def clashes(self) -> int:
        """How many operations too many share a slot, and words one of a result."""
        found: cython.int = 0
        for k in range(len(self.busy)):
            found += max(self.busy[k] - 1, 0)
        for k in range(len(self.results)):
            found += max(self.results[k] - 1, 0)
        return found

    @cython.locals(a=cython.int, lack=cython.int)
    def bad(self) -> int:
        """The cycles that edges and orders lack, and how many places are shared."""
        found: cython.int = self.clashes()
        for a in range(self.edges + len(self.before)):
            lack = self.lack(a)
            if lack > 0 and self.first(a) != self.second(a):
                found += lack
        return found

    @cython.locals(a=cython.int, k=cython.int, n=cython.int, late=cython.int, chosen=cython.int)
    def push(self) -> None:
        """Push an end of an edge or order that is late, whatever that costs."""
        annealer = self.annealer
        late = 0
        chosen = -1
        for a in range(self.edges + len(self.before)):
            if self.lack(a) > 0 and self.first(a) != self.second(a):
                late += 1
                if annealer.random(late) == 0:
                    chosen = a
        if chosen < 0:
            return
        lack: cython.int = self.lack(chosen)
        if annealer.random(2) == 0:
            if not self.spread(self.second(chosen), self.first(chosen), lack):
                return
        elif not self.spread(self.first(chosen), self.second(chosen), -lack):
            return
        for k in range(self.count):
            annealer.remove(self.pushed[k])
        for k in range(self.count):
            n = self.pushed[k]
            self.start[n] += self.shift[n]
            annealer.insert(n)

    @cython.locals(n=cython.int)
    def keep(self) -> None:
        """Remember where everything is."""
        for n in range(self.nodes):
            self.old_unit[n] = self.unit[n]
            self.old_start[n] = self.start[n]

    @cython.locals(n=cython.int)
    def restore(self) -> None:
        """Put everything back to where it was when that was remembered."""
        for n in range(self.nodes):
            self.annealer.remove(n)
        for n in range(self.nodes):
            self.unit[n] = self.old_unit[n]
            self.start[n] = self.old_start[n]
            self.annealer.insert(n)
