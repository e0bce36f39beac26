"""One attempt at an interval: a schedule, a placement and its routing, as its recipe says, and its repair.

The first at an interval is mended apart, after the search has asked whether there can be mappings at all,
and mostly after a second has failed, too: a repair is what costs most. An attempt depends on the problem, the
options, its interval and its recipe alone, so it may be made anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .flat import Problem
from .mapping import MapOptions, Mapping, Schedule
from .place import HOT, WARM, place
from .pressure import demand, gentle_schedule
from .recipe import Recipe
from .repair import repaired
from .retime import frugal_schedule
from .route import Left, route
from .schedule import earliest_starts, modulo_schedule

BRISK, BRISKLY = 50, 0.25
"""Of graphs of up to BRISK nodes that are `turning`, routing ends after this part of the iterations."""

FRUGAL = 0.72
"""Their repairs have this part of the solver's conflicts, and of the words."""

HUGE = 1000
"""Graphs of more nodes get half of that for placing, which takes most of their time."""

SHORT = 2
"""At intervals up to SHORT placing begins hotter."""

STARVED = 1 << 30
"""What an attempt comes to whose values need too many registers."""

LONG, SCARCE = 22, 0.6
"""From such an interval on there is time to do one thing after the other. That is tried, and at any interval
what holds values for the fewest cycles, where they need more than this part of the registers."""

BURSTING = 0.88
"""The part of the registers that values may need, in the mean, for an attempt at routing."""

PLACING = -1
"""What is told instead of conflicts while there are no routes."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of an attempt: a mapping, or how many conflicts remain, and `left` which.

    `need` is how many registers the placed schedule needs in the mean.
    """

    result: Mapping | int
    schedule: Schedule
    need: float
    left: Left | None = None

    @property
    def count(self) -> int:
        """How many conflicts remain."""
        return 0 if isinstance(self.result, Mapping) else self.result


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts at one problem."""

    problem: Problem
    options: MapOptions

    def make(self, interval: int, recipe: Recipe, pulse: Callable[[int], None]) -> Tried:
        """Place and route once, and mend that if the recipe does.

        `pulse` is told again and again how many conflicts are left, and may raise what ends the work.
        """
        problem, options = self.problem, self.options
        seed = options.seed * 1000003 + interval * 101 + recipe.number
        effort = options.effort * recipe.placing / (2 if problem.nodes > HUGE else 1)
        heat = HOT if interval <= SHORT else WARM
        first = self.schedule(interval, recipe.stretch)
        placement = place(problem, first, seed, effort, heat, recipe.central, lambda: pulse(PLACING))
        need = registers_needed(problem, placement.schedule)
        if need > BURSTING * problem.terrain.registers:
            return Tried(STARVED, placement.schedule, need)
        turning = self.turning(interval)
        patience = options.effort * recipe.routing * (BRISKLY if turning and not recipe.hasty else 1)
        result = route(problem, placement, seed, patience, pulse)
        if isinstance(result, Mapping):
            return Tried(result, placement.schedule, need)
        tried = Tried(result.count, placement.schedule, need, result)
        return self.mended(tried, pulse) if recipe.mends and not turning else tried

    def turning(self, interval: int) -> bool:
        """Whether attempts that fail soon turn in circles, and repairs take as long as ten of them.

        Those are small graphs at short intervals where wires lead back to each other.
        """
        return interval <= SHORT and self.problem.nodes <= BRISK and self.problem.fabric.loops

    def mended(self, tried: Tried, pulse: Callable[[int], None]) -> Tried:
        """An attempt that left few conflicts, with a mapping if a repair meets one."""
        left = tried.left
        if left is None or left.nearly is None or self.problem.fabric.planes:
            return tried
        effort = self.options.effort * (FRUGAL if self.turning(left.nearly.interval) else 1)
        mapping = repaired(self.problem, left.nearly, effort, pulse)
        return tried if mapping is None else Tried(mapping, tried.schedule, tried.need)

    def schedule(self, interval: int, stretch: int) -> Schedule:
        """Where placement begins: early, or where registers are scarce with what holds the fewest values."""
        problem = self.problem
        start = modulo_schedule(problem, interval, stretch) or earliest_starts(problem, interval)
        if self._most(interval, start) > SCARCE * problem.terrain.registers:
            others = [frugal_schedule(problem, interval, stretch)]
            if interval >= LONG:
                others.append(gentle_schedule(problem, interval))
            start = min((start, *filter(None, others)), key=lambda one: self._most(interval, one))
        return Schedule(problem.dfg, interval, tuple(start))

    def _most(self, interval: int, start: Sequence[int]) -> int:
        return max(demand(self.problem, interval, start))


def registers_needed(problem: Problem, schedule: Schedule) -> float:
    """How many registers a schedule needs in the mean."""
    return sum(demand(problem, schedule.interval, schedule.start)) / schedule.interval
