"""The search for the smallest interval: first any mapping, quickly, then better ones.

At each interval from the bound on, few attempts are made until one succeeds; then the intervals below get
all their attempts, one by one down to the first that yields none. So there soon is a mapping, and whoever
cannot wait gets the best one so far.
"""

from __future__ import annotations

from .attempt import BURSTING, HUGE
from .clock import OutOfTime
from .mapping import DoesNotFit, Mapping, Schedule
from .pressure import demand, gentle_schedule
from .recipe import patient
from .refusal import no_routes, out_of_time, too_many_values
from .retime import frugal_schedule
from .settle import LONGEST, SOON
from .solved import last, small
from .soon import soon_mapped
from .tries import FUTILE, NEARLY, Tries

GAP = 2
"""Where the way up ended with so long a step, what it went past is looked at again, by halves."""

CROSSED = 0.85
"""If values need more than this part of the registers, in the mean, lack of registers is why nothing fits."""

PRESSED = 0.75
"""Where attempts need more than this part of the registers, longer intervals leave as many conflicts."""

BURST = 1.15
"""If the best schedule of the longest interval holds so many times more values at once than there are
registers, no interval helps."""

STRIDES = 8
"""Longer placing begins with this part of the way down to the bound."""

PROMISING = 1 / 3
"""It goes on at an interval while there are no more conflicts than this part of the operations."""

BARREN = 3
"""Where so many intervals in a row leave no fewer conflicts than those before, longer ones do not help."""


class Search(Tries):
    """The search over intervals up to `limit`, below that of a mapping that is there already.

    Where nothing is found, the best that its failures came to says why.
    """

    def smallest(self) -> Mapping | None:
        """A mapping at the smallest interval that succeeds, or the best when time is up or Ctrl-C comes."""
        try:
            if self.clock.limit and self.best is None:
                self._soon()
            failed = self._climb()
            if self.best is not None and self.best.interval - failed > GAP:
                self._bisect(failed, quick=not self.overwritten)
            self._leap()
            self._descend()
            self._hope()
            self._persevere()
        except OutOfTime:
            self.late = True
        except KeyboardInterrupt:
            self.late = True
            if self.best is None:
                raise
        finally:
            self.ahead.drop(set())
        return self.best

    def glance(self) -> Mapping | None:
        """A mapping at the least interval, if the first attempts find one."""
        self.glancing = True
        try:
            self._try(self.least, quick=True)
        except OutOfTime:
            self.late = True
        finally:
            self.ahead.drop(set())
        return self.best

    def _soon(self) -> None:
        """Any mapping, as better ones may take longer than there is time."""
        pulse = self._pulse("at any interval")
        self.best = soon_mapped(self.problem, self.least, self.limit, self.options, pulse)
        if self.best is not None:
            self.report(f"II {self.best.interval}: mapped, to begin with")
            self._bisect(self.least - 1, quick=True)
            self.limit = self.best.interval - 1

    def _bisect(self, failed: int, quick: bool) -> None:
        """Better mappings in few steps: above what failed, else halfway between that and what succeeded."""
        interval = failed + 1
        while self.best is not None and self.best.interval > failed + 1:
            self._try(interval, quick)
            if self.best.interval > interval:
                failed = interval
            interval = (failed + self.best.interval) // 2

    def _climb(self) -> int:
        """A first mapping, or a first better one: few attempts at each interval, in growing steps up.

        The last interval that yielded none.
        """
        interval, before, failed = self.least, self.best, self.least - 1
        self.rising = True
        while self.best is before and interval <= self.limit:
            self._try(interval, quick=interval < self.limit)
            self.barren += not self.hungry
            if self.best is before:
                failed = interval
            if self.best is before and (self._barren(interval) or self._futile(interval)):
                break
            interval = self._above(interval)
        self.rising = False
        return failed

    def _barren(self, interval: int) -> bool:
        """Whether conflicts stay many, or some where registers are scarce, although intervals are long."""
        if interval < FUTILE * self.bounds.mii or self.barren < BARREN or self.fewest is None:
            return False
        pressed = self.leanest is not None and self.leanest[0] > PRESSED * self.registers
        return self.fewest.count > (NEARLY if pressed else self._hopeless())

    def _descend(self) -> None:
        """Better mappings, one interval after the other, down to one that yields none; if that is far above
        the bound, where failures say little, down to two."""
        least = self.options.interval or self.bounds.mii
        while self.best is not None and self.best.interval > least:
            above = self.best.interval
            lowest = max(above - (2 if self._distant(above) else 1), least)
            for interval in range(above - 1, lowest - 1, -1):
                self._try(interval, quick=False)
                if self.best.interval < above:
                    break
            else:
                return

    def _leap(self) -> None:
        """Straight to the bound, where a recurrence makes that a question for the solver."""
        least = self.options.interval or self.bounds.mii
        if self.best is not None and self.best.interval > least and not small(self.problem):
            self._solved(least, brief=False)

    def _hope(self) -> None:
        """Ask the solver once more below what was reached, with patience, where the bound is near."""
        while self.best is not None and self.best.interval > self.least:
            interval = self.best.interval - 1
            trials = self._trials(interval)
            if trials.refuted or self._distant(interval):
                return
            found = last(self.problem, interval, self.options.effort, self.clock.left())
            if found is None:
                return
            self.best = found
            self.report(f"II {interval}: mapped by the solver")

    def _persevere(self) -> None:
        """Place for long below what was reached, in ever shorter steps, where the solver is not asked; or
        settle, where that can be done: it takes a tenth of the time, and leaves fewer conflicts."""
        if not self.dense or self.overwritten or self.best is None or self.problem.nodes > HUGE:
            return
        least = self.options.interval or self.bounds.mii
        step = max(1, (self.best.interval - least) // STRIDES)
        while step and self.best.interval > least:
            interval = max(self.best.interval - step, least)
            if self.settles:
                step = step if self._resettled(min(interval, LONGEST)) else step // 2
                continue
            found = self._placed(interval)
            self.best, step = (found, step) if found else (self.best, step // 2)

    def _resettled(self, interval: int) -> bool:
        """Whether annealing that knows the ways of words gives a mapping where a hasty attempt had said that
        there is none: that leaves conflicts which this does not. What has been tried is not tried again."""
        trials = self._trials(interval)
        if trials.settled is not None or trials.refuted:
            return False
        if self._settle(interval, trials, SOON, 1 << 30):
            return True
        trials.closed = trials.refuted  # but for that, a hasty attempt has closed it
        return self._settled_at_last(interval, trials)

    def _placed(self, interval: int) -> Mapping | None:
        """A mapping of attempts that place for long, while these leave few conflicts."""
        for recipe in patient(self.problem.nodes):
            if self._trials(interval).refuted:
                return None
            result = self._attempt(interval, recipe)
            if not isinstance(result, int):
                return result
            if result > PROMISING * self.problem.nodes:
                return None
        return None

    def _futile(self, interval: int) -> bool:
        """Whether even the longest interval, scheduled gently and frugally, needs too many registers."""
        if interval < FUTILE * self.bounds.mii or self.resigned is False:
            return self.resigned is True
        if not self.hungry and self.problem.nodes > HUGE:
            return False
        found = [make(self.problem, self.limit) for make in (gentle_schedule, frugal_schedule)]
        holding = [(demand(self.problem, self.limit, start), start) for start in found if start]
        held, start = min(holding, key=lambda one: sum(one[0]), default=([0], None))
        self.resigned = (
            sum(held) > BURSTING * self.registers * len(held) or max(held) > BURST * self.registers
        )
        if self.resigned and start:
            self.starved = Schedule(self.problem.dfg, self.limit, tuple(start))
        return self.resigned

    def refuted(self, interval: int) -> bool:
        """Whether the search has shown that there is no mapping at an interval, or none that is not long."""
        return interval in self.trials and self.trials[interval].refuted

    def failure(self) -> DoesNotFit:
        """Why nothing was found."""
        bounds, problem = self.bounds, self.problem
        where = f"at any initiation interval up to {self.limit}"
        if self.options.interval:
            where = f"at initiation interval {self.limit}"
        where += f" (the bound is {bounds.mii}: {bounds.binding})"
        if self.late:
            return out_of_time(self.clock.limit, where, self.fewest)
        need, schedule = self.leanest if self.leanest else (0.0, None)
        if need <= CROSSED * self.registers or self.starved:
            schedule = self.starved
        if schedule is not None:
            return too_many_values(problem, where, schedule)
        return no_routes(problem, where, bounds, self.fewest)
