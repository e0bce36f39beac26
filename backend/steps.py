"""A lower bound from the steps between tiles: at an interval of 1, operations have too few neighbours.

Then a resource carries one word of each iteration. A word that leaves a tile takes one of those that other
tiles read, in each tile on its way, so few operations can be far from who reads them. Whether there are
places and ways at all, a solver with cardinality constraints decides: without times, and without what is
inside of tiles, so that a refutation holds for every mapping.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from arch.fabric import Fabric

from .bisection import SOLVER, at_home
from .dfg import DFG
from .flat import Problem

LARGEST = 6000
"""Values times tiles times tiles: beyond, the question is too long."""

CONFLICTS = 150_000
"""So many conflicts are spent: about a second. Most questions need a tenth of that."""


@dataclass(frozen=True, slots=True)
class Doors:
    """For each tile, how many of its resources other tiles read, and from which tiles it reads."""

    ways: tuple[int, ...]
    nearby: tuple[tuple[int, ...], ...]


def strangers(problem: Problem) -> str:
    """Why values have no ways at an interval of 1; empty if they may have some."""
    values = len({(problem.source[e], problem.output[e]) for e in range(len(problem.source))})
    tiles, ways = len(problem.fabric.tiles), max(doors(problem.fabric).ways)
    if values * tiles * tiles > LARGEST or _placed(problem.dfg, problem.fabric):
        return ""
    return f"{values} values between {tiles} tiles, each with {ways} way{'s' * (ways != 1)} out"


@lru_cache(maxsize=16)
def _placed(dfg: DFG, fabric: Fabric) -> bool:
    """Whether there may be places and ways. Kept, as what reports bounds asks again."""
    return not at_home(fabric) or _Places(Problem(dfg, fabric), doors(fabric)).may_exist()


@lru_cache(maxsize=16)
def doors(fabric: Fabric) -> Doors:
    """The doors of a fabric's tiles."""
    ways = [0] * len(fabric.tiles)
    nearby: list[set[int]] = [set() for _ in fabric.tiles]
    for r in fabric.resources:
        there = {fabric.resources[sink].tile for sink in fabric.sinks[r.id]} - {r.tile}
        ways[r.tile] += bool(there)
        for tile in there:
            nearby[tile].add(r.tile)
    return Doors(tuple(ways), tuple(tuple(sorted(some)) for some in nearby))


class _Places:
    """In which tile each operation is, and in how many steps its values leave others.

    `at[n, t]`: operation n is in tile t. `leaves[v, t, k]`: value v, an operation's output, leaves tile t
    after k steps at most. No way needs more steps than there are tiles.
    """

    def __init__(self, problem: Problem, doors: Doors) -> None:
        self.problem, self.doors = problem, doors
        self.tiles = range(len(doors.ways))
        self.last = 0
        self.at = {
            (n, t): self._fresh()
            for n in range(problem.nodes)
            for t in sorted({problem.fabric.units[u].tile for u in problem.candidates(n)})
        }
        self.readers: dict[tuple[int, int], set[int]] = {}
        for e in range(len(problem.source)):
            if problem.source[e] != problem.target[e]:
                value = problem.source[e], problem.output[e]
                self.readers.setdefault(value, set()).add(problem.target[e])
        self.leaves = {
            (v, t, k): self._fresh() for v in self.readers for t in self.tiles for k in range(len(self.tiles))
        }

    def _fresh(self) -> int:
        self.last += 1
        return self.last

    def may_exist(self) -> bool:
        """Whether there may be such places."""
        # Imported here: loading a solver takes time, and few kernels need one.
        from .sat import answered, solver_of

        with solver_of(SOLVER) as solver:
            for clause in self._clauses():
                solver.add_clause(clause)
            for literals, most in self._limits():
                if len(literals) > most:
                    solver.add_atmost(literals, most)
            solver.conf_budget(CONFLICTS)
            return answered(solver) is not False

    def _clauses(self) -> list[list[int]]:
        """Every operation is somewhere; values leave where they are made or come in, and so reach readers."""
        found = [[lit for t in self.tiles if (lit := self.at.get((n, t)))] for n in range(self.problem.nodes)]
        last = len(self.tiles) - 1
        for v, readers in self.readers.items():
            for t in self.tiles:
                here = [lit] if (lit := self.at.get((v[0], t))) else []
                for k in self.tiles:
                    come = [self.leaves[v, b, k - 1] for b in self.doors.nearby[t] if k]
                    found.append([-self.leaves[v, t, k], *here, *come])
                    if k:
                        found.append([-self.leaves[v, t, k - 1], self.leaves[v, t, k]])
                come = [self.leaves[v, b, last] for b in self.doors.nearby[t]]
                found += [[-there, *here, *come] for r in sorted(readers) if (there := self.at.get((r, t)))]
        return found

    def _limits(self) -> list[tuple[list[int], int]]:
        """An operation has one place, a tile a slot in each unit and way; of literals, so many may hold."""
        problem, units = self.problem, self.problem.fabric.units
        found = [([lit for t in self.tiles if (lit := self.at.get((n, t)))], 1) for n in range(problem.nodes)]
        classes = [frozenset(some) for some in problem.classes]
        for able in dict.fromkeys([*classes, frozenset[int]().union(*classes)]):
            nodes = [n for n in range(problem.nodes) if classes[problem.kind[n]] <= able]
            for t in self.tiles:
                inside = [lit for n in nodes if (lit := self.at.get((n, t)))]
                found.append((inside, sum(units[u].tile == t for u in able)))
        last = len(self.tiles) - 1
        for t in self.tiles:
            found.append(([self.leaves[v, t, last] for v in self.readers], self.doors.ways[t]))
        return found
