# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""Longest paths along arcs, or a cycle that is too long for them to exist, by Bellman and Ford's method.

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import cython

EACH = 8
"""A cycle is looked for after so many rounds."""

LARGEST = 1 << 62

_EACH = cython.declare(cython.int, EACH)


def _ints() -> array[int]:
    return array("i")


def _words() -> array[int]:
    return array("q")


@dataclass(slots=True)
class Arcs:
    """Arcs by number, one array for each of their properties: `target` starts `cycles` after `source`."""

    source: array[int] = field(default_factory=_ints)
    target: array[int] = field(default_factory=_ints)
    distance: array[int] = field(default_factory=_words)
    cycles: array[int] = field(default_factory=_words)

    def add(self, source: int, target: int, distance: int, cycles: int) -> None:
        """One more arc; `target` starts so many iterations later."""
        self.source.append(source)
        self.target.append(target)
        self.distance.append(distance)
        self.cycles.append(cycles)


def longest(nodes: int, arcs: Arcs, interval: int) -> tuple[list[int], tuple[int, ...]]:
    """Earliest starts, and the nodes of a cycle that the interval is too short for (then starts are void)."""
    start, by, seen = array("q", [0]) * nodes, array("i", [-1]) * nodes, array("i", [-1]) * nodes
    if not _fits(nodes, arcs, interval):
        return _exactly(arcs, [0] * nodes, by, seen, interval)
    found = _relaxed(arcs.source, arcs.target, arcs.distance, arcs.cycles, start, by, seen, interval)
    return start.tolist(), _cycle(arcs, by, found) if found >= 0 else ()


def _fits(nodes: int, arcs: Arcs, interval: int) -> bool:
    """Whether no number gets larger than words of 64 bits are; a round raises a start by all arcs at most."""
    if not arcs.source:
        return True
    most = max(max(arcs.cycles), -min(arcs.cycles))
    far = max(max(arcs.distance), -min(arcs.distance))
    return most * (nodes + 1) * (nodes + 1) + far * interval < LARGEST


def _exactly(
    arcs: Arcs, start: list[int], by: array[int], seen: array[int], interval: int
) -> tuple[list[int], tuple[int, ...]]:
    """`longest` with numbers of any size."""
    weights = [
        cycles - distance * interval for cycles, distance in zip(arcs.cycles, arcs.distance, strict=True)
    ]
    for turn in range(len(start) + 1):
        changed = -1
        for a, weight in enumerate(weights):
            t = start[arcs.source[a]] + weight
            if t > start[arcs.target[a]]:
                start[arcs.target[a]], by[arcs.target[a]] = t, a
                changed = arcs.target[a]
        if changed < 0:
            return start, ()
        if turn % EACH == EACH - 1 or turn >= len(start) - 1:
            found = _on_cycle(arcs.source, by, seen, changed, turn)
            if found >= 0:
                return start, _cycle(arcs, by, found)
    raise AssertionError("Bellman-Ford without end")


def _cycle(arcs: Arcs, by: array[int], first: int) -> tuple[int, ...]:
    """The cycle of the arcs that gave the last values, from a node on it."""
    path, here = [first], arcs.source[by[first]]
    while here != first:
        path.append(here)
        here = arcs.source[by[here]]
    return tuple(reversed(path))


@cython.cfunc
@cython.exceptval(-2)
@cython.locals(a=cython.int, turn=cython.int, changed=cython.int, found=cython.int, t=cython.longlong)
def _relaxed(
    source: cython.int[::1],
    target: cython.int[::1],
    distance: cython.longlong[::1],
    cycles: cython.longlong[::1],
    start: cython.longlong[::1],
    by: cython.int[::1],
    seen: cython.int[::1],
    interval: cython.longlong,
) -> cython.int:
    """Raises starts until none is too early, which gives -1, or until there is a cycle: a node of that."""
    for turn in range(len(start) + 1):
        changed = -1
        for a in range(len(source)):
            t = start[source[a]] + cycles[a] - distance[a] * interval
            if t > start[target[a]]:
                start[target[a]] = t
                by[target[a]] = a
                changed = target[a]
        if changed < 0:
            return -1
        if turn % _EACH == _EACH - 1 or turn >= len(start) - 1:
            found = _on_cycle(source, by, seen, changed, turn)
            if found >= 0:
                return found
    raise AssertionError("Bellman-Ford without end")


@cython.cfunc
@cython.locals(here=cython.int)
def _on_cycle(
    source: cython.int[::1],
    by: cython.int[::1],
    seen: cython.int[::1],
    node: cython.int,
    turn: cython.int,
) -> cython.int:
    """The first node met twice, looking back from `node` along the arcs that gave values; -1 if none is."""
    here = node
    while seen[here] != turn:
        seen[here] = turn
        if by[here] < 0:
            return -1
        here = source[by[here]]
    return here
