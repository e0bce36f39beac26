"""Places of cores: words that are read as they come share no way, and what has a home has one."""

from __future__ import annotations

import pytest
from graphs import Builder, random_graph

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.core import refuted, spots
from backend.dfg import DFG, Const, Use
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import MapOptions

GRID = load_fabric("grid4x4")


def crossed(*ops: str, words: int = 16, arrays: int = 1) -> DFG:
    """Two words of an array, or one of each of two, from which operations make addresses of the next ones.

    Each way round takes four cycles: two for a load, one for an operation on both words, one for a mask.
    """
    b = Builder("crossed")
    b.counter(10)
    memories = [b.memory(f"a{k}", words) for k in range(arrays)]
    loads = [b.add("load", Const(k), memory=memories[k % arrays]) for k in range(2)]
    for k, op in enumerate(ops):
        made = b.add(op, Use(loads[0]), Use(loads[1]))
        b.patch(loads[k % 2], 0, Use(b.add("and", Use(made), Const(words - 1)), 1))
    return b.build()


def test_two_operations_cannot_read_two_words_of_one_memory_as_they_come() -> None:
    dfg = crossed("add", "xor")
    problem = Problem(dfg, GRID)
    assert minimum_interval(dfg, GRID).mii == 4
    assert {n.id for n in dfg.nodes if n.op == "load"} <= set(refuted(problem, 4))
    assert refuted(problem, 5) == ()
    assert map_kernel(dfg, GRID, MapOptions()).interval == 5


def test_one_operation_can_where_the_memory_is() -> None:
    dfg = crossed("add")
    problem = Problem(dfg, GRID)
    assert refuted(problem, 4) == ()
    assert map_kernel(dfg, GRID, MapOptions()).interval == minimum_interval(dfg, GRID).mii


def test_words_of_two_memories_come_on_two_ways() -> None:
    dfg = crossed("add", "xor", arrays=2)
    assert refuted(Problem(dfg, GRID), 4) == ()
    assert map_kernel(dfg, GRID, MapOptions()).interval == 4


def test_where_wires_lead_around_nothing_is_said_of_ways() -> None:
    fabric = load_fabric("hycube:4x4")
    assert not Problem(crossed("add", "xor"), fabric).terrain.one_way


def test_arrays_that_fill_a_memory_each_are_in_different_ones() -> None:
    problem = Problem(crossed("add", "xor", words=GRID.largest_memory, arrays=2), GRID)
    found = spots(problem, 4)
    banks = {problem.bank[found.unit[n.id]] for n in problem.dfg.nodes if n.op == "load"}
    assert len(banks) == 2


@pytest.mark.parametrize("arch", ["satmapit:3x3", "adres:4x4", "hycube:4x4", "mosaic", "mesh4x4"])
@pytest.mark.parametrize("seed", range(3))
def test_what_was_mapped_is_not_refuted(arch: str, seed: int) -> None:
    fabric = load_fabric(arch)
    dfg = random_graph(seed, 24, streams=0)
    mapping = map_kernel(dfg, fabric, MapOptions(effort=0.25))
    problem = Problem(dfg, fabric)
    assert not any(refuted(problem, k) for k in range(mapping.interval, mapping.interval + 2))
