"""Why an array may be too full for words to move, where they leave tiles through one register alone.

There, each result takes a slot of its tile's output, and so does a word on its way, in each cycle. A word
that is in no output but when it is made is read then, in its tile or next to it, or later in its tile alone,
from private registers. So there are no more values of which a reader is elsewhere, or next to it in another
cycle, than slots that results leave. Whether operations have such places in an interval, a SAT solver
decides; without routes, registers and recurrences, so that a refutation holds for every schedule.
"""

from __future__ import annotations

from collections.abc import Sequence

from arch.fabric import Fabric

from .exact_clauses import Clauses
from .flat import Problem
from .moves import latencies, only_outputs

FREE = 0.15
"""Where results leave more than this part of the slots, nothing is refuted."""

CONFLICTS = 20000
"""The solver's conflicts: a tenth of a second at most, and mostly a hundredth."""

LARGEST = 60
"""Graphs of more operations are not looked at."""

SOLVER = "cadical195"


def unpackable(problem: Problem, interval: int) -> str:
    """Why operations have no places at an interval, as words hardly move; empty if that is not known."""
    outputs, fabric = only_outputs(problem.fabric)[0], problem.fabric
    if not outputs or problem.nodes > LARGEST or fabric.planes:
        return ""
    latency = latencies(problem, outputs)
    slots = len(outputs) * interval
    if latency is None or not 0 <= slots - len(latency) <= FREE * slots:
        return ""
    # Imported here: loading a solver takes time, and few kernels need one.
    from .sat import adding, answered, solver_of

    with solver_of(SOLVER) as solver:
        _Packing(problem, interval, latency, Clauses(adding(solver))).say(slots - len(latency))
        solver.conf_budget(CONFLICTS)
        if answered(solver) is not False:
            return ""
    where = f"{slots} slots of output registers"
    return f"{len(latency)} results in {where}, which leave words on their way {slots - len(latency)}"


class _Packing:
    """The clauses: `tile[n][t]`, `slot[n][k]`, and `moved[n]` if what n makes takes another slot."""

    def __init__(self, problem: Problem, interval: int, latency: dict[int, int], out: Clauses) -> None:
        self.problem, self.interval, self.latency, self.out = problem, interval, latency, out
        units, nodes = problem.fabric.units, range(problem.nodes)
        self.tile = [self._one_of(sorted({units[u].tile for u in problem.candidates(n)})) for n in nodes]
        self.slot = [self._one_of(range(interval)) for _ in nodes]
        self.moved = {n: out.fresh() for n in latency}

    def _one_of(self, choices: Sequence[int]) -> dict[int, int]:
        found = {choice: self.out.fresh() for choice in choices}
        self.out.some(list(found.values()))
        self.out.at_most(list(found.values()), 1)
        return found

    def say(self, free: int) -> None:
        """All clauses, if so many slots are free."""
        self.out.some([self.slot[0][0]])  # slots count from anywhere
        self._share()
        near = _near(self.problem.fabric)
        for p, c in sorted(set(zip(self.problem.source, self.problem.target, strict=True))):
            if p in self.latency and p != c:
                self._read(p, c, near)
        self.out.at_most(list(self.moved.values()), free)

    def _share(self) -> None:
        """No two results in one slot of a tile's output."""
        there: dict[tuple[int, int], list[int]] = {}
        for n, cycles in self.latency.items():
            for tile, at in self.tile[n].items():
                for k, then in self.slot[n].items():
                    both = self.out.fresh()
                    self.out.add(-at, -then, both)
                    there.setdefault((tile, (k + cycles) % self.interval), []).append(both)
        for literals in there.values():
            self.out.at_most(literals, 1)

    def _read(self, p: int, c: int, near: dict[int, frozenset[int]]) -> None:
        """What p makes is read by c in its tile, or next to it as it is made, or has moved."""
        reader, moved, at_once = self.tile[c], self.moved[p], self.out.fresh()
        for k, then in self.slot[p].items():
            self.out.add(-at_once, -then, self.slot[c][(k + self.latency[p] - 1) % self.interval])
        for tile, here in self.tile[p].items():
            same = [reader[tile]] if tile in reader else []
            beside = [literal for there, literal in reader.items() if there in near[tile]]
            self.out.some([-here, moved, at_once, *same])
            self.out.some([-here, moved, *same, *beside])


def _near(fabric: Fabric) -> dict[int, frozenset[int]]:
    """For each tile the others that read its output."""
    outputs = only_outputs(fabric)[0]
    found: dict[int, set[int]] = {tile: set() for tile in range(len(fabric.tiles))}
    for unit in fabric.units:
        for source in {s for o in unit.operands for s in fabric.resources[o].sources}:
            tile = fabric.resources[source].tile
            if source in outputs and tile != unit.tile:
                found[tile].add(unit.tile)
    return {tile: frozenset(some) for tile, some in found.items()}
