"""Placement: a unit and a start for every operation, a port for every stream, a bank for every array."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import networkx as nx

from .anneal import Annealer
from .bound import match_streams, pack_memories
from .flat import Problem
from .groups import Groups
from .mapping import MemoryPlace, Placement, Schedule
from .pushes import Pushes

MOVES = 700
"""Moves of annealing for each operation, at effort 1."""

HOT, WARM, COLD = 400.0, 200.0, 4.0
"""Temperatures, in hundredths of a cycle: at first, in short intervals and in others, and at the end."""

STEPS = 60
"""Steps of cooling."""

FIRST_LATE, LATE = 200, 1500
"""The price of a lacking cycle, at first and at the end, so that places settle before times do."""

LATEST, VAIN, LAST = 8, 8, 24
"""Pushes are tried where no more is bad than one for LATEST operations; they end when so many have led
nowhere: VAIN, or LAST divided by what is bad, as the last cycle takes the longest and is worth it."""

REHEATED, AFTER, NEARBY = (150.0, 60.0, 25.0, 10.0), 50, 20
"""Temperatures after a push, moves for each operation, and of how many units that are near."""


def place(
    problem: Problem,
    schedule: Schedule,
    seed: int,
    effort: float = 1.0,
    heat: float = WARM,
    central: bool = False,
    pulse: Callable[[], None] = lambda: None,
) -> Placement:
    """Anneal from a schedule, first at temperature `heat`. Conflicts may remain: routing negotiates them.

    Arrays begin in the first memories or, if `central`, in those in the middle of the fabric. `pulse` is
    called again and again, and may raise what ends the work.
    """
    homes = [max(h, 0) for h in match_streams(problem)] + pack_memories(problem, central)
    units = _first_units(problem, schedule, homes)
    annealer = Annealer(problem, schedule.interval, seed, (units, schedule.start, homes))
    moves = int(MOVES * effort * problem.nodes)
    groups = Groups(problem, schedule.interval, annealer)
    for step in range(STEPS if problem.nodes else 0):
        pulse()
        reach, late = 4 + (60 * (STEPS - step)) // STEPS, FIRST_LATE + (LATE - FIRST_LATE) * step // STEPS
        temperature = heat * (COLD / heat) ** (step / (STEPS - 1))
        annealer.cool(groups, moves // STEPS + 1, reach, late, temperature)
    if not problem.terrain.overwritten:
        _catch_up(annealer, Pushes(problem, schedule.interval, annealer), problem.nodes, pulse)
    unit, start, home = annealer.places()
    return placement_of(problem, schedule.interval, unit, start, home[problem.streams :])


def _catch_up(annealer: Annealer, pushes: Pushes, nodes: int, pulse: Callable[[], None]) -> None:
    """Push what is late until nothing is, or that leads nowhere: each time annealing makes room again."""
    bad, vain = pushes.bad(), 0
    while 0 < bad <= nodes // LATEST and vain < max(VAIN, LAST // bad):
        pulse()
        pushes.keep()
        pushes.push()
        for heat in REHEATED:
            annealer.cool(None, AFTER * nodes // len(REHEATED), NEARBY, LATE, heat)
        now = pushes.bad()
        vain = 0 if now < bad else vain + 1
        if now > bad:
            pushes.restore()
        else:
            bad = now


def placement_of(
    problem: Problem, interval: int, unit: Sequence[int], start: Sequence[int], banks: Sequence[int]
) -> Placement:
    """The finished record: starts are anchored, arrays follow each other in their banks."""
    schedule = Schedule(problem.dfg, interval, tuple(anchored(problem, interval, start)))
    used = [0] * len(problem.fabric.memories)
    places = []
    for memory, bank in zip(problem.dfg.memories, banks, strict=True):
        places.append(MemoryPlace(bank, used[bank]))
        used[bank] += memory.words
    return Placement(schedule, problem.fabric, tuple(unit), tuple(places))


def anchored(problem: Problem, interval: int, start: Sequence[int]) -> list[int]:
    """Starts that count from 0, with all parts of the graph that nothing connects within the first interval.

    Such parts may be any number of intervals apart: slots stay the same, and what happens within a part.
    """
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(problem.nodes))
    graph.add_edges_from(zip(problem.source, problem.target, strict=True))
    graph.add_edges_from(zip(problem.before, problem.after, strict=True))
    found = list(start)
    for part in nx.connected_components(graph):
        late = min(start[n] for n in part) // interval * interval
        for n in part:
            found[n] -= late
    first = min(found, default=0)
    return [s - first for s in found]


def _first_units(problem: Problem, schedule: Schedule, homes: Sequence[int]) -> list[int]:
    """For each node in order of start, the nearest unit to a placed producer that is free in its slot."""
    taken: set[tuple[int, int]] = set()
    found = [-1] * problem.nodes
    around = 0
    for n in sorted(range(problem.nodes), key=lambda n: (schedule.start[n], n)):
        slot = schedule.start[n] % schedule.interval
        units = _allowed(problem, n, homes)
        edges = problem.ins[problem.in_at[n] : problem.in_at[n + 1]]
        near = next((found[problem.source[e]] for e in edges if found[problem.source[e]] >= 0), around)
        row = problem.kind[n] * (problem.terrain.units + 1) + near
        nearby = problem.near[problem.near_at[row] : problem.near_at[row + 1]] if problem.group[n] < 0 else ()
        at = next((u for u in nearby if (u, slot) not in taken), -1)
        if at < 0:
            at = min(units, key=lambda u: ((u, slot) in taken, problem.terrain.apart(near, u), u))  # noqa: B023
        found[n] = at
        taken.add((found[n], slot))
        around = found[n]
    return found


def _allowed(problem: Problem, node: int, homes: Sequence[int]) -> Sequence[int]:
    group = problem.group[node]
    if group < 0:
        return problem.candidates(node)
    if group < problem.streams:
        return (homes[group],)
    return [u for u in problem.candidates(node) if problem.bank[u] == homes[group]]
