"""What a variable held before it is received into comes round in no loop, unless the stream may end."""

from __future__ import annotations

from pathlib import Path

import pytest

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah.cli_parse import parse
from macah.compile import fronts
from macah.program import parse_program
from macah.stages import Stages


def interval(body: str, outside: str = "") -> tuple[int, int]:
    """The bound of the graph's interval, and its selects."""
    text = f"{outside} void f(int a[256], int stream in, int stream out, int n) {{ kernel {{ {body} }} }}"
    program = parse_program(text, Path("t.macah"))
    (front,) = fronts(program, {}, parse(["t.macah"]), Stages())
    selects = sum(node.op == "select" for node in front.dfg.nodes)
    return minimum_interval(front.dfg, load_fabric("grid8x8")).mii, selects


STEPS = "x = x * 3; x ^= x >> 3; if (x > 100) x -= 100; out <! x;"
ALWAYS = f"int x; for (int i = 0; i < n; i++) {{ x <? in; {STEPS} }}"
SOMETIMES = (
    "int x = 3, y = 0; for (int i = 0; i < n; i++) { if (a[i & 255]) { x <? in; x = abs(x); } out <! x; }"
)


@pytest.mark.parametrize("body", [ALWAYS, SOMETIMES])
def test_iterations_do_not_wait_for_what_is_overwritten(body: str) -> None:
    assert interval(body)[0] == 1


@pytest.mark.parametrize("what", ["void g(int stream s) { pstream_close(s); }", ""])
def test_streams_that_may_end_leave_the_old_value(what: str) -> None:
    asked = "" if what else "if (pstream_ended(in)) break; "
    assert interval(ALWAYS.replace("x <? in", f"{asked}x <? in"), what)[0] >= 5


def test_what_is_received_sometimes_and_kept_as_it_is_needs_no_select() -> None:
    assert interval("int x = 3; for (int i = 0; i < n; i++) { if (i & 1) x <? in; out <! x; }") == (1, 0)
