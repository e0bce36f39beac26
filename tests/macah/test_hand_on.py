"""Stored values handed on in a graph: what becomes of a small one, and that nothing else changes."""

import random
from dataclasses import replace

import pytest
from affine_kernels import SIZE, Maker
from kernels import seldom_shortened
from memory_sources import source
from out_of_order import run_out_of_order
from test_forward_stores import agrees, histogram
from test_lower import lowered

from backend.dfg import DFG, Const, Node, Order, Use, check_dfg
from backend.run_dfg import run_dfg
from macah.hand_on import Meetings, handed_on
from macah.passes.pipeline import optimize
from macah.run import run_kernel
from macah.share_units import relieved_ports
from macah.todfg import graph_of


def stored(dfg: DFG) -> list[int]:
    return sorted({node.memory for node in dfg.nodes if node.op == "store"})


def test_a_histogram() -> None:
    dfg = graph_of(optimize(histogram()))
    (load,) = (node for node in dfg.nodes if node.op == "load")
    (store,) = (node for node in dfg.nodes if node.op == "store")
    made = handed_on(dfg, 0, 1)
    assert made is not None
    check_dfg(made)
    assert [order for order in made.orders if order.before == store.id] == [Order(store.id, load.id, 2, 1)]
    same, chosen = made.nodes[len(dfg.nodes) :]
    assert (same.op, same.operands) == (
        "eq",
        (load.operands[0], Use(store.operands[0].node, 1, Const(2**32 - 1))),
    )
    assert (chosen.op, chosen.operands[2]) == ("select", Use(load.id))
    words = [3, 3, 3, 5, 3, 5, 5, 5] * 5
    assert run_dfg(made, (), {0: words}).memories[0] == [words.count(x) for x in range(16)]


def test_what_other_orders_imply_is_kept() -> None:
    """A store that is ordered behind another one by way of a load stays behind it."""
    nodes = tuple(
        Node(k, op, operands, memory=0)
        for k, (op, operands) in enumerate(
            (
                ("store", (Const(0), Const(1), Const(1))),
                ("load", (Const(0),)),
                ("store", (Const(0), Const(2), Const(1))),
            )
        )
    )
    dfg = DFG("f", nodes, (Order(0, 1, 1), Order(1, 2, 0, 0)), (), (), (), ())
    meetings = Meetings(dfg, [0, 1, 2])
    meetings.least[0, 1] = 4
    assert set(meetings.orders()) == {Order(0, 1, 4), Order(1, 2, 0, 0), Order(0, 2, 1)}


def handings(dfg: DFG, depth: int):
    """Graphs with stores handed on, as they are and joined."""
    joined = relieved_ports(dfg, 2)
    for graph in (dfg, joined) if joined != dfg else (dfg,):
        for memory in stored(graph):
            made = handed_on(graph, memory, depth)
            if made is not None:
                check_dfg(made)
                yield made, len(graph.nodes)


@pytest.mark.quick(1)
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_nests_with_affine_subscripts(first: int) -> None:
    changed = 0
    for seed in range(first, first + 20):
        kernel = optimize(seldom_shortened(Maker(seed).kernel(), seed))
        chance = random.Random(seed)
        arrays = {name: [chance.randrange(8) for _ in range(SIZE)] for name in "ab"}
        scalars = {name: chance.randrange(6) for name in "xyn"}
        scalars |= {f"{name}[{k}]": word for name, words in arrays.items() for k, word in enumerate(words)}
        run = run_kernel(kernel, scalars, arrays)
        for made, count in handings(
            graph_of(replace(kernel, without=kernel.without | {"shorten"})), 1 + seed % 4
        ):
            changed += len(made.nodes) > count
            agrees(made, run, scalars, arrays, seed)
    assert changed > 10


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_loops_one_after_the_other_at_places_that_are_not_known(first: int) -> None:
    changed = 0
    for seed in range(first, first + 20):
        kernel = optimize(lowered(source(seed, 2)))
        chance = random.Random(seed)
        words = [chance.choice((chance.randrange(8), chance.getrandbits(32))) for _ in range(33)]
        arrays = {"a": words[:16], "b": words[16:32]}
        scalars = {"n": chance.randrange(9), "x": words[32]}
        scalars |= {f"{name}[{k}]": word for name, words in arrays.items() for k, word in enumerate(words)}
        run = run_kernel(kernel, scalars, arrays)
        for made, count in handings(graph_of(kernel), 1 + seed % 3):
            changed += len(made.nodes) > count
            live_ins = [scalars[name] for name in made.live_ins]
            given = {m: arrays[memory.name] for m, memory in enumerate(made.memories) if memory.captured_in}
            found = run_out_of_order(made, seed, live_ins, None, given)
            for m, memory in enumerate(made.memories):
                assert not memory.captured_out or found.memories[m] == run.arrays[memory.name], seed
    assert changed > 10
