# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""Distances over the graph of routing resources, and between units, in cycles.

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array

import cython


def far_to(
    at: cython.int[::1],
    links: cython.int[::1],
    delay: cython.int[::1],
    start: cython.int[::1],
    far: cython.int,
) -> array[int]:
    """The fewest cycles to each resource from any of `start`, walking towards sinks; `start` are entered."""
    return _walk(at, links, delay, start, far, True)


def far_from(
    at: cython.int[::1],
    links: cython.int[::1],
    delay: cython.int[::1],
    start: cython.int[::1],
    far: cython.int,
) -> array[int]:
    """The fewest cycles from each resource to any of `start`, walking towards sources."""
    return _walk(at, links, delay, start, far, False)


@cython.cfunc
@cython.locals(
    size=cython.int,
    cycles=cython.int,
    k=cython.int,
    r=cython.int,
    s=cython.int,
    i=cython.int,
    t=cython.int,
    now=cython.int,
    coming=cython.int,
    best=cython.int[::1],
    here=cython.int[::1],
    later=cython.int[::1],
)
def _walk(
    at: cython.int[::1],
    links: cython.int[::1],
    delay: cython.int[::1],
    start: cython.int[::1],
    far: cython.int,
    entering: cython.bint,
) -> array[int]:
    """Breadth first, over edges of 0 or 1 cycles: a resource's delay counts on entering it or on leaving."""
    size = len(delay)
    found = array("i", [far]) * size
    best = found
    # A resource is noted at most once for a distance, and again for one that is shorter by one.
    here = array("i", [0]) * (2 * size + len(start))
    later = array("i", [0]) * (2 * size + len(start))
    now = coming = 0
    for k in range(len(start)):
        r = start[k]
        t = delay[r] if entering else 0
        if best[r] <= t:
            continue
        best[r] = t
        if t:
            later[coming] = r
            coming += 1
        else:
            here[now] = r
            now += 1
    cycles = 0
    while now + coming > 0:
        k = 0
        while k < now:
            r = here[k]
            k += 1
            if best[r] < cycles:
                continue
            for i in range(at[r], at[r + 1]):
                s = links[i]
                t = cycles + (delay[s] if entering else delay[r])
                if best[s] <= t:
                    continue
                best[s] = t
                if t > cycles:
                    later[coming] = s
                    coming += 1
                else:
                    here[now] = s
                    now += 1
        here, later = later, here
        now = coming
        coming = 0
        cycles += 1
    return found


@cython.locals(b=cython.int, k=cython.int, t=cython.int, basins=cython.int, table=cython.uchar[::1])
def condensed(
    gap: cython.int[::1], size: cython.int, columns: cython.int[::1], most: cython.int
) -> array[int]:
    """Some columns of a table of so many columns (`size`), as bytes: what is not below `most` is `most`."""
    width: cython.int = len(columns)
    basins = len(gap) // size
    found = array("B", [most]) * (basins * width)
    table = found
    for b in range(basins):
        for k in range(width):
            t = gap[b * size + columns[k]]
            if t < most:
                table[b * width + k] = t
    return found


@cython.locals(u=cython.int, v=cython.int, i=cython.int, k=cython.int, least=cython.int, t=cython.int)
def between(
    gap: cython.int[::1],
    size: cython.int,
    outs_at: cython.int[::1],
    outs: cython.int[::1],
    ins_at: cython.int[::1],
    ins: cython.int[::1],
    far: cython.int,
) -> array[int]:
    """A square table: the fewest cycles from any of a unit's results to any of another's basins."""
    units: cython.int = len(outs_at) - 1
    found = array("i", [far]) * (units * units)
    table: cython.int[::1] = found
    for u in range(units):
        for v in range(units):
            least = far
            for k in range(ins_at[v], ins_at[v + 1]):
                for i in range(outs_at[u], outs_at[u + 1]):
                    t = gap[ins[k] * size + outs[i]]
                    least = t if t < least else least
            table[u * units + v] = least
    return found


@cython.locals(i=cython.int, v=cython.int, t=cython.int, cycles=cython.int, more=cython.int)
def nearest(
    apart: cython.int[::1], units: cython.int, u: cython.int, some: cython.int[::1], most: cython.int
) -> list[int]:
    """At most `most` of `some` units, the nearest to u, in either direction, first; u itself before all."""
    found: list[int] = []
    more = 0
    for i in range(len(some)):
        if some[i] == u:
            found.append(u)
    while more >= 0 and len(found) < most:
        cycles = more
        more = -1
        for i in range(len(some)):
            v = some[i]
            t = min(apart[u * units + v], apart[v * units + u])
            if v == u or t < cycles:
                continue
            if t == cycles:
                found.append(v)
            elif more < 0 or t < more:
                more = t
    return found[:most]


@cython.locals(u=cython.int, i=cython.int, least=cython.int, t=cython.int)
def least_to(apart: cython.int[::1], units: cython.int, some: cython.int[::1], far: cython.int) -> array[int]:
    """For each unit the fewest cycles to any of `some` units."""
    found = array("i", [far]) * units
    table: cython.int[::1] = found
    for u in range(units):
        least = far
        for i in range(len(some)):
            t = apart[u * units + some[i]]
            least = t if t < least else least
        table[u] = least
    return found
