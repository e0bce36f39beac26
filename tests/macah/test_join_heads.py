"""What is done with a stream before a loop and at the end of its body is done once, where it is the same."""

from pathlib import Path

import pytest
from kernels import outcome, outcome_after, outcome_of_graph

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah import ir
from macah.lower import lower
from macah.passes.inline_calls import inline_calls
from macah.passes.join_heads import join_heads
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.todfg import build_dfg
from macah.walk import statements

FABRIC = load_fabric("grid8x8")
HEADER = """typedef struct { short a; int b; } Two;
static int next(int stream s) { int x = -1; x <? s; return x * 2; }
void f(int stream in, Two stream two, int stream out, int n) { kernel { int x = 0, w = 0; Two t = {1, 2};
"""


def kernel(body: str, directory: Path) -> ir.Kernel:
    source = directory / "p.macah"
    source.write_text(HEADER + body + "}}\n")
    program = read_program(source)
    return lower(program, program.kernels[0])


def receives(made: ir.Kernel) -> int:
    """How many receives the pass leaves; the kernel does the same as before, and so does its graph."""
    joined = join_heads(inline_calls(made))
    dfg = build_dfg(optimize(made), FABRIC)
    for count in (0, 1, 5):
        inputs = {"in": [(k * 37 % 11,) for k in range(9)], "two": [(k, 3 - k) for k in range(9)]}
        used = {capture.stream.name for capture in made.streams}
        inputs = {name: elements for name, elements in inputs.items() if name in used}
        data = {"scalars": {"n": count}, "arrays": {}, "inputs": inputs}
        wanted = outcome(made, data)
        assert outcome_after(made, joined, data) == wanted
        assert outcome_of_graph(made, dfg, data) == wanted
    return sum(isinstance(stmt, ir.Receive) for stmt in statements(joined.body))


@pytest.mark.parametrize(
    "body",
    [
        "for (x <? in; x != 4; x <? in) out <! x;",
        "x <? in; while (x != 4) { out <! x; x <? in; }",
        "for (x <? in; x != 4; x <? in) { if (x == 7) continue; if (x == 8) break; out <! x; }",
        "for (w :: x <? in; w; w :: x <? in) out <! x;",
        "for (t <? two; t.b > 0; t <? two) out <! t.a;",
        "for (x = next(in); x >= 0; x = next(in)) out <! x;",
        "for (x <? in; !pstream_ended(in); x <? in) out <! x;",
        """for (int i = 0; i < n; i++) {
          for (x <? in; x > 4; x <? in) { out <! x; if (pstream_ended(in)) break; }
        }""",
    ],
)
def test_one_receive_for_two(body: str, tmp_path: Path) -> None:
    assert receives(kernel(body, tmp_path)) == 1


@pytest.mark.parametrize(
    "body",
    [
        "for (x <? in; x != 4; w <? in) { out <! x; x += w + 3; if (x > 40) break; }",
        "x <? in; out <! x; while (x != 4) { x <? in; if (pstream_ended(in)) break; }",
        "x <? in; while (x != 4) { if (x == 7) { x <? in; } else x = 4; }",
    ],
)
def test_what_is_not_the_same_stays(body: str, tmp_path: Path) -> None:
    assert receives(kernel(body, tmp_path)) == 2


@pytest.mark.parametrize(
    "body",
    ["for (x <? in; x >= 0; x <? in) out <! x * 3;", "for (w <? in; w != 7; w <? in) out <! w;"],
)
def test_the_interval_of_a_loop_that_ends_at_what_it_receives(body: str, tmp_path: Path) -> None:
    assert minimum_interval(build_dfg(optimize(kernel(body, tmp_path)), FABRIC), FABRIC).mii == 2
