# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""The inner loop of `shorten_time`: raises the times of all classes once.

Compiled by Cython, or run as it is: both give the same result.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import cython

NEVER_LATE = -(1 << 40)
"""The time of what is on no recurrence."""

ALWAYS_LATE = 1 << 40

_NEVER = cython.declare(cython.longlong, NEVER_LATE)
_ALWAYS = cython.declare(cython.longlong, ALWAYS_LATE)


def _ints() -> array[int]:
    return array("i")


def _words() -> array[int]:
    return array("q")


@dataclass(slots=True)
class Plan:
    """Classes by position, their ways and what these wait for, one array for each of their properties.

    Ways of class k are numbered from `ways[k]` to before `ways[k + 1]`, and arcs of ways alike by `arcs`.
    `copied` is the time of a class where it is used with another initial value than it begins with.
    """

    ways: array[int] = field(default_factory=_ints)
    arcs: array[int] = field(default_factory=_ints)
    begins: array[int] = field(default_factory=_ints)  # 1 if a way only delays another class
    source: array[int] = field(default_factory=_ints)
    weight: array[int] = field(default_factory=_words)
    copies: array[int] = field(default_factory=_ints)  # 1 if an arc takes what is in `copied`
    time: array[int] = field(default_factory=_words)
    copied: array[int] = field(default_factory=_words)
    grown: array[int] = field(default_factory=_ints)  # positions whose time grew last


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
    a=cython.int,
    s=cython.int,
    soonest=cython.longlong,
    soonest_copied=cython.longlong,
    latest=cython.longlong,
    t=cython.longlong,
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
