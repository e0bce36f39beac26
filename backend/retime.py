"""Schedules that hold values for as few cycles as can be: least-register retiming.

How long values are held up to their last readers is linear in differences of starts, as delays are. So
without resources the best starts are a linear program, that of Leiserson and Saxe with shared fan-out, solved
exactly by its dual, a flow of least cost. Resources come after it, by slots. Then operations are moved by
whole intervals, which takes the same slots: the same program in larger steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import networkx as nx

from .cycles import Delay, longest_paths
from .flat import Problem
from .schedule import schedule_from, stretched


def frugal_schedule(problem: Problem, interval: int, stretch: int = 0) -> list[int] | None:
    """Starts that hold values for few cycles; None if none are found.

    Delays outside recurrences are longer by `stretch`.
    """
    arcs = stretched(problem, stretch)
    earliest, cycle = longest_paths(problem.nodes, arcs, interval)
    if cycle:
        return None
    start = schedule_from(problem, interval, arcs, moved(problem, interval, arcs, earliest, 1))
    return start and moved(problem, interval, arcs, start, interval)


def moved(
    problem: Problem, interval: int, arcs: Sequence[Delay], start: Sequence[int], step: int
) -> list[int]:
    """Starts that keep the arcs, as `start` does, and hold values for the fewest cycles.

    All are moved by multiples of `step`; so in steps of the interval they keep their slots.
    """
    program = _Program(step)
    for a in arcs:
        if a.source != a.target:
            late = start[a.source] + a.cycles - a.distance * interval - start[a.target]
            program.order(a.source, a.target, -(-late // step))
    program.size = problem.nodes
    readers: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for e, p in enumerate(problem.source):
        c = problem.target[e]
        readers.setdefault((p, problem.output[e]), []).append((c, start[c] + problem.distance[e] * interval))
    for (p, _), found in readers.items():
        program.hold(p, found)
    return [s + step * n for s, n in zip(start, program.solved(), strict=False)]  # helpers are behind


class _Program:
    """By how many steps operations move, and helpers behind them: the least cost by their differences.

    Each arc says that `target` moves by at least `cycles` steps more than `source`; `cost` is that of a step
    of each.
    """

    def __init__(self, step: int) -> None:
        self.step, self.size = step, 0
        self.arcs: list[Delay] = []
        self.cost = Counter[int]()

    def order(self, source: int, target: int, steps: int) -> None:
        """One more arc."""
        self.arcs.append(Delay(source, target, 0, steps))

    def hold(self, node: int, readers: Sequence[tuple[int, int]]) -> None:
        """Counts the cycles from an operation to the last of the readers of its result, each with its start.

        There is a helper for each phase, the rest of a start by the step: the step of the last reader in this
        phase or a later one, or that before the last of all. It costs the cycles from the phase before.
        """
        phases = sorted({start % self.step for _, start in readers})
        last = self.size
        self.size += len(phases)
        self.cost[node] -= self.step
        self.cost[last] += self.step - (phases[-1] - phases[0])
        for helper, phase in enumerate(phases, last):
            for reader, start in readers:
                if start % self.step >= phase:
                    self.order(reader, helper, start // self.step)
            if helper > last:
                self.order(last, helper, -1)
                self.cost[helper] += phase - phases[helper - last - 1]

    def solved(self) -> list[int]:
        """The steps of all operations, then of the helpers: the fewest of those that cost the least."""
        back = [Delay(a.target, a.source, 0, -a.cycles) for a in self._binding()]
        return longest_paths(self.size, self.arcs + back, 1)[0]

    def _binding(self) -> list[Delay]:
        """The arcs on which the dual flows: those are exact wherever the cost is least."""
        longest: dict[tuple[int, int], Delay] = {}
        for a in sorted(self.arcs, key=lambda a: a.cycles):
            longest[a.source, a.target] = a
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from((n, {"demand": self.cost[n]}) for n in range(self.size))
        graph.add_edges_from((*ends, {"weight": -a.cycles}) for ends, a in longest.items())
        flow = nx.network_simplex(graph)[1]
        return [a for (source, target), a in longest.items() if flow[source][target]]
