"""The bounds of the initiation interval, and what is refused before any search."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphs import Builder, fir, layered, reduce_tree

from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.bound import minimum_interval, pack_memories
from backend.dfg import DFG, Const, Node, Use
from backend.flat import Problem
from backend.mapping import DoesNotFit, Shortage

GRID = load_fabric("grid4x4")


def test_a_self_recurrence_of_one_cycle_allows_interval_one() -> None:
    b = Builder("count")
    b.counter(10)
    bounds = minimum_interval(b.build(), GRID)
    assert (bounds.resource, bounds.recurrence, bounds.mii) == (1, 1, 1)


@pytest.mark.parametrize(("length", "distance", "expected"), [(3, 1, 3), (4, 2, 2), (7, 2, 4)])
def test_a_recurrence_needs_its_latency_over_its_distance(length: int, distance: int, expected: int) -> None:
    b = Builder("chain")
    b.counter(10)
    first = b.add("add", Const(1), Const(1))
    last = first
    for _ in range(length - 1):
        last = b.add("add", last, Const(1))
    b.patch(first, 0, Use(last, distance))
    bounds = minimum_interval(b.build(), GRID)
    assert bounds.recurrence == expected
    assert set(bounds.cycle) == set(range(first, last + 1))


def test_a_multiplication_on_a_recurrence_counts_its_latency() -> None:
    b = Builder("power")
    b.counter(10)
    node = b.add("mul", Const(3), Const(3))
    b.patch(node, 0, Use(node, 1, Const(1)))
    bounds = minimum_interval(b.build(), GRID)
    assert bounds.recurrence == GRID.latency("mul")
    assert bounds.cycle == (node,)


def test_orders_are_part_of_recurrences() -> None:
    b = Builder("ordered")
    _, alive = b.counter(10)
    m = b.memory("a", 16)
    load = b.add("load", Const(1), memory=m)
    store = b.add("store", Const(1), b.add("add", load, Const(1)), alive, memory=m)
    b.order(store, load, 1, 1)
    assert minimum_interval(b.build(), GRID).recurrence >= GRID.latency("load") + 2


def test_operations_that_only_some_units_can_do_are_counted_on_those() -> None:
    b = Builder("divides")
    b.counter(10)
    for k in range(2 * len(GRID.units_for("udiv")) + 1):
        b.add("udiv", Const(k), Const(3))
    bounds = minimum_interval(b.build(), GRID)
    assert bounds.resource == 3
    assert "units" in bounds.binding


def test_a_stream_with_three_operations_needs_interval_three() -> None:
    b = Builder("three")
    _, alive = b.counter(10)
    s = b.stream("in", False)
    for _ in range(3):
        b.add("recv", Const(0), alive, stream=s)
    bounds = minimum_interval(b.build(), GRID)
    assert bounds.resource == 3
    assert bounds.binding == "3 operations on stream in, which has 1 port"


def test_accesses_of_one_array_share_the_ports_of_one_bank() -> None:
    b = Builder("loads")
    index, _ = b.counter(10)
    m = b.memory("a", 16)
    loads = [b.add("load", index, memory=m) for _ in range(5)]
    reduce_tree(b, "add", loads)
    ports = max(len(bank.ports) for bank in GRID.memories)
    assert minimum_interval(b.build(), GRID).resource == -(-5 // ports)


def test_an_operation_without_a_unit_is_refused_by_name() -> None:
    b = Builder("wide")
    b.counter(10)
    node = b.add("sext32", Const(1))
    with pytest.raises(DoesNotFit, match="sext32") as caught:
        minimum_interval(b.build(), GRID)
    assert (caught.value.shortage, caught.value.nodes) == (Shortage.UNITS, (node,))


def test_an_operation_that_reads_more_words_than_can_reach_a_unit_is_refused() -> None:
    sources = tuple(Node(k, "alu_0", ()) for k in range(8))
    dfg = DFG("wide", (*sources, Node(8, "alu_8", tuple(map(Use, range(8))))), (), (), (), (), ())
    with pytest.raises(DoesNotFit, match="reads 8 values") as caught:
        minimum_interval(dfg, load_fabric("satmapit:2x2"))
    assert (caught.value.available, caught.value.nodes) == (7, (8,))
    assert minimum_interval(dfg, load_fabric("satmapit:3x3")).mii == 1


def test_an_array_larger_than_every_memory_is_refused() -> None:
    b = Builder("large")
    b.counter(10)
    b.memory("huge", 1 << 24)
    with pytest.raises(DoesNotFit, match="huge") as caught:
        minimum_interval(b.build(), GRID)
    assert caught.value.shortage is Shortage.MEMORIES
    assert caught.value.needed == 1 << 24


def test_arrays_that_fill_more_than_all_memories_are_refused() -> None:
    b = Builder("many")
    b.counter(10)
    for k in range(len(GRID.memories) + 1):
        b.memory(f"a{k}", GRID.memories[0].words)
    with pytest.raises(DoesNotFit) as caught:
        minimum_interval(b.build(), GRID)
    assert caught.value.shortage is Shortage.MEMORIES


def test_more_streams_than_ports_are_refused() -> None:
    b = Builder("streams")
    _, alive = b.counter(10)
    ports = len(GRID.units_for("recv"))
    for k in range(ports + 1):
        b.add("recv", Const(0), alive, stream=b.stream(f"s{k}", False))
    with pytest.raises(DoesNotFit, match="streams") as caught:
        minimum_interval(b.build(), GRID)
    assert (caught.value.shortage, caught.value.needed, caught.value.available) == (
        Shortage.PORTS,
        ports + 1,
        ports,
    )


def test_a_fabric_without_memories_refuses_an_array() -> None:
    units = tuple(replace(u, id=k) for k, u in enumerate(u for u in GRID.units if u.memory is None))
    bare = replace(GRID, memories=(), units=units)
    b = Builder("array")
    b.counter(10)
    b.memory("a", 4)
    with pytest.raises(DoesNotFit) as caught:
        minimum_interval(b.build(), bare)
    assert caught.value.available == 0


def test_the_filter_can_start_an_iteration_in_every_cycle_of_a_large_grid() -> None:
    assert minimum_interval(fir(), load_fabric("grid8x8")).mii == 1


def test_arrays_that_fit_only_tightly_are_packed() -> None:
    b = Builder("tight")
    b.counter(10)
    words, banks = GRID.memories[0].words, len(GRID.memories)
    for k in range(banks):
        b.memory(f"half{k}", words // 2)
        b.memory(f"quarter{k}", words // 4)
    for k in range(banks // 2):
        b.memory(f"three{k}", words // 2)
    assert minimum_interval(b.build(), GRID).mii == 1
    problem = Problem(b.build(), GRID)
    inside = [0] * banks
    for m, bank in enumerate(pack_memories(problem)):
        inside[bank] += b.memories[m].words
    assert max(inside) <= words


def test_units_are_looked_at_once_however_many_operations_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric, asked = load_fabric("grid8x8"), []
    words_at = Fabric.words_at
    monkeypatch.setattr(Fabric, "words_at", lambda self, unit: asked.append(unit) or words_at(self, unit))
    counts = []
    for operations in (100, 400):
        asked.clear()
        minimum_interval.__wrapped__(layered(operations, 1), fabric)
        counts.append(len(asked))
    assert counts[0] == counts[1]
