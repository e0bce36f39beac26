"""Which loops in others are so short that all of their iterations may become one.

    while (more) {                                        while (more) {
        for (d = 1; d < 3; d++) r[d] = r[d - 1] & x;  ->      r1 = r0 & x; r2 = r1 & x;
        ...                                                   ...

The loop around then takes one iteration for what took several, arrays that only such loops index become
scalars, and no tests are left. They go together, as several often use one array. Of loops that use streams,
those go along that are over when they send. Those that only receive from one stream, or only send to one,
do where that is safe (`lint_ways.one_way`): all iterations of these wait for the last one's element. Others
stay.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from backend.dfg import Place
from macah import ir
from macah.loop_trips import UNKNOWN_TRIPS, LoopTrips, Streams, loop_trips
from macah.passes.pipeline import opened

RARE = 8
"""Loops in which less than such a part of all iterations is run rarely."""

SIZES = (1024, 512, 256, 64, 16)
"""So many operations a loop may become, at most; in the order to try."""


def short_loops(
    loops: Sequence[LoopTrips], fixed: Container[Place], most: int, grouped: bool = False
) -> tuple[Place, ...]:
    """The loops of so many operations at most; none if only such that are in no other loop.

    `fixed` are those about which something is decided. `grouped`: the elements of a stream may be waited for
    together.
    """
    long = {loop.where for loop in all_loops(loops) if not _is_short(loop, fixed, most, grouped)}
    short = dict.fromkeys(loop.where for loop in all_loops(loops) if loop.where not in long)
    inside = {inner.where for loop in all_loops(loops) if loop.where in long for inner in loop.loops}
    return tuple(where for where in short if where is not None) if inside & short.keys() else ()


def parts(loops: Sequence[LoopTrips], places: tuple[Place, ...]) -> Iterator[tuple[Place, ...]]:
    """The loops to be unrolled together; besides, those without some that hold up all iterations.

    These are in no other loop, or use a stream, which moves an element in a cycle, or run rarely. They go
    along where arrays become scalars by that.
    """
    alone = {loop.where for loop in loops}
    moving = {loop.where for loop in all_loops(loops) if loop.streams is Streams.ALIKE}
    rare = set(_rare(loops, sum(map(_iterations, loops)) / RARE))
    left_out = (set[Place | None](), alone, moving, rare)
    found = (tuple(place for place in places if place not in left) for left in left_out)
    yield from dict.fromkeys(part for part in found if part)


def _rare(loops: Sequence[LoopTrips], least: float, around: int = 1) -> Iterator[Place | None]:
    """The loops with fewer iterations than that in them, where these run `around` times."""
    for loop in loops:
        if around * _iterations(loop) < least:
            yield from (inner.where for inner in all_loops((loop,)))
        else:
            yield from _rare(loop.loops, least, around * _trips(loop))


def _iterations(loop: LoopTrips) -> int:
    """Those of the innermost loops in one, each time it runs."""
    return _trips(loop) * max(1, sum(map(_iterations, loop.loops)))


def _trips(loop: LoopTrips) -> int:
    return loop.trips or max(loop.rows, default=UNKNOWN_TRIPS)


def hoped(loops: Sequence[LoopTrips], around: int | None = None) -> tuple[LoopTrips, ...]:
    """The loops where triangular ones run half as often as the ones around them, as most do in the mean."""
    trips = [around // 2 + 1 if loop.triangular and around else loop.trips for loop in loops]
    return tuple(
        replace(loop, trips=often, loops=hoped(loop.loops, often))
        for loop, often in zip(loops, trips, strict=True)
    )


def without(loops: Sequence[LoopTrips], whole: Container[Place]) -> tuple[LoopTrips, ...]:
    """The loops that are left when these are unrolled completely."""
    left: list[LoopTrips] = []
    for loop in loops:
        inner = without(loop.loops, whole)
        left += inner if loop.where in whole else (replace(loop, loops=inner),)
    return tuple(left)


def size(loops: Sequence[LoopTrips], whole: Container[Place | None]) -> int:
    """How many operations these make of the loops, about."""
    return sum(
        (loop.trips or 1 if loop.where in whole else 1)
        * (loop.size - size(loop.loops, ()) + size(loop.loops, whole))
        for loop in loops
    )


def at_once(
    loops: Sequence[LoopTrips], factors: Mapping[Place, int], around: int = 0
) -> Iterator[tuple[Place, int]]:
    """The innermost loops of which an iteration of the kernel's one loop does several, and how many.

    `factors` are the copies that loops get, 0 for all, and `around` how many iterations of the loop around
    these are done at once. Left out is what is done once in all, and loops of unknown trips that get all.
    """
    for loop in loops:
        factor = factors.get(loop.where, 1) if loop.where else 1
        whole = factor == 0 or (loop.trips is not None and factor >= loop.trips)
        here = (loop.trips or 0) * around if whole else factor
        yield from at_once(loop.loops, factors, here)
        if loop.where and not loop.loops and here > 1:
            yield loop.where, here


def done_at_once(kernel: ir.Kernel) -> list[tuple[Place, int]]:
    """The same of a kernel as it has been decided on."""
    return list(at_once(loop_trips(opened(kernel)), dict(kernel.unroll)))


def all_loops(loops: Sequence[LoopTrips]) -> Iterator[LoopTrips]:
    """The loops and those in them."""
    for loop in loops:
        yield loop
        yield from all_loops(loop.loops)


def _is_short(loop: LoopTrips, fixed: Container[Place], most: int, grouped: bool) -> bool:
    streams = (Streams.NONE, Streams.LAST, *([Streams.ALIKE] if grouped else []))
    if loop.where is None or loop.where in fixed or loop.streams not in streams or not loop.trips:
        return False
    inner = {within.where for within in all_loops(loop.loops)}
    return size((loop,), {loop.where, *inner}) <= most and all(
        _is_short(within, fixed, most, grouped) for within in loop.loops
    )
