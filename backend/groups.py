# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""Moves of whole groups during annealing: a stream to another port, an array to another bank.

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from .anneal import Annealer
    from .flat import Problem


@cython.final
@cython.cclass
class Groups:
    """The homes of one annealer's groups."""

    annealer: object
    interval: cython.int
    units: cython.int
    groups: cython.int
    streams: cython.int
    overwritten: cython.bint
    code: cython.int[::1]
    latency: cython.int[::1]
    group: cython.int[::1]
    members_at: cython.int[::1]
    members: cython.int[::1]
    homes_at: cython.int[::1]
    homes: cython.int[::1]
    words: cython.int[::1]
    bank: cython.int[::1]
    free_words: cython.int[::1]
    home: cython.int[::1]
    unit: cython.int[::1]
    start: cython.int[::1]
    old_unit: cython.int[::1]
    old_start: cython.int[::1]
    count: cython.int[::1]
    stream_at: cython.int[::1]

    def __init__(self, problem: Problem, interval: int, annealer: Annealer) -> None:
        self.annealer = annealer
        self.interval, self.units = interval, problem.terrain.units
        self.groups, self.streams = problem.groups, problem.streams
        self.overwritten = problem.terrain.overwritten
        self.code, self.latency, self.bank = problem.code, problem.latency, problem.bank
        self.group, self.members_at, self.members = problem.group, problem.members_at, problem.members
        self.homes_at, self.homes, self.words = problem.homes_at, problem.homes_flat, problem.words
        self.unit, self.start, self.home, self.count, _ = annealer.board()
        self.old_unit, self.old_start = array("i", self.unit), array("i", self.start)
        self.free_words = array("i", problem.room)
        self.stream_at = array("i", [-1]) * self.units
        for g in range(self.groups):
            if g < self.streams:
                self.stream_at[self.home[g]] = g
            else:
                self.free_words[self.home[g]] -= self.words[g]

    @cython.cfunc
    def slot(self, cycle: cython.int) -> cython.int:
        """The cycle modulo the interval, not negative."""
        r: cython.int = cycle % self.interval
        return r + self.interval if r < 0 else r

    @cython.cfunc
    def fits(self, n: cython.int, u: cython.int) -> cython.bint:
        """Whether a node can be on a unit while the groups stay where they are."""
        if self.latency[self.code[n] * self.units + u] == 0:
            return False
        g: cython.int = self.group[n]
        if g < 0:
            return True
        return self.home[g] == (u if g < self.streams else self.bank[u])

    @cython.cfunc
    def crowd(self, u: cython.int, cycle: cython.int) -> cython.int:
        """How many nodes a unit has in a cycle's slot."""
        return self.count[u * self.interval + self.slot(cycle)]

    @cython.cfunc
    @cython.locals(i=cython.int, n=cython.int, u=cython.int, tries=cython.int)
    def rehome(self, g: cython.int, home: cython.int) -> cython.void:
        """Give a group a home, and its nodes (taken away before) units there, where they were if they can."""
        self.home[g] = home
        for i in range(self.members_at[g], self.members_at[g + 1]):
            n = self.members[i]
            if g < self.streams:
                self.unit[n] = home
                continue
            if self.fits(n, self.unit[n]):
                continue
            u = -1
            for tries in range(self.units):
                # The emptier of the bank's ports in this slot.
                if (
                    self.bank[tries] == home
                    and self.fits(n, tries)
                    and (u < 0 or self.crowd(tries, self.start[n]) < self.crowd(u, self.start[n]))
                ):
                    u = tries
            self.unit[n] = u

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(i=cython.int)
    def cost(self, g: cython.int) -> cython.longlong:
        """The cost of what of a group's nodes has not been counted since the annealer began to count."""
        cost: cython.longlong = 0
        for i in range(self.members_at[g], self.members_at[g + 1]):
            cost += self.annealer.node_cost(self.members[i])
        return cost

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(i=cython.int, n=cython.int)
    def take(self, g: cython.int) -> cython.longlong:
        """Take a group's nodes away, remembering where they were; the conflicts that this ends."""
        price: cython.longlong = 0
        for i in range(self.members_at[g], self.members_at[g + 1]):
            n = self.members[i]
            self.old_unit[n] = self.unit[n]
            self.old_start[n] = self.start[n]
            price += self.annealer.remove(n)
        return price

    @cython.cfunc
    @cython.exceptval(check=True)
    @cython.locals(i=cython.int)
    def drop(self, g: cython.int) -> cython.void:
        """Take a group's nodes away that are about to go back."""
        for i in range(self.members_at[g], self.members_at[g + 1]):
            self.annealer.remove(self.members[i])

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(i=cython.int)
    def put(self, g: cython.int) -> cython.longlong:
        """Put a group's nodes at their places; the conflicts that this adds."""
        price: cython.longlong = 0
        for i in range(self.members_at[g], self.members_at[g + 1]):
            price += self.annealer.insert(self.members[i])
        return price

    @cython.cfunc
    @cython.locals(i=cython.int, n=cython.int)
    def restore_group(self, g: cython.int, home: cython.int) -> cython.void:
        """Undo a move of a group whose nodes are away."""
        self.home[g] = home
        for i in range(self.members_at[g], self.members_at[g + 1]):
            n = self.members[i]
            self.unit[n] = self.old_unit[n]
            self.start[n] = self.old_start[n]

    @cython.cfunc
    def is_home(self, g: cython.int, home: cython.int) -> cython.bint:
        """Whether a group could live there."""
        i: cython.int
        found: cython.bint = False
        for i in range(self.homes_at[g], self.homes_at[g + 1]):
            if self.homes[i] == home:
                found = True
        return found

    def move(self, g: cython.int, temperature: cython.double) -> bool:
        """Try another home for a group; a group in the way changes places with it."""
        annealer = self.annealer
        old: cython.int = self.home[g]
        size: cython.int = self.homes_at[g + 1] - self.homes_at[g]
        if size < 2:
            return False
        new: cython.int = self.homes[self.homes_at[g] + annealer.random(size)]
        if new == old:
            return False
        other: cython.int = -1
        i: cython.int
        if g < self.streams:
            other = self.stream_at[new]
        elif self.free_words[new] < self.words[g] or annealer.random(2) == 0:
            other = self.streams + annealer.random(self.groups - self.streams)
            if self.home[other] != new:
                other = -1
        if other >= 0 and not self.is_home(other, old):
            return False
        if g >= self.streams:
            i = self.words[other] if other >= 0 else 0
            if self.free_words[new] + i < self.words[g] or self.free_words[old] + self.words[g] < i:
                return False
        annealer.begin(-1)
        change: cython.longlong = -self.cost(g)
        if other >= 0:
            change -= self.cost(other)
        change -= self.take(g)
        if other >= 0:
            change -= self.take(other)
            self.rehome(other, old)
            change += self.put(other)
        self.rehome(g, new)
        change += self.put(g)
        annealer.begin(1)
        change += self.cost(g)
        if other >= 0:
            change += self.cost(other)
        if annealer.accept(change, temperature):
            if g < self.streams:
                self.stream_at[old] = other
                self.stream_at[new] = g
            else:
                i = self.words[other] if other >= 0 else 0
                self.free_words[old] += self.words[g] - i
                self.free_words[new] += i - self.words[g]
            return True
        self.count_again(g, other, -1)
        self.drop(g)
        if other >= 0:
            self.drop(other)
            self.restore_group(other, new)
            self.put(other)
        self.restore_group(g, old)
        self.put(g)
        self.count_again(g, other, 1)
        return False

    @cython.cfunc
    @cython.exceptval(check=True)
    def count_again(self, g: cython.int, other: cython.int, sign: cython.int) -> cython.void:
        """Free (-1) or claim (1) the slots that values of two groups keep in tiles' outputs."""
        if self.overwritten:
            self.annealer.begin(sign)
            self.cost(g)
            if other >= 0:
                self.cost(other)
