"""Graph files of every form: what they mean, and mistakes found where they are."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from backend.foreign import ForeignGraph, GraphError
from backend.formats import read_graph
from backend.graph_json import write_json

Shape = tuple[dict[str, str], list[tuple[str, str, int, bool]]]


def shape(graph: ForeignGraph) -> Shape:
    """Operations by name, and edges with names, sorted."""
    names = [node.name.strip("'") for node in graph.nodes]
    edges = [(names[e.source], names[e.target], e.distance, e.order) for e in graph.edges]
    return dict(zip(names, (node.op for node in graph.nodes), strict=True)), sorted(edges)


def read(folder: Path, name: str, text: str) -> ForeignGraph:
    (folder / name).write_text(text)
    return read_graph(folder / name)


# The sum of an array that is scaled, in the ways of different mappers.
CGRA_ME = """digraph G {
const0[opcode=const];
add1[opcode=add]; /* the counter */
load2[opcode=load];
mul3[opcode=mul];
add4[opcode=add];
store5[opcode=store];
const0->add1[operand=1]; //const->add
add1->add1[operand=0];
add1->load2[operand=0];
load2->mul3[operand=0];
const0->mul3[operand=1];
mul3->add4[operand=0];
add4->add4[operand=1];
add4->store5[operand=1];
add1->store5[operand=0];
}
"""
SCALED_SUM: Shape = (
    {"const0": "const", "add1": "add", "load2": "load", "mul3": "mul", "add4": "add", "store5": "store"},
    [
        ("add1", "add1", 1, False),
        ("add1", "load2", 0, False),
        ("add1", "store5", 0, False),
        ("add4", "add4", 1, False),
        ("add4", "store5", 0, False),
        ("const0", "add1", 0, False),
        ("const0", "mul3", 0, False),
        ("load2", "mul3", 0, False),
        ("mul3", "add4", 0, False),
    ],
)

MORPHER = """<MutexBB>
<BB1 name="a"><BB2 name="b"/></BB1>
</MutexBB>
<DFG count="4">
<Node idx="7" ASAP="0" ALAP="0"BB="body"CONST="4">
<OP>LOAD</OP>
<Inputs></Inputs>
<Outputs><Output idx="9" nextiter="0" type="I1"/></Outputs>
<RecParents></RecParents>
</Node>
<Node idx="9" ASAP="1" ALAP="1"BB="body">
<OP>ADD</OP>
<Outputs>
	<Output idx="9" nextiter="1" type="I2"/>
	<Output idx="20" nextiter="0" type="I2"/>
	<Output idx="11" nextiter="0" type="PS"/>
</Outputs>
</Node>
<Node idx="20" ASAP="2" ALAP="2">
<OP>STORE</OP>
<RecParents>
	<RecParent idx="7"/>
</RecParents>
</Node>
<Node idx="11"><OP>MOVC</OP></Node>
</DFG>
"""


def test_dot_of_cgra_me_and_pillars(tmp_path: Path) -> None:
    graph = read(tmp_path, "graph_loop.dot", CGRA_ME)
    assert graph.name == "G" and shape(graph) == SCALED_SUM
    assert [text for text, _ in graph.doubtful] == ["2 edges close a cycle: distance 1 is taken"]
    where = graph.locate("node", 2)
    assert (where.line, where.column) == (4, 1) and graph.locate("edge", 1).line == 9


def test_dot_of_genmap_with_types_comments_and_names_in_quotes(tmp_path: Path) -> None:
    text = """strict digraph{
\t# inputs
\t"IN 0" [type=input]
\t"op1" [type=op,opcode=SL]
\t"8" [type=const,int=8]
\t"IN 0" -> "op1" [operand=0]
\t"8" -> "op1" [operand=1]
}"""
    operations, edges = shape(read(tmp_path, "x.gv", text))
    assert operations == {"IN 0": "input", "op1": "SL", "8": "const"}
    assert edges == [("8", "op1", 0, False), ("IN 0", "op1", 0, False)]


def test_the_rest_of_the_dot_language(tmp_path: Path) -> None:
    text = """Digraph "all of it" {
  rankdir = LR; node [shape=box, opcode=add]; edge [distance=2]
  a; b [label="x = mul y"] c:n:w
  subgraph cluster_1 { edge [distance=0]; d -> {e f} -> g [kind=order] }
  a -> b -> c [distance=1]; a -> c; graph [fontsize=-1.5] h [label=<<b>x</b>>]
}"""
    graph = read(tmp_path, "plain", text)
    operations, edges = shape(graph)
    assert graph.name == "all of it" and set(operations) == set("abcdefgh")
    assert all(operation == "add" for operation in operations.values())
    assert edges == sorted(
        [("d", "e", 0, True), ("d", "f", 0, True), ("e", "g", 0, True), ("f", "g", 0, True)]
        + [("a", "b", 1, False), ("b", "c", 1, False), ("a", "c", 2, False)]
    )
    assert graph.doubtful == ()


def test_operations_come_from_labels_and_names_where_nothing_says_them(tmp_path: Path) -> None:
    text = 'digraph { 1 [label="1  %x = load i32"]; 2 [label="2 add"]; mul3; 4; 1 -> 2; 2 -> mul3 }'
    operations, _ = shape(read(tmp_path, "x.dot", text))
    assert operations == {"1": "load", "2": "add", "mul3": "mul", "4": "op"}


def test_xml_of_morpher(tmp_path: Path) -> None:
    graph = read(tmp_path, "x_PartPred_DFG.xml", MORPHER)
    operations, edges = shape(graph)
    assert operations == {"7": "load", "9": "add", "20": "store", "11": "movc"}
    assert edges == [
        ("20", "7", 1, True),
        ("7", "9", 0, False),
        ("9", "11", 0, True),
        ("9", "20", 0, False),
        ("9", "9", 1, False),
    ]
    assert graph.locate("node", 1).line == 11 and graph.locate("edge", 4).line == 22
    assert shape(read(tmp_path, "y.xml", '<?xml version="1.0"?>\n' + MORPHER)) == (operations, edges)


def test_edges_and_nodes_of_satmapit(tmp_path: Path) -> None:
    (tmp_path / "loop_nodes").write_text("0 phi 2 3 -1 40\n2 ADD 0 4 -1 1\n3 beq 2 5 -1 24\n")
    graph = read(tmp_path, "loop_edges", "0 2 0 1\n2 0 1 1\n2 3 0 1\n\n")
    assert graph.name == "loop"
    assert shape(graph) == (
        {"0": "phi", "2": "add", "3": "beq"},
        [("0", "2", 0, False), ("2", "0", 1, False), ("2", "3", 0, False)],
    )
    operations, _ = shape(read(tmp_path, "alone.txt", "0 2 0 1\n2 0 1 1\n"))
    assert operations == {"0": "op", "2": "op"}


def test_vertices_of_hiercgra(tmp_path: Path) -> None:
    text = """vertex IN.out0
    attr optype str memr.out0
vertex IN
    attr optype str memr
vertex ADD
    attr optype str add
vertex ADD.in0
    attr optype str add.in0
edge IN.out0 ADD.in0
edge ADD.out0 ADD.in1
edge ADD.in0 ADD
"""
    graph = read(tmp_path, "x_DFG.txt", text)
    assert shape(graph) == (
        {"IN": "memr", "ADD": "add"},
        [("ADD", "ADD", 1, False), ("IN", "ADD", 0, False)],
    )


def test_json_is_written_and_read_back(tmp_path: Path) -> None:
    graph = read(tmp_path, "x.xml", MORPHER)
    again = read(tmp_path, "x.json", write_json(graph))
    assert shape(again) == shape(graph) and again.name == graph.name
    assert write_json(again) == write_json(graph)


@pytest.mark.parametrize(
    ("name", "text", "line", "column", "message"),
    [
        ("a.dot", "digraph {\n a -> ;\n}", 2, 7, "a name expected"),
        ("a.dot", "digraph {\n a -> b", 2, 8, "a name expected"),
        ("a.dot", "graph { a -- b }", 1, 1, "without direction"),
        ("a.dot", "digraph G\n", 2, 1, "'{' expected"),
        ("a.dot", "digraph { a } b", 1, 15, "the end of the file expected"),
        ("a.dot", "digraph { a\n -> b [distance=x] }", 1, 11, "'distance' must be a whole number"),
        ("a.dot", "digraph { a %}", 1, 13, "nothing of the DOT language"),
        ("a.dot", "digraph { a -> b -> a [distance=0] }", 1, 11, "a cycle within one iteration"),
        ("a.dot", "digraph { }", 1, 1, "the graph has no nodes"),
        ("a.dot", "digraph " + "{" * 500, 1, 110, "nested too deeply"),
        ("a.xml", '<DFG>\n<Node idx="1">\n</DFG>', 3, 3, "mismatched tag"),
        ("a.xml", '<Node idx="1"><OP>ADD</OP><Output idx="2"/></Node>', 1, 27, "which there is not"),
        ("a.xml", '<DFG>\n<Node idx="1">\n</Node></DFG>', 2, 1, "'OP' is missing"),
        ("a.xml", '<Node idx="1">\n<Output nextiter="1"/></Node>', 2, 1, "'idx' is missing"),
        ("a.xml", '<Node idx="1">\n<Output idx="1" nextiter="x"/></Node>', 2, 1, "'nextiter' must be"),
        ("a.xml", "<Output/>", 1, 1, "outside of a 'Node'"),
        ("a.xml", "<DFG></DFG>", 1, 1, "the graph has no nodes"),
        ("a.xml", '<!DOCTYPE x [<!ENTITY a "aaa">]><x>&a;</x>', 1, 1, "not the XML of a graph"),
        ("a_edges", "0 1 0 1\n0 x 0 1", 2, 1, "'SOURCE TARGET DISTANCE LATENCY' expected"),
        ("a_edges", "0 1 -1 1", 1, 1, "distance -1"),
        ("a.json", "graph k\n  %0 = add x, y\n", 1, 1, "'--emit graph' writes it"),
        ("a.dfg", "graph k\n  %0 = add x, y\n", 1, 1, "'--emit graph' writes it"),
        ("a.macah", "int main(void) { kernel { } }\n", 1, 1, "a program, no graph"),
        ("a.txt", "vertex a\nvertices", 2, 1, "'vertex NAME'"),
        ("a.txt", "vertex a\nedge a.out0 b.in0", 2, 1, "node 'b', which there is not"),
    ],
)
def test_mistakes_are_found_where_they_are(
    name: str, text: str, line: int, column: int, message: str, tmp_path: Path
) -> None:
    with pytest.raises(GraphError) as caught:
        read(tmp_path, name, text)
    error = caught.value
    assert message in error.message and error.where is not None
    if "XML" not in message:
        assert (error.where.line, error.where.column) == (line, column)


@pytest.mark.parametrize("name", ["a.json", "a.dot", "a.xml", "a_edges", "a.txt"])
def test_whatever_a_file_holds_there_is_an_answer(name: str, tmp_path: Path) -> None:
    source = {"a.dot": CGRA_ME, "a.xml": MORPHER, "a_edges": "0 1 0 1\n1 0 1 1\n"}
    source["a.json"] = json.dumps({"nodes": [{"id": 1, "op": "x"}], "edges": [{"src": 1, "dst": 1}]})
    source["a.txt"] = "vertex a\n attr optype str add\nedge a.out0 a.in0\n"
    rng = random.Random(name)
    for _ in range(150):
        text = source[name]
        for _ in range(rng.randrange(1, 4)):
            at, length = rng.randrange(len(text)), rng.randrange(5)
            noise = "".join(rng.choice('{}[]"<>=->;:,&é\n 01a') for _ in range(rng.randrange(3)))
            text = text[:at] + noise + text[at + length :]
        try:
            read(tmp_path, name, text)
        except GraphError as error:
            assert error.where is not None and error.where.line >= 1
