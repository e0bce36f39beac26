"""What a kernel might come to on a fuller array: more copies and banks than are sure to be mapped.

    choice: 8 copies, expected every 4 cycles, as half of the units stay free for routing
    bolder: 16 copies, every 6 cycles if nearly all units work: an element takes 0.375 cycles instead of 0.5

Copies are chosen for an array of which half is free (trials.py), and nearly all kernels are mapped at the
interval expected then. Many that fill more of it are mapped as well, but nobody knows which before they are:
so the choice is mapped first, and a bolder one after that, at intervals that make it the better one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from backend.mapping import DoesNotFit
from macah import ir
from macah.diagnostic import MacahError
from macah.loop_trips import LoopTrips
from macah.trials import FULL, GAIN, Choice, Trials


def with_bolder(best: Choice, free: Sequence[LoopTrips], trials: Trials) -> Choice:
    """The choice with a bolder one beside it, if one might be better; `free` loops may get more copies."""
    works = [partial(_made, kernel, best, trials) for kernel in _kernels(best, free, trials)]
    with trials.meanwhile.expected(works) as later:
        tried = [made for one in later if (made := one.done())]
    bolder = min(tried, key=lambda one: (_cycles(one, trials), len(one.dfg.nodes)), default=None)
    if bolder is None or longest(best, bolder, trials.full(best)) < trials.full(bolder):
        return best
    return replace(best, bolder=bolder)


def longest(choice: Choice, bolder: Choice, interval: int) -> int:
    """The longest interval at which a bolder choice is better than the other one is at its interval.

    Where nobody knows how often loops run, iterations must not get longer, as some may be in vain.
    """
    fewer = min(Fraction(choice.iterations, bolder.iterations), Fraction(choice.fewest, bolder.fewest))
    most = int(Fraction(GAIN) * fewer * interval)
    return most if choice.fewest == choice.iterations else min(most, interval)


def _kernels(best: Choice, free: Sequence[LoopTrips], trials: Trials) -> Iterator[ir.Kernel]:
    """The kernel with more banks, and with twice as many copies of one body."""
    kernel = best.kernel
    least = max(best.bounds.recurrence, trials.crowd(best.dfg, FULL))  # copies make neither any less
    if trials.busiest(best.dfg) > least:
        yield kernel
    if kernel.delay or kernel.row:
        return  # rows are as long as they are then, or nearly
    asked, factors = dict(trials.kernel.unroll), dict(kernel.unroll)
    for loop in free:
        factor = factors.get(loop.where, 1) if loop.where else 0
        trips = max(loop.rows, default=loop.trips or 0)
        if factor and loop.where not in asked and 2 * factor <= trips:
            assert loop.where is not None
            unroll = tuple((place, k) for place, k in kernel.unroll if place != loop.where)
            more = replace(kernel, unroll=(*unroll, (loop.where, 2 * factor)))
            if trials.iterations(more) * least <= GAIN * _cycles(best, trials):
                yield more


def _made(kernel: ir.Kernel, best: Choice, trials: Trials) -> Choice | None:
    """What a kernel comes to on a full array; None if it cannot be made, or is too large."""
    odd = best.kernel.room is not None and best.kernel.room.odd
    try:
        made = trials.choice(replace(kernel, room=None), odd, FULL)
    except (MacahError, DoesNotFit):
        return None
    return made if made.kernel != best.kernel and trials.fits(made, best) else None


def _cycles(choice: Choice, trials: Trials) -> int:
    """Those of all iterations on a full array."""
    return choice.iterations * trials.full(choice)
