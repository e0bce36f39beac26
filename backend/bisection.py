"""A lower bound from the middle of the array: more values would have to cross it than there are ways.

Where half of the tiles cannot hold all operations, values between the halves cross. Whether the operations
can be divided so that no half holds too many, and few enough values cross in each direction, a solver with
cardinality constraints decides: without times and places, so that a refutation holds for every mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from arch.fabric import Fabric

from .flat import Problem
from .ports import Border, borders

LARGEST = 250
"""Graphs of more operations are not looked at."""

CONFLICTS = 2000
"""So many conflicts are spent on a division: some milliseconds."""

SOLVER = "minicard"


@dataclass(frozen=True, slots=True)
class Middle:
    """The tiles on one side of the middle; `name` says which way it is cut."""

    name: str
    tiles: frozenset[int]


def indivisible(problem: Problem, interval: int) -> str:
    """Why too many values cross in any division of the operations, at an interval; empty if one may do."""
    if problem.nodes > LARGEST:
        return ""
    for middle in _middles(problem):
        for ways in borders(problem.terrain, middle.tiles):
            if not _Division(problem, ways, interval).may_exist():
                halves = f"{ways.what} between two halves of the array ({middle.name})"
                return f"{halves}, through {ways.out} ways out and {ways.into} into the first"
    return ""


def _middles(problem: Problem) -> Iterable[Middle]:
    """The array cut between its rows, and between its columns."""
    tiles = problem.fabric.tiles
    columns, rows = {t.column for t in tiles}, {t.row for t in tiles}
    for name, places, place in (
        ("left and right", sorted(columns), {t.id: t.column for t in tiles}),
        ("top and bottom", sorted(rows), {t.id: t.row for t in tiles}),
    ):
        first = set(places[: len(places) // 2])
        if first:
            yield Middle(name, frozenset(t for t, at in place.items() if at in first))


def at_home(fabric: Fabric) -> bool:
    """Whether what belongs to a unit is in the unit's tile."""
    return all(
        fabric.resources[r].tile == unit.tile
        for unit in fabric.units
        for r in (*unit.operands, *(r for results in unit.results.values() for r in results))
    )


class _Division:
    """Which operations are in the first half: variable n + 1 for operation n."""

    def __init__(self, problem: Problem, ways: Border, interval: int) -> None:
        self.problem, self.ways, self.interval = problem, ways, interval
        self.readers: dict[tuple[int, int], set[int]] = {}
        for e in range(len(problem.source)):
            p, c = problem.source[e], problem.target[e]
            if p != c and problem.one_bit(e) in ways.kinds:
                self.readers.setdefault((p, problem.output[e]), set()).add(c)

    def may_exist(self) -> bool:
        """Whether there may be a division."""
        fewest = min(self.ways.out, self.ways.into) * self.interval
        if len(self.readers) <= fewest or not at_home(self.problem.fabric):
            return True
        # Imported here: loading a solver takes time, and few kernels need one.
        from .sat import answered, solver_of

        with solver_of(SOLVER) as solver:
            self._keep_sides(solver.add_clause)
            self._hold(solver.add_atmost)
            self._cross(solver.add_clause, solver.add_atmost)
            solver.conf_budget(CONFLICTS)
            return answered(solver) is not False

    def _keep_sides(self, clause: Callable[[list[int]], None]) -> None:
        """Operations that only one half can do, and streams, which have one port."""
        problem = self.problem
        for n in range(problem.nodes):
            units = frozenset(problem.candidates(n))
            if units <= self.ways.units:
                clause([n + 1])
            elif not units & self.ways.units:
                clause([-n - 1])
        for stream in range(problem.streams):
            first, *others = problem.members[problem.members_at[stream] : problem.members_at[stream + 1]] or (
                0,
            )
            for n in others:
                clause([-first - 1, n + 1])
                clause([first + 1, -n - 1])

    def _hold(self, at_most: Callable[[list[int], int], None]) -> None:
        """No half holds more operations than its units have slots: those of each class, and all."""
        problem, inside = self.problem, self.ways.units
        classes = [frozenset(units) for units in problem.classes]
        for units in dict.fromkeys([*classes, frozenset[int]().union(*classes)]):
            nodes = [n + 1 for n in range(problem.nodes) if classes[problem.kind[n]] <= units]
            for sign, half in ((1, units & inside), (-1, units - inside)):
                if len(nodes) > len(half) * self.interval:
                    at_most([sign * n for n in nodes], len(half) * self.interval)

    def _cross(self, clause: Callable[[list[int]], None], at_most: Callable[[list[int], int], None]) -> None:
        """No more values leave the first half, and enter it, than its border has slots."""
        fresh = self.problem.nodes + 1
        for sign, ways in ((1, self.ways.out), (-1, self.ways.into)):
            crossing = []
            for (p, _), readers in self.readers.items():
                for r in sorted(readers):
                    clause([-sign * (p + 1), sign * (r + 1), fresh])
                crossing.append(fresh)
                fresh += 1
            if len(crossing) > ways * self.interval:
                at_most(crossing, ways * self.interval)
