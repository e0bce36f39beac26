"""How much of the array a kernel uses at once, where nobody says: copies of loops' bodies, banks of arrays.

    for (int i = 0; i < 1000; i++) c[i] = a[i] + b[i];           gets 8 copies, and the arrays get 4 banks

A loop gets copies of its body where fewer cycles are expected then for all that the kernel does: iterations,
as far as trips are known, times the interval that the bounds of `backend.bound` allow, but at least so long
that half of the units are free for routing. Nothing is placed, so the choice is quick and always the same.
Only innermost loops are tried that count up to a known bound and do nothing with streams: so a kernel's
streams are used in the same order and in the same iterations as before, and nothing can wait for more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from arch.fabric import Fabric
from backend.bound import Bounds, minimum_interval
from backend.dfg import DFG
from backend.mapping import DoesNotFit
from macah import ir
from macah.diagnostic import MacahError, Place
from macah.optional import enabled
from macah.passes.inline_calls import inline_calls
from macah.passes.pipeline import optimize
from macah.passes.unroll_for import unroll_for
from macah.passes.unroll_loops import LoopTrips, loop_trips
from macah.tests_first import FEW_TRIPS, candidates, pays
from macah.todfg import build_dfg
from macah.walk import statements

SHARE = 0.5
"""Of the units, those that can work in each cycle of an interval: the others are for routing."""

FACTORS = (2, 4, 8, 16, 32)
GAIN = 0.8
"""Copies must leave at most this share of the cycles."""

MOST_STATEMENTS = 400
MOST_NODES = 240
"""Kernels with more are not tried, and graphs with more are not chosen: mapping them takes long."""

UNKNOWN_TRIPS = 64

DELAYS = (1, 2, 3, 4, 6, 8)
"""So many iterations there may be between the rows of nests."""

ROWS = (2, 3, 4)
"""So many iterations inner loops may be asked to make at least: the fewest that the interval needs."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A lowered kernel with what is chosen for it, its final form, its graph, and what to expect of that.

    `interval` leaves half of the units free, and `cycles` are those of all iterations.
    """

    kernel: ir.Kernel
    final: ir.Kernel
    dfg: DFG
    bounds: Bounds
    interval: int
    cycles: int


def spread(kernel: ir.Kernel, fabric: Fabric, automatic: bool = True) -> Choice | None:
    """What is chosen for a lowered kernel; `automatic`: loops get copies that nobody asked for.

    None if it is too large for that, or cannot be compiled: who does will say why.
    """
    try:
        return _spread(kernel, fabric, automatic)
    except (MacahError, DoesNotFit):
        return None


def _spread(kernel: ir.Kernel, fabric: Fabric, automatic: bool) -> Choice | None:
    plain = unroll_for(inline_calls(kernel))
    if not fabric.memories or sum(1 for _ in statements(plain.body)) > MOST_STATEMENTS:
        return None
    loops = loop_trips(plain)
    free = _innermost(loops) if automatic and enabled(kernel, "unroll_loops") else []
    best = _copied(kernel, loops, free, fabric, odd=False)
    if 1 < best.interval <= _busiest(best.dfg, fabric):
        other = _copied(kernel, loops, free, fabric, odd=True)
        best = other if other.cycles < best.cycles else best
    best = _tested(best, candidates(plain.body), loops, fabric)
    return _delayed(_paced(best, loops, fabric), loops, fabric)


def _copied(
    kernel: ir.Kernel, loops: tuple[LoopTrips, ...], free: list[LoopTrips], fabric: Fabric, odd: bool
) -> Choice:
    """The choice with copies of the bodies of `free` loops where that is better; `odd`: as `Room` says."""
    best = _choice(kernel, loops, fabric, odd)
    fixed = dict(kernel.unroll)
    for loop in free:
        if loop.where is None or loop.where in fixed or loop.trips is None or loop.has_streams:
            continue
        base = best
        for factor in FACTORS:
            if factor > loop.trips or len(base.dfg.nodes) > MOST_NODES:
                break
            unroll = (*base.kernel.unroll, (loop.where, factor))
            tried = _choice(replace(kernel, unroll=unroll), loops, fabric, odd)
            if len(tried.dfg.nodes) > MOST_NODES or tried.cycles > base.cycles:
                break
            if tried.cycles <= GAIN * best.cycles:
                best = tried
    return best


def _tested(best: Choice, places: tuple[Place, ...], loops: tuple[LoopTrips, ...], fabric: Fabric) -> Choice:
    """The choice with the tests of these loops first, if that is better."""
    hurried = best.bounds.recurrence > best.bounds.resource
    if not places or not hurried or not enabled(best.kernel, "tests_first"):
        return best
    tried = _choice(replace(best.kernel, tests_first=places), loops, fabric)
    return tried if pays(tried.interval, best.interval) and len(tried.dfg.nodes) <= MOST_NODES else best


def _paced(best: Choice, loops: tuple[LoopTrips, ...], fabric: Fabric) -> Choice:
    """The choice with rows of some length at least, if that is better."""
    found = best
    for length in ROWS if _has_rows(loops) and enabled(best.kernel, "pace_rows") else ():
        if found.bounds.recurrence <= found.bounds.resource:
            break
        paced = replace(best.kernel, row=length)
        if not _is_paced(paced) and not _needs_banks(best, fabric):
            continue  # it is what it was
        tried = _choice(paced, loops, fabric)
        better = (tried.interval, tried.bounds.mii) < (found.interval, found.bounds.mii)
        if better and pays(tried.interval, best.interval) and len(tried.dfg.nodes) <= MOST_NODES:
            found = tried
    return found


def _is_paced(kernel: ir.Kernel) -> bool:
    """True if `pace_rows` changes anything."""
    stages: dict[str, ir.Kernel] = {}
    optimize(kernel, lambda name, result: stages.update({name: result}))
    return stages["convert_ifs"].body is not stages["pace_rows"].body


def _needs_banks(best: Choice, fabric: Fabric) -> bool:
    """True if other banks may be chosen once more."""
    return enabled(best.kernel, "bank_arrays") and _busiest(best.dfg, fabric) > _crowd(best.dfg, fabric)


def _delayed(best: Choice, loops: tuple[LoopTrips, ...], fabric: Fabric) -> Choice:
    """The choice with iterations between rows, if that is better for the shortest rows expected."""
    if not _has_rows(loops) or not enabled(best.kernel, "delay_rows"):
        return best
    trips = min(_rows(loops, dict(best.kernel.unroll), False), default=0)
    found, cost = best, best.interval * trips
    for tests in dict.fromkeys((best.kernel.tests_first, ())):
        base = replace(best.kernel, tests_first=tests, row=0)
        if best.bounds.resource * (trips + DELAYS[0]) >= cost:
            break
        longest = _choice(replace(base, delay=DELAYS[-1]), loops, fabric)
        for delay in DELAYS:
            # An interval that the longest delay does not make shorter, none does.
            if longest.bounds.mii * (trips + delay) >= cost:
                break
            last = delay == DELAYS[-1]
            tried = longest if last else _choice(replace(base, delay=delay), loops, fabric)
            now = tried.interval * (trips + delay)
            if now < cost and len(tried.dfg.nodes) <= MOST_NODES:
                found, cost = tried, now
    return found


def _rows(loops: tuple[LoopTrips, ...], factors: dict[Place, int], inside: bool) -> Iterator[int]:
    """How many iterations innermost loops in others make each time, or are expected to make."""
    for loop in loops:
        factor = factors.get(loop.where, 1) if loop.where else 1
        if loop.trips is not None and (factor == 0 or factor >= loop.trips):
            yield from _rows(loop.loops, factors, inside)
            continue
        within = list(_rows(loop.loops, factors, True))
        yield from within
        if inside and not within:
            yield FEW_TRIPS if loop.trips is None else -(-loop.trips // factor)


def _has_rows(loops: tuple[LoopTrips, ...]) -> bool:
    """True if there is a loop in another one that does not always run equally often."""
    return any(_has_rows(loop.loops) or any(inner.trips is None for inner in loop.loops) for loop in loops)


def _innermost(loops: tuple[LoopTrips, ...]) -> list[LoopTrips]:
    found: dict[Place | None, LoopTrips] = {}
    for loop in loops:
        for inner in _innermost(loop.loops) if loop.loops else [loop]:
            found.setdefault(inner.where, inner)
    return list(found.values())


def _choice(kernel: ir.Kernel, loops: tuple[LoopTrips, ...], fabric: Fabric, odd: bool = False) -> Choice:
    """What is expected of a kernel, with banks if ports hold it up."""
    factors = dict(kernel.unroll)
    iterations = max(1, sum(_iterations(loop, factors) for loop in loops))
    made = _made(kernel, iterations, fabric)
    return _banked(made, iterations, fabric, odd) if enabled(kernel, "bank_arrays") else made


def _banked(best: Choice, iterations: int, fabric: Fabric, odd: bool) -> Choice:
    """The choice with banks for the interval that everything but ports allows, if that is not longer."""
    kernel, crowd = best.kernel, _crowd(best.dfg, fabric)
    # Recurrences are made shorter where they bind alone: once ports bind less, they may become so.
    for hopeful in (False, True):
        wanted = crowd if hopeful else max(best.bounds.recurrence, crowd)
        if _busiest(best.dfg, fabric) > wanted:
            room = ir.Room(len(fabric.memories), _ports(fabric), wanted, odd)
            banked = _made(replace(kernel, room=room), iterations, fabric)
            if banked.interval < best.interval or (banked.interval == best.interval and not hopeful):
                best = banked
    return best


def _made(kernel: ir.Kernel, iterations: int, fabric: Fabric) -> Choice:
    """What is expected of a kernel as it is."""
    final = optimize(kernel)
    dfg = build_dfg(final, fabric)
    bounds = minimum_interval(dfg, fabric)
    interval = max(bounds.mii, _crowd(dfg, fabric))
    return Choice(kernel, final, dfg, bounds, interval, iterations * interval)


def _crowd(dfg: DFG, fabric: Fabric) -> int:
    """The interval with which half of the arithmetic units are free; memories have ports of their own."""
    units = fabric.units_for("add")
    busy = sum(node.memory is None for node in dfg.nodes)
    return -int(-busy // (SHARE * len(units)))


def _busiest(dfg: DFG, fabric: Fabric) -> int:
    """The interval that the ports of memories need, if arrays have no copies."""
    names = [memory.name for memory in dfg.memories]
    first = {names.index(name) for name in names}  # of the memories of an array
    accesses = Counter(
        dfg.memories[node.memory].name
        for node in dfg.nodes
        if node.memory is not None and (node.op == "load" or node.memory in first)
    )
    return max((-(-count // _ports(fabric)) for count in accesses.values()), default=1)


def _ports(fabric: Fabric) -> int:
    return min(len(bank.ports) for bank in fabric.memories)


def _iterations(loop: LoopTrips, factors: dict[Place, int]) -> int:
    """How many iterations of a flat loop this one takes each time."""
    trips = UNKNOWN_TRIPS if loop.trips is None else loop.trips
    factor = factors.get(loop.where, 1) if loop.where else 1
    inside = sum(_iterations(inner, factors) for inner in loop.loops)
    if factor == 0 or factor >= trips:
        return trips * inside
    return -(-trips // factor) * max(1, factor * inside)
