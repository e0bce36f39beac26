"""Lower bounds of the initiation interval, and what can be refused before any search."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from arch.fabric import RESULT_FAR, Fabric

from .arrivals import crowded_at_one, refuse_crowds
from .cycles import Delay, longest_paths, tightest
from .dfg import DFG
from .flat import Problem
from .mapping import DoesNotFit, Shortage
from .moves import refuted_at_one
from .ports import port_bound, refuse_recurrences

MOST_CLASSES = 10
"""Up to this many classes of units, all unions of classes are bounded; beyond, single ones and all."""

MOST_NAMES = 4
"""So many kinds of operations are named of those that bind."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Why no mapping can have a smaller interval.

    `binding` says in words what binds; `cycle` are the nodes of the recurrence with the largest demand,
    if there is one. `crowded`: they have no places at a shorter interval that their cycles would allow, or
    if there are none, values have no ways.
    """

    resource: int
    recurrence: int
    mii: int
    binding: str
    cycle: tuple[int, ...]
    crowded: bool = False
    length: int = 0


@lru_cache(maxsize=16)
def minimum_interval(dfg: DFG, fabric: Fabric) -> Bounds:
    """The bounds of a graph on a fabric; DoesNotFit if no interval can do.

    Kept, as one stage after the other asks for those of the same graph.
    """
    problem = Problem(dfg, fabric)
    _refuse_impossible(problem)
    resource, why = _resource_bound(problem)
    arcs = delays(problem)
    recurrence, cycle = _recurrence_bound(problem, arcs)
    mii = max(resource, recurrence, 1)
    refuse_recurrences(problem, mii)
    if mii == 1 and (found := _refuted_at_one(problem, arcs)) is not None:
        resource, mii, why = 2, 2, found
    if recurrence > resource:
        why = f"a recurrence of {len(cycle)} operation{'s' * (len(cycle) != 1)}"
    length = max(longest_paths(problem.nodes, arcs, mii)[0], default=0)
    return Bounds(resource, recurrence, mii, why, cycle, length=length)


def _refuted_at_one(problem: Problem, arcs: list[Delay]) -> str | None:
    """Why there is no mapping at an interval of 1; None if that is not known."""
    return crowded_at_one(problem) or refuted_at_one(problem, arcs)


def _refuse_impossible(problem: Problem) -> None:
    """Raise DoesNotFit for what no interval can help."""
    dfg, fabric = problem.dfg, problem.fabric
    for node in dfg.nodes:
        if not problem.candidates(node.id):
            what = (
                f"{node.spelling} on words" if fabric.units_for(node.op) and fabric.planes else node.spelling
            )
            raise DoesNotFit(f"no unit of {fabric.name} can do {what}", Shortage.UNITS, 1, 0, (node.id,))
    refuse_crowds(problem)
    _refuse_memories(problem)
    _refuse_streams(problem)


def _refuse_memories(problem: Problem) -> None:
    dfg, fabric = problem.dfg, problem.fabric
    largest = fabric.largest_memory
    for m, memory in enumerate(dfg.memories):
        group = problem.streams + m
        members = _members(problem, group)
        if memory.words > largest:
            raise DoesNotFit(
                f"array {memory.name} has {memory.words} words; the largest memory of {fabric.name}"
                f" has {largest}",
                Shortage.MEMORIES,
                memory.words,
                largest,
                members,
            )
        if not problem.homes[group]:
            raise DoesNotFit(
                f"no memory of {fabric.name} can do all accesses to {memory.name}",
                Shortage.MEMORIES,
                1,
                0,
                members,
            )
    room = sum(bank.words for bank in fabric.memories)
    words = sum(memory.words for memory in dfg.memories)
    if words > room:
        nodes = tuple(n.id for n in dfg.nodes if n.memory is not None)
        raise DoesNotFit(
            f"the arrays have {words} words; the memories of {fabric.name} have {room}",
            Shortage.MEMORIES,
            words,
            room,
            nodes,
        )
    pack_memories(problem)


def pack_memories(problem: Problem, central: bool = False) -> list[int]:
    """A bank for each array, the largest first: spread over the banks if that succeeds, else best fits.

    The largest get the first banks or, if `central`, those in the middle of the fabric.
    """
    spread, left = _pack(problem, tight=False, central=central)
    if left is None:
        return spread
    packed, left = _pack(problem, tight=True, central=central)
    if left is None:
        return packed
    memory = problem.dfg.memories[left]
    raise DoesNotFit(
        f"array {memory.name} ({memory.words} words) fits into no memory beside the others",
        Shortage.MEMORIES,
        memory.words,
        problem.fabric.largest_memory,
        _members(problem, problem.streams + left),
    )


def _pack(problem: Problem, tight: bool, central: bool) -> tuple[list[int], int | None]:
    """Banks for the arrays, and the first array that found none."""
    free = list(problem.room)
    load = [0] * len(free)
    remote = [central * _remoteness(problem, bank.ports[0]) for bank in problem.fabric.memories]
    found = [-1] * (problem.groups - problem.streams)
    for m in sorted(range(len(found)), key=lambda m: -problem.words[problem.streams + m]):
        group = problem.streams + m
        words = problem.words[group]
        homes = [b for b in problem.homes[group] if free[b] >= words]
        if not homes:
            return found, m
        bank = min(homes, key=lambda b: (free[b] if tight else load[b], remote[b], b))
        free[bank] -= words
        load[bank] += max(1, len(_members(problem, group)))
        found[m] = bank
    return found, None


def _remoteness(problem: Problem, unit: int) -> int:
    """How far a unit is from all others together."""
    terrain = problem.terrain
    return sum(terrain.apart(unit, other) for other in range(terrain.units))


def match_streams(problem: Problem) -> list[int]:
    """A port unit for each stream with operations (augmenting paths); -1 for the others."""
    of_unit: dict[int, int] = {}

    def augment(stream: int, seen: set[int]) -> bool:
        for unit in problem.homes[stream]:
            if unit not in seen:
                seen.add(unit)
                if unit not in of_unit or augment(of_unit[unit], seen):
                    of_unit[unit] = stream
                    return True
        return False

    busy = [s for s in range(problem.streams) if _members(problem, s)]
    placed = sum(augment(s, set()) for s in busy)
    if placed < len(busy):
        nodes = tuple(n.id for n in problem.dfg.nodes if n.stream is not None)
        raise DoesNotFit(
            f"the kernel has {len(busy)} streams; the stream ports of {problem.fabric.name} take {placed}",
            Shortage.PORTS,
            len(busy),
            placed,
            nodes,
        )
    found = [-1] * problem.streams
    for unit, stream in of_unit.items():
        found[stream] = unit
    return found


def _refuse_streams(problem: Problem) -> None:
    for s, stream in enumerate(problem.dfg.streams):
        members = _members(problem, s)
        if members and not problem.homes[s]:
            raise DoesNotFit(
                f"no port of {problem.fabric.name} can do all operations on {stream.shown}",
                Shortage.PORTS,
                1,
                0,
                members,
            )
    match_streams(problem)


def _members(problem: Problem, group: int) -> tuple[int, ...]:
    return tuple(problem.members[problem.members_at[group] : problem.members_at[group + 1]])


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _resource_bound(problem: Problem) -> tuple[int, str]:
    """The best of: unions of unit classes, operations of a stream, accesses of an array, ways of words."""
    best, why = 1, "nothing"
    counts = Counter(problem.kind)
    classes = [frozenset(units) for units in problem.classes]
    used = sorted(counts)
    subsets: list[tuple[int, ...]]
    if len(used) <= MOST_CLASSES:
        subsets = [s for k in range(1, len(used) + 1) for s in combinations(used, k)]
    else:
        subsets = [(k,) for k in used] + [tuple(used)]
    for subset in subsets:
        units = frozenset[int]().union(*(classes[k] for k in subset))
        # Everything that only these units can do.
        ops = sum(count for kind, count in counts.items() if classes[kind] <= units)
        if _ceil(ops, len(units)) > best:
            names = Counter(
                node.spelling
                for node, kind in zip(problem.dfg.nodes, problem.kind, strict=True)
                if classes[kind] <= units
            )
            best, why = _ceil(ops, len(units)), f"{_listed(names)} on {len(units)} units"
    for group in range(problem.groups):
        members = _members(problem, group)
        if group < problem.streams:
            ports, name = 1, f"stream {problem.dfg.streams[group].shown}, which has 1 port"
        else:
            ports = max(len(problem.fabric.memories[b].ports) for b in problem.homes[group])
            name = (
                f"array {problem.dfg.memories[group - problem.streams].name}, whose memory has {ports} ports"
            )
        if members and _ceil(len(members), ports) > best:
            best, why = _ceil(len(members), ports), f"{len(members)} operations on {name}"
    through = port_bound(problem)
    return (through.interval, through.why) if through.interval > best else (best, why)


def _listed(names: Counter[str]) -> str:
    """`25 operations (20 mul, 5 muladd)`, the commonest first."""
    ordered = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{count} {name}" for name, count in ordered[:MOST_NAMES]]
    more = ["…"] * (len(ordered) > MOST_NAMES)
    return f"{names.total()} operations ({', '.join(shown + more)})"


def delays(problem: Problem) -> list[Delay]:
    """All uses and orders with the fewest cycles that they can take on any units."""
    nearest: dict[tuple[int, int, int], int] = {}
    found = []
    for e in range(len(problem.source)):
        p, c = problem.source[e], problem.target[e]
        if p == c:
            cycles = min(
                problem.latency[problem.code[p] * problem.terrain.units + u] - 1 + problem.terrain.apart(u, u)
                for u in problem.candidates(p)
            )
        else:
            key = (problem.code[p], problem.kind[c], 0)
            if key not in nearest:
                least = problem.terrain.least(problem.candidates(c))
                nearest[key] = min(
                    problem.latency[problem.code[p] * problem.terrain.units + u] - 1 + least[u]
                    for u in problem.candidates(p)
                )
            cycles = nearest[key]
        if cycles >= RESULT_FAR:
            raise DoesNotFit("no way from an operation to its reader", Shortage.ROUTES, 1, 0, (p, c))
        found.append(Delay(p, c, problem.distance[e], cycles))
    for o in problem.dfg.orders:
        found.append(Delay(o.before, o.after, o.distance, o.delay))
    return found


def _recurrence_bound(problem: Problem, arcs: list[Delay]) -> tuple[int, tuple[int, ...]]:
    """The smallest interval that every cycle of uses and orders allows, and the nodes of one that binds."""
    least, worst = tightest(arcs)
    if longest_paths(problem.nodes, arcs, least)[1]:
        raise DoesNotFit("a cycle within one iteration", Shortage.INTERVAL, least, 0, worst)
    return least, worst
