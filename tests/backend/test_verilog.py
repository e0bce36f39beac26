"""Emitted designs do what the graph says, whatever the mapping, the interval and the streams' readiness."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from graphs import Builder, fir, random_graph
from hardware_tools import lint, small_graph, synthesize
from harness import simulate
from simple_mapper import simple_map

from arch.check import check_fabric
from arch.describe import load_fabric
from arch.fabric import Fabric, Kind, Resource
from arch.ops import OPS, WIDE_OPS
from backend.dfg import DFG, Const, LiveIn, Memory, Node, Order, Place, StreamPort, Use, Word, check_dfg
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from backend.run_dfg import run_dfg
from backend.verilog import emit
from backend.verilog_fabric import hardware

GRID = load_fabric("grid4x4")
HARDWARE = hardware(GRID)
INT = (Word(0, 4, True),)
IN, OUT = StreamPort("in", False, 4, INT), StreamPort("out", True, 4, INT)


def graph(nodes, **rest) -> DFG:
    drafts = tuple(Node(i, op, tuple(operands), **more) for i, (op, operands, more) in enumerate(nodes))
    empty = {"orders": (), "streams": (), "memories": (), "live_ins": (), "live_outs": ()}
    dfg = DFG("kernel", drafts, **(empty | rest))
    check_dfg(dfg)
    return dfg


def node(op, *operands, **more):
    return op, operands, more


def loop(limit) -> list:
    """An index (node 0) below `limit`, whether the iteration exists (2) or ends the loop (3), and stop."""
    return [
        node("add", Use(0, 1, Const(0xFFFFFFFF)), Const(1), variable="index"),
        node("ult", Use(0), limit),
        node("and", Use(1), Use(2, 1, Const(1)), variable="alive"),
        node("xor", Use(2), Use(2, 1, Const(1))),
        node("stop", Use(3)),
    ]


def random_data(dfg: DFG, seed: int):
    """Words for all receiving streams and all memories."""
    rng = random.Random(seed)
    receiving = [k for k, stream in enumerate(dfg.streams) if not stream.sends]
    inputs = {k: [rng.getrandbits(32) for _ in range(rng.randrange(100))] for k in receiving}
    memories = {m: [rng.getrandbits(32) for _ in range(a.words)] for m, a in enumerate(dfg.memories)}
    return inputs, memories


def agree(
    dfg: DFG, tmp_path: Path, seed=1, interval=1, live_ins=(), inputs=None, memories=None, percent=(100,)
):
    """Simulate and compare with the interpreter; return the last simulation."""
    wanted = run_dfg(dfg, live_ins, inputs, memories)
    mapping = simple_map(dfg, GRID, seed, interval)
    design, loaded = emit(mapping), HARDWARE.load(mapping)
    for readiness in percent:
        got = simulate(design, tmp_path, live_ins, inputs, memories, readiness)
        assert simulate(loaded, tmp_path, live_ins, inputs, memories, readiness) == got
        assert got.outputs == wanted.outputs
        assert got.live_outs == wanted.live_outs
        assert got.memories == wanted.memories
        assert set(got.closes) == wanted.closed
    return got


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(16))
def test_random_graphs(seed: int, tmp_path: Path) -> None:
    dfg = random_graph(seed, 18 + seed % 10, memories=seed % 3)
    inputs, memories = random_data(dfg, seed)
    polls = any(n.op.startswith("try_") for n in dfg.nodes)
    agree(dfg, tmp_path, seed, 1 + seed % 5, (), inputs, memories, (100,) if polls else (100, 30))


@pytest.mark.parametrize("seed", range(100, 112))
def test_random_graphs_through_the_real_mapper(seed: int, tmp_path: Path) -> None:
    dfg = random_graph(seed, 20 + 3 * (seed % 12), memories=seed % 3)
    inputs, memories = random_data(dfg, seed)
    wanted = run_dfg(dfg, (), inputs, memories)
    mapping = map_kernel(dfg, GRID, MapOptions(seed))
    got = simulate(emit(mapping), tmp_path, (), inputs, memories)
    assert simulate(HARDWARE.load(mapping), tmp_path, (), inputs, memories) == got
    assert (got.outputs, got.memories) == (wanted.outputs, wanted.memories)


def with_wires(fabric: Fabric) -> Fabric:
    """The fabric with a wire in each tile that takes any result to any operand in the same cycle."""
    resources = list(fabric.resources)
    for tile in fabric.tiles:
        results = tuple(r.id for r in fabric.resources if r.tile == tile.id and r.kind is Kind.RESULT)
        wire = Resource(len(resources), f"wire{tile.id}", Kind.WIRE, tile.id, results)
        resources.append(wire)
        for r in fabric.resources:
            if r.tile == tile.id and r.kind is Kind.OPERAND:
                resources[r.id] = replace(r, sources=(wire.id, *r.sources))
    return replace(fabric, name="wired", resources=tuple(resources))


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 7])
def test_combinational_wires(seed: int, tmp_path: Path) -> None:
    fabric = with_wires(GRID)
    check_fabric(fabric)
    dfg = random_graph(seed, 22, memories=2)
    mapping = simple_map(dfg, fabric, seed, 2)
    assert any(fabric.resources[r].kind is Kind.WIRE for route in mapping.routes for r, _ in route.steps)
    inputs, memories = random_data(dfg, seed)
    wanted = run_dfg(dfg, (), inputs, memories)
    for design in (emit(mapping), hardware(fabric).load(mapping)):
        got = simulate(design, tmp_path, (), inputs, memories)
        assert (got.outputs, got.memories) == (wanted.outputs, wanted.memories)


@pytest.mark.quick(3)
@pytest.mark.parametrize("interval", [1, 2, 3, 7, 8, 31, 64])
def test_every_interval(interval: int, tmp_path: Path) -> None:
    dfg = graph(
        [
            *loop(LiveIn(0)),
            node("recv", Const(3), Use(2), stream=0),
            node("add", Use(5), Use(6, 1, LiveIn(1)), variable="sum"),
            node("send", Use(6), Use(2), stream=1),
        ],
        streams=(IN, OUT),
        live_ins=("n", "start"),
    )
    design = emit(simple_map(dfg, GRID, 1, interval))
    assert design.interval >= interval
    got = agree(dfg, tmp_path, 1, interval, [9, 1000], {0: list(range(5, 12))}, percent=(100, 50))
    assert got.cycles >= 9 * interval


@pytest.mark.parametrize("interval", [1, 2, 5])
def test_registers_begin_with_what_is_read_before_iteration_0(interval: int, tmp_path: Path) -> None:
    """Where all readers want the same word, that is; no choice is left then for the running kernel."""

    def summed(other: Const | LiveIn) -> DFG:
        return graph(
            [
                *loop(LiveIn(0)),
                node("recv", Use(5, 1, LiveIn(1)), Use(2), stream=0, variable="x"),
                node("add", Use(5), Use(6, 1, LiveIn(1)), variable="sum"),
                node("xor", Use(6, 1, other), Use(6, 2, LiveIn(1))),
                node("send", Use(7), Use(2), stream=1),
            ],
            streams=(IN, OUT),
            live_ins=("n", "start"),
        )

    for other in (LiveIn(1), Const(77)):
        inputs = {0: [5, 8, 1000, 3]}  # fewer than iterations: x keeps its word from then on
        agree(summed(other), tmp_path, 1, interval, [9, 1000], inputs, percent=(100, 50))
    process = emit(simple_map(summed(LiveIn(1)), GRID, 1, 1)).text.split("posedge clk")[1]
    running, idle = process.split("else if (rst)")
    assert "x <= start_in;" in idle
    assert "index <= 32'd4294967295;" in idle
    assert "index <= (index + 32'd1);" in running
    assert "if (recv_5_takes) x <= s0_tdata;" in running


def test_an_iteration_every_cycle(tmp_path: Path) -> None:
    sends = node("send", Use(0), Use(2), stream=0)
    dfg = graph([*loop(Const(50))[:2], node("mov", Use(1)), *loop(Const(50))[3:], sends], streams=(OUT,))
    # alive, a mov here, needs no recurrence: the loop's own exit hides what is past it
    design = emit(simple_map(dfg, GRID, 3, 1))
    assert design.interval == 1 and "case" not in design.text and "slot" not in design.text
    got = simulate(design, tmp_path)
    assert got.outputs == {0: list(range(50))}
    assert got.cycles <= 50 + design.length


@pytest.mark.parametrize("distance", [1, 2, 5, 17, 40])
def test_far_distances_of_one_node(distance: int, tmp_path: Path) -> None:
    dfg = graph(
        [
            *loop(Const(60)),
            node("sub", Use(0, distance, LiveIn(0)), Use(0, 3, Const(1 << 31))),
            node("xor", Use(5), Use(0, 1, LiveIn(1))),
            node("send", Use(6), Use(2), stream=0),
        ],
        streams=(OUT,),
        live_ins=("a", "b"),
    )
    agree(dfg, tmp_path, distance, 2, [0xDEADBEEF, 77])


def test_an_old_value_outlives_many_intervals_on_a_long_way(tmp_path: Path) -> None:
    chain = [node("sdiv", Use(0), Const(3))]
    chain += [node("udiv", Use(5 + k), Const(1)) for k in range(5)]
    last = 5 + len(chain)
    sum_ = node("add", Use(last - 1), Use(0))
    dfg = graph([*loop(Const(40)), *chain, sum_, node("send", Use(last), Use(2), stream=0)], streams=(OUT,))
    design = emit(simple_map(dfg, GRID, 5, 1))
    assert design.length > 48
    agree(dfg, tmp_path, 5, 1)


OPERANDS = {1: [(9,), (0x80000080,)], 2: [(0x80000007, 33), (5, 0)], 3: [(7, 0xFFFFFFF0, 12), (0, 1, 2)]}
PURE = [op for op in OPS.values() if op.pure and op.name not in WIDE_OPS]


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("part", range(6))
def test_every_operation_on_words_and_constants(part: int, constant: bool, tmp_path: Path) -> None:
    cases = [(op, operands) for op in PURE[part::6] for operands in OPERANDS[op.arity]]
    nodes = loop(Const(1))
    for op, operands in cases:
        given = [Const(v) if constant and k % 2 else LiveIn(k + 3) for k, v in enumerate(operands)]
        if operands is OPERANDS[op.arity][1]:
            given = [LiveIn(k) for k in range(op.arity)]
        nodes.append(node(op.name, *given))
        nodes.append(node("result", Use(len(nodes) - 1), Use(2), index=(len(nodes) - 6) // 2))
    live_outs = tuple(f"r{k}" for k in range(len(cases)))
    live_ins = ("a", "b", "c", "d", "e", "f")
    dfg = graph(nodes, live_ins=live_ins, live_outs=live_outs)
    agree(dfg, tmp_path, 1, 6, [3, 0x80000000, 4, 0xFFFFFFF7, 6, 2])


def test_constants_wider_than_a_word_are_cut(tmp_path: Path) -> None:
    dfg = graph(
        [*loop(Const(1)), node("add", Const((1 << 40) + 5), LiveIn(0)), node("result", Use(5), Use(2))],
        live_ins=("a",),
        live_outs=("r",),
    )
    assert simulate(emit(simple_map(dfg, GRID)), tmp_path, [2]).live_outs == [7]


def test_memories_loads_before_stores_tables_and_the_word_port(tmp_path: Path) -> None:
    dfg = graph(
        [
            *loop(Const(8)),
            node("load", Use(0), memory=0),
            node("load", Use(0), memory=1),
            node("muladd", Use(5), Use(6), Const(1)),
            node("store", Use(0), Use(7), Use(2), memory=0),
        ],
        memories=(Memory("data", 9, True, True), Memory("table", 8, initial=(3, 1, 4, 1, 5, 9, 2, 6))),
    )
    agree(dfg, tmp_path, memories={0: [10, 20, 30, 40, 50, 60, 70, 80, 90]})


def test_a_store_in_the_cycle_of_a_load_comes_after_it(tmp_path: Path) -> None:
    dfg = graph(
        [
            *loop(Const(6)),
            node("load", Use(7), memory=0),
            node("store", Const(0), Use(0), Use(2), memory=0),
            node("and", Use(2), Const(0)),
            node("send", Use(5), Use(2), stream=0),
        ],
        orders=(Order(5, 6, 0, 0), Order(6, 5, 1, 1)),
        memories=(Memory("cell", 1),),
        streams=(OUT,),
    )
    mappings = [simple_map(dfg, GRID, seed, 1) for seed in range(12)]
    same = [m for m in mappings if m.placement.schedule.start[5] == m.placement.schedule.start[6]]
    assert same
    got = simulate(emit(same[0]), tmp_path, memories={0: [99]})
    assert got.outputs == {0: [99, 0, 1, 2, 3, 4]}


def test_blocking_streams_freeze_everything(tmp_path: Path) -> None:
    dfg = graph(
        [
            *loop(Const(30)),
            node("recv", Const(0), Use(2), stream=0),
            node("recv", Const(0), Use(2), stream=1),
            node("sub", Use(5), Use(6)),
            node("send", Use(7), Use(2), stream=2),
            node("send", Use(5), Use(2), stream=3),
            node("store", Use(0), Use(7), Use(2), memory=0),
        ],
        streams=(IN, IN, OUT, OUT),
        memories=(Memory("copy", 32),),
    )
    inputs = {0: [k * k for k in range(30)], 1: [7 * k for k in range(30)]}
    for seed in range(3):
        got = agree(dfg, tmp_path, seed, 1, (), inputs, percent=(100, 60, 15))
        assert got.stalled > 30


def test_a_receive_at_the_end_gives_the_old_word_and_does_not_wait(tmp_path: Path) -> None:
    dfg = graph(
        [
            *loop(Const(9)),
            node("recv", Use(5, 1, Const(55)), Use(2), stream=0),
            node("ended", Use(2), stream=0),
            node("send", Use(5), Use(2), stream=1),
            node("send", Use(6), Use(2), stream=2),
        ],
        orders=(),
        streams=(IN, OUT, OUT),
    )
    design = emit(simple_map(dfg, GRID, 2, 2))
    assert simulate(design, tmp_path, (), {0: []}).outputs[1] == [55] * 9
    outputs = simulate(design, tmp_path, (), {0: [4, 5]}).outputs
    assert outputs[1] == [4, *[5] * 8] and outputs[2][-6:] == [1] * 6


def test_non_blocking_streams_say_whether_they_worked_and_never_wait(tmp_path: Path) -> None:
    words = [
        *loop(Const(400)),
        node("try_recv", Const(0), Use(2), stream=0),
        node("and", Use(5, 0, Const(0), 1), Use(2)),
        node("add", Use(6), Use(7, 1, Const(0)), variable="received"),
        node("try_send", Use(8, 1, Const(0)), Use(2), stream=1),
        node("add", Use(8, 1, Const(0)), Use(8)),
    ]
    words[8] = node("add", Use(8, 1, Const(0)), Use(9), variable="sent")
    words[9] = node("try_send", Use(8, 1, Const(0)), Use(2), stream=1)
    results = [node("result", Use(7), Use(2), index=0), node("result", Use(8), Use(2), index=1)]
    dfg = graph([*words, *results], streams=(IN, OUT), live_outs=("received", "sent"))
    design = emit(simple_map(dfg, GRID, 1, 1))
    got = simulate(design, tmp_path, (), {0: list(range(100))}, readiness=40)
    assert got.live_outs[0] == 100
    assert got.outputs[1] == list(range(got.live_outs[1])) and 50 < got.live_outs[1] < 350
    assert got.stalled == 0


def test_close_pulses_once_and_results_are_those_of_the_guarded_iteration(tmp_path: Path) -> None:
    dfg = graph(
        [
            *loop(Const(7)),
            node("add", Use(5, 1, Const(100)), Use(0), variable="total"),
            node("send", Use(5), Use(2), stream=0),
            node("close", Use(3), stream=0),
            node("result", Use(5), Use(2)),
        ],
        streams=(OUT,),
        live_outs=("total",),
    )
    got = agree(dfg, tmp_path, 1, 2, percent=(100, 40))
    assert got.closes == [0] and got.live_outs == [121]


def test_a_failed_assertion_is_reported_and_stays(tmp_path: Path) -> None:
    nodes = loop(Const(20))
    for k, at in enumerate((30, 12, 4)):
        nodes += [node("eq", Use(0), Const(at)), node("fail", Use(len(nodes)), index=k)]
    dfg = graph(nodes, assertions=("a", "b", "c"))
    design = emit(simple_map(dfg, GRID, 1, 3))
    assert simulate(design, tmp_path).failed == 2


def test_a_finished_design_starts_again(tmp_path: Path) -> None:
    dfg = graph(
        [*loop(Const(5)), node("load", Use(0), memory=0), node("add", Use(5), Const(3))]
        + [node("store", Use(0), Use(6), Use(2), memory=0)],
        memories=(Memory("m", 5),),
    )
    design = emit(simple_map(dfg, GRID, 1, 2))
    assert simulate(design, tmp_path, runs=4).memories == {0: [12] * 5}


def test_done_comes_when_the_last_operation_has_completed(tmp_path: Path) -> None:
    dfg = graph([*loop(Const(5)), node("send", Use(0), Use(2), stream=0)], streams=(OUT,))
    for seed in range(5):
        mapping = simple_map(dfg, GRID, seed, 4)
        got = simulate(emit(mapping), tmp_path)
        assert got.cycles == 5 * mapping.interval + mapping.length


def test_variables_keep_their_names(tmp_path: Path) -> None:
    names = [
        "reg",
        "index",
        "clk",
        "s0_tdata",
        "logic",
        "été",
        "x.y",
        "2x",
        "valid",
        "initial_word",
        "kernel",
    ]
    nodes = loop(Const(5))
    for name in names:
        nodes.append(node("add", Use(len(nodes) - 1 if len(nodes) > 5 else 0), Const(1), variable=name))
    nodes += [
        node("send", Use(len(nodes) - 1), Use(2), stream=0),
        node("load", Use(0), memory=0, variable="reg"),
    ]
    nodes.append(node("result", Use(len(nodes) - 1), Use(2), where=Place("k.c", 12, 3)))
    dfg = graph(nodes, streams=(OUT,), memories=(Memory("index", 8),), live_ins=(), live_outs=("begin",))
    design = emit(simple_map(dfg, GRID, 1, 2))
    registers = re.findall(r"reg (?:\[31:0\] )?(\w+)[; ]", design.text)
    assert {"reg_", "index", "index_2", "logic_", "_t_", "x_y", "_2x", "alive", "begin_out"} <= set(registers)
    assert len(set(registers)) == len(registers)
    assert "// k.c:12:3" in design.text
    agree(dfg, tmp_path)


def test_the_same_mapping_gives_the_same_text() -> None:
    dfg = random_graph(3, 20)
    assert emit(simple_map(dfg, GRID, 7, 2)) == emit(simple_map(dfg, GRID, 7, 2))


def ends_last() -> DFG:
    """A graph in which nothing is left to be done when it is known that an iteration is the last."""
    b = Builder("ends_last")
    index, alive = b.counter(8)
    b.add("send", index, alive, stream=b.stream("out", True))
    return b.build()


def test_a_kernel_that_ends_with_its_last_operation_counts_no_cycles_after_it() -> None:
    designs = [emit(simple_map(ends_last(), GRID, 1, interval)).text for interval in (1, 2, 4)]
    assert any("drain" not in text for text in designs)
    assert all(text.count("drain") != 2 for text in designs), "declared and reset, but not used"


LINTED = [random_graph(5, 20), random_graph(10, 24), fir(4), ends_last()]


@pytest.mark.needs("verilator")
@pytest.mark.parametrize("dfg", LINTED, ids=lambda dfg: dfg.name)
@pytest.mark.parametrize("interval", [1, 4])
def test_lint_clean(dfg: DFG, interval: int, tmp_path: Path) -> None:
    lint(emit(simple_map(dfg, GRID, 1, interval)), tmp_path)


@pytest.mark.needs("yosys")
def test_synthesizable(tmp_path: Path) -> None:
    synthesize(emit(simple_map(small_graph(), GRID, 1, 3)), tmp_path)


CLOSING = {  # of node 0 by what node 5 and the last iteration (node 3) say
    "every second word": ((Use(3), Const(2), Use(6)), [1, 3, 5, 7]),
    "alone in the last iteration": ((Use(3), Const(2), Use(2)), [*range(9)]),
    "both at once": ((Use(3), Const(3), Const(0)), [9]),
}


def closing(name: str) -> DFG:
    what, sent = CLOSING[name]
    odd = node("and", Use(0), Const(1)), node("and", Use(5), Use(2))
    ends = node("muladd", *what), node("send_close", Use(0), Use(7), stream=0)
    dfg = graph([*loop(Const(9)), *odd, *ends], streams=(OUT,))
    wanted = run_dfg(dfg)
    assert (wanted.closed, wanted.outputs) == ({0}, {0: sent})
    return dfg


@pytest.mark.parametrize("name", CLOSING)
def test_a_send_that_closes_its_stream(name: str, tmp_path: Path) -> None:
    for interval in (1, 3):
        agree(closing(name), tmp_path, 1, interval, percent=(100, 30))
