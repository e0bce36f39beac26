"""Loops that wait for what is received before them: the iterations between are empty, as between rows."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import kernels
import pytest
from kernels import outcome, outcome_after, outcome_of_graph
from out_of_order import run_out_of_order
from test_lower import lowered

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from macah import ir
from macah.passes.pipeline import optimize
from macah.spread import spread
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
NESTS = {
    "count": """int c = 0, s = 0; c <? in;
                for (int i = 0; i < c; i++) { int x = 5; x <? in; s += x; out <! s; } out <! -1;""",
    "two": """int c = 1, d = 6, s = 3; c <? in; d <? in;
              for (int i = d & 3; i < c; i += 2) { int x = 9; x <? in; s = s * 3 + x; }
              out <! s; out <! d;""",
    "tested": """int c = 0, k = 0, j = 0; c <? in;
                 do { int x = 2; x <? in; k ^= x; out <! k; } while (k != c && ++j < 9); out <! c;""",
    "stored": """int t[8] = {0}, c = 0; c <? in; t[c & 7] = n; t[n & 7] += 2;
                 for (int i = 0; i < c; i++) { int x = 1; x <? in; t[x & 7] += t[i & 7]; out <! t[x & 7]; }
                 out <! t[c & 7];""",
    "tried": "int c = 2, w; w :: c <? in; for (int i = 0; i < c + w; i++) { int x = 1; x <? in; out <! x; }",
    "unless": """int c = 4, k; if (n > 1) c <? in; else out <! 7;
                 for (k = c / 3; k > 0; k--) { int x = k; if (x & 1) x <? in; out <! x + n; } out <! k;""",
    "sent": """int c = 3; c <? in; out <! c; n = c;
               for (unsigned i = n; i != 0; i >>= 1) out <! i * c; out <! n;""",
    "long": "int c = 0; c <? in; for (long long i = 5; i < c + 5; i += 3) { out <! i; out <! i >> 2; }",
    "down": "int c = 0; c <? in; for (unsigned i = 100; i > 100 - (c & 7); i--) out <! i;",
    "asked": "int i = 2, c = 0; c <? in; out <! i; for (; i < c; i++) out <! i * i; out <! i;",
    "filled": """int t[8], c = 0; c <? in;
                 for (int i = 0; i < (c & 7); i++) { int x = 4; x <? in; t[i] = x; n += t[i / 2]; }
                 out <! n;""",
}
"""Each receives before its only loop."""


def kernel(body: str) -> ir.Kernel:
    return lowered(f"void f(int stream in, int stream out, int n) {{ kernel {{ {body} }} }}")


def graph(made: ir.Kernel) -> DFG:
    return build_dfg(optimize(made), FABRIC)


def inputs(seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    words = [(chance.choice((0, 1, 2, 3, 5, 9, 2**32 - 1)),) for _ in range(chance.choice((0, 1, 2, 40)))]
    return {"scalars": {"n": chance.randint(0, 3)}, "arrays": {}, "inputs": {"in": words}}


@pytest.mark.sweep(12)
@pytest.mark.quick(6)
@pytest.mark.parametrize("delay", [1, 2, 3, 8])
@pytest.mark.parametrize("name", NESTS)
def test_with_any_delay_it_does_the_same(name: str, delay: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = kernel(NESTS[name])
    final = optimize(replace(made, delay=delay))
    assert final != optimize(made)
    dfg = build_dfg(final)
    for seed in range(12):
        expected = outcome(made, inputs(seed))
        assert outcome_after(made, final, inputs(seed)) == expected
        assert outcome_of_graph(made, dfg, inputs(seed)) == expected
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "run_dfg", lambda dfg, *data: run_out_of_order(dfg, seed, *data))  # noqa: B023
            assert outcome_of_graph(made, dfg, inputs(seed)) == expected


@pytest.mark.slow
def test_the_length_that_comes_first_holds_up_no_iteration() -> None:
    made = kernel(NESTS["count"])
    assert minimum_interval(graph(made), FABRIC).mii == 4
    choice = spread(kernel(NESTS["count"].replace("out <! s;", "").replace("-1", "s")), FABRIC)
    assert choice is not None and choice.kernel.delay > 0 and choice.bounds.mii == 1
    assert [node.op for node in choice.dfg.nodes].count("recv") == 1  # either acts in other iterations


def test_loops_that_wait_for_nothing_get_no_empty_iterations() -> None:
    for body in (
        "int c = n; for (int i = 0; i < c; i++) { int x; x <? in; out <! x; }",
        "int c; c <? in; for (int i = 0; i < 100; i++) out <! i + c;",
    ):
        choice = spread(kernel(body), FABRIC)
        assert choice is not None and choice.kernel.delay == 0 and choice.bounds.mii == 1
