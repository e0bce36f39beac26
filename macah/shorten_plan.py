# mypy: disable-error-code="valid-type, misc, untyped-decorator, no-untyped-call, no-any-return, attr-defined"
"""The order of the classes of `shorten_time`, and arrays of all that is needed to raise their times.

Compiled by Cython, or run as it is: both give the same results. Classes are known by their first drafts;
`ways` are their drafts, and `parent` leads from each draft to the first one of its class.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

import cython


def _ints() -> array[int]:
    return array("i")


def _words() -> array[int]:
    return array("q")


def _begin() -> array[int]:
    return array("i", [0])


@dataclass(slots=True)
class Arcs:
    """What drafts wait for: those of draft d are numbered from `first[d]` to before `first[d + 1]`.

    Each comes from the class of `source`, `distance` iterations ago, which takes `cycles`; `last` is the
    initial value for the last iteration before there is one, None where there is no such iteration.
    """

    first: array[int] = field(default_factory=_begin)
    source: array[int] = field(default_factory=_ints)
    distance: array[int] = field(default_factory=_ints)
    cycles: array[int] = field(default_factory=_ints)
    last: list[Any] = field(default_factory=list)


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


def ordered(roots: list[int], ways: dict[int, list[int]], parent: list[int], arcs: Arcs) -> list[int]:
    """The classes that the roots need, in any of their ways, operands of the same iteration first."""
    return _ordered(roots, ways, parent, arcs.first, arcs.source, arcs.distance)


@cython.cfunc
@cython.locals(node=cython.int, way=cython.int, a=cython.int, s=cython.int)
def _ordered(
    roots: list[int],
    ways: dict[int, list[int]],
    parent: list[int],
    first: cython.int[::1],
    source: cython.int[::1],
    distance: cython.int[::1],
) -> list[int]:
    done = bytearray(len(parent))
    found: list[int] = []
    stack: list[int] = []  # classes, and ~ those of which all that they need has been seen
    later: list[int] = roots[::-1]
    while later or stack:
        node = stack.pop() if stack else later.pop()
        if node < 0:
            found.append(~node)
            continue
        if done[node]:
            continue
        done[node] = 1
        stack.append(~node)
        for way in ways[node]:
            for a in range(first[way], first[way + 1]):
                s = _find(parent, source[a])
                if not done[s]:
                    if distance[a]:
                        later.append(s)
                    else:
                        stack.append(s)
    return found


@cython.cfunc
@cython.exceptval(-1)
def _find(parent: list[int], node: cython.int) -> cython.int:
    while parent[node] != node:
        node = parent[node]
    return node


def planned(
    order: list[int],
    ways: dict[int, list[int]],
    parent: list[int],
    arcs: Arcs,
    delaying: dict[int, Any],
    firsts: dict[int, set[Any]],
    interval: int,
    time: dict[int, int],
    copied: dict[int, int],
) -> Plan:
    """The classes with all that is needed to raise their times.

    `delaying` are the drafts that only delay another class, with the first initial value, `firsts` these
    values by class; `time` and `copied` are those of the classes.
    """
    places = array("i", [0]) * len(parent)
    width = 0
    for place, node in enumerate(order):
        places[node] = place
        for way in ways[node]:
            width += arcs.first[way + 1] - arcs.first[way]
    plan = Plan(
        begins=array("i", [way in delaying for node in order for way in ways[node]]),
        ways=array("i", [0]) * (len(order) + 1),
        source=array("i", [0]) * width,
        weight=array("q", [0]) * width,
        copies=array("i", [0]) * width,
        time=array("q", [time[node] for node in order]),
        copied=array("q", [copied.get(node, time[node]) for node in order]),
        grown=array("i", [0]) * len(order),
    )
    plan.arcs = array("i", [0]) * (len(plan.begins) + 1)
    _fill(
        order,
        ways,
        parent,
        arcs.first,
        arcs.source,
        arcs.distance,
        arcs.cycles,
        arcs.last,
        firsts,
        interval,
        places,
        plan.ways,
        plan.arcs,
        plan.source,
        plan.weight,
        plan.copies,
    )
    return plan


@cython.cfunc
@cython.locals(
    node=cython.int, way=cython.int, a=cython.int, s=cython.int, k=cython.int, w=cython.int, at=cython.int
)
def _fill(
    order: list[int],
    ways: dict[int, list[int]],
    parent: list[int],
    first: cython.int[::1],
    source: cython.int[::1],
    distance: cython.int[::1],
    cycles: cython.int[::1],
    last: list[Any],
    firsts: dict[int, set[Any]],
    interval: cython.longlong,
    places: cython.int[::1],
    plan_ways: cython.int[::1],
    plan_arcs: cython.int[::1],
    plan_source: cython.int[::1],
    weight: cython.longlong[::1],
    copies: cython.int[::1],
) -> None:
    w = 0
    at = 0
    for k, node in enumerate(order):
        for way in ways[node]:
            for a in range(first[way], first[way + 1]):
                s = _find(parent, source[a])
                plan_source[at] = places[s]
                weight[at] = cycles[a] - distance[a] * interval
                # whether it begins with another value than the ways of its class do
                copies[at] = last[a] is not None and s in firsts and firsts[s] != {last[a]}
                at += 1
            w += 1
            plan_arcs[w] = at
        plan_ways[k + 1] = w
