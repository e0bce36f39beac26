"""What is chosen for a kernel whose control holds it up: tests, rows and the loops in sequence of nests.

    for (int r = 0; r < n; r++) {
      for (int i = 0; i < w; i++) line[i] <? in;
      for (int i = 0; i < w; i++) out <! line[w - 1 - i];           gets one counter for both loops
    }

What decides whether an iteration is the last one of its row is computed in the iterations before it, some of
which may be empty for that. Nothing is placed: as with copies (`spread.py`), the bounds decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

from macah import ir
from macah.diagnostic import Place
from macah.loop_trips import SHORT, LoopTrips
from macah.meanwhile import Later
from macah.optional import enabled
from macah.passes.pipeline import optimize
from macah.receives import lengthened, often_received
from macah.tests_first import FEW_TRIPS, candidates, crowded, pays
from macah.trials import FULL, Choice, Trials
from macah.whole import all_loops

DELAYS = (1, 2, 3, 4, 6, 8)
"""So many iterations there may be between the rows of nests."""

LIKELY = (8, 3, 1, 2)
"""Those that are tried first if each gives another interval."""

Rows = tuple[int, ...]
"""How many iterations the rows of a loop make, one after the other, or each of them."""

MUCH = 2
"""Where one receive in each iteration leaves at most this part of the cycles, nothing else is tried."""

LONGER = 1.5
"""Where data decide how long rows are, those of one iteration may take so many times as long as without
empty ones: there may be no others."""

ROWS = (2, 3, 4)
"""So many iterations inner loops may be asked to make at least: the fewest that the interval needs."""


def hurried(best: Choice, body: ir.Body, trials: Trials) -> Choice:
    """The choice with what makes recurrences of control shorter; `body` is that of the kernel when opened."""
    best = _uncrowded(best, body, trials)
    once = _received_once(best, best, body, trials)
    if once is not best and MUCH * _each(once, body, trials) <= trials.full(best):
        return once
    places = candidates(body)
    kernels = _joined(best.kernel, trials.loops) if best.interval > 1 else ()
    with trials.meanwhile.expected(
        [partial(_other, kernel, best, places, trials) for kernel in kernels]
    ) as later:
        found = _entered(_alone(best, places, trials), best, places, trials)
        waits = 1 < found.interval > found.bounds.resource or trials.waits(found)
        for one in later if waits else ():
            joined = one.done()
            fits = trials.fits(joined, found)
            if fits and _row_costs(joined, trials) < _row_costs(found, trials):
                found = joined
    return _searched(_received_once(found, best, body, trials), trials)


def _each(once: Choice, body: ir.Body, trials: Trials) -> Fraction:
    """The cycles of an iteration of the loops as they are, where each receives once."""
    return trials.full(once) * lengthened(body)


def _joined(kernel: ir.Kernel, loops: tuple[LoopTrips, ...]) -> Iterator[ir.Kernel]:
    """The kernel with other ways to make one loop of several."""
    chained = replace(kernel, chained=True)
    if _has_sequences(loops) and enabled(kernel, "chain_stages"):
        yield chained
    if _has_several(loops) and _has_rows(loops) and enabled(kernel, "stack_nests"):
        yield replace(chained, stacked=True)


def _received_once(found: Choice, best: Choice, body: ir.Body, trials: Trials) -> Choice:
    """The choice with one receive in each iteration, if that is better."""
    wanted = found.interval > 1 and enabled(best.kernel, "receive_once") and not best.kernel.rare
    if not wanted or not often_received(body) or lengthened(body) >= trials.full(found):
        return found
    once = _searched(trials.choice(replace(best.kernel, once=True)), trials)
    trips = _mean(_shortest(found, trials)) or Fraction(SHORT)
    before, _ = _row_costs(found, trials)
    pays = _each(once, body, trials) * trips < (before or trials.full(found) * trips)
    return once if pays and trials.fits(once, found) else found


def _searched(best: Choice, trials: Trials) -> Choice:
    """The choice with recurrences for which shorter ones were looked for longer, if there are any."""
    if not best.bounds.resource < best.bounds.recurrence == trials.full(best):
        return best
    tried = trials.choice(replace(best.kernel, patient=True))
    fits = trials.fits(tried, best)
    return tried if fits and trials.full(tried) < trials.full(best) else best


def _entered(found: Choice, best: Choice, places: tuple[Place, ...], trials: Trials) -> Choice:
    """The choice with inner loops that run even for nothing, if that is better."""
    if found.interval == 1 or not _has_rows(trials.loops) or not enabled(best.kernel, "enter_loops"):
        return found
    kernel = replace(best.kernel, entered=True)
    if not _is_changed(kernel, "enter_loops") and not _has_nests_in_sequence(trials.loops):
        return found  # and nothing is tried twice
    first = trials.choice(kernel)
    if first.dfg == best.dfg:
        return found  # there is no loop to be entered
    entered = _alone(first, places, trials)
    fits = trials.fits(entered, found)
    return entered if fits and _costs(entered, trials) < _costs(found, trials) else found


def _costs(choice: Choice, trials: Trials) -> tuple[Fraction, Fraction, int]:
    """The cycles of a row, and the operations."""
    return *_row_costs(choice, trials), len(choice.dfg.nodes)


def _other(kernel: ir.Kernel, best: Choice, places: tuple[Place, ...], trials: Trials) -> Choice:
    """The choice for a kernel that is another than the best one; else that, and nothing is tried twice."""
    first = trials.choice(kernel)
    return best if first.dfg == best.dfg else _alone(first, places, trials)


def _alone(best: Choice, places: tuple[Place, ...], trials: Trials) -> Choice:
    """The same for loops as they are in sequence."""
    paced = _paced(_tested(best, places, trials), trials)
    # The rows of nests that are one are told ahead, or not: empty iterations have never helped more.
    return paced if best.kernel.stacked else _delayed(paced, trials)


def _uncrowded(best: Choice, body: ir.Body, trials: Trials) -> Choice:
    """The choice with what stands beside loops in iterations of its own, if that is better."""
    ports_bind = best.bounds.resource >= max(2, best.bounds.recurrence, 1 + trials.crowd(best.dfg, FULL))
    places = crowded(body) if ports_bind and enabled(best.kernel, "tests_first") else ()
    if not places:
        return best
    tried = trials.choice(_testing_first(best.kernel, places))
    known = (loop.trips or FEW_TRIPS for loop in all_loops(trials.loops) if loop.where in places)
    trips = min(known, default=FEW_TRIPS)
    better = pays(trials.full(tried), trials.full(best), trips, more=2)  # one before the loop, one behind it
    return tried if better and trials.fits(tried, best) else best


def _tested(best: Choice, places: tuple[Place, ...], trials: Trials) -> Choice:
    """The choice with the tests of these loops first, if that is better."""
    hurried = best.bounds.recurrence > best.bounds.resource
    if not places or not hurried or not enabled(best.kernel, "tests_first"):
        return best
    tried = trials.choice(_testing_first(best.kernel, places))
    return tried if pays(tried.interval, best.interval) and trials.fits(tried, best) else best


def _testing_first(kernel: ir.Kernel, places: tuple[Place, ...]) -> ir.Kernel:
    """The kernel with the tests of these loops first, too."""
    return replace(kernel, tests_first=tuple(dict.fromkeys((*kernel.tests_first, *places))))


def _paced(best: Choice, trials: Trials) -> Choice:
    """The choice with rows of some length at least, if that is better."""
    found = best
    # Nests that are one have what chooses between them on a recurrence, unless their rows are told ahead.
    waits = trials.waits(best) or (best.kernel.stacked and best.bounds.recurrence > 1)
    wanted = waits and _has_rows(trials.loops) and enabled(best.kernel, "pace_rows")
    for length in ROWS if wanted else ():
        if found.bounds.recurrence == 1:
            break
        paced = replace(best.kernel, row=length)
        if not _is_changed(paced, "pace_rows") and not _needs_banks(best, trials):
            continue  # it is what it was
        tried = trials.choice(paced)
        better = (trials.full(tried), tried.bounds.mii) < (trials.full(found), found.bounds.mii)
        if better and pays(trials.full(tried), trials.full(best)) and trials.fits(tried, found):
            found = tried
    return found


def _is_changed(kernel: ir.Kernel, name: str) -> bool:
    """True if a pass, which is not the first one, changes anything."""
    stages: dict[str, ir.Body] = {}
    optimize(kernel, lambda step, result: stages.update({step: result.body}))
    names = list(stages)
    return stages[name] != stages[names[names.index(name) - 1]]


def _needs_banks(best: Choice, trials: Trials) -> bool:
    """True if other banks may be chosen once more."""
    return enabled(best.kernel, "bank_arrays") and trials.busiest(best.dfg) > trials.crowd(best.dfg)


def _delayed(best: Choice, trials: Trials) -> Choice:
    """The choice with iterations between rows, if that is better for the shortest rows expected."""
    rows = _has_rows(trials.loops) or trials.waits_first
    if not rows or not enabled(best.kernel, "delay_rows"):
        return best
    trips = _mean(_shortest(best, trials))
    if best.bounds.resource * (trips + DELAYS[0]) >= best.interval * trips:
        return best
    tests = dict.fromkeys((best.kernel.tests_first, ()))
    bases = [replace(best.kernel, tests_first=places, row=0) for places in tests]
    likely = [replace(base, delay=delay) for base in bases for delay in LIKELY]
    with trials.meanwhile.expected([partial(trials.choice, kernel) for kernel in likely]) as later:
        known = {(one.tests_first, one.delay): work for one, work in zip(likely, later, strict=True)}
        search = _Delays(trials.full(best), trips, trials, best, known)
        for search.base in bases:
            search.between(-1, search.reached, len(DELAYS), 1)
    return search.found


class _Delays:
    """Looks for the delay with the fewest cycles for rows of so many trips, beginning with the longest one.

    The longer the delay, the shorter the interval, if anything. `reached` is that without a delay.
    """

    def __init__(
        self,
        reached: int,
        trips: Fraction,
        trials: Trials,
        found: Choice,
        later: Mapping[tuple[tuple[Place, ...], int], Later[Choice]],
    ) -> None:
        self.reached, self.trips, self.trials = reached, trips, trials
        self.base, self.found, self.later = found.kernel, found, later

    def between(self, low: int, longest: int, high: int, least: int) -> None:
        """Try delays between two places in the list, whose intervals are the `longest` and the `least`."""
        most, _ = _row_costs(self.found, self.trials)
        if high - low < 2 or longest == least or least * (self.trips + DELAYS[low + 1]) > most:
            return
        middle = (low + high) // 2 if high < len(DELAYS) else len(DELAYS) - 1
        interval = self.interval(DELAYS[middle])
        self.between(low, longest, middle, interval)
        self.between(middle, interval, high, least)

    def interval(self, delay: int) -> int:
        """The interval with a delay, which is the best one so far if it is."""
        later = self.later.get((self.base.tests_first, delay))
        tried = later.done() if later else self.trials.choice(replace(self.base, delay=delay))
        if self.pays(tried) and self.pays(tried := self.trials.tightened(tried, self.reached)):
            self.found = tried
        return self.trials.full(tried)

    def pays(self, tried: Choice) -> bool:
        """Whether a choice is better than the best one so far."""
        fits = self.trials.fits(tried, self.found)
        alone = self.trials.full(tried) * (1 + tried.kernel.delay)
        if not fits or (alone > LONGER * self.reached and _has_tested_rows(self.trials.loops)):
            return False
        return _row_costs(tried, self.trials) < _row_costs(self.found, self.trials)


def _rows(loops: tuple[LoopTrips, ...], factors: dict[Place, int], inside: bool) -> Iterator[Rows]:
    """How many iterations innermost loops in others make each time, or are expected to make."""
    for loop in loops:
        factor = factors.get(loop.where, 1) if loop.where else 1
        if factor == 0 or (loop.trips is not None and factor >= loop.trips):
            yield from _rows(loop.loops, factors, inside)
            continue
        within = list(_rows(loop.loops, factors, True))
        yield from within
        if not inside or within:
            continue
        if loop.rows:
            yield tuple(max(1, -(-trips // factor)) for trips in loop.rows)
        else:
            yield (SHORT if loop.trips is None else -(-loop.trips // factor),)


def _shortest(choice: Choice, trials: Trials) -> Rows:
    """The rows that are the shortest ones on average; a loop that waits for what stands before it is one."""
    alone = not _has_rows(trials.loops) and trials.waits_first
    return min(_rows(trials.loops, dict(choice.kernel.unroll), alone), key=_mean, default=(0,))


def _mean(rows: Rows) -> Fraction:
    return Fraction(sum(rows), len(rows))


def _row_costs(choice: Choice, trials: Trials) -> tuple[Fraction, Fraction]:
    """The cycles of the shortest rows expected, on average, with what is left empty between them.

    First those in a full array, then those in one of which half is for routing.
    """
    kernel = choice.kernel
    rows = tuple(max(trips, kernel.row) + kernel.delay for trips in _shortest(choice, trials))
    return trials.full(choice) * _mean(rows), choice.interval * _mean(rows)


def _has_sequences(loops: tuple[LoopTrips, ...]) -> bool:
    """True if there are loops in sequence of which one does not always run equally often."""
    several = len(loops) > 1 and any(loop.trips is None for loop in loops)
    return several or any(_has_sequences(loop.loops) for loop in loops)


def _has_rows(loops: tuple[LoopTrips, ...]) -> bool:
    """True if there is a loop in another one that does not always run equally often."""
    return any(_has_rows(loop.loops) or any(inner.trips is None for inner in loop.loops) for loop in loops)


def _has_tested_rows(loops: tuple[LoopTrips, ...], inside: bool = False) -> bool:
    """True if there is an innermost loop in another one of which data decide how often it runs."""
    return any(
        _has_tested_rows(loop.loops, True)
        if loop.loops
        else inside and loop.trips is None and not loop.counted
        for loop in loops
    )


def _has_several(loops: tuple[LoopTrips, ...]) -> bool:
    """True if there are loops beside each other anywhere."""
    return len(loops) > 1 or any(_has_several(loop.loops) for loop in loops)


def _has_nests_in_sequence(loops: tuple[LoopTrips, ...]) -> bool:
    """True if there is a loop with others in it beside another one, which `flat_stages` flattens."""
    return any((len(loops) > 1 and loop.loops) or _has_nests_in_sequence(loop.loops) for loop in loops)
