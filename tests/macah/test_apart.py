"""Flags of which never two are set tell operations apart that follow them."""

from __future__ import annotations

import random

import pytest
from kernels import outcome, outcome_of_graph
from test_lower import lowered

from arch.describe import load_fabric
from macah.passes.pipeline import optimize
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
SENDS = "if (a) out <! x; if (b) out <! x * 3; if (c) out <! 7;"
TURNS = "if (x & 1) { int t = c; c = b; b = a; a = t; }"
JUMPS = "if (x == 2) { b = a | b | c; a = c = 0; } else if (x == 3 && b) { b = 0; c = 1; }"


@pytest.mark.parametrize(
    ("flags", "step", "sends"),
    [
        ("a = 1, b = 0, c = 0", TURNS, 1),
        ("a = 1, b = 0, c = 0", JUMPS, 1),
        ("a = 1, b = 1, c = 0", TURNS, 3),
        ("a = 1, b = 0, c = n == 1", TURNS, 3),
        ("a = 1, b = 0, c = 0", TURNS + "if (x == 5) c = 1;", 3),
    ],
)
def test_sends_that_follow_flags(flags: str, step: str, sends: int) -> None:
    loop = f"for (int i = 0; i < n; i++) {{ int x = 0; x <? in; {SENDS} {step} }}"
    made = lowered(f"void f(int stream in, int stream out, int n) {{ kernel {{ int {flags}; {loop} }} }}")
    dfg = build_dfg(optimize(made), FABRIC)
    assert [node.op for node in dfg.nodes].count("send") == sends
    for seed in range(6):
        chance = random.Random(seed)
        words = [(chance.randrange(7),) for _ in range(40)]
        data = {"scalars": {"n": chance.choice((1, 2, 30))}, "arrays": {}, "inputs": {"in": words}}
        assert outcome_of_graph(made, dfg, data) == outcome(made, data)
