# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""The inner loops of `shorten_time`: these raise the times of all classes once, or say what they wait for.

Compiled by Cython, or run as they are: both give the same results.
"""

from __future__ import annotations

from array import array

import cython

from macah.shorten_plan import Plan

NEVER_LATE = -(1 << 40)
"""The time of what is on no recurrence."""

ALWAYS_LATE = 1 << 40

_NEVER = cython.declare(cython.longlong, NEVER_LATE)
_ALWAYS = cython.declare(cython.longlong, ALWAYS_LATE)


@cython.cfunc
@cython.locals(a=cython.int, s=cython.int, arc=cython.int, latest=cython.longlong, t=cython.longlong)
def _last(
    w: cython.int,
    arcs: cython.int[::1],
    source: cython.int[::1],
    weight: cython.longlong[::1],
    copies: cython.int[::1],
    time: cython.longlong[::1],
    copied: cython.longlong[::1],
) -> cython.int:
    """The arc that a way waits for last, -1 if for none."""
    arc = -1
    latest = _NEVER
    for a in range(arcs[w], arcs[w + 1]):
        s = source[a]
        t = time[s]
        if t == _NEVER:
            continue
        if copies[a]:
            t = copied[s]
        t += weight[a]
        if t > latest:
            latest = t
            arc = a
    return arc


@cython.cfunc
def _ready(
    arc: cython.int,
    source: cython.int[::1],
    weight: cython.longlong[::1],
    copies: cython.int[::1],
    time: cython.longlong[::1],
    copied: cython.longlong[::1],
) -> cython.longlong:
    """When what comes along an arc is there."""
    if arc < 0:
        return _NEVER
    if copies[arc]:
        return copied[source[arc]] + weight[arc]
    return time[source[arc]] + weight[arc]


def awaited(plan: Plan, classes: array[int], found: array[int]) -> None:
    """Note which arc the soonest way of each of some classes, by position, waits for last; -1 if for none."""
    _awaited(
        plan.ways, plan.arcs, plan.source, plan.weight, plan.copies, plan.time, plan.copied, classes, found
    )


@cython.cfunc
@cython.locals(
    i=cython.int,
    k=cython.int,
    w=cython.int,
    arc=cython.int,
    soonest=cython.longlong,
    latest=cython.longlong,
)
def _awaited(
    ways: cython.int[::1],
    arcs: cython.int[::1],
    source: cython.int[::1],
    weight: cython.longlong[::1],
    copies: cython.int[::1],
    time: cython.longlong[::1],
    copied: cython.longlong[::1],
    classes: cython.int[::1],
    found: cython.int[::1],
) -> cython.int:
    for i in range(len(classes)):
        k = classes[i]
        soonest = _ALWAYS
        for w in range(ways[k], ways[k + 1]):
            arc = _last(w, arcs, source, weight, copies, time, copied)
            latest = _ready(arc, source, weight, copies, time, copied)
            if latest < soonest:
                soonest = latest
                found[i] = arc
    return 0


def sweep(plan: Plan) -> int:
    """Raise times once; returns how many classes have a later one."""
    return _sweep(
        plan.ways,
        plan.arcs,
        plan.begins,
        plan.source,
        plan.weight,
        plan.copies,
        plan.time,
        plan.copied,
        plan.grown,
    )


@cython.cfunc
@cython.locals(
    count=cython.int,
    k=cython.int,
    w=cython.int,
    arc=cython.int,
    soonest=cython.longlong,
    soonest_copied=cython.longlong,
    latest=cython.longlong,
)
def _sweep(
    ways: cython.int[::1],
    arcs: cython.int[::1],
    begins: cython.int[::1],
    source: cython.int[::1],
    weight: cython.longlong[::1],
    copies: cython.int[::1],
    time: cython.longlong[::1],
    copied: cython.longlong[::1],
    grown: cython.int[::1],
) -> cython.int:
    count = 0
    for k in range(len(ways) - 1):
        soonest = _ALWAYS
        soonest_copied = _ALWAYS
        for w in range(ways[k], ways[k + 1]):
            arc = _last(w, arcs, source, weight, copies, time, copied)
            latest = _ready(arc, source, weight, copies, time, copied)
            if latest < soonest:
                soonest = latest
            latest += begins[w]
            if latest < soonest_copied:
                soonest_copied = latest
        if soonest > time[k] or soonest_copied > copied[k]:
            grown[count] = k
            count += 1
            if soonest > time[k]:
                time[k] = soonest
            if soonest_copied > copied[k]:
                copied[k] = soonest_copied
    return count
