"""Graphs of kernels are written and read back as they are; mistakes are found where they are."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import graphs
import pytest

from backend.dfg import DFG, LiveIn, Use, Word, check_dfg
from backend.foreign import GraphError
from backend.formats import read_graph
from backend.graph_json import write_json
from backend.kernel_json import write_kernel


def read(folder: Path, text: str) -> DFG:
    (folder / "kernel.json").write_text(text)
    graph = read_graph(folder / "kernel.json")
    assert graph.kernel is not None and write_json(graph) == write_kernel(graph.kernel)
    return graph.kernel


@pytest.mark.parametrize("dfg", [graphs.fir(4), graphs.matmul(2), graphs.sad(4), graphs.random_graph(2)])
def test_graphs_are_read_as_they_were_written(dfg: DFG, tmp_path: Path) -> None:
    again = read(tmp_path, write_kernel(dfg))
    assert again == replace(dfg, nodes=tuple(replace(node, where=None) for node in dfg.nodes))
    check_dfg(again)


def test_ports_keep_what_messages_call_them(tmp_path: Path) -> None:
    dfg = graphs.fir(2)
    dfg = replace(dfg, streams=(replace(dfg.streams[0], stream="shown"), *dfg.streams[1:]))
    assert read(tmp_path, write_kernel(dfg)).streams == dfg.streams
    assert dfg.streams[0].shown == "shown" and dfg.streams[1].shown == dfg.streams[1].name


def test_words_may_be_of_three_bytes_as_small_fields_share_one(tmp_path: Path) -> None:
    dfg = graphs.fir(2)
    stream = replace(dfg.streams[0], size=8, words=(Word(0, 4, False), Word(4, 3, False)))
    dfg = replace(dfg, streams=(stream, *dfg.streams[1:]))
    assert read(tmp_path, write_kernel(dfg)).streams == dfg.streams


def test_initial_values_may_be_live_ins(tmp_path: Path) -> None:
    dfg = graphs.fir(2)
    node = next(n for n in dfg.nodes if any(isinstance(o, Use) and o.distance for o in n.operands))
    operands = tuple(
        replace(o, initial=LiveIn(0)) if isinstance(o, Use) and o.distance else o for o in node.operands
    )
    nodes = (*dfg.nodes[: node.id], replace(node, operands=operands), *dfg.nodes[node.id + 1 :])
    dfg = replace(dfg, nodes=nodes, live_ins=dfg.live_ins or ("x",))
    assert read(tmp_path, write_kernel(dfg)).nodes[node.id].operands == operands


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "macah-graph 2", "the form is 'macah-graph 2'"),
        (("nodes", 1, "op"), "alu_2", "there is no operation 'alu_2'"),
        (("nodes", 1, "op"), "stop", "operands, not"),
        (("nodes", 1, "id"), 7, "'id' must be 1"),
        (("nodes", 1, "operands"), 3, "'operands' must be a list"),
        (("nodes", 0, "operands", 0), {"node": 99}, "'node' is 99, but must be from 0 to"),
        (("nodes", 0, "operands", 0), {"node": 0, "output": 1}, "'output' is 1"),
        (("nodes", 0, "operands", 0), -1, "an operand is a word"),
        (("nodes", 0, "operands", 0), True, "an operand is a word"),
        (("nodes", 0, "operands", 0), {"live_in": 9}, "'live_in' is 9"),
        (("orders",), [{"before": 0, "after": 0}], "a cycle within one iteration"),
        (("orders",), [3], "'orders' must be objects"),
        (("streams", 0, "words"), [], "a stream of no words"),
        (("streams", 0, "words"), [[0, 5, True]], "outside of its element"),
        (("streams", 0, "words"), [[0, 4]], "a word is [offset, size, signed]"),
        (("memories",), [{"name": "a", "words": 1, "initial": [1, 2]}], "'initial' does not fit"),
        (("live_ins",), [5], "in 'live_ins', each must be a string"),
    ],
)
def test_mistakes_are_told(path: tuple[str | int, ...], value: object, message: str, tmp_path: Path) -> None:
    data: Any = json.loads(write_kernel(graphs.fir(2)))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(GraphError) as caught:
        read(tmp_path, json.dumps(data, indent=1))
    assert message in caught.value.message and caught.value.where is not None


def test_whatever_a_file_holds_there_is_an_answer(tmp_path: Path) -> None:
    text = write_kernel(graphs.fir(2))
    rng = random.Random(1)
    for _ in range(200):
        at, length = rng.randrange(len(text)), rng.randrange(4)
        noise = "".join(rng.choice('{}[]":,01-a') for _ in range(rng.randrange(3)))
        try:
            read(tmp_path, text[:at] + noise + text[at + length :])
        except GraphError as error:
            assert error.where is not None
