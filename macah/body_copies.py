"""Copies of loops' bodies: how many, as far as the bounds tell what they come to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import inf

from backend.dfg import Place
from macah.loop_trips import LoopTrips, Streams
from macah.trials import GAIN, Choice, Trials

FACTORS = (2, 4, 8, 16, 32)


def with_copies(base: Choice, free: list[LoopTrips], trials: Trials, most: float = inf) -> Choice:
    """The choice with copies of bodies of `free` loops where that is better, and comes to `most` cycles."""
    best = _copied(base, free, trials, most, odd=False)
    if 1 < best.interval <= trials.busiest(best.dfg):
        other = _copied(
            trials.choice(replace(base.kernel, room=None), odd=True), free, trials, most, odd=True
        )
        best = other if other.cycles < best.cycles else best
    return best


def _copied(best: Choice, free: list[LoopTrips], trials: Trials, most: float, odd: bool) -> Choice:
    """The same; `odd`: as `Room` says."""
    fixed = dict(best.kernel.unroll)
    # What runs nobody knows how often must not pay for copies of something else, unless that is deeper.
    depths = list(_depths(trials.loops))
    depth = {loop.where: depth for loop, depth in depths}
    unknown = {loop.where for loop, _ in depths if loop.trips is None and not loop.rows}
    limited = best.interval, best.bounds.mii
    for loop in free:
        if loop.where is None or loop.where in fixed or not copyable(loop):
            continue
        others = [depth[where] for where in unknown if where != loop.where]
        deepest = depth.get(loop.where, 0) > max(others, default=-1)
        best = _copies(best, loop, trials, most, (inf, inf) if deepest else limited, odd)
    return best


def copyable(loop: LoopTrips) -> bool:
    """Whether a loop may get copies of its body that nobody asked for."""
    return (loop.trips is not None or loop.counted) and loop.streams is Streams.NONE


def _copies(
    base: Choice, loop: LoopTrips, trials: Trials, most: float, longest: tuple[float, float], odd: bool
) -> Choice:
    """The choice with copies of this loop's body; its interval and bound must not exceed the `longest`."""
    assert loop.where is not None
    best, known = base, [(1, base)]  # what copies came to
    trips = max(loop.rows, default=inf if loop.trips is None else loop.trips)
    factors = [factor for factor in FACTORS if factor <= trips and len(base.dfg.nodes) <= trials.most]
    plain = replace(base.kernel, room=None)
    kernels = [replace(plain, unroll=(*plain.unroll, (loop.where, factor))) for factor in factors]
    with trials.meanwhile.expected([partial(trials.choice, kernel, odd) for kernel in kernels]) as later:
        for factor, copied, one in zip(factors, kernels, later, strict=True):
            iterations = trials.iterations(copied)
            if factor != trips and iterations > GAIN * best.iterations:
                continue  # only arrays that become scalars would shorten iterations
            cycles = iterations * _expected(known, factor, trials, factor == trips)
            if cycles > min(GAIN * best.cycles, most):
                continue
            tried = one.done()
            known.append((factor, tried))
            if len(tried.dfg.nodes) > trials.most or GAIN * tried.cycles > base.cycles:
                break
            steady = tried.interval <= longest[0] and tried.bounds.mii <= longest[1]
            # short rows, where nobody knows how long they are, must not pay either
            sooner = tried.cycles <= GAIN * best.cycles and (loop.trips is not None or tried.few <= best.few)
            if steady and sooner:
                best = tried
    return best


def _expected(known: list[tuple[int, Choice]], factor: int, trials: Trials, whole: bool) -> int:
    """The least interval expected with more copies than in all that is `known`.

    Operations become no fewer, and a recurrence that holds iterations up does so no less; where it grew with
    the last copies, it grows with further ones by half as much each at least, by as much if each of these
    added no less than those before, and no less where they are the `whole` loop: what was a recurrence only
    takes as long then. Ports may bind less, as copies make banks of use.
    """
    copies, last = known[-1]
    least = max(trials.crowd(choice.dfg) for _, choice in known)
    if last.bounds.recurrence > last.bounds.resource:
        least = max(least, last.bounds.recurrence)
        before, other = known[-2] if len(known) > 1 else known[-1]
        if other.bounds.recurrence >= other.bounds.resource and before < copies:
            growth = last.bounds.recurrence - other.bounds.recurrence
            slower = 1 if whole or _is_steady(known) else 2
            least += growth * (factor - copies) // (copies - before) // slower
    return least


def _is_steady(known: list[tuple[int, Choice]]) -> bool:
    """Whether each of the last copies made the recurrence no less longer than each of those before."""
    if len(known) < 3:
        return False
    (few, first), (some, second), (many, third) = known[-3:]
    bounds = [choice.bounds.recurrence for choice in (first, second, third)]
    return (bounds[2] - bounds[1]) * (some - few) >= (bounds[1] - bounds[0]) * (many - some)


def _depths(loops: tuple[LoopTrips, ...], around: int = 0) -> Iterator[tuple[LoopTrips, int]]:
    """The innermost loops, and in how many others each is."""
    for loop in loops:
        yield from _depths(loop.loops, around + 1) if loop.loops else [(loop, around)]


def innermost(loops: tuple[LoopTrips, ...]) -> list[LoopTrips]:
    """The loops that are around no other ones."""
    found: dict[Place | None, LoopTrips] = {}
    for loop, _ in _depths(loops):
        found.setdefault(loop.where, loop)
    return list(found.values())
