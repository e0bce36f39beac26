"""A close behind a send is a part of it, where that is the same."""

from dataclasses import replace
from pathlib import Path

import pytest
from kernels import outcome, outcome_of_graph

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.run_dfg import run_dfg
from macah import ir
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.run import run_kernel
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
HEADER = """typedef struct { int a, b; } Two;
void f(int stream in, int stream out, Two stream two, int n) { kernel { int x = 0; Two t = {1, 2};
"""


def graph(body: str, directory: Path) -> tuple[ir.Kernel, DFG]:
    """The graph of a kernel, after it was seen to send and close what the kernel does."""
    source = directory / "p.macah"
    source.write_text(HEADER + body + "}}\n")
    program = read_program(source)
    kernel = lower(program, program.kernels[0])
    made = optimize(kernel)
    dfg = build_dfg(made, FABRIC)
    for count in (0, 1, 2, 7):
        words = [k * 37 % 11 for k in range(9)]
        data = {"scalars": {"n": count}, "arrays": {}, "inputs": {"in": [(word,) for word in words]}}
        assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data)
        inputs = {s: words for s, port in enumerate(dfg.streams) if not port.sends}
        closed = run_dfg(dfg, [count] * len(dfg.live_ins), inputs).closed
        closes = {dfg.streams[s].name for s in closed if dfg.streams[s].sends}
        assert closes == run_kernel(kernel, **data).closed & {"out", "two"}
    return made, dfg


def ops(dfg: DFG) -> list[str]:
    return sorted(node.op for node in dfg.nodes if node.op in ("send", "close", "send_close"))


def test_a_close_behind_a_loop(tmp_path: Path) -> None:
    _, dfg = graph("for (int i = 0; i < n; i++) { x <? in; out <! x; } pstream_close(out);", tmp_path)
    assert ops(dfg) == ["send_close"]
    assert minimum_interval(dfg, FABRIC).mii == 1


def test_a_send_before_the_close_that_may_happen_in_the_same_iteration(tmp_path: Path) -> None:
    _, dfg = graph("do { x <? in; if (x & 1) out <! x; } while (--n > 0); pstream_close(out);", tmp_path)
    assert ops(dfg) == ["send_close"]


def test_the_last_word_of_an_element_closes(tmp_path: Path) -> None:
    _, dfg = graph("do { x <? in; t.a = x; two <! t; } while (--n > 0); pstream_close(two);", tmp_path)
    assert ops(dfg) == ["send", "send_close"]
    assert minimum_interval(dfg, FABRIC).mii == 2


@pytest.mark.parametrize(
    "body",
    [
        "do { x <? in; if (x == 4) pstream_close(out); else two <! t; } while (--n > 0);",
        "pstream_close(out); do { x <? in; two <! t; } while (--n > 0);",
    ],
)
def test_a_close_with_no_send_before_it_stays(body: str, tmp_path: Path) -> None:
    _, dfg = graph(body, tmp_path)
    assert "close" in ops(dfg)
    assert "send_close" not in ops(dfg)


def test_streams_in_order_wait_for_no_later_answer(tmp_path: Path) -> None:
    body = "do { out <! x; x <? in; if (x == 4) pstream_close(out); } while (x != 4 && --n > 0);"
    source = tmp_path / "p.macah"
    source.write_text(HEADER + body + "}}\n")
    program = read_program(source)
    kernel = optimize(replace(lower(program, program.kernels[0]), ordered=True))
    assert ops(build_dfg(kernel, FABRIC)) == ["close", "send"]
