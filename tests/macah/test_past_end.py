"""Loops that end with a stream do not wait for the answer whether it has ended, and do the same."""

from pathlib import Path

import pytest
from kernels import outcome, outcome_of_graph

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG, Const
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
HEADER = """void end(int stream s) { pstream_close(s); }
void f(int stream in, int stream other, int stream out, int n) { kernel { int x = 0, y = 0, w = 0;
"""

IDIOMS = {
    "asked first": "while (!pstream_ended(in)) { x <? in; out <! x * 3; }",
    "asked behind": "for (x <? in; !pstream_ended(in); x <? in) out <! x * 3;",
    "asked where nothing came": """for (;;) {
      w :: x <? in;
      if (!w) { if (pstream_ended(in)) break; continue; }
      out <! x * 3;
    }""",
    "asked at the end": "do { w :: x <? in; if (w) out <! x * 3; } while (w || !pstream_ended(in));",
    "a value that nothing sends": "for (;;) { x = -1; x <? in; if (x < 0) break; out <! x * 3; }",
}


def graph(body: str, directory: Path) -> DFG:
    """The graph of a kernel, after it was seen to do what the kernel does, some dead iterations included."""
    source = directory / "p.macah"
    source.write_text(HEADER + body + "}}\n")
    program = read_program(source)
    kernel = lower(program, program.kernels[0])
    dfg = build_dfg(optimize(kernel), FABRIC)
    for count in (0, 1, 2, 7):
        words = [(k * 37 % 11,) for k in range(count)]
        inputs = {"in": words, "other": words[::2]}
        used = {capture.stream.name for capture in kernel.streams}
        inputs = {name: elements for name, elements in inputs.items() if name in used}
        data = {"scalars": {"n": 3}, "arrays": {}, "inputs": inputs}
        assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data)
    return dfg


@pytest.mark.parametrize("name", IDIOMS)
def test_an_element_takes_no_more_cycles_than_its_port(name: str, tmp_path: Path) -> None:
    assert minimum_interval(graph(IDIOMS[name], tmp_path), FABRIC).mii == 2


def guards(dfg: DFG, stream: str) -> list[object]:
    """What the receives from a stream wait for."""
    return [n.operands[1] for n in dfg.nodes if n.op == "recv" and dfg.streams[n.stream].name == stream]


def test_who_ends_for_another_reason_receives_no_more(tmp_path: Path) -> None:
    dfg = graph("while (!pstream_ended(in) && x != 4) { x <? in; out <! x; }", tmp_path)
    assert Const(1) not in guards(dfg, "in")


def test_another_stream_is_received_from_only_while_the_loop_runs(tmp_path: Path) -> None:
    dfg = graph("while (!pstream_ended(in)) { x <? in; y <? other; out <! x + y; }", tmp_path)
    assert guards(dfg, "in") == [Const(1)]
    assert Const(1) not in guards(dfg, "other")


def test_a_receive_under_a_condition_keeps_it(tmp_path: Path) -> None:
    dfg = graph("while (!pstream_ended(in)) { x <? in; if (x & 1) y <? in; out <! x + y; }", tmp_path)
    assert guards(dfg, "in").count(Const(1)) == 1


def test_one_of_two_loops_that_ends_with_its_stream(tmp_path: Path) -> None:
    graph("while (!pstream_ended(in)) { x <? in; out <! x; } for (int i = 0; i < n; i++) out <! i;", tmp_path)
    graph("for (int i = 0; i < n; i++) out <! i; while (!pstream_ended(in)) { x <? in; out <! x; }", tmp_path)


def test_the_answer_is_kept_for_who_looks_at_it_later(tmp_path: Path) -> None:
    graph(
        """int e = 0;
        for (int i = 0; i < n + 4; i++) { if (i & 1) e = pstream_ended(in); x <? in; out <! x + e; }""",
        tmp_path,
    )
