"""What is tried at one interval: attempts with several seeds, in haste and with patience, and the solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .ahead import Ahead, Key
from .attempt import SHORT, STARVED, Attempts, Tried
from .bound import Bounds
from .clock import Clock
from .core import raised, refutation
from .flat import Problem
from .hasty import count, hasty
from .mapping import MapOptions, Mapping, Schedule
from .moves import only_outputs
from .recipe import MANY, RECIPES, Recipe, patient, usual
from .route import Left
from .seeded import seeded
from .settle import CLOSE as ALMOST
from .settle import LONGEST, SOON, closer, others, settled, settles
from .solved import BRIEF, QUESTIONS, WEIGHTY, Asking, Refuted, overwritten, small, solved, tight, timed

ATTEMPTS = 4
"""Attempts at an interval, at effort 1."""

FIRST = 2
"""So many attempts are made before an interval is given up: a tight schedule may do where a loose one fails;
for graphs of more than MANY nodes one."""

MORE, LIKELY = 6, 8
"""More attempts, at effort 1, while the best has left no more than so many conflicts."""

NEARLY = 3
"""On the way up, an interval gets more attempts only if the last left no more than so many conflicts."""

PATIENT_STEPS = 4
"""So many intervals above the bound are tried one by one; then steps grow. Of graphs of more nodes than MANY,
steps grow as soon as attempts leave so many conflicts that they are lost."""

FUTILE = 3
"""From so many times the bound on, longer intervals help little: what is scarce are registers or ways."""

FEW = 2
"""Attempts for graphs of more nodes than MANY: each takes seconds, and an interval costs them little."""

PERSISTENT, TURNING = 16, 5
"""At intervals up to SHORT, where the next one halves the speed, so many attempts at effort 1; fewer of
graphs that are `turning`, which hasty attempts are for."""

CLOSE = 6
"""Persistence ends after the n-th round of attempts if the fewest conflicts are more than an n-th of this."""

HOPELESS = 8
"""So many conflicts, and one more for every ten operations, are many."""

RISING = 2
"""Where words leave tiles through one register alone, so many of the questions to the solver may be asked
while there is no mapping; the others are for intervals below one that was reached."""

DISTANT = 1.5
"""From so many times the bound on, an interval that yields no mapping may be bad luck."""

IN_VAIN = 1.1
"""Where words leave tiles through one register alone, and the solver is not asked with patience, no attempts
follow a hasty one that leaves more conflicts than so many times the operations."""

NEAR = 3
"""If annealing that knows the ways of words leaves more conflicts than NEAR, the solver is not asked, and no
other attempts are made."""

LOST = 4
"""With so many times more, longer intervals are tried in long steps, once each."""


@dataclass(slots=True)
class Trials:
    """Attempts at an interval, the fewest conflicts left, whether more are of no use, nor of the solver, and
    whether there is no mapping. `broken` is the first attempt while it waits for its repair; `asking` what
    the solver is asked where it is the one to ask."""

    made: int = 0
    fewest: int = 1 << 30
    mended: int = 1 << 30
    hasty: bool = False
    settled: int | None = None
    again: bool = False
    weighed: bool = False
    closed: bool = False
    asked: bool = False
    asking: Asking | None = None
    refuted: bool = False
    broken: Tried | None = None


class Tries:
    """The tries at intervals up to `limit`, and what they came to: the best mapping, the fewest conflicts."""

    def __init__(
        self,
        problem: Problem,
        bounds: Bounds,
        limit: int,
        options: MapOptions,
        clock: Clock,
        report: Callable[[str], None],
        best: Mapping | None = None,
    ) -> None:
        self.problem, self.bounds, self.limit, self.options = problem, bounds, limit, options
        self.clock, self.report = clock, report
        self.ahead = Ahead(Attempts(problem, options), options.jobs, clock.check)
        self.registers = problem.terrain.registers
        self.overwritten = overwritten(problem)
        self.dense = bool(only_outputs(problem.fabric)[0])  # conflicts are many there until none is left
        self.settles = settles(problem)
        self.least = options.interval or bounds.mii
        self.best, self.rising, self.glancing = best, False, False
        self.trials: dict[int, Trials] = {}
        self.fewest: Left | None = None
        self.asked = self.barren = 0
        self.hungry = self.late = self.lost = False
        self.leanest: tuple[float, Schedule] | None = None
        self.resigned: bool | None = None
        self.starved: Schedule | None = None

    def _try(self, interval: int, quick: bool) -> None:
        """Make what attempts an interval has left: with several seeds, from schedules of different looseness.

        A quick try ends with the first attempt that is not near success.
        """
        trials, effort = self._trials(interval), self.options.effort
        self.hungry = False
        short = interval <= SHORT
        attempts, first = self._attempts(interval)
        if self._hastily(interval, trials) or self._settled(interval, trials):
            return
        if self._early(interval, trials) or self._settled_at_last(interval, trials):
            return
        if trials.settled and self.overwritten and self._patient(interval):
            trials.made, trials.fewest, trials.closed = max(1, trials.made), trials.settled, True
        elif trials.settled and self.problem.nodes <= MANY:
            trials.closed = self._patient(interval) or trials.settled <= LIKELY
        ready = not quick or (trials.settled and trials.closed)
        if ready and trials.made >= first and self._solved(interval, brief=False):
            return
        while not trials.closed and trials.made < attempts:
            trials.made += 1
            result = self._attempt(interval, usual(self.problem.nodes, trials.made - 1))
            if isinstance(result, Mapping):
                self.best = result
                return
            if trials.closed:
                break
            trials.fewest = min(trials.fewest, result)
            hopeless = self._hopeless() * (1 + self.dense)
            self.lost = LOST * hopeless < result < STARVED
            if self.overwritten:  # the solver's, unless nearly routed
                tries, close = (NEARLY, NEARLY) if small(self.problem) else (attempts, LIKELY)
                if self._distant(interval):
                    tries, close = attempts, hopeless
                if trials.made < tries and trials.fewest <= close:
                    continue
                if self._solved(interval, brief=False):
                    break
                near = trials.fewest <= (NEARLY * max(1.0, effort) if small(self.problem) else hopeless)
                if trials.asked and not near:
                    break
            elif trials.made == self._before_solver(first) and self._solved(interval, brief=quick):
                break
            if self.settles and not self.overwritten and self.problem.nodes <= MANY:
                break
            if trials.made < first and result < STARVED and (self._patient(interval) or not self.lost):
                continue
            if trials.made == first and self._seeded(interval, trials):
                return
            if trials.made == first < attempts and self._weigh(interval, thorough=True):
                break
            rounds = trials.made // len(RECIPES)
            enough = trials.made >= round(ATTEMPTS * effort) and trials.fewest > LIKELY
            if result > LOST * hopeless or (not short and (enough or trials.fewest > hopeless)):
                trials.closed = True
            vain = self.ahead.attempts.turning(interval) and trials.fewest > 2 * hopeless
            if vain or (short and trials.fewest * rounds > CLOSE * max(1.0, effort)):
                trials.closed = True
            if quick and (trials.made >= ATTEMPTS or not self._near(interval, result)):
                return
        trials.closed = True

    def _near(self, interval: int, result: int) -> bool:
        """Whether an interval gets more attempts on the way up, after one that leaves `result` conflicts."""
        if interval >= FUTILE * self.least:
            return self._trials(interval).fewest <= LIKELY
        return result <= NEARLY

    def _hastily(self, interval: int, trials: Trials) -> bool:
        """Whether one of the attempts that end soon gives a mapping; once for an interval."""
        if trials.hasty:
            return False
        trials.hasty = True
        attempts, pulse = self.ahead.attempts, self._pulse(f"II {interval}, hasty attempts")
        most = 1 if self.dense else count(attempts, interval, small(self.problem), self.glancing)
        found = hasty(attempts, interval, most, 2 * self._hopeless(), lambda: self._refuted(interval), pulse)
        if isinstance(found, Mapping):
            self.best = found
            self.report(f"II {interval}, in haste: mapped")
            return True
        doubtful = self.dense and (self.glancing or not self.overwritten)
        vain = doubtful and IN_VAIN * self.problem.nodes < found < STARVED
        patient = self.settles and self.problem.nodes <= MANY  # what settles may do so in spite of that
        self.lost |= vain and not patient and found > LOST * self._hopeless() * (1 + self.dense)
        trials.closed |= trials.refuted or vain
        return False

    def _settled(self, interval: int, trials: Trials) -> bool:
        """Whether annealing that knows the ways of words gives a mapping; once for an interval."""
        if trials.settled is not None or trials.closed or self.glancing or not self.settles:
            return False
        if interval > LONGEST:
            return False
        return self._settle(interval, trials, SOON, 1 << 30)

    def _settled_at_last(self, interval: int, trials: Trials) -> bool:
        """Whether more of it does, where little is missing, and no tight schedules are refuted: then others
        have a mapping hardly ever."""
        left = trials.settled
        if not left or trials.closed or trials.again or left > closer(self.problem):
            return False
        trials.again = True
        if trials.asking and trials.asking.refuted >= WEIGHTY:
            return False
        return self._settle(interval, trials, others(self.problem), left)

    def _settle(self, interval: int, trials: Trials, numbers: range, fewest: int) -> bool:
        """Whether attempts of some numbers at that give a mapping."""
        schedule = self.ahead.attempts.schedule(interval, stretch=0)
        pulse, seed = self._pulse(f"II {interval}, settling"), self.options.seed * 1000003 + interval * 101
        effort, refuted = self.options.effort, partial(self._refuted, interval)
        found = settled(self.problem, schedule, seed, effort, refuted, pulse, numbers, fewest)
        trials.settled = found if isinstance(found, int) else 0
        if isinstance(found, Mapping):
            self.best = found
            self.report(f"II {interval}: mapped with all ways of words")
        trials.closed |= trials.refuted
        return isinstance(found, Mapping)

    def _seeded(self, interval: int, trials: Trials) -> bool:
        """Whether attempts around the places of a core give a mapping, where little is missing."""
        if trials.fewest > LIKELY or trials.closed or self.glancing or self.dense:
            return False
        found = seeded(self.ahead.attempts, interval, self._pulse(f"II {interval}, around a core"))
        if isinstance(found, Mapping):
            self.best = found
            self.report(f"II {interval}: mapped around a core")
        return isinstance(found, Mapping)

    def _attempts(self, interval: int) -> tuple[int, int]:
        """The attempts at an interval, and how many are made in any case; at a glance no more than these."""
        attempts, first = self._all_attempts(interval)
        return max(1, round(first * self.options.effort)) if self.glancing else attempts, first

    def _all_attempts(self, interval: int) -> tuple[int, int]:
        many = self.problem.nodes > MANY
        far = interval >= FUTILE * self.least
        attempts = ATTEMPTS + MORE * (not far)
        if self.overwritten:
            attempts = ATTEMPTS if small(self.problem) else attempts
            return max(1, round(attempts * self.options.effort)), 1
        if not small(self.problem):  # those are the solver's first
            turning = self.ahead.attempts.turning(interval)
            persistent = TURNING if turning else PERSISTENT
            attempts = persistent if interval <= SHORT else FEW if many else attempts
        attempts = max(1, round(attempts * self.options.effort))
        return attempts, 1 if many or far else min(FIRST, attempts)

    def _likely(self, interval: int, recipe: Recipe) -> list[Key]:
        """The attempts that are likely to be wanted after one that fails."""
        nodes, late = self.problem.nodes, patient(self.problem.nodes)
        if recipe in late:
            return [(interval, later) for later in late[late.index(recipe) + 1 :]]
        attempts, first = self._attempts(interval)
        here = [(interval, usual(nodes, k)) for k in range(recipe.number + 1, attempts)]
        if not self.rising:
            return here
        above = self._above(interval)
        up = [(above, usual(nodes, k)) for k in range(first) if interval < above <= self.limit]
        certain = max(0, first - 1 - recipe.number)
        return here[:certain] + up + here[certain:]

    def _solved(self, interval: int, brief: bool) -> bool:
        """Whether the solver decides a small graph at an interval."""
        trials = self._trials(interval)
        if trials.asked or self.asked >= QUESTIONS - brief or (self.hungry and self.asked):
            return False
        if trials.settled and trials.settled > NEAR and self._patient(interval):
            return False
        if self.overwritten and (self.rising and self.asked >= RISING or self._distant(interval)):
            return False
        if self.overwritten and self.glancing:  # which has had its first answer
            return False
        whole = self.overwritten or small(self.problem)
        if not whole and (brief or not tight(self.problem, self.bounds, interval)):
            return False
        self.asked += 1
        effort, conflicts = self.options.effort, BRIEF * (self.asked + 1) * brief
        if self.overwritten:
            found = self._asking(interval).decided(trials.fewest, self.clock.left())
        elif whole:
            found = solved(self.problem, interval, effort, self.clock.left(), conflicts)
        else:
            found = timed(self.problem, interval, effort, self.clock.left())
        trials.asked = found is not None or not brief
        return found is not None and self._answered(interval, found)

    def _early(self, interval: int, trials: Trials) -> bool:
        """Whether the solver's first answer settles it, where it is the one to ask; once for an interval."""
        if not self.overwritten or trials.asking or trials.closed or self._distant(interval):
            return False
        if trials.settled and trials.settled > NEAR and self._patient(interval):
            return False
        found = self._asking(interval).early(self.clock.left())
        trials.asked |= found is not None
        return found is not None and self._answered(interval, found)

    def _asking(self, interval: int) -> Asking:
        """What is asked about an interval where the solver is the one to ask."""
        trials = self._trials(interval)
        trials.asking = trials.asking or Asking(self.problem, interval, self.options.effort)
        return trials.asking

    def _answered(self, interval: int, found: Mapping | Refuted) -> bool:
        """Take the solver's answer."""
        trials = self._trials(interval)
        trials.refuted = found is Refuted.WITHIN_HORIZON
        trials.closed |= trials.refuted
        if trials.asking:
            trials.asking.close()
        self.best = found if isinstance(found, Mapping) else self.best
        refuted = "given up" if trials.asking else "refuted"
        self.report(f"II {interval}: {'mapped' if self.best is found else refuted} by the solver")
        return True

    def _refuted(self, interval: int) -> bool:
        """Whether it is known that there is no mapping at an interval, which then is below the bound."""
        if self._trials(interval).weighed:
            return self._trials(interval).refuted
        self._trials(interval).weighed = True
        return self._weigh(interval, thorough=False)

    def _weigh(self, interval: int, thorough: bool) -> bool:
        """Whether there is no mapping at an interval, as far as some effort tells."""
        found = refutation(self.problem, interval, thorough)
        self._trials(interval).asked |= found is not None
        self._trials(interval).refuted |= found is not None
        if found and interval == self.bounds.mii:
            self.bounds = raised(self.bounds, found)
        if found:
            self.report(f"II {interval}: refuted by {found.why}")
        return found is not None

    def _attempt(self, interval: int, recipe: Recipe) -> Mapping | int:
        """Place and route once: a mapping, or how many conflicts remain."""
        name = f"II {interval}, attempt {recipe.number + 1}"
        likely = self._likely(interval, recipe)
        pulse = self._pulse(name)
        tried = self.ahead.outcome((interval, recipe), likely, pulse)
        if not isinstance(tried.result, Mapping):
            self.ahead.expect(likely)
        if not isinstance(tried.result, Mapping):
            tried = self._mended(interval, recipe, tried, pulse)
        if self.leanest is None or tried.need < self.leanest[0]:
            self.leanest = tried.need, tried.schedule
        self.hungry = tried.result == STARVED
        if isinstance(tried.result, Mapping):
            self.report(f"{name}: mapped")
            return tried.result
        if self.hungry:
            self.report(f"{name}: values need too many registers")
        else:
            self.report(f"{name}: {tried.result} conflicts remain")
            if tried.left and (self.fewest is None or tried.left.count < self.fewest.count):
                self.fewest, self.barren = tried.left, -1
        return tried.result

    def _mended(self, interval: int, recipe: Recipe, tried: Tried, pulse: Callable[[int], None]) -> Tried:
        """What failed, or the first attempt repaired: at once if it is the only one, else once the second
        has failed, too, as a repair may take long. Of those that are `turning`, the best so far."""
        trials, attempts, first = self._trials(interval), self.ahead.attempts, not recipe.mends
        if first and self._refuted(interval):
            trials.closed = True
        elif recipe.mends and attempts.turning(interval):
            broken = min((trials.broken or tried, tried), key=lambda one: one.count)
            trials.broken = None
            if broken.count < trials.mended:
                trials.mended, mended = broken.count, attempts.mended(broken, pulse)
                return mended if isinstance(mended.result, Mapping) else tried
        elif first and self._attempts(interval)[1] == 1:
            return attempts.mended(tried, pulse)
        elif first:
            trials.broken = tried
        elif trials.broken is not None:
            mended, trials.broken = attempts.mended(trials.broken, pulse), None
            return mended if isinstance(mended.result, Mapping) else tried
        return tried

    def _above(self, interval: int) -> int:
        """The interval after one, on the way up."""
        step = 1 + interval // (2 if self.lost else 8)
        if 0 < (self._trials(interval).settled or 0) <= ALMOST:
            step = 1 + interval // 16
        lost = self.lost and self.problem.nodes > MANY
        if not self.hungry and not lost and self._patient(interval):
            step = 1
        return min(interval + step, max(self.limit, interval + 1))

    def _patient(self, interval: int) -> bool:
        return interval < self.least + PATIENT_STEPS

    def _distant(self, interval: int) -> bool:
        """Whether an interval is so far above the bound that a failure says little."""
        return interval > max(DISTANT * self.least, self.least + PATIENT_STEPS)

    def _before_solver(self, first: int) -> int:
        """After so many attempts the solver is asked. It knows more than the second of small graphs, and
        where words leave tiles through one register alone."""
        return 1 if small(self.problem) or self.settles else first

    def _hopeless(self) -> int:
        """With so many conflicts left, other seeds do not help either."""
        return HOPELESS + self.problem.nodes // 10

    def _trials(self, interval: int) -> Trials:
        return self.trials.setdefault(interval, Trials())

    def _pulse(self, name: str) -> Callable[[int], None]:
        """Looks at the clock, and tells from time to time how many conflicts an attempt has left."""

        def pulse(conflicts: int) -> None:
            self.clock.check()
            if self.clock.tick():
                self.report(f"{name}: {'placing' if conflicts < 0 else f'{conflicts} conflicts left'}")

        return pulse
