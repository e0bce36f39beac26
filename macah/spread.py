"""How much of the array a kernel uses at once, where nobody says: copies of loops' bodies, banks of arrays.

    for (int i = 0; i < 1000; i++) c[i] = a[i] + b[i];           gets 8 copies, and the arrays get 4 banks

A loop gets copies of its body where fewer cycles are expected then for all that the kernel does: iterations,
as far as trips are known, times the interval that the bounds of `backend.bound` allow, but at least so long
that half of the units are free for routing. Nothing is placed, so the choice is quick and always the same;
what more of the units would allow is tried once that is mapped (bolder.py).

Only loops are tried that count up to a known bound and do nothing with streams: so a kernel's streams are
used in the same order and in the same iterations as before, and nothing can wait for more. Short loops in
others are unrolled completely (whole.py), and others that keep arrays in memories (shaping.py); what is
innermost then gets copies. Where its recurrences bind, loops around it get copies, whose loops are joined
(jam.py). Where ports, streams or units bind then, FOR loops beside others are tried as plain ones (roll.py),
and what several statements beside loops send or receive as a loop (`passes/roll_transfers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from arch.fabric import Fabric
from backend.mapping import DoesNotFit
from macah import ir
from macah.body_copies import copyable, innermost, with_copies
from macah.bolder import with_bolder
from macah.diagnostic import MacahError, Place
from macah.hurry import hurried
from macah.jam import around_one
from macah.loop_trips import loop_trips
from macah.optional import enabled
from macah.passes.pipeline import opened
from macah.passes.roll_transfers import rolls
from macah.roll import rollings
from macah.shaping import shaping
from macah.trials import GAIN, LARGER, Choice, Trials, full
from macah.walk import statements
from macah.whole import SIZES, hoped, parts, short_loops, size, without

MOST_STATEMENTS = 400
MOST_NODES = 240
"""Kernels with more are not tried, and graphs with more are not chosen: mapping them takes long."""

MOST_SHAPING = 128
"""Loops that may be what keeps arrays in memories become so many operations more at most."""

MUCH = 0.25
"""Where short loops that become one iteration leave that share of the cycles, graphs may be `LARGER`."""

ROOMY = 16
"""But only where half of the units do them in so many cycles: on smaller arrays, mapping takes long."""


def spread(
    kernel: ir.Kernel, fabric: Fabric, automatic: bool = True, most: int = MOST_NODES, jobs: int = 1
) -> Choice | None:
    """What is chosen for a lowered kernel; `automatic`: loops get copies that nobody asked for.

    Graphs with more than `most` nodes are not chosen. Up to `jobs` processes work. None if the kernel
    cannot be compiled: who does will say why.
    """
    best = _tried(kernel, fabric, automatic, most, jobs)
    if best is None or not automatic:
        return best
    fits = most >= MOST_NODES or len(best.dfg.nodes) <= most
    if fits and not _crowded(best):
        return best
    if enabled(kernel, "roll_for"):
        for places in rollings(kernel, everywhere=len(best.dfg.nodes) > most):
            form = replace(kernel, rolled=places)
            other = _tried(form, fabric, automatic, most, jobs)
            best = _smaller(best, other, fabric, most, fits)
    form = replace(kernel, rolled=best.kernel.rolled)
    if _crowded(best) and enabled(kernel, "roll_transfers") and rolls(opened(form)):
        turned = _tried(replace(form, by_turns=True), fabric, automatic, most, jobs)
        best = _smaller(best, turned, fabric, most, fits=True)
    return best


def _crowded(choice: Choice) -> bool:
    """Whether anything but recurrences is in the way of a shorter interval."""
    bounds, interval = choice.bounds, choice.interval
    # Iterations that receive once do so because streams bind otherwise.
    return interval > 1 and (choice.kernel.once or not bounds.resource < bounds.recurrence == interval)


def _smaller(best: Choice, other: Choice | None, fabric: Fabric, most: int, fits: bool) -> Choice:
    """A form with loops in the place of copies if it is better, or the first that fits."""
    if other is None or len(other.dfg.nodes) > max(most, len(best.dfg.nodes)):
        return best
    better = _cheaper(other, best) or _cheaper_full(other, best, fabric)
    return other if better or not fits else best


def _cheaper_full(other: Choice, best: Choice, fabric: Fabric) -> bool:
    """Whether a form is better on a full array, and nearly as good on one of which half is for routing."""
    bound, interval = full(best, fabric), full(other, fabric)
    better = other.iterations * interval <= GAIN * best.iterations * bound
    sure = GAIN * other.cycles <= best.cycles
    return better and sure and other.fewest * interval <= best.fewest * bound


def _tried(kernel: ir.Kernel, fabric: Fabric, automatic: bool, most: int, jobs: int) -> Choice | None:
    try:
        return _spread(kernel, fabric, automatic, most, jobs)
    except (MacahError, DoesNotFit):
        return None


def _spread(kernel: ir.Kernel, fabric: Fabric, automatic: bool, most: int, jobs: int) -> Choice:
    plain = opened(kernel)
    tries = bool(fabric.memories) and sum(1 for _ in statements(plain.body)) <= MOST_STATEMENTS
    trials = Trials(kernel, loop_trips(plain, by_row=tries), fabric, most, jobs)
    if not tries:
        return trials.made(kernel)
    base = trials.choice(kernel)
    copies = automatic and enabled(kernel, "unroll_loops")
    best = _jammed(_unrolled(base, trials), base, trials) if copies else with_copies(base, [], trials)
    best = hurried(best, plain.body, trials)
    if best.kernel.unroll != kernel.unroll:
        best = _uncopied(best, base, plain.body, trials)
    factors = dict(best.kernel.unroll)
    left = without(trials.loops, {place for place, factor in factors.items() if factor == 0})
    loops = [*innermost(left), *(loop for loop in around_one(left) if loop.where in factors)]
    return with_bolder(best, [loop for loop in loops if copyable(loop)] if copies else [], trials)


def _uncopied(best: Choice, base: Choice, body: ir.Body, trials: Trials) -> Choice:
    """The choice without copies of bodies, where iterations between rows help more than these.

    Copies come first and seem to pay, as rows are waited for with each iteration then.
    """
    if trials.iterations(base.kernel) * base.bounds.resource > GAIN * best.cycles:
        return best
    other = hurried(base, body, trials)
    return other if trials.fits(other, best) and _cheaper(other, best) else best


def _cheaper(other: Choice, best: Choice) -> bool:
    return other.cycles <= GAIN * best.cycles and other.few <= best.few


def _unrolled(plain: Choice, trials: Trials) -> Choice:
    """The choice with short loops unrolled completely, and with copies of others, where that is better."""
    whole = _whole(plain, trials)
    if whole is None:
        return with_copies(plain, innermost(trials.loops), trials)
    left = without(trials.loops, {place for place, _ in whole.kernel.unroll})
    best = with_copies(whole, innermost(left), trials)
    other = with_copies(plain, innermost(trials.loops), trials, best.cycles / GAIN)
    return best if _saves(best, other) else other


def _jammed(best: Choice, plain: Choice, trials: Trials) -> Choice:
    """The choice with copies of loops around others, too, or first, where recurrences hold these up.

    Rows at once may take as many cycles as rows that are an iteration each, but those are long.
    """
    if not enabled(plain.kernel, "join_loops"):
        return best
    for start in dict.fromkeys((plain.kernel, best.kernel)):
        choice = trials.choice(start)
        bounds = choice.bounds
        if bounds.resource < bounds.recurrence == choice.interval:
            left = without(trials.loops, {place for place, factor in start.unroll if factor == 0})
            made = with_copies(choice, [*around_one(left)], trials)
            if made.cycles <= GAIN * choice.cycles:
                made = with_copies(made, innermost(left), trials, best.ended)
                best = made if made.ended <= GAIN * best.ended else best
    return best


def _whole(plain: Choice, trials: Trials) -> Choice | None:
    """What short loops in others come to when they are unrolled completely, if that is better.

    The largest first, and smaller ones as long as these save more: what is long is done less often than the
    loops beside it, which wait for all of it in each iteration.
    """
    best, kernel, tried = None, plain.kernel, dict[tuple[Place, ...], Choice | None]()
    grouped = kernel.one_way or kernel.ordered or kernel.bubbles
    shapes = [part] if (part := _shaping(trials)) else []
    for most, loops in product(SIZES, (hoped(trials.loops), trials.loops)):
        places = short_loops(loops, dict(kernel.unroll), most, grouped)
        wanted = [
            part for part in (*parts(loops, places), *shapes) if size(loops, part) <= LARGER * MOST_STATEMENTS
        ]
        new = [part for part in wanted if part not in tried]
        with trials.meanwhile.expected([partial(_all_whole, kernel, part, trials) for part in new]) as later:
            tried |= {part: one.done() for part, one in zip(new, later, strict=True)}
        found = [one for part in wanted if (one := tried[part]) and _pays_whole(one, plain, trials)]
        made = min(found, key=_cost, default=best)
        if best is not None and made is not None and _cost(made) > _cost(best):
            break
        best = made
    return best


def _shaping(trials: Trials) -> tuple[Place, ...]:
    """Loops that keep arrays in memories, as long as they do not become much."""
    loops, found = trials.loops, dict[Place, None]()
    for places in shaping(opened(trials.kernel), loops):
        more = found | dict.fromkeys(places)
        if size(loops, more) <= size(loops, ()) + MOST_SHAPING:
            found = more
    return tuple(place for place in found if place not in dict(trials.kernel.unroll))


def _cost(choice: Choice) -> tuple[int, int]:
    return choice.cycles, len(choice.dfg.nodes)


def _pays_whole(made: Choice, plain: Choice, trials: Trials) -> bool:
    pays = trials.most == MOST_NODES and made.cycles <= MUCH * plain.cycles
    larger = LARGER if pays and trials.crowd(made.dfg) <= ROOMY else 1
    return _saves(made, plain) and len(made.dfg.nodes) <= larger * trials.most


def _saves(made: Choice, plain: Choice) -> bool:
    """Whether a choice is better; loops of which nobody knows how often they run may hide that."""
    sooner = made.interval <= plain.interval and made.few <= GAIN * plain.few
    return made.cycles <= GAIN * plain.cycles or sooner


def _all_whole(kernel: ir.Kernel, places: Sequence[Place], trials: Trials) -> Choice | None:
    """The choice with these loops unrolled; None if it turns out that they cannot be."""
    unroll = (*kernel.unroll, *((place, 0) for place in places))
    try:
        return trials.choice(replace(kernel, unroll=unroll, room=None))
    except (MacahError, DoesNotFit):
        return None  # a counter is not known after all, or the fabric is too small
