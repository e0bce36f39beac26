"""Mending a mapping that has a few conflicts left: all but their surroundings stays, a solver does the rest.

Negotiation gets down to a handful of conflicts and then turns in circles: each that is resolved makes
another. The exact engine (exact.py) puts the operations around the conflicts anew, in other places and
cycles, and routes their values anew; all other operations stay where and when they are, and values that none
of the moved ones makes or reads keep their routes. Neighbourhoods grow until one has a mapping, or is too
hard. Most of those that have none are refuted at once. Budgets count conflicts, so results repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .flat import Problem
from .mapping import Mapping, Placement, Route, Schedule
from .nearly import Nearly
from .place import anchored


class Ring(NamedTuple):
    """So many operations may move, each to units up to `reach` cycles and to starts up to `shift` away."""

    nodes: int
    reach: int
    shift: int


RINGS = (
    Ring(8, 2, 2),
    Ring(12, 2, 2),
    Ring(16, 2, 2),
    Ring(24, 3, 3),
    Ring(32, 3, 3),
    Ring(48, 3, 3),
    Ring(64, 4, 4),
    Ring(96, 4, 4),
)
"""Neighbourhoods, each larger than the one before."""

CONFLICTS = 2500
"""The solver's conflicts for one neighbourhood, at effort 1: half a second or so."""

WORDS = 60_000
"""Neighbourhoods with more variables for words, at effort 1, are left: where wires lead back to each other,
which takes a variable for each hop, their clauses take a second to write and seldom have a mapping."""

FOREVER = 1e9
"""Seconds: what ends the work is conflicts, or `pulse`."""


def repaired(problem: Problem, nearly: Nearly, effort: float, pulse: Callable[[int], None]) -> Mapping | None:
    """A mapping that differs around the conflicts alone; None if none is met soon.

    `pulse` is told again and again how many conflicts there are, and may raise what ends the work.
    """
    # Imported here: loading a solver takes time, and few kernels need one.
    from .exact import Status, solve
    from .surroundings import Surroundings

    around = Surroundings(problem, nearly)
    tried = 0
    for ring in RINGS:
        pulse(nearly.count())
        free = around.nearest(ring.nodes)
        if len(free) == tried:
            continue
        tried = len(free)
        domain = around.domain(free, ring.reach, ring.shift)
        if domain is None:
            continue
        conflicts, words = round(effort * CONFLICTS), round(effort * WORDS)
        proof = solve(problem, nearly.interval, domain, conflicts, FOREVER, most=words)
        if proof.mapping:
            return _anchored(problem, proof.mapping)
        if proof.status is Status.UNKNOWN:
            return None
    return None


def _anchored(problem: Problem, mapping: Mapping) -> Mapping:
    """The same mapping from cycle 0 on."""
    placement, dfg = mapping.placement, mapping.dfg
    start = anchored(problem, mapping.interval, placement.schedule.start)
    shift = [new - old for new, old in zip(start, placement.schedule.start, strict=True)]
    producer = {(consumer, position): use.node for consumer, position, use in dfg.uses()}
    routes = tuple(
        Route(
            route.consumer,
            route.position,
            tuple((r, t + shift[producer[route.consumer, route.position]]) for r, t in route.steps),
        )
        for route in mapping.routes
    )
    schedule = Schedule(dfg, mapping.interval, tuple(start))
    return Mapping(Placement(schedule, mapping.fabric, placement.unit, placement.memory), routes)
