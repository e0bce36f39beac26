"""Mappings run as their graphs do, on every kind of fabric; wrong ones are refused; text keeps all."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import graphs
import pytest
from harness import simulate

from arch.check import check_fabric
from arch.describe import load_fabric
from arch.ops import OPS
from backend.bound import minimum_interval
from backend.check import MappingError, check_mapping
from backend.dfg import DFG, Node, Use
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import MapOptions, Mapping, Placement, Route, Schedule
from backend.mapping_text import MappingFileError, read_mapping, write_mapping
from backend.run_dfg import run_dfg
from backend.run_mapping import WrongRun, compare
from backend.verilog import emit
from backend.verilog_fabric import hardware

FAMILIES = ("satmapit", "adres", "hycube")


def opaque(seed: int, count: int) -> DFG:
    """A random graph of opaque operations, with values carried over and accesses to memory."""
    rng = random.Random(seed)
    nodes = []
    for n in range(count):
        inputs = rng.randrange(min(n, 3) + 1) if n else 0
        operands = [Use(rng.randrange(max(0, n - 8), n), 0) for _ in range(inputs)]
        if rng.random() < 0.2:
            operands.append(Use(rng.randrange(n, min(count, n + 4)), rng.randrange(1, 3)))
        kind = "access" if rng.random() < 0.2 else "alu"
        nodes.append(Node(n, f"{kind}_{len(operands)}", tuple(operands)))
    return DFG(f"random{seed}", tuple(nodes), (), (), (), (), ())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_mappings_on_published_arrays_compute_what_their_graphs_do(family: str, seed: int) -> None:
    fabric = load_fabric(f"{family}:4x4")
    dfg = opaque(seed, 10 + 3 * seed)
    mapping = map_kernel(dfg, fabric, MapOptions(seed=seed, effort=0.1))
    compare(mapping, 12)
    text = write_mapping(mapping, [])
    again = read_mapping(text, "mapping", dfg, fabric)
    check_mapping(again)
    assert write_mapping(again, []) == text and again.placement == mapping.placement


@pytest.mark.parametrize("name", ["grid4x4", "grid:6x6", "torus:5x5"])
def test_nearly_full_arrays_are_mapped_at_the_bound_and_run_as_their_graphs_do(name: str) -> None:
    fabric = load_fabric(name)
    tiles = len(fabric.units_for("add"))
    for interval, seed in ((2, 1), (4, 2), (6, 3)):
        dfg = graphs.mixed(int(0.9 * tiles * interval), seed, accesses=0.1, ring=interval)
        mapping = map_kernel(dfg, fabric, MapOptions(seed=seed))
        assert mapping.interval == minimum_interval(dfg, fabric).mii
        compare(mapping, 5)


@pytest.mark.parametrize("seed", range(3))
def test_kernels_with_streams_and_memories_run_as_their_graphs_do(seed: int) -> None:
    dfg = graphs.random_graph(seed)
    mapping = map_kernel(dfg, load_fabric("grid4x4"), MapOptions())
    words = {s: list(range(1, 40)) for s, stream in enumerate(dfg.streams) if not stream.sends}
    compare(mapping, 12, [5] * len(dfg.live_ins), words)
    assert "array" in write_mapping(mapping, [])
    again = read_mapping(write_mapping(mapping, []), "mapping", dfg, mapping.fabric)
    assert again.placement == mapping.placement


def two_readers() -> tuple[DFG, Mapping]:
    """On one tile a, b, and c, which reads a; on another d, which reads b. A register keeps a for c."""
    fabric = load_fabric("satmapit:2x2")
    use = Use(0)
    nodes = (
        Node(0, "alu_0", ()),
        Node(1, "alu_0", ()),
        Node(2, "alu_1", (use,)),
        Node(3, "alu_1", (Use(1),)),
    )
    dfg = DFG("two", nodes, (), (), (), (), ())
    names = {resource.name: resource.id for resource in fabric.resources}
    steps = (("r0c0.out", 1), ("r0c0.r0", 2), ("r0c0.alu.a", 2))
    routes = (
        Route(2, 0, tuple((names[name], cycle) for name, cycle in steps)),
        Route(3, 0, ((names["r0c0.out"], 2), (names["r0c1.alu.a"], 2))),
    )
    schedule = Schedule(dfg, 3, (0, 1, 2, 2))
    here, there = fabric.units_for("alu_0")[:2]
    return dfg, Mapping(Placement(schedule, fabric, (here, here, here, there), ()), routes)


def test_an_output_keeps_its_word_until_the_next_operation_ends_and_no_longer() -> None:
    _, mapping = two_readers()
    check_mapping(mapping)
    compare(mapping, 5)
    out = mapping.fabric.units[0].results["alu_0"][0]
    operand = mapping.routes[0].steps[-1]
    held = Route(2, 0, ((out, 1), (out, 2), operand))
    with pytest.raises(MappingError, match="r0c0.out in slot 2"):
        check_mapping(replace(mapping, routes=(held, mapping.routes[1])))


def test_an_operation_ends_what_its_output_held_even_if_nobody_reads_it() -> None:
    dfg, mapping = two_readers()
    dfg = replace(dfg, nodes=(*dfg.nodes[:3], replace(dfg.nodes[3], op="alu_0", operands=())))
    schedule = replace(mapping.placement.schedule, dfg=dfg)
    mapping = Mapping(replace(mapping.placement, schedule=schedule), mapping.routes[:1])
    check_mapping(mapping)
    out = mapping.fabric.units[0].results["alu_0"][0]
    held = Route(2, 0, ((out, 1), (out, 2), mapping.routes[0].steps[-1]))
    with pytest.raises(MappingError, match="r0c0.out in slot 2"):
        check_mapping(replace(mapping, routes=(held,)))


def test_a_crossbar_takes_a_word_across_the_array_in_one_cycle() -> None:
    fabric = load_fabric("hycube:3x5")
    check_fabric(fabric)
    last = len(fabric.units) - 1
    assert fabric.distance(0, last) == 0 and fabric.units[0].latency["alu_2"] == 2
    assert {load_fabric(family).latency("mul") for family in FAMILIES} == {1}
    assert load_fabric("grid").latency("mul") == 2
    dfg = DFG("pair", (Node(0, "alu_0", ()), Node(1, "alu_1", (Use(0),))), (), (), (), (), ())
    assert map_kernel(dfg, fabric, MapOptions()).interval == 1


def test_the_left_column_alone_loads_where_a_family_says_so() -> None:
    for family, columns in (("satmapit", {0, 1, 2}), ("adres", {0}), ("hycube", {0})):
        fabric = load_fabric(f"{family}:3x3")
        tiles = [fabric.tiles[fabric.units[u].tile] for u in fabric.units_for("access_1")]
        assert {tile.column for tile in tiles} == columns and len(tiles) == 3 * len(columns)


def test_a_run_that_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    _, mapping = two_readers()
    from backend import run_mapping

    values = run_mapping.run_graph
    monkeypatch.setattr(
        run_mapping, "run_graph", lambda *a: [[(7,)] * 5 if n == 2 else v for n, v in enumerate(values(*a))]
    )
    with pytest.raises(WrongRun, match="node 2 of iteration 0"):
        compare(mapping, 5)


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "message"),
    [
        ("macah-mapping 1", "macah-mapping 2", 1, 1, "'macah-mapping 1' expected"),
        ("4 nodes", "many nodes", 2, 1, "'graph DIGEST N nodes: NAME' expected"),
        ("interval 3", "interval 0", 4, 1, "'interval N' expected"),
        ("node 1 alu_0 @1 r0c0.alu", "node 1 alu_0 @1 r9c0.alu", 6, 17, "satmapit2x2 has no unit 'r9c0.alu'"),
        ("node 2 alu_1", "node 3 alu_1", 7, 1, "'node 2 … @CYCLE UNIT' expected"),
        ("r0c0.r0@2", "r0c0.r9@2", 9, 22, "satmapit2x2 has no resource 'r0c0.r9'"),
        ("route 3.0", "rout 3.0", 10, 1, "'route 3.0 RESOURCE@CYCLE …' expected"),
        ("r0c1.alu.a@2\n", "r0c1.alu.a@2\n\nnode 9", 12, 1, "more than the graph has"),
    ],
)
def test_mistakes_in_mapping_files_are_found_where_they_are(
    old: str, new: str, line: int, column: int, message: str
) -> None:
    dfg, mapping = two_readers()
    text = write_mapping(mapping, [])
    assert old in text
    text = text.replace(old, new, 1)
    with pytest.raises(MappingFileError) as caught:
        read_mapping(text, "mapping", dfg, mapping.fabric)
    error = caught.value
    assert (error.where.line, error.where.column, error.message) == (line, column, message)


def test_a_mapping_of_another_graph_or_fabric_is_refused() -> None:
    dfg, mapping = two_readers()
    text = write_mapping(mapping, [])
    with pytest.raises(MappingFileError, match="another graph"):
        read_mapping(text, "mapping", replace(dfg, nodes=dfg.nodes[:3]), mapping.fabric)
    with pytest.raises(MappingFileError, match="another fabric: satmapit2x2"):
        read_mapping(text, "mapping", dfg, load_fabric("satmapit:2x3"))


@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_run_on_published_arrays_in_verilog_too(family: str, tmp_path: Path) -> None:
    dfg = graphs.random_graph(1, 20)
    mapping = map_kernel(dfg, load_fabric(f"{family}:4x4"), MapOptions(effort=0.1))
    words = {s: list(range(3, 40)) for s, stream in enumerate(dfg.streams) if not stream.sends}
    live_ins = [6] * len(dfg.live_ins)
    compare(mapping, 12, live_ins, words)
    expected = run_dfg(dfg, live_ins, words)
    run = simulate(emit(mapping), tmp_path, live_ins, words)
    assert simulate(hardware(mapping.fabric).load(mapping), tmp_path, live_ins, words) == run
    assert (run.outputs, run.live_outs, run.memories) == (
        expected.outputs,
        expected.live_outs,
        expected.memories,
    )


def test_an_operation_without_a_value_ends_what_the_output_held(tmp_path: Path) -> None:
    fabric = load_fabric("satmapit:2x2")
    unit = fabric.units[0]
    assert unit.results["store"] == unit.results["alu_2"] and "try_recv" not in unit.latency
    problem = Problem(graphs.matmul(2), fabric)
    stores = [n for n, node in enumerate(problem.dfg.nodes) if not OPS[node.op].outputs]
    assert stores and all(problem.outputs[n] == 1 for n in stores)
