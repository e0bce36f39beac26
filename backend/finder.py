# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""The cheapest ways of words from output to output, where words leave tiles through one register alone.

A way is a row of outputs, each in a cycle: from one the word goes on to a neighbour's in the next cycle, or
waits in registers of the tile and comes back, up to an interval later. A step costs one unit, and CROSSED
more for each word that is in its slot already; more than two are as many as two. For each price and each
tile there is the set of cycles in which a word can be there at that price, the bits of one word of the
machine, so that a step takes all words on in all cycles by a few shifts.

Types are in `finder.pxd`. Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

import cython

from .terrain import rows

CROSSED = cython.declare(cython.int, 13)
FARTHEST = cython.declare(cython.int, 64)  # what a way may cost


class Ways(NamedTuple):
    """For each tile those whose outputs it reads (compressed rows), and between all pairs of tiles the cycles
    that a word needs at least: none to a neighbour; how many registers of its own each has."""

    beside: tuple[array[int], array[int]]
    apart: array[int]
    room: int


def _readers(ways: Ways, tiles: int) -> list[list[int]]:
    """For each tile those that read its output."""
    found: list[list[int]] = [[] for _ in range(tiles)]
    at, beside = ways.beside
    for q in range(tiles):
        for b in beside[at[q] : at[q + 1]]:
            found[b].append(q)
    return found


class Finder:
    """Finds ways at one interval, of at most 63 cycles. `tile` and `cycle` are those of the last one, of
    `steps` steps, from its end."""

    def __init__(self, tiles: int, interval: int, ways: Ways) -> None:
        self.tiles, self.interval = tiles, interval
        self.beside_at, self.beside = ways.beside
        self.onward_at, self.onward = rows(_readers(ways, tiles))
        self.at = array("i", [q for q in range(tiles) for _ in range(interval)])
        self.bit = array("Q", [1 << slot for _ in range(tiles) for slot in range(interval)])
        self.some, self.several = (array("Q", [0]) * tiles for _ in range(2))
        self.taken, self.twice = (array("Q", [0]) * tiles for _ in range(2))
        self.got, self.onto = (array("Q", [0]) * ((FARTHEST + 1) * tiles) for _ in range(2))
        self.been, self.first, self.next = (array("Q", [0]) * tiles for _ in range(3))
        self.alive = array("i", [0]) * (FARTHEST + 1)
        self.tile, self.cycle = (array("i", [0]) * (FARTHEST + 1) for _ in range(2))
        self.span, self.steps = 0, 0

    def mark(self, k: cython.int, words: cython.int) -> cython.void:
        """Note how many words a slot of a tile's output has: the k-th, tile by tile."""
        one: cython.ulonglong = self.bit[k]
        q: cython.int = self.at[k]
        self.some[q] = self.some[q] & ~one | (one if words > 0 else 0)
        self.several[q] = self.several[q] & ~one | (one if words > 1 else 0)

    @cython.locals(q=cython.int)
    def begin(self) -> cython.void:
        """Forget where ways may begin."""
        for q in range(self.tiles):
            self.first[q] = 0

    def add(self, q: cython.int, cycle: cython.int) -> cython.void:
        """Have ways begin in a tile's output, so many cycles after the value is made."""
        one: cython.ulonglong = 1
        self.first[q] |= one << cycle

    @cython.locals(q=cython.int, i=cython.int)
    def look(self, slot: cython.int, when: cython.int) -> cython.void:
        """Note in which cycles after one in a slot outputs have words, up to `when` cycles after it."""
        one: cython.ulonglong = 1
        x: cython.ulonglong
        y: cython.ulonglong
        for q in range(self.tiles):
            x = self.some[q]
            y = self.several[q]
            i = self.interval
            x = (x >> slot) | ((x & ((one << slot) - 1)) << (i - slot))
            y = (y >> slot) | ((y & ((one << slot) - 1)) << (i - slot))
            while i <= when:
                x |= (x << i) & self.span
                y |= (y << i) & self.span
                i *= 2
            self.taken[q] = x
            self.twice[q] = y
            self.been[q] = 0

    @cython.locals(c=cython.int)
    def find(self, reader: cython.int, slot: cython.int, when: cython.int, most: cython.int) -> cython.int:
        """The price of the cheapest way to where a tile reads a value that is made in a slot, `when` cycles
        later; -1 if there is none for `most`."""
        tiles: cython.int = self.tiles
        one: cython.ulonglong = 1
        self.span = (one << (when + 1)) - 1
        self.look(slot, when)
        longest: cython.int = min(self.interval, when)
        waiting: cython.ulonglong = self.span & ~((one << (when - longest)) - 1)
        idle: cython.int = 0
        for c in range(most + 1):
            self.alive[c] = self.arrive(c)
            if not self.alive[c]:
                idle += 1
                if idle > 2 * CROSSED:
                    break
                continue
            idle = 0
            if self.ends(c * tiles, reader, when, waiting) >= 0:
                self.go_back(c, reader, when, waiting)
                return c
            self.spread(c * tiles, longest)
        return -1

    @cython.locals(q=cython.Py_ssize_t)
    def arrive(self, c: cython.int) -> cython.bint:
        """Find in which cycles a word can be in outputs at a price, but not below it; whether in any."""
        free: cython.bint = c > 0 and self.alive[c - 1] != 0
        crossed: cython.bint = c > CROSSED and self.alive[c - 1 - CROSSED] != 0
        twice: cython.bint = c > 2 * CROSSED and self.alive[c - 1 - 2 * CROSSED] != 0
        k: cython.Py_ssize_t = c * self.tiles
        below: cython.Py_ssize_t = k - self.tiles
        # Each loop does one thing for all tiles: the compiler makes vectors of these.
        if c == 0:
            for q in range(self.tiles):
                self.next[q] = self.first[q]
        elif free:
            for q in range(self.tiles):
                self.next[q] = self.onto[below + q] & ~self.taken[q]
        elif crossed or twice:
            for q in range(self.tiles):
                self.next[q] = 0
        else:
            return False
        if crossed:
            self.cross(k - (1 + CROSSED) * self.tiles)
        if twice:
            self.cross_twice(k - (1 + 2 * CROSSED) * self.tiles)
        new: cython.ulonglong = 0
        x: cython.ulonglong
        for q in range(self.tiles):
            x = self.next[q] & ~self.been[q]
            self.got[k + q] = x
            self.been[q] |= x
            new |= x
        return new != 0

    @cython.locals(q=cython.Py_ssize_t)
    def cross(self, k: cython.Py_ssize_t) -> cython.void:
        """Go where one other word is."""
        for q in range(self.tiles):
            self.next[q] |= self.onto[k + q] & self.taken[q] & ~self.twice[q]

    @cython.locals(q=cython.Py_ssize_t)
    def cross_twice(self, k: cython.Py_ssize_t) -> cython.void:
        """Go where several other words are."""
        for q in range(self.tiles):
            self.next[q] |= self.onto[k + q] & self.twice[q]

    @cython.locals(q=cython.Py_ssize_t, i=cython.int, n=cython.int)
    def spread(self, k: cython.Py_ssize_t, longest: cython.int) -> cython.void:
        """Find in which cycles words can be next that are in outputs at a price."""
        x: cython.ulonglong
        for q in range(self.tiles):
            self.next[q] = self.got[k + q]
        n = 1
        while n < longest:
            i = min(n, longest - n)
            for q in range(self.tiles):
                self.next[q] |= self.next[q] << i
            n *= 2
        for q in range(self.tiles):
            x = self.got[k + q]
            if x != 0:
                for i in range(self.onward_at[q], self.onward_at[q + 1]):
                    self.next[self.onward[i]] |= x
        for q in range(self.tiles):
            self.onto[k + q] = (self.next[q] << 1) & self.span

    @cython.locals(i=cython.int)
    def ends(
        self, k: cython.int, reader: cython.int, when: cython.int, waiting: cython.ulonglong
    ) -> cython.int:
        """A tile whose output the reader can read at a price, or the reader, where the word can wait."""
        for i in range(self.beside_at[reader], self.beside_at[reader + 1]):
            if (self.got[k + self.beside[i]] >> when) != 0:
                return self.beside[i]
        return reader if (self.got[k + reader] & waiting) != 0 else -1

    @cython.locals(i=cython.int, k=cython.int, q=cython.int, t=cython.int, b=cython.int)
    def go_back(
        self, c: cython.int, reader: cython.int, when: cython.int, waiting: cython.ulonglong
    ) -> cython.void:
        """Note the steps of a way of that price."""
        q = self.ends(c * self.tiles, reader, when, waiting)
        t = when
        while (self.got[c * self.tiles + q] >> t) & 1 == 0:
            t -= 1
        self.steps = 0
        while True:
            self.tile[self.steps] = q
            self.cycle[self.steps] = t
            if c == 0:
                break
            self.steps += 1
            if (self.taken[q] >> t) & 1 != 0:
                c -= CROSSED if (self.twice[q] >> t) & 1 == 0 else 2 * CROSSED
            c -= 1
            k = c * self.tiles
            t -= 1
            b = -1
            for i in range(self.beside_at[q], self.beside_at[q + 1]):
                if (self.got[k + self.beside[i]] >> t) & 1 != 0:
                    b = self.beside[i]
                    break
            if b >= 0:
                q = b
                continue
            while (self.got[k + q] >> t) & 1 == 0:
                t -= 1
