"""The search for the smallest interval: first any mapping, quickly, then better ones.

At each interval from the bound on, few attempts are made until one succeeds; then the intervals below get
all their attempts, one by one down to the first that yields none. So there soon is a mapping, and whoever
cannot wait gets the best one so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .bound import Bounds
from .core import raised, refuted
from .flat import Problem
from .mapping import DoesNotFit, MapOptions, Mapping, Placement, Schedule, Shortage
from .place import HOT, WARM, place
from .pressure import demand, gentle_schedule, lives
from .route import LONG, route
from .schedule import earliest_starts, modulo_schedule
from .solved import QUESTIONS, small, solved

ATTEMPTS = 4
"""Attempts at an interval, at effort 1."""

RECIPES = ((1, 1, 1), (0, 1, 1), (2, 3, 2), (0, 1, 2), (1, 1, 1), (1, 6, 2), (0, 1, 1), (2, 4, 4))
"""Of each attempt, in turn: how much longer delays are in the schedule that it begins with, and how much it
does of placing and of routing."""

DEAR = ((1, 1, 1), (2, 3, 2))
"""The same where an attempt takes seconds."""

FIRST = 2
"""So many attempts are made before an interval is given up: a tight schedule may do where a loose one fails;
for graphs of more than MANY nodes one."""

MORE, LIKELY = 6, 8
"""More attempts, at effort 1, while the best has left no more than so many conflicts."""

NEARLY = 3
"""On the way up, an interval gets more attempts only if the last left no more than so many conflicts."""

PATIENT_STEPS = 4
"""So many intervals above the bound are tried one by one; then steps grow."""

MANY, FEW = 250, 2
"""Graphs of more nodes than MANY get FEW attempts: each takes seconds, and an interval costs them little."""

HUGE = 1000
"""Graphs of more nodes get half of that for placing, which takes most of their time."""

SHORT, PERSISTENT = 2, 16
"""At intervals up to SHORT, where the next one halves the kernel's speed, so many attempts at effort 1."""

CLOSE = 6
"""Persistence ends after the n-th round of attempts if the fewest conflicts are more than an n-th of this."""

HOPELESS = 8
"""With so many conflicts left, and one more for every ten operations, other seeds do not help either."""

CROSSED = 0.85
"""If values need more than this part of the registers, in the mean, lack of registers is why nothing fits."""

FUTILE = 3
"""From so many times the bound on, the longest interval is asked whether it can help."""

BURST = 1.15
"""If a gentle schedule of the longest interval holds so many times more values at once than there are
registers, no interval helps."""

SHOWN = 12
"""So many of the longest-living values are named."""

STARVED = 1 << 30
"""What an attempt comes to whose values need too many registers."""

SCARCE = 0.6
"""The part of the registers that values may need until schedules have to be gentle."""

BURSTING = 0.88
"""The part of the registers that values may need, in the mean, for an attempt at routing."""

TICK = 0.5
"""Seconds between two lines of progress within an attempt."""


class OutOfTime(Exception):
    """The time limit has passed."""


class Clock:
    """The time limit, and when progress was last shown."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.begun = self.shown = time.monotonic()

    def check(self) -> None:
        """Raise OutOfTime when it is."""
        if self.limit and time.monotonic() - self.begun > self.limit:
            raise OutOfTime

    def left(self) -> float:
        """The seconds until then."""
        return self.limit - (time.monotonic() - self.begun) if self.limit else 1e9

    def tick(self) -> bool:
        """Whether progress is due again."""
        now = time.monotonic()
        if now - self.shown < TICK:
            return False
        self.shown = now
        return True


@dataclass(slots=True)
class Trials:
    """What was tried at an interval: attempts, the fewest conflicts left, whether more are of no use."""

    made: int = 0
    fewest: int = 1 << 30
    closed: bool = False


class Search:
    """The search over intervals up to `limit`, and the best that its failures came to."""

    def __init__(
        self,
        problem: Problem,
        bounds: Bounds,
        limit: int,
        options: MapOptions,
        clock: Clock,
        report: Callable[[str], None],
    ) -> None:
        self.problem, self.bounds, self.limit, self.options = problem, bounds, limit, options
        self.clock, self.report = clock, report
        self.registers = problem.terrain.registers
        self.best: Mapping | None = None
        self.trials: dict[int, Trials] = {}
        self.fewest, self.asked = 1 << 30, 0
        self.hungry = self.late = False
        self.leanest: tuple[float, Schedule] | None = None
        self.resigned: bool | None = None
        self.starved: Schedule | None = None

    def smallest(self) -> Mapping | None:
        """A mapping at the smallest interval that succeeds, or the best when time is up or Ctrl-C comes."""
        try:
            self._climb()
            self._descend()
        except OutOfTime:
            self.late = True
        except KeyboardInterrupt:
            if self.best is None:
                raise
        return self.best

    def _climb(self) -> None:
        """A first mapping: few attempts at each interval, in growing steps up."""
        interval = first = self.options.interval or self.bounds.mii
        while self.best is None and interval <= self.limit:
            self._try(interval, quick=interval < self.limit)
            if self.best is None and self._futile(interval):
                return
            patient = interval < first + PATIENT_STEPS and not self.hungry
            interval = min(interval + (1 if patient else 1 + interval // 8), max(self.limit, interval + 1))

    def _descend(self) -> None:
        """Better mappings, one interval after the other, down to one that yields none."""
        least = self.options.interval or self.bounds.mii
        while self.best is not None and self.best.interval > least:
            interval = self.best.interval - 1
            if self._trials(interval).closed:
                return
            self._try(interval, quick=False)
            if self.best.interval > interval:
                return

    def _trials(self, interval: int) -> Trials:
        return self.trials.setdefault(interval, Trials())

    def _futile(self, interval: int) -> bool:
        """Whether even the longest interval, scheduled gently, needs too many registers."""
        if interval < FUTILE * self.bounds.mii or self.resigned is False:
            return self.resigned is True
        if not self.hungry and self.problem.nodes > HUGE:
            return False
        start = gentle_schedule(self.problem, self.limit)
        held = demand(self.problem, self.limit, start) if start else [0]
        self.resigned = (
            sum(held) > BURSTING * self.registers * len(held) or max(held) > BURST * self.registers
        )
        if self.resigned and start:
            self.starved = Schedule(self.problem.dfg, self.limit, tuple(start))
        return self.resigned

    def _need(self, start: Sequence[int], interval: int) -> float:
        """The registers that a schedule needs in the mean."""
        return sum(demand(self.problem, interval, start)) / interval

    def _try(self, interval: int, quick: bool) -> None:
        """Make what attempts an interval has left: with several seeds, from schedules of different looseness.

        A quick try ends with the first attempt that is not near success.
        """
        trials, effort = self._trials(interval), self.options.effort
        self.hungry = False
        short = interval <= SHORT
        attempts = max(1, round(self._attempts(short) * effort))
        first = min(FIRST, attempts) if self.problem.nodes <= MANY else 1
        while not trials.closed and trials.made < attempts:
            trials.made += 1
            result = self._attempt(interval, trials.made - 1)
            if isinstance(result, Mapping):
                self.best = result
                return
            if trials.made == 1 and self._refuted(interval):
                break
            if trials.made == first and self._solved(interval):
                break
            trials.fewest = min(trials.fewest, result)
            if trials.made < first and result < STARVED:
                continue
            rounds = trials.made // len(RECIPES)
            hopeless = HOPELESS + self.problem.nodes // 10
            enough = trials.made >= round(ATTEMPTS * effort) and trials.fewest > LIKELY
            if result > 4 * hopeless or (not short and (enough or trials.fewest > hopeless)):
                trials.closed = True
            if short and trials.fewest * rounds > CLOSE * max(1.0, effort):
                trials.closed = True
            if quick and (trials.made >= ATTEMPTS or result > NEARLY):
                return
        trials.closed = True

    def _attempts(self, short: bool) -> int:
        """The attempts at an interval, at effort 1; small graphs are the solver's."""
        if small(self.problem):
            return ATTEMPTS
        return PERSISTENT if short else FEW if self.problem.nodes > MANY else ATTEMPTS + MORE

    def _solved(self, interval: int) -> bool:
        """Whether the solver decides a small graph at an interval."""
        self.asked += 1
        if self.asked > QUESTIONS:
            return False
        found = solved(self.problem, interval, self.options.effort, self.clock.left())
        if isinstance(found, Mapping):
            self.best = found
        if found is not None:
            self.report(f"II {interval}: {'mapped' if self.best is found else 'refuted'} by the solver")
        return found is not None

    def _refuted(self, interval: int) -> bool:
        """Whether a core has no places at an interval: then that is below the bound."""
        nodes = refuted(self.problem, interval)
        if nodes and interval == self.bounds.mii:
            self.bounds = raised(self.bounds, nodes)
        if nodes:
            self.report(f"II {interval}: refuted by a recurrence of {len(nodes)} operations")
        return bool(nodes)

    def _attempt(self, interval: int, attempt: int) -> Mapping | int:
        """Place and route once: a mapping, or how many conflicts remain."""
        options, problem = self.options, self.problem
        name = f"II {interval}, attempt {attempt + 1}"

        def pulse(conflicts: int = -1) -> None:
            self.clock.check()
            if self.clock.tick():
                self.report(f"{name}: {'placing' if conflicts < 0 else f'{conflicts} conflicts left'}")

        recipes = RECIPES if problem.nodes <= MANY else DEAR
        stretch, placing, routing = recipes[attempt % len(recipes)]
        schedule = self._schedule(interval, stretch)
        seed = options.seed * 1000003 + interval * 101 + attempt
        effort = options.effort * placing / (2 if problem.nodes > HUGE else 1)
        placement = place(problem, schedule, seed, effort, HOT if interval <= SHORT else WARM, pulse)
        if self._hopeless(placement):
            self.report(f"{name}: values need too many registers")
            return STARVED
        result = route(problem, placement, seed, options.effort * routing, pulse)
        if isinstance(result, Mapping):
            self.report(f"{name}: mapped")
            return result
        self.report(f"{name}: {result} conflicts remain")
        self.fewest = min(self.fewest, result)
        return result

    def _schedule(self, interval: int, stretch: int) -> Schedule:
        """Where placement begins: early, or gently where that needs fewer of scarce registers."""
        problem = self.problem
        start = modulo_schedule(problem, interval, stretch) or earliest_starts(problem, interval)
        most = max(demand(problem, interval, start))
        if interval >= LONG and most > SCARCE * self.registers:
            gentle = gentle_schedule(problem, interval)
            if gentle is not None and max(demand(problem, interval, gentle)) < most:
                start = gentle
        return Schedule(problem.dfg, interval, tuple(start))

    def _hopeless(self, placement: Placement) -> bool:
        """Whether a placement needs too many registers for an attempt at routing it."""
        self.hungry = self._weigh(placement.schedule) > BURSTING * self.registers
        return self.hungry

    def _weigh(self, schedule: Schedule) -> float:
        """The registers that a schedule needs in the mean; the leanest one is remembered."""
        need = self._need(schedule.start, schedule.interval)
        if self.leanest is None or need < self.leanest[0]:
            self.leanest = need, schedule
        return need

    def failure(self) -> DoesNotFit:
        """Why nothing was found."""
        bounds, name = self.bounds, self.problem.fabric.name
        where = f"at any initiation interval up to {self.limit}"
        if self.options.interval:
            where = f"at initiation interval {self.limit}"
        where += f" (the bound is {bounds.mii}: {bounds.binding})"
        if self.late:
            left = f"; {self.fewest} conflicts remained" * (self.fewest < 1 << 30)
            limit = round(self.clock.limit) or 1
            return DoesNotFit(
                f"no mapping found in the time limit of {self.clock.limit:g} s {where}{left}",
                Shortage.TIME,
                limit + 1,
                limit,
            )
        need, schedule = self.leanest if self.leanest else (0.0, None)
        if need <= CROSSED * self.registers or self.starved:
            schedule = self.starved
        if schedule is not None:
            need = self._need(schedule.start, schedule.interval)
            peak = max(demand(self.problem, schedule.interval, schedule.start))
            return DoesNotFit(
                f"{self.problem.dfg.name}: no routes found on {name} {where}: the best schedule holds"
                f" {peak} values at once, {round(need)} in the mean, in {self.registers} registers",
                Shortage.REGISTERS,
                peak,
                self.registers,
                self._longest(schedule),
            )
        return DoesNotFit(
            f"{self.problem.dfg.name}: no routes found on {name} {where}; {self.fewest} conflicts remained",
            Shortage.ROUTES,
            len(self.problem.source),
            max(0, len(self.problem.source) - self.fewest),
            bounds.cycle,
        )

    def _longest(self, schedule: Schedule) -> tuple[int, ...]:
        """The nodes whose values live longest."""
        held = lives(self.problem, schedule.interval, schedule.start)
        order = sorted(held, key=lambda key: (-held[key], key))
        return tuple(dict.fromkeys(n for n, _ in order))[:SHOWN]
