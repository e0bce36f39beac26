"""Mappings by annealing places, times and ways at once, where words leave tiles through one register alone.

There, annealing that does not know ways (`place.py`) leaves conflicts that negotiation does not resolve, and
a solver needs tens of thousands of conflicts for a mapping that `settler.py` meets in tens of milliseconds.
Where, at the end, nothing is in conflict, the exact engine gives words their registers; places and times are
fixed then, which takes it milliseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from arch.fabric import Fabric, Kind

from .finder import Ways
from .flat import Problem
from .mapping import Mapping, Placement, Schedule
from .moves import only_outputs
from .nearly import Nearly
from .place import place, placement_of
from .settler import Settler
from .terrain import ints, rows

MOVES = (2000, 8000, 24_000)
"""Moves for each operation in the first attempt at an interval, the second, and others, at effort 1: the
first tells what is worth more, and of long ones more succeed than of several that take as long together."""

SOON = range(2)
"""These come before the solver's first answer, others after it."""

WORK, MOST = 40_000_000, 3
"""So many others, if one comes to its moves times tiles and OVERHEAD, but from 1 to MOST."""

OVERHEAD = 8

BIG = 64
"""Graphs of more operations settle from better places, and are not mended: the solver takes long for them. On
FEW tiles, where registers are scarce, too, what one attempt leaves says little of the next."""

LARGE = 680_000
"""The most moves of an attempt."""

CLOSE, EACH, CLOSER, CLOSEST, VARYING = 7, 20, 2, 1, 4
"""They end if the first leaves more conflicts than CLOSE, and one for EACH so many operations, or if after
the second none has left as few as CLOSER, or after another as few as CLOSEST; VARYING of BIG graphs on FEW
tiles."""

BEGIN = 0.2
"""The effort of placing before, but for BIG graphs: what is near its place soon loses it, as the first
temperature is high."""

HOT, COLD, STEPS = 220.0, 150.0, 60
"""Temperatures, in hundredths of a cycle, and steps of cooling: the first and the last but for the end. An
attempt ends with the first state without conflicts (settler.py), so it stays where they come and go: of 110
attempts at 22 graphs, one takes 0.42 s for each that succeeds, and 0.53 if it cools from 240 to 125."""

FROZEN, LAST = 90.0, 4
"""The temperature of the last steps, and how many there are. What is shared stays so there, as a conflict
costs 780 (words.py): what is left tells what more attempts are worth, and what there is to mend."""

MENDED, AROUND = 2, 1000
"""With one conflict, or no more than MENDED and fewer than before, an attempt is not in vain yet: with AROUND
conflicts the solver looks for a mapping with all at most a cycle, and one tile (where one conflict is left)
or two, from where it is."""

FEW = 4
"""On so few tiles, which all are near, times matter more: two cycles."""

NEAR, LEFT = 3, 10
"""From half of the steps on, an attempt ends with more conflicts than NEAR, one for twice EACH so many
operations, and one for LEFT steps left: of those that end without conflicts hardly any has had so many."""

REACH = 9
"""So many of the nearest units are looked at for an operation."""

LONGEST = 63
"""Intervals up to this are settled: their slots are bits of a word."""

CONFLICTS = 2000
"""The solver's conflicts for registers."""

FOREVER = 1e9
"""Seconds: what ends the work is conflicts, or `pulse`."""

Kept = dict[tuple[int, int], frozenset[tuple[int, int]]]
"""The resources and cycles in which a node's outputs are, as in `exact_domain.Domain`."""

Stays = Sequence[tuple[int, int, int, bool]]
"""Where a value is, as `Settler.whereabouts` says."""


@lru_cache(maxsize=8)
def ways_of(fabric: Fabric) -> Ways | None:
    """The ways between tiles, if each has one output, which can keep its word, and registers of its own."""
    outputs = only_outputs(fabric)[0]
    at = {fabric.resources[r].tile: r for r in outputs}
    tiles = len(fabric.tiles)
    if fabric.planes or fabric.settings or sorted(at) != list(range(tiles)):
        return None
    beside: list[list[int]] = []
    room = 1 << 20
    for tile in range(tiles):
        sources = fabric.resources[at[tile]].sources
        own = [r.id for r in fabric.resources if r.tile == tile and r.kind is Kind.REGISTER]
        if len(own) < 2 or not {*own} <= {*sources}:
            return None
        room = min(room, len(own) - 1)
        beside.append(sorted(fabric.resources[r].tile for r in {*sources} & outputs - {at[tile]}))
        read = {
            frozenset(fabric.resources[o].sources) for u in fabric.units if u.tile == tile for o in u.operands
        }
        if read != {frozenset(sources)}:
            return None
    apart = ints(cycles for tile in range(tiles) for cycles in _apart(beside, tile))
    return Ways(rows(beside), apart, room)


def _apart(beside: Sequence[Sequence[int]], tile: int) -> Iterator[int]:
    """From a tile to each tile, the cycles that a word needs at least."""
    readers: list[list[int]] = [[] for _ in beside]
    for reader, some in enumerate(beside):
        for there in some:
            readers[there].append(reader)
    far, waiting = {tile: 0}, deque([tile])
    while waiting:
        here = waiting.popleft()
        for there in readers[here]:
            if there not in far:
                far[there] = far[here] + 1
                waiting.append(there)
    yield from (max(0, far.get(there, len(beside)) - 1) for there in range(len(beside)))


def settles(problem: Problem) -> bool:
    """Whether a graph on a fabric is one for this: results have one output each, and tiles one way out."""
    return ways_of(problem.fabric) is not None and max(problem.output, default=0) == 0


def settled(
    problem: Problem,
    schedule: Schedule,
    seed: int,
    effort: float,
    refuted: Callable[[], bool],
    pulse: Callable[[int], None],
    numbers: range = SOON,
    fewest: int = 1 << 30,
) -> Mapping | int:
    """A mapping that an attempt finds, or the fewest conflicts left, of those before, too.

    The schedule is best a tight one: from longer ones, words live longer at the end, too.

    After the first it is asked whether there can be a mapping at all, for which a solver has to be loaded.
    `pulse` is told again and again how many conflicts there are, and may raise what ends the work.
    """
    big = problem.nodes > BIG
    for number in numbers:
        moves = round(effort * MOVES[min(number, SOON.stop)])
        count, placement, kept = _cooled(problem, schedule, seed + number, moves, pulse)
        mapping = _routed(problem, placement, kept) if count == 0 else None
        if 0 < count <= min(MENDED, max(1, fewest - 1)) and not big:
            mapping = _mended(problem, placement, effort, count)
        if mapping:
            return mapping
        fewest = min(fewest, max(count, 1))
        if fewest > (closer(problem, number) if number else _close(problem)) or (number == 0 and refuted()):
            break
    return fewest


def closer(problem: Problem, number: int = 1) -> int:
    """With so many conflicts left by the second attempt or a later one, the next may find a mapping."""
    if _varies(problem):
        return VARYING
    return CLOSER if number < SOON.stop else CLOSEST


def _close(problem: Problem) -> int:
    """With so many left by the first attempt, the second may."""
    return CLOSE + problem.nodes // EACH * (2 if _varies(problem) else 1)


def _varies(problem: Problem) -> bool:
    """Whether what one attempt leaves says little of the next."""
    return problem.nodes > BIG and len(problem.fabric.tiles) <= FEW


def others(problem: Problem) -> range:
    """The attempts after the first ones that take about as long as the solver's answers."""
    each = min(MOVES[-1] * problem.nodes, LARGE) * (len(problem.fabric.tiles) + OVERHEAD)
    return range(SOON.stop, SOON.stop + min(max(WORK // each, 1), MOST))


def _cooled(
    problem: Problem, schedule: Schedule, seed: int, moves: int, pulse: Callable[[int], None]
) -> tuple[int, Placement, Kept]:
    """What one attempt comes to: the fewest conflicts after any of its steps, and where everything is then;
    if there are none, words on their way and those that wait, too."""
    ways, interval = ways_of(problem.fabric), schedule.interval
    assert ways is not None
    begin = place(problem, schedule, seed, 1.0 if problem.nodes > BIG else BEGIN)
    homes = [-1] * problem.streams + [one.bank for one in begin.memory]
    for node in problem.dfg.nodes:
        if node.stream is not None:
            homes[node.stream] = begin.unit[node.id]
    places = begin.unit, begin.schedule.start, homes
    settler = Settler(problem, interval, seed, places, ways)
    count, near = settler.conflicts(), NEAR + problem.nodes // (2 * EACH)
    fewest, found = count, settler.places()
    for step in range(STEPS):
        if count == 0 or (2 * step >= STEPS and count > near + (STEPS - step) // LEFT):
            break
        pulse(count)
        count = settler.cool(min(moves * problem.nodes, LARGE) // STEPS + 1, REACH, _heat(step))
        if count < fewest:
            fewest, found = count, settler.places()
    unit, start, _ = found
    placement = placement_of(problem, interval, unit, start, homes[problem.streams :])
    later = [now - then for now, then in zip(placement.schedule.start, start, strict=True)]
    return fewest, placement, {} if fewest else _kept(problem.fabric, settler.whereabouts(), later)


def _heat(step: int) -> float:
    """The temperature of a step of cooling."""
    if step >= STEPS - LAST:
        return FROZEN
    heat: float = HOT * (COLD / HOT) ** (step / (STEPS - LAST - 1))
    return heat


def _kept(fabric: Fabric, where: Sequence[Stays], later: Sequence[int]) -> Kept:
    """The resources and cycles in which values are: any register of a tile, for those that wait there."""
    outputs = only_outputs(fabric)[0]
    out: dict[int, list[int]] = {}
    own: dict[int, list[int]] = {}
    for r in fabric.resources:
        if r.kind is Kind.REGISTER:
            (out if r.id in outputs else own).setdefault(r.tile, []).append(r.id)
    return {
        (n, 0): frozenset(
            (r, t + later[n])
            for tile, first, last, waits in stays
            for t in range(first, last + 1)
            for r in (own if waits else out)[tile]
        )
        for n, stays in enumerate(where)
    }


def _routed(problem: Problem, placement: Placement, kept: Kept) -> Mapping | None:
    """The mapping with these places and times, if private registers suffice: with the ways that annealing has
    found, or, where words in registers cannot be parted so, with any."""
    # Imported here: loading a solver takes time, and few kernels need one.
    from .exact import solve
    from .exact_domain import Domain
    from .exact_model import ground

    site, start = ground(problem.fabric).site_of, placement.schedule.start
    sites, interval = tuple((site[unit],) for unit in placement.unit), placement.schedule.interval
    for ways in (kept, {}):
        domain = Domain(sites, start, start, ways)
        if found := solve(problem, interval, domain, CONFLICTS, FOREVER).mapping:
            return found
    return None


def _mended(problem: Problem, placement: Placement, effort: float, count: int) -> Mapping | None:
    """A mapping with all near to where it is with `count` conflicts, if the solver meets one soon."""
    # Imported here: loading a solver takes time, and few kernels need one.
    from .exact import Way, solve
    from .surroundings import Surroundings

    interval, nodes = placement.schedule.interval, tuple(range(problem.nodes))
    few = len(problem.fabric.tiles) <= FEW
    nearly = Nearly(interval, placement.unit, placement.schedule.start, nodes, (), ())
    domain = Surroundings(problem, nearly).domain(nodes, int(few or count > 1), 1 + few)
    if domain is None:
        return None
    return solve(problem, interval, domain, round(effort * AROUND), FOREVER, Way.AROUND).mapping
