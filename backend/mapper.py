"""Maps a dataflow graph onto a fabric: the smallest interval for which place and route succeed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arch.fabric import Fabric

from .bound import Bounds, minimum_interval
from .check import check_mapping
from .dfg import DFG
from .flat import Problem
from .mapping import DoesNotFit, MapOptions, Mapping, Placement, Schedule, Shortage
from .place import HOT, WARM, place
from .pressure import demand, gentle_schedule, lives
from .route import LONG, route
from .schedule import earliest_starts, modulo_schedule

ATTEMPTS = 3
"""Attempts at an interval before the next one, at effort 1."""


MORE, NEARLY = 2, 3
"""More attempts, at effort 1, when an attempt has left no more than so many conflicts."""

PATIENT_STEPS = 4
"""So many intervals above the bound are tried one by one; then steps grow."""

MANY, FEW = 250, 2
"""Graphs of more nodes than MANY get FEW attempts: each takes seconds, and an interval costs them little."""

SHORT, PERSISTENT = 2, 16
"""At intervals up to SHORT, where the next one halves the kernel's speed, so many attempts at effort 1."""

HOPELESS = 8
"""With so many conflicts left, and one more for every ten operations, other seeds do not help either."""


CROSSED = 0.85
"""If values need more than this part of the registers, in the mean, lack of registers is why nothing fits."""

FUTILE = 3
"""From so many times the bound on, the longest interval is asked whether it can help."""

SHOWN = 12
"""So many of the longest-living values are named."""

SCARCE = 0.6
"""The part of the registers that values may need until schedules have to be gentle."""

BURSTING = 0.88
"""The part of the registers that values may need, in the mean, for an attempt at routing."""


def map_kernel(
    dfg: DFG, fabric: Fabric, options: MapOptions, progress: Callable[[str], None] | None = None
) -> Mapping:
    """A checked mapping, or DoesNotFit. The options' seed fixes the result."""
    bounds = minimum_interval(dfg, fabric)
    limit = min(options.max_interval or fabric.max_interval, fabric.max_interval)
    if bounds.mii > limit:
        raise _too_long(bounds, limit)
    search = _Search(Problem(dfg, fabric), bounds, limit, options, progress or (lambda _: None))
    mapping = search.smallest()
    if mapping is None:
        raise search.failure()
    check_mapping(mapping)
    return mapping


def _too_long(bounds: Bounds, limit: int) -> DoesNotFit:
    return DoesNotFit(
        f"the initiation interval must be at least {bounds.mii} ({bounds.binding}); the limit is {limit}",
        Shortage.INTERVAL,
        bounds.mii,
        limit,
        bounds.cycle,
    )


class _Search:
    """The search over intervals, and the best that its failures came to."""

    def __init__(
        self, problem: Problem, bounds: Bounds, limit: int, options: MapOptions, report: Callable[[str], None]
    ) -> None:
        self.problem, self.bounds, self.limit, self.options = problem, bounds, limit, options
        self.report = report
        self.registers = problem.terrain.registers
        self.fewest = 1 << 30
        self.hungry = False
        self.leanest: tuple[float, Schedule] | None = None

    def smallest(self) -> Mapping | None:
        """A mapping at the smallest interval that succeeds: in growing steps up, then one by one back."""
        bound = self.bounds.mii
        failed, interval = bound - 1, bound
        mapping = None
        while mapping is None and interval <= self.limit:
            mapping = self._map_at(interval)
            if mapping is None:
                patient = interval < bound + PATIENT_STEPS and not self.hungry
                step = 1 if patient else 1 + interval // 8
                if self.hungry and self._futile(interval):
                    return None
                failed, interval = interval, min(interval + step, max(self.limit, interval + 1))
        while mapping is not None and mapping.interval - 1 > failed:
            better = self._map_at(mapping.interval - 1)
            if better is None:
                break
            mapping = better
        return mapping

    def _futile(self, interval: int) -> bool:
        """Whether even the longest interval, scheduled gently, needs too many registers."""
        if interval < FUTILE * self.bounds.mii:
            return False
        start = gentle_schedule(self.problem, self.limit)
        if start is None or self._need(start, self.limit) <= BURSTING * self.registers:
            return False
        self._weigh(Schedule(self.problem.dfg, self.limit, tuple(start)))
        return True

    def _need(self, start: Sequence[int], interval: int) -> float:
        """The registers that a schedule needs in the mean."""
        return sum(demand(self.problem, interval, start)) / interval

    def _map_at(self, interval: int) -> Mapping | None:
        """Try one interval with several seeds, from schedules of different looseness."""
        problem, options = self.problem, self.options
        self.hungry = False
        short = interval <= SHORT
        attempts = PERSISTENT if short else FEW if problem.nodes > MANY else ATTEMPTS + MORE
        for attempt in range(max(1, round(attempts * options.effort))):
            schedule = self._schedule(interval, 1 + attempt % 2)
            seed = options.seed * 1000003 + interval * 101 + attempt
            effort = options.effort * (1 + attempt % ATTEMPTS)
            placement = place(problem, schedule, seed, effort, HOT if short else WARM)
            if self._hopeless(placement):
                self.report(f"II {interval}, attempt {attempt + 1}: values need too many registers")
                return None
            result = route(problem, placement, seed, options.effort)
            if isinstance(result, Mapping):
                self.report(f"II {interval}, attempt {attempt + 1}: mapped")
                return result
            self.report(f"II {interval}, attempt {attempt + 1}: {result} conflicts remain")
            self.fewest = min(self.fewest, result)
            hopeless = HOPELESS + problem.nodes // 10
            enough = attempt + 1 >= round(ATTEMPTS * options.effort) and result > NEARLY
            if result > 4 * hopeless or (not short and (enough or result > hopeless)):
                break
        return None

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
        where = f"at any initiation interval up to {self.limit} (the bound is {bounds.mii}: {bounds.binding})"
        need, schedule = self.leanest if self.leanest else (0.0, None)
        if schedule is not None and need > CROSSED * self.registers:
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
