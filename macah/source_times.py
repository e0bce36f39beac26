"""When values can be there, if iterations all do the same: the least interval for which there is a solution.

    e = d + ((e >> 6) ^ (e >> 11) ^ (e >> 25))        4: three values that are late by 1 meet
                                                      in two operations, and `d` in one more

Times are unknown. Each is at least another one plus cycles, less the interval for each iteration between; or,
for a chain of operations with two operands each, as late as the operands make it that arrive at different
times. Of operands at a1, …, an no tree of operations that take `latency` is done before

    latency * log2(2 ** (a1 / latency) + … + 2 ** (an / latency))

(Kraft's inequality; combining the two earliest again and again is as good as that: Golumbic, Combinatorial
merging, IEEE Trans. Comp. 25, 1976). Chains within chains add up before anything is rounded to whole cycles,
so an operand of one that is a chain itself may be taken apart. All of it is monotone, so that the least
solution of an interval is found by raising times from below; where they grow without end there is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from math import ceil, floor, log2

import networkx as nx

from backend.cycles import Delay, components, tightest

LEAST = 1 << 30
"""A choice may be put off to be made together with others; what is left of its cycle is this part of one."""

_EARLY = 2**-18
"""How much later a chain is for operands that come early: enough to need one more operation."""

_PUT_OFF = 2**-20  # less than that, and more than all choices together cost
_CHANGE = 2**-34  # less than a choice costs
ROUNDS = 100
"""After so many and some for each cycle, times that still grow do so by next to nothing."""

MOST_RAISED = 3000
"""Larger systems are not raised: then operands that are late together count as one."""


class Kind(Enum):
    """How a time depends on others."""

    LATEST = "as late as the latest of them"
    CHAIN = "of a chain: their sum, as weights"
    RESULT = "the end of a chain"


@dataclass(frozen=True, slots=True)
class After:
    """`cycles` and `choices` after a time of so many iterations before.

    `whole`: cycles begin then. `shared`: of such operands of a chain only the latest weighs, as they may have
    a factor in common, which may be taken out.
    """

    source: int
    distance: int = 0
    cycles: int = 0
    choices: int = 0
    whole: bool = False
    shared: bool = False


@dataclass(slots=True)
class Time:
    """An unknown. `early`: something is combined with what it depends on that comes early."""

    kind: Kind = Kind.LATEST
    latency: int = 1
    early: bool = False
    after: list[After] = field(default_factory=list)


def least_interval(
    times: list[Time], least: int = 1, most: int | None = None
) -> tuple[int, tuple[int, ...]] | None:
    """The least interval that has a solution if that is above `least`, and times on a cycle that needs it.

    None if that is above `most`.
    """
    arcs = [arc for target, time in enumerate(times) for arc in _arcs(target, time)]
    best, worst = tightest(arcs, least)
    if most is not None and best > most:
        return None
    for inside in components(arcs):
        members = sorted({arc.target for arc in inside})
        if any(times[n].kind is not Kind.LATEST for n in members) and len(members) <= MOST_RAISED:
            system = _System(times, members)
            if most is not None and system.unsolved(most):
                return None
            best, worst = _solved(system, best, worst, most)
    return best, worst


def _solved(
    system: _System, best: int, worst: tuple[int, ...], most: int | None
) -> tuple[int, tuple[int, ...]]:
    """The least interval from `best` on that has a solution; `most` has one.

    Intervals next to it are looked at last, as they take longest.
    """
    step, high = 1, best
    while high != most and (cycle := system.unsolved(high)):
        best, worst = high + 1, cycle
        step, high = 2 * step, high + step if most is None else min(high + step, most)
    while best < high:
        middle = (best + high) // 2
        if cycle := system.unsolved(middle):
            best, worst = middle + 1, cycle
        else:
            high = middle
    return best, worst


def _arcs(target: int, time: Time) -> Iterable[Delay]:
    """What is certain of a chain: its end is one operation behind the latest operand."""
    more = time.latency if time.kind is Kind.RESULT else 0
    for arc in time.after:
        yield Delay(arc.source, target, arc.distance * LEAST, (arc.cycles + more) * LEAST + arc.choices)


class _System:
    """The times of a component; all others are as early as one likes."""

    def __init__(self, times: list[Time], members: list[int]) -> None:
        members = _in_order(times, members)
        local = {name: k for k, name in enumerate(members)}
        self.members = members
        self.times: list[Time] = []
        for name in members:
            time = times[name]
            after = [replace(a, source=local[a.source]) for a in time.after if a.source in local]
            self.times.append(
                Time(time.kind, time.latency, time.early or len(after) < len(time.after), after)
            )
        # No solution is later than what all of them add. Nor than one iteration and, for each time that
        # follows one of an iteration before, what that takes beyond an interval; but chains add up slowly.
        self.sum = sum(
            max((a.cycles for a in time.after), default=0) + time.latency * (1 + len(time.after).bit_length())
            for time in self.times
        )
        self.again = sum(any(a.distance for a in time.after) for time in self.times)
        self.length = self._length()

    def _length(self) -> float:
        """How long an iteration takes after others that have all ended."""
        at = [0.0] * len(self.times)
        for n, time in enumerate(self.times):
            at[n], _ = _raised(time, at, 0)
        return max(at)

    def unsolved(self, interval: int) -> tuple[int, ...]:
        """A cycle of times that grow without end with an interval; nothing if there is a solution."""
        at = [0.0] * len(self.times)
        by = [0] * len(self.times)
        highest = min(self.sum, 2 * (self.length + self.again * max(0.0, self.length - interval)))
        for _ in range(ROUNDS + 2 * self.sum):
            changed = False
            for n, time in enumerate(self.times):
                found, latest = _raised(time, at, interval)
                if found > at[n] + _CHANGE:
                    at[n], by[n], changed = found, latest, True
                    if found > highest:
                        return self.cycle(by, n)
            if not changed:
                break
        return ()

    def cycle(self, by: list[int], node: int) -> tuple[int, ...]:
        """A cycle among the times that raised others last."""
        seen: dict[int, int] = {}
        while node not in seen:
            seen[node] = len(seen)
            node = by[node]
        return tuple(self.members[n] for n in reversed(list(seen)[seen[node] :]))


def _in_order(times: list[Time], members: list[int]) -> list[int]:
    """The times of an iteration one after the other, so that once through them is an iteration."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(members)
    graph.add_edges_from(
        (arc.source, target) for target in members for arc in times[target].after if not arc.distance
    )
    graph.remove_nodes_from(set(graph) - set(members))
    parts = nx.condensation(graph)
    return [n for part in nx.topological_sort(parts) for n in sorted(parts.nodes[part]["members"])]


def _raised(time: Time, at: list[float], interval: int) -> tuple[float, int]:
    """What a time is by the others, and the one that makes it latest."""
    arrivals = [_arrival(after, at, interval) for after in time.after]
    if not arrivals:
        return 0.0, 0
    latest = max(arrivals)
    by = time.after[arrivals.index(latest)].source
    match time.kind:
        case Kind.LATEST:
            return latest, by
        case Kind.CHAIN:
            weight = sum(2 ** ((a - latest) / time.latency) for a in _apart(time, arrivals))
            end = latest + time.latency * log2(weight)
            early = time.early or weight < 1 + _EARLY
            return (floor(end) + _EARLY if early and end % 1 < _EARLY else end), by
        case Kind.RESULT:
            whole = ceil(latest - _PUT_OFF)
            return whole + max(0.0, latest % 1 if latest % 1 < _PUT_OFF else 0.0), by


def _apart(time: Time, arrivals: list[float]) -> list[float]:
    """The arrivals that weigh by themselves."""
    shared = [at for at, after in zip(arrivals, time.after, strict=True) if after.shared]
    apart = [at for at, after in zip(arrivals, time.after, strict=True) if not after.shared]
    return [*apart, max(shared)] if shared else apart


def _arrival(after: After, at: list[float], interval: int) -> float:
    start = at[after.source]
    if after.whole:
        start = ceil(start - 1 / LEAST / 2)
    return start + after.cycles + after.choices / LEAST - after.distance * interval
