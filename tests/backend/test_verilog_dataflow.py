"""Dataflow circuits do what the graph says, however far iterations overlap and whenever streams are ready."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from graphs import Builder, fir, random_graph
from hardware_tools import lint, small_graph, synthesize
from harness import BenchRun, simulate
from test_verilog import CLOSING, IN, OUT, closing, graph, loop, node, random_data

from arch.ops import OPS, WIDE_OPS
from backend.dfg import DFG, Const, LiveIn, Memory, Order, Place, Use
from backend.run_dfg import run_dfg
from backend.verilog_dataflow import emit_dataflow


def slow(op: str) -> int:
    """Latencies of which none is the least."""
    return {"mul": 3, "muladd": 3, "load": 2, "div": 9}.get(OPS[op].latency_class, 1)


def agree(
    dfg: DFG, tmp_path: Path, live_ins=(), inputs=None, memories=None, percent=(100,), windows=(1, 2, 5, 8)
) -> BenchRun:
    """Simulate and compare with the interpreter; return the last simulation."""
    wanted = run_dfg(dfg, live_ins, inputs, memories)
    for window in windows:
        design = emit_dataflow(dfg, slow, window)
        for readiness in percent:
            got = simulate(design, tmp_path, live_ins, inputs, memories, readiness)
            assert got.outputs == wanted.outputs, (window, readiness)
            assert got.live_outs == wanted.live_outs, (window, readiness)
            assert got.memories == wanted.memories, (window, readiness)
            assert set(got.closes) == wanted.closed, (window, readiness)
    return got


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(seed: int, tmp_path: Path) -> None:
    dfg = random_graph(seed, 18 + 5 * seed, memories=seed % 3)
    inputs, memories = random_data(dfg, seed)
    polls = any(n.op.startswith("try_") for n in dfg.nodes)
    agree(dfg, tmp_path, (), inputs, memories, (100,) if polls else (100, 30))


@pytest.mark.parametrize("distance", [1, 2, 7, 8, 9, 40])
def test_far_distances_of_one_node(distance: int, tmp_path: Path) -> None:
    """Initial values are read until there is another, and counts come round often."""
    dfg = graph(
        [
            *loop(Const(150)),
            node("sub", Use(0, distance, LiveIn(0)), Use(0, 3, Const(1 << 31))),
            node("xor", Use(5), Use(0, 1, LiveIn(1))),
            node("mul", Use(6), Use(7, distance, Const(5))),
            node("send", Use(7), Use(2), stream=0),
        ],
        streams=(OUT,),
        live_ins=("a", "b"),
    )
    agree(dfg, tmp_path, [0xDEADBEEF, 77])


def test_every_operation(tmp_path: Path) -> None:
    chance = random.Random(1)
    nodes = loop(Const(12))
    names = [op.name for op in OPS.values() if op.pure and op.name not in WIDE_OPS]
    for name in names:
        operands = [LiveIn(chance.randrange(4)), Use(0), Const(chance.choice((0, 31, 0x80000000)))]
        chance.shuffle(operands)
        nodes += [
            node(name, *operands[: OPS[name].arity]),
            node("xor", Use(len(nodes)), Use(len(nodes) + 1, 1)),
        ]
    nodes += [node("result", Use(k), Use(3), index=i) for i, k in enumerate(range(6, 6 + 2 * len(names), 2))]
    nodes.append(node("send", Use(6 + 2 * (len(names) - 1)), Use(2), stream=0))
    dfg = graph(nodes, streams=(OUT,), live_ins=tuple("abcd"), live_outs=tuple(names))
    agree(dfg, tmp_path, [0, 5, 0x80000000, 0xFFFFFFF3], windows=(1, 3))


def test_stores_and_loads_keep_their_orders(tmp_path: Path) -> None:
    """One cell, written and read back by a slow way; and one whose readers come two iterations later."""
    dfg = graph(
        [
            *loop(Const(40)),
            node("load", Const(0), memory=0),
            node("sdiv", Use(5), Const(1)),
            node("add", Use(6), Use(0)),
            node("store", Const(0), Use(7), Use(2), memory=0),
            node("and", Use(0), Const(1)),
            node("load", Use(9), memory=1),
            node("store", Use(9), Use(7), Use(2), memory=1),
            node("send", Use(10), Use(2), stream=0),
        ],
        orders=(Order(5, 8, 0, 0), Order(8, 5, 1), Order(10, 11, 0, 0), Order(11, 10, 2)),
        memories=(Memory("cell", 1, True, True), Memory("pair", 2, initial=(7, 8))),
        streams=(OUT,),
    )
    agree(dfg, tmp_path, memories={0: [3]}, percent=(100, 40))


def test_the_first_iteration_may_be_the_last_and_circuits_start_again(tmp_path: Path) -> None:
    for count in (1, 2, 3):
        sum_ = [node("load", Use(0), memory=0), node("add", Use(5), Const(3))]
        sum_.append(node("store", Use(0), Use(6), Use(2), memory=0))
        dfg = graph([*loop(Const(count)), *sum_], memories=(Memory("m", 4),))
        for window in (1, 2, 8):
            run = simulate(emit_dataflow(dfg, slow, window), tmp_path, runs=4)
            assert run.memories == {0: [12] * count + [0] * (4 - count)}


def test_nothing_is_received_or_sent_past_the_exit(tmp_path: Path) -> None:
    dfg = graph(
        [
            *loop(Const(5)),
            node("recv", Const(0), Use(2), stream=0),
            node("send", Use(5), Use(2), stream=1),
        ],
        streams=(IN, OUT),
    )
    for window in (1, 8):
        run = simulate(emit_dataflow(dfg, slow, window), tmp_path, (), {0: list(range(50))})
        assert run.outputs == {1: [0, 1, 2, 3, 4]}


def test_operations_on_a_port_that_no_order_separates_take_turns(tmp_path: Path) -> None:
    sends = [node("send", Const(k), Use(2), stream=0) for k in range(3)]
    dfg = graph([*loop(Const(10)), *sends, node("close", Use(3), stream=0)], streams=(OUT,))
    for window in (1, 4):
        for readiness in (100, 30):
            run = simulate(emit_dataflow(dfg, slow, window), tmp_path, readiness=readiness)
            assert sorted(run.outputs[0]) == [0] * 10 + [1] * 10 + [2] * 10
            assert run.closes == [0]


def test_a_circuit_is_stalled_only_while_nothing_else_can_be_done(tmp_path: Path) -> None:
    """A division goes on while a receive waits."""
    dfg = graph(
        [
            *loop(Const(20)),
            node("recv", Const(0), Use(2), stream=0),
            node("sdiv", LiveIn(0), Use(0)),
            node("add", Use(5), Use(6)),
            node("send", Use(7), Use(2), stream=1),
        ],
        streams=(IN, OUT),
        live_ins=("a",),
    )
    words = list(range(20))
    always, seldom = (
        simulate(emit_dataflow(dfg, slow), tmp_path, [100], {0: words}, readiness=r) for r in (100, 20)
    )
    assert always.stalled == 0 < seldom.stalled
    assert always.outputs == seldom.outputs
    assert always.cycles == 21 * emit_dataflow(dfg, slow).interval
    # What is received during the division costs nothing, what comes later may cost a cycle more.
    assert seldom.stalled <= seldom.cycles - always.cycles <= seldom.stalled + 21


def test_overlap_is_limited_by_recurrences_only(tmp_path: Path) -> None:
    b = Builder("pipelined")
    index, alive = b.counter(200)
    value = index
    for _ in range(12):
        value = b.add("mul", value, Const(3))
    b.add("send", value, alive, stream=b.stream("out", True))
    dfg = b.build()
    cycles = [simulate(emit_dataflow(dfg, slow, w), tmp_path).cycles for w in (1, 2, 8, 64)]
    assert cycles[0] > 200 * 36
    assert cycles[0] > 1.8 * cycles[1] > 3 * 1.8 * cycles[2]
    assert cycles[3] < 200 * 2 + 60


def test_a_failed_assertion_is_reported(tmp_path: Path) -> None:
    nodes = loop(Const(20))
    for k, at in enumerate((30, 12, 4)):
        nodes += [node("eq", Use(0), Const(at)), node("fail", Use(len(nodes)), index=k)]
    dfg = graph(nodes, assertions=("a", "b", "c"))
    assert simulate(emit_dataflow(dfg), tmp_path).failed == 2


def test_variables_keep_their_names_and_places() -> None:
    nodes = loop(Const(5))
    for name in ("iteration", "running", "reg", "limit", "sum"):
        last = Use(len(nodes) - 1 if len(nodes) > 5 else 0)
        nodes.append(node("add", last, Const(1), variable=name, where=Place("k.c", 12, 3)))
    nodes.append(node("send", Use(len(nodes) - 1), Use(2), stream=0))
    text = emit_dataflow(graph(nodes, streams=(OUT,))).text
    for name in ("iteration_2", "running_2", "reg_", "limit_2", "sum"):
        assert f"reg [31:0] {name};" in text
    assert "if (sum_fires) begin // k.c:12:3" in text
    assert emit_dataflow(graph(nodes, streams=(OUT,))).text == text


LINTED = [random_graph(5, 20), random_graph(10, 44), fir(4)]


@pytest.mark.needs("verilator")
@pytest.mark.parametrize("dfg", LINTED, ids=lambda dfg: dfg.name)
@pytest.mark.parametrize("window", [1, 2, 8])
def test_lint_clean(dfg: DFG, window: int, tmp_path: Path) -> None:
    lint(emit_dataflow(dfg, slow, window), tmp_path)


@pytest.mark.needs("yosys")
@pytest.mark.parametrize("window", [1, 3])
def test_synthesizable(window: int, tmp_path: Path) -> None:
    synthesize(emit_dataflow(small_graph(), slow, window), tmp_path)


@pytest.mark.parametrize("name", CLOSING)
def test_a_send_that_closes_its_stream(name: str, tmp_path: Path) -> None:
    agree(closing(name), tmp_path, percent=(100, 30))
