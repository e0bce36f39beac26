"""Pushes: what is late is made up for by all that has to move together, and by nothing else."""

from __future__ import annotations

from itertools import pairwise

from graphs import Builder

from arch.describe import load_fabric
from backend.anneal import Annealer
from backend.bound import minimum_interval
from backend.dfg import DFG, Const, Use
from backend.flat import Problem
from backend.pushes import Pushes
from backend.schedule import earliest_starts

GRID = load_fabric("grid4x4")
LENGTH = 6


def ring(readers: int = 1) -> tuple[DFG, list[int]]:
    """A recurrence of LENGTH operations that nothing else delays, and what reads each of them."""
    b = Builder("ring")
    b.counter(10)
    first = last = b.add("add", Const(0), Const(1))
    nodes = [first]
    for k in range(1, LENGTH):
        last = b.add("xor", last, Const(k))
        nodes.append(last)
    b.patch(first, 0, Use(last, 1))
    for node in nodes:
        for k in range(readers):
            b.add("shl", node, Const(k + 1))
    return b.build(), nodes


def pushes_at(dfg: DFG, start: dict[int, int]) -> tuple[Annealer, Pushes]:
    """With the ring's operations on two neighbours at some cycles, and what reads them far behind."""
    problem = Problem(dfg, GRID)
    assert minimum_interval(dfg, GRID).mii == LENGTH
    behind = [any(isinstance(o, Use) and o.node in start for o in node.operands) for node in dfg.nodes]
    starts = [start.get(n, t + 30 * behind[n]) for n, t in enumerate(earliest_starts(problem, LENGTH))]
    alus = [u.id for u in GRID.units if "xor" in u.latency]
    middle = [u for u in alus if GRID.tiles[GRID.units[u].tile].row == 1][1:3]
    units = [middle[n % 2] if n in start else problem.candidates(n)[0] for n in range(problem.nodes)]
    homes = [0] * problem.groups
    annealer = Annealer(problem, LENGTH, 1, (units, starts, homes))
    return annealer, Pushes(problem, LENGTH, annealer)


def late(annealer: Annealer, nodes: list[int]) -> list[int]:
    """By how many cycles each edge of the ring is late, or has some to spare."""
    start = annealer.board()[1]
    again = start[nodes[0]] + LENGTH
    return [1 - (b - a) for a, b in pairwise([*(start[n] for n in nodes), again])]


def test_a_late_edge_is_made_up_for_by_one_with_a_cycle_to_spare() -> None:
    dfg, nodes = ring()
    start = dict(zip(nodes, (10, 11, 12, 14, 14, 15), strict=True))
    for _ in range(3):
        annealer, pushes = pushes_at(dfg, start)
        assert late(annealer, nodes) == [0, 0, -1, 1, 0, 0]
        pushes.push()
        assert late(annealer, nodes) == [0] * LENGTH


def test_what_reads_a_pushed_operation_is_no_later_than_before() -> None:
    dfg, nodes = ring(3)
    annealer, pushes = pushes_at(dfg, dict(zip(nodes, (10, 11, 12, 14, 14, 15), strict=True)))

    def lacking() -> int:
        return int(pushes.bad()) - int(pushes.clashes())

    before = lacking()
    pushes.push()
    assert lacking() < before


def test_what_was_kept_comes_back() -> None:
    dfg, nodes = ring()
    annealer, pushes = pushes_at(dfg, dict(zip(nodes, (10, 11, 12, 14, 14, 15), strict=True)))
    before, bad = annealer.places(), pushes.bad()
    pushes.keep()
    pushes.push()
    assert annealer.places() != before
    pushes.restore()
    assert (annealer.places(), pushes.bad()) == (before, bad)
