"""Recurrences whose operations cannot be near enough to each other, whatever their places.

Operations on recurrences that leave nearly no slack at an interval, its *cores*, have fixed times, but for a
cycle or two, and few cycles to bring their values in. Whether they have places at all, a SAT solver decides
(core_places.py): without all that is not in the core, so that a refutation holds for every schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from .bisection import indivisible
from .bound import Bounds, delays
from .core_places import Core, Spots, placed
from .cycles import Delay, components, longest_paths
from .flat import Problem
from .packing import unpackable
from .steps import strangers

SLACKS = (1, 2, 4)
"""Recurrences with so many cycles to spare belong to a core: more if all with fewer have places."""

LARGEST = 128
"""Of components of more operations, parts of up to so many are looked at: those of arcs that can be on
recurrences with so much slack, or if these are too many, of arcs that are on some without any."""

NEVER = -(1 << 30)


@dataclass(frozen=True, slots=True)
class Refutation:
    """Why there is no mapping at an interval, in words; if that is a core, its operations."""

    why: str
    nodes: tuple[int, ...] = ()


def refutation(problem: Problem, interval: int, thorough: bool = True) -> Refutation | None:
    """Of a core without places at an interval, of values that have too few ways, or of words without room.

    If it is not thorough, only cores with the least slack are looked at: that takes a third of the time.
    """
    if nodes := refuted(problem, interval, SLACKS if thorough else SLACKS[:1]):
        return Refutation(f"a recurrence of {len(nodes)} operations", nodes)
    if why := indivisible(problem, interval) or (strangers(problem) if interval == 1 else ""):
        return Refutation(why)
    if why := unpackable(problem, interval):
        return Refutation(why)
    return None


def tightened(bounds: Bounds, problem: Problem, reached: int) -> Bounds:
    """Bounds that know of refutations: raised for as long as they are below an interval that was reached."""
    while bounds.mii < reached and (found := refutation(problem, bounds.mii)):
        bounds = raised(bounds, found)
    return bounds


def raised(bounds: Bounds, found: Refutation) -> Bounds:
    """Bounds above an interval that is refuted."""
    mii = bounds.mii + 1
    if not found.nodes:
        return replace(bounds, resource=mii, mii=mii, binding=found.why, cycle=(), crowded=True)
    why = f"{found.why}, too many to be next to each other at {bounds.mii}"
    return Bounds(bounds.resource, mii, mii, why, found.nodes, crowded=True, length=bounds.length)


def refuted(problem: Problem, interval: int, slacks: Sequence[int] = SLACKS) -> tuple[int, ...]:
    """The operations of a core that has no places at an interval; empty if none is known to have none."""
    for slack in slacks:
        answers = _answers(problem, interval, slack)
        if nodes := next((core.nodes for core, found in answers if found is False), ()):
            return nodes
        if any(found is None for _, found in answers):
            break
    return ()


def spots(problem: Problem, interval: int) -> Spots:
    """Places, where the solver has found some at an interval, of the core that has the most operations."""
    some = [found for _, found in _answers(problem, interval, SLACKS[0]) if isinstance(found, Spots)]
    return max(some, key=lambda one: len(one.unit), default=Spots({}, {}))


@lru_cache(maxsize=4)
def _answers(problem: Problem, interval: int, slack: int) -> tuple[tuple[Core, Spots | bool | None], ...]:
    """The cores of a graph up to the first that has no places, and what the solver says of them. Kept, as who
    has asked whether there are places wants to know, a little later, which."""
    found: list[tuple[Core, Spots | bool | None]] = []
    for core in cores(problem, interval, slack):
        found.append((core, placed(problem, core, interval)))
        if found[-1][1] is False:
            break
    return tuple(found)


def cores(problem: Problem, interval: int, slack: int = SLACKS[0]) -> list[Core]:
    """The cores of a graph at an interval that its recurrences allow."""
    found = []
    for inside in _small(components(delays(problem)), problem.nodes, interval, slack):
        names = sorted({n for a in inside for n in (a.source, a.target)})
        if 1 < len(names) <= LARGEST:
            found += _cores_of(names, inside, interval, slack)
    return found


def _small(parts: Iterable[list[Delay]], nodes: int, interval: int, slack: int) -> Iterator[list[Delay]]:
    """The components, but of large ones those of arcs that can be on recurrences with hardly any slack.

    The slack of a cycle is the sum of that of its arcs, for any starts.
    """
    for part in parts:
        if len({a.source for a in part}) <= LARGEST:
            yield part
            continue
        start, cycle = longest_paths(nodes, part, interval)
        if cycle:
            continue
        for some in components(_within(part, start, interval, slack)):
            few = len({a.source for a in some}) <= LARGEST
            yield from (some,) if few else components(_within(some, start, interval, 0))


def _within(arcs: list[Delay], start: list[int], interval: int, slack: int) -> list[Delay]:
    """The arcs that have no more slack for these starts."""
    return [a for a in arcs if start[a.target] - start[a.source] - _gap(a, interval) <= slack]


def _cores_of(names: list[int], arcs: list[Delay], interval: int, slack: int) -> list[Core]:
    """The cores of one component."""
    local = {name: k for k, name in enumerate(names)}
    far = _longest(len(names), [(local[a.source], local[a.target], _gap(a, interval)) for a in arcs])
    tight = [
        a for a in arcs if _gap(a, interval) + far[local[a.target]][local[a.source]] >= -slack
    ]  # the slack of the shortest cycle through the arc
    return [_core(part, far, local, interval) for part in components(tight) if _several(part)]


def _several(arcs: list[Delay]) -> bool:
    return any(a.source != a.target for a in arcs)


def _core(arcs: list[Delay], far: list[list[int]], local: dict[int, int], interval: int) -> Core:
    """The core of arcs that hang together. Its first operation is the one that fixes the others best."""
    nodes = sorted({n for a in arcs for n in (a.source, a.target)})

    def spread(n: int) -> int:
        return sum(-far[local[m]][local[n]] - far[local[n]][local[m]] for m in nodes)

    first = min(nodes, key=lambda n: (spread(n), n))
    nodes.sort(key=lambda n: (n != first, n))
    here = local[first]
    windows = [range(far[here][local[n]], 1 - far[local[n]][here]) for n in nodes]
    windows[0] = range(1)
    return Core(tuple(nodes), tuple(windows), tuple(arcs))


def _gap(arc: Delay, interval: int) -> int:
    return arc.cycles - arc.distance * interval


def _longest(nodes: int, arcs: list[tuple[int, int, int]]) -> list[list[int]]:
    """Longest ways between all pairs (Floyd and Warshall), 0 to itself."""
    far = [[NEVER] * nodes for _ in range(nodes)]
    for n in range(nodes):
        far[n][n] = 0
    for source, target, gap in arcs:
        far[source][target] = max(far[source][target], gap)
    for middle in range(nodes):
        onward = far[middle]
        for row in far:
            if (first := row[middle]) > NEVER // 2:
                row[:] = [max(old, first + new) for old, new in zip(row, onward, strict=True)]
    return far
