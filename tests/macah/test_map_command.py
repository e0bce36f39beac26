"""`macahc map`: graphs of files, mapped on their own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from arch.describe import load_fabric
from backend import certify
from backend.check import check_mapping
from backend.configuration import configure
from backend.foreign import GraphError, to_dfg
from backend.formats import read_graph
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from macah.cli_options import UsageError
from macah.diagnostic import MacahError
from macah.map_command import map_command
from macah.messages import MessageOptions, Messages

ARCHITECTURES = Path(__file__).parent.parent.parent / "arch"
DATA = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "dfgs"


def graph_file(folder: Path, nodes: list[Any], edges: list[Any]) -> str:
    """A graph with one line for each node and edge, from line 2 on."""
    path = folder / "graph.json"
    lines = ",\n".join(map(json.dumps, nodes)), ",\n".join(map(json.dumps, edges))
    path.write_text('{"nodes": [\n' + lines[0] + '\n], "edges": [\n' + lines[1] + "\n]}")
    return str(path)


def nodes(count: int, op: str = "add") -> list[dict[str, Any]]:
    return [{"id": k, "op": op} for k in range(count)]


def edge(source: object, target: object, distance: object = 0) -> dict[str, object]:
    return {"src": source, "dst": target, "distance": distance, "kind": "data"}


def run(*words: str) -> int:
    return map_command(words, Messages(MessageOptions()))


def refused(*words: str) -> MacahError:
    with pytest.raises(MacahError) as caught:
        run(*words)
    return caught.value


@pytest.mark.parametrize("arch", ["grid4x4", "mesh4x4", "torus4x4", "satmapit:3x3"])
def test_the_result_as_json_has_exactly_the_promised_keys(
    arch: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = graph_file(tmp_path, nodes(4), [edge(0, 1), edge(1, 2), edge(2, 3), edge(3, 1, 1)])
    assert run(path, "--arch", arch, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    keys = ["ii", "mii", "cause", "proven", "operations", "seconds", "peak_mb", "horizon"]
    assert list(found) == keys
    assert (found["ii"], found["mii"], found["proven"], found["operations"]) == (3, 3, True, 4)
    assert found["cause"] == "a recurrence of 3 operations" and found["horizon"] is None


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('{"nodes": [', 1, 12, "not JSON: Expecting value"),
        (
            '{"nodes": []}\n{"nodes": []}',
            2,
            1,
            "a file has one graph, and this is behind it: put each into a file of its own",
        ),
        ('{"nodes": [],\n "edges": []}', 1, 1, "the graph has no nodes"),
        ('{"edges": []}', 1, 1, "'nodes' is missing"),
        ("[]", 1, 1, "a graph is an object with 'nodes' and 'edges'"),
        ('{"nodes": 3}', 1, 11, "'nodes' must be a list"),
        ('{"nodes": [\n  7]}', 2, 3, "a node is an object with 'id' and 'op'"),
        ('{"nodes": [\n {"id": 1}]}', 2, 2, "'op' is missing"),
        ('{"nodes": [\n {"op": "add", "id": 1.5}]}', 2, 22, "'id' must be a whole number or a string"),
        ('{"nodes": [{"id": true, "op": "add"}]}', 1, 19, "'id' must be a whole number or a string"),
        (
            '{"nodes": [{"id": "a", "op": "add"}], "edges": [\n{"src": "a", "dst": "b"}]}',
            2,
            1,
            "an edge with node 'b', which there is not",
        ),
        (
            '{"nodes": [{"id": 1, "op": "add"}], "edges": [{"src": 1, "dst": 1, "distance": -1}]}',
            1,
            47,
            "distance -1 is not from 0 to 1024",
        ),
        (
            '{"nodes": [{"id": 1, "op": "add"}], "edges": [{"src": 1, "dst": 1, "distance": "x"}]}',
            1,
            80,
            "'distance' must be a whole number",
        ),
        (
            '{"nodes": [{"id": 1, "op": "{["}], "edges": [{"src": 1, "dst": 1, "kind":"x"}]}',
            1,
            74,
            "'kind' is 'x', but must be 'data' or 'order'",
        ),
    ],
)
def test_mistakes_are_found_where_they_are(
    text: str, line: int, column: int, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "graph.json"
    path.write_text(text)
    with pytest.raises(GraphError) as caught:
        read_graph(path)
    where = caught.value.where
    assert where is not None
    assert (where.line, where.column, caught.value.message) == (line, column, message)


def test_a_cycle_within_an_iteration_is_refused_with_its_nodes(tmp_path: Path) -> None:
    path = graph_file(tmp_path, nodes(5), [edge(0, 1), edge(1, 2), edge(2, 3), edge(3, 1), edge(3, 4)])
    error = refused(path, "--arch", "grid4x4")
    assert "a cycle within one iteration: 1 -> 2 -> 3 -> 1" in str(error)
    assert error.diagnostics[0].where is not None and error.diagnostics[0].where.line >= 8


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"{\n\xff")
    assert refused(str(tmp_path / "none.json")).diagnostics[0].code == "cannot-read"
    assert refused(str(tmp_path)).diagnostics[0].code == "cannot-read"
    assert "UTF-8" in str(refused(str(tmp_path / "binary")))
    (tmp_path / "deep").write_text("[" * 100_000)
    assert "nested too deeply" in str(refused(str(tmp_path / "deep")))
    (tmp_path / "long").write_text('{"nodes": [{"id": ' + "9" * 5000 + "}]}")
    assert "too many digits" in str(refused(str(tmp_path / "long")))
    assert "more than" in str(refused(str(tmp_path / "long"), "--arch", "/dev/zero"))


def test_wrong_usage_is_told_apart(tmp_path: Path) -> None:
    path = graph_file(tmp_path, nodes(1), [])
    for words in ((), (path, "--max-ii", "0"), (path, "--effort", "much"), (path, "more")):
        assert isinstance(refused(*words), UsageError)
    assert refused(path, "--arch", "gird").diagnostics[0].code == "architecture-file"


def test_what_does_not_fit_ends_at_once_with_what_is_scarce(tmp_path: Path) -> None:
    large = graph_file(tmp_path, nodes(5000), [])
    found = refused(large, "--arch", "satmapit:2x2").diagnostics[0]
    assert found.code == "does-not-fit" and "at least 625 on 8 units; the limit is 256" in found.message
    narrow = tmp_path / "narrow.toml"
    text = Path(load_fabric.__code__.co_filename).with_name("satmapit.toml").read_text()
    narrow.write_text(text.replace("access = 1, ", ""))
    path = graph_file(tmp_path, [*nodes(2), {"id": "x", "op": "load"}], [])
    found = refused(path, "--arch", f"{narrow}:2x2").diagnostics[0]
    assert "no unit of satmapit2x2 can do load" in found.message
    assert [(note.message, note.where and note.where.line) for note in found.notes] == [
        ("needed by node 'x', 'load'", 4)
    ]
    path = graph_file(tmp_path, nodes(9), [])
    found = refused(path, "--arch", "satmapit:2x2", "--max-ii", "2").diagnostics[0]
    assert "the initiation interval must be at least 3" in found.message


def test_two_nodes_with_one_id_are_both_operations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = graph_file(tmp_path, [*nodes(2), {"id": 1, "op": "mul"}], [edge(0, 1)])
    assert run(path, "--json") == 0
    found = capsys.readouterr()
    assert json.loads(found.out)["operations"] == 3
    assert "graph.json:4:1: warning: two nodes have the id 1" in found.err


def test_nodes_with_many_inputs_become_trees_where_units_have_fewer(tmp_path: Path) -> None:
    edges = [edge(k, 8, int(k == 0)) for k in range(8)]
    graph = read_graph(Path(graph_file(tmp_path, nodes(9), edges)))
    assert len(to_dfg(graph, load_fabric("satmapit:4x4")).nodes) == 9
    # Of a tile of 2x2, seven places can be read at once.
    assert [len(n.operands) for n in to_dfg(graph, load_fabric("satmapit:2x2")).nodes[8:]] == [7, 2]
    dfg = to_dfg(graph, load_fabric("grid4x4"))
    assert [len(node.operands) for node in dfg.nodes[8:]] == [3, 3, 3, 2]
    # What comes from the iteration before enters at the root.
    assert any(use.distance == 1 for _, _, use in dfg.uses() if use.node == 0)
    assert [o.distance for o in dfg.nodes[8].operands] == [0, 0, 1]  # type: ignore[union-attr]
    check_mapping(map_kernel(dfg, load_fabric("grid4x4"), MapOptions()))


@pytest.mark.skipif(not DATA.is_dir(), reason="the graphs of published mappers are not here")
def test_all_published_graphs_are_read_and_keep_their_operations_on_their_arrays() -> None:
    fabric = load_fabric("satmapit:4x4")
    paths = sorted(DATA.glob("*.json"))
    assert len(paths) == 154
    for path in paths:
        dfg = to_dfg(read_graph(path), fabric)
        assert len(dfg.nodes) == len(json.loads(path.read_text())["nodes"])


@pytest.mark.skipif(not DATA.is_dir(), reason="the graphs of published mappers are not here")
def test_published_graphs_map_on_their_array() -> None:
    for name, size, interval in (("gsm", "4x4", 3), ("sha2", "3x3", 8), ("stringsearch", "3x3", 2)):
        fabric = load_fabric(f"satmapit:{size}")
        dfg = to_dfg(read_graph(DATA / f"satmapit_{name}.json"), fabric)
        mapping = map_kernel(dfg, fabric, MapOptions())
        configure(mapping)
        assert mapping.interval == interval


def test_a_mapping_is_written_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = graph_file(tmp_path, nodes(3, "a\n# @b"), [edge(0, 1), edge(1, 2), edge(2, 0, 1)])
    mapping = str(tmp_path / "mapping")
    for arch in ("hycube:2x3", "grid:4x4"):
        assert run(path, "--arch", arch, "-o", mapping) == 0
        assert run(path, "--arch", arch, "--check", mapping) == 0
        assert "the first 20 iterations compute what the graph does" in capsys.readouterr().out
    text = Path(mapping).read_text()
    assert run(path, "--arch", "grid:4x4", "-o", mapping) == 0 and Path(mapping).read_text() == text
    assert refused(path, "--arch", "grid:5x4", "--check", mapping).diagnostics[0].code == "mapping-file"
    first = next(word for word in text.split() if word.startswith("@"))
    Path(mapping).write_text(text.replace(f" {first} ", f" @{int(first[1:]) + 1} ", 1))
    assert "the mapping is wrong" in str(refused(path, "--arch", "grid:4x4", "--check", mapping))
    assert refused(path, "-o", str(tmp_path)).diagnostics[0].code == "cannot-write"


def differences() -> tuple[list[dict[str, Any]], list[dict[str, object]]]:
    """A loaded word less those of up to 40 iterations ago, the differences added up iterations later."""
    ops = ["load", *["sub"] * 5, *["add"] * 4, "store"]
    edges = [edge(0, k, d) for k, late in enumerate((10, 15, 20, 30, 40), 1) for d in (0, late)]
    edges += [edge(1 if k == 6 else k - 1, k) for k in range(6, 11)] + [
        edge(k - 4, k, 7) for k in range(6, 10)
    ]
    return [{"id": k, "op": op} for k, op in enumerate(ops)], edges


@pytest.mark.slow
def test_operations_that_are_stages_are_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, mapping = graph_file(tmp_path, *differences()), str(tmp_path / "mapping")
    assert run(path, "--arch", "hycube:4x4", "--json", "-o", mapping) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ii"] <= 6 and found["operations"] == 11 + found.get("stages", 0) == 21
    assert run(path, "--arch", "hycube:4x4", "--check", mapping) == 0
    assert "graph graph with 10 stages on hycube4x4" in capsys.readouterr().out


def test_a_value_with_dozens_of_late_readers_is_mapped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taps = 48
    ops = ["in", *["mul"] * taps, *["add"] * (taps - 1), "out"]
    edges = [edge(0, k, k - 1) for k in range(1, taps + 1)]
    edges += [edge(k, taps + k - 1) for k in range(2, taps + 1)] + [
        edge(k, k + 1) for k in range(taps + 1, 2 * taps)
    ]
    named = [{"id": k, "op": op} for k, op in enumerate(ops)]
    path, mapping = graph_file(tmp_path, named, [edge(1, taps + 1), *edges]), str(tmp_path / "mapping")
    assert run(path, "--arch", "grid5x5", "--json", "-o", mapping) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["proven"] and found["operations"] == 2 * taps + 1 and "stages" not in found
    assert run(path, "--arch", "grid5x5", "--check", mapping) == 0


def test_an_interval_can_be_asked_for_and_be_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two chains that meet: no odd cycle fits into a bipartite torus without waiting, but moves find a way.
    path = graph_file(tmp_path, nodes(5), [edge(0, 1), edge(1, 2), edge(3, 4), edge(4, 2), edge(2, 0, 1)])
    found = {}
    for words in ((), ("--ii", "6"), ("--prove",), ("--max-ii", "4"), ("--time-limit", "60")):
        assert run(path, "--arch", "satmapit:2x2", "--json", *words) == 0
        found[words] = json.loads(capsys.readouterr().out)
    assert {w: f["ii"] for w, f in found.items() if f["ii"] != 3} == {("--ii", "6"): 6}
    assert not found["--ii", "6"]["proven"] and "horizon" not in found["--ii", "6"]
    assert isinstance(refused(path, "--ii", "6", "--max-ii", "7"), UsageError)
    assert "at least 3" in str(refused(path, "--ii", "2", "--arch", "satmapit:2x2"))


def test_a_mapping_can_begin_with_an_old_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges = [edge(k, k + 1) for k in range(11)] + [edge(k, k + 5) for k in range(6)] + [edge(11, 8, 1)]
    old, arch = str(tmp_path / "old"), ("--arch", "hycube:3x3")
    assert run(graph_file(tmp_path, nodes(12), edges), *arch, "-o", old) == 0
    changed = [*nodes(12), {"id": "new", "op": "mul"}, {"id": "newer", "op": "add"}]
    path = graph_file(tmp_path, changed, [*edges[1:], edge(3, "new"), edge("new", 9), edge("newer", "new")])
    new = str(tmp_path / "new")
    assert run(path, *arch, "--warm", old, "-o", new) == 0
    assert run(path, *arch, "--check", new) == 0

    def places(file: str) -> set[str]:
        return {line for line in Path(file).read_text().splitlines() if line.startswith("node")}

    assert len(places(old) & places(new)) >= 9
    assert run(path, *arch, "--warm", old, "--prove", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["operations"] == 14
    assert "another fabric" in str(refused(path, "--arch", "hycube:3x4", "--warm", old))
    path = graph_file(tmp_path, [*nodes(2), *({"id": f"other{k}", "op": "add"} for k in range(3))], [])
    assert run(path, *arch, "--warm", old, "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out.splitlines()[-1])["ii"] == 1 and "mapped as usual" in said.err
    path = graph_file(tmp_path, changed, edges)
    Path(old).write_text("mapping 2")
    assert "expected" in str(refused(path, *arch, "--warm", old))


def test_a_proof_that_is_interrupted_keeps_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = graph_file(tmp_path, nodes(6), [edge(0, k) for k in range(1, 6)])
    mapping = str(tmp_path / "mapping")
    assert run(path, "--arch", "satmapit:2x2", "--ii", "4", "-o", mapping) == 0

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(certify, "prove", interrupted)
    capsys.readouterr()
    assert run(path, "--arch", "satmapit:2x2", "--warm", mapping, "--prove", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ii"], found["mii"], found["proven"]) == (4, 2, False)
    assert isinstance(refused(path, "--ii", "4", "--prove"), UsageError)
    assert isinstance(refused(path, "--arch", "bitgrid4x4", "--prove"), UsageError)


@pytest.mark.parametrize("text", ["[", "macah"])
def test_a_mistake_in_a_pipe_ends(text: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    error = refused(str(pipe))
    messages = Messages(MessageOptions())
    shown = Thread(target=messages.fail, args=(error,), daemon=True)
    shown.start()
    shown.join(20)
    assert not shown.is_alive(), "it waits for somebody to write the file once more"


def test_outputs_are_no_inputs_and_not_each_other(tmp_path: Path) -> None:
    path, arch, old = graph_file(tmp_path, nodes(3), [edge(0, 1)]), tmp_path / "own.toml", tmp_path / "old"
    arch.write_text((ARCHITECTURES / "satmapit.toml").read_text())
    words = (path, "--arch", str(arch))
    assert run(*words, "-o", str(old)) == 0
    before = old.read_text()
    for wrong in (
        ("-o", path),
        ("-o", str(arch)),
        ("--write-graph", str(arch)),
        ("--write-graph", str(old), "--warm", str(old)),
        ("--write-graph", str(old), "--check", str(old)),
    ):
        assert "is the input itself" in str(refused(*words, *wrong)), wrong
    new = tmp_path / "new"
    for same in (new, tmp_path / ".." / tmp_path.name / "new"):
        assert "the same file" in str(refused(*words, "-o", str(new), "--write-graph", str(same)))
    assert not new.exists() and old.read_text() == before
    assert run(*words, "-o", str(old), "--warm", str(old)) == 0
    assert run(*words, "-o", "/dev/null", "--write-graph", "/dev/null") == 0
