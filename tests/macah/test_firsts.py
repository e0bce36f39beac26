"""What only the first iteration needs is not on recurrences, and graphs do the same as kernels."""

from pathlib import Path

import pytest
from kernels import outcome, outcome_of_graph

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
HEADER = """void f(int x[6], int r, int n, int stream in, int stream out) { kernel { int q = n;
"""

CHAINS = {
    "left early": """FOR (int i = 0; i < 6; i++) {
        if (x[i] == 5) break; if (x[i] == 1) continue; r = r * 10 + x[i]; }
      for (int t = 0; t < n; t++) out <! t + r;""",
    "under a condition": """if (x[0] > 2) FOR (int i = 0; i < 6; i++) r = (r ^ x[i]) * 7;
      for (int t = 0; t < n; t++) { out <! t + r; r += t; }""",
    "with another variable": """FOR (int i = 0; i < 6; i++) { r = r * 3 + q; q = q * 5 + r; }
      for (int t = 0; t < n; t++) { out <! r + q; q += 1; r ^= t; }""",
    "of what is received": """FOR (int i = 0; i < 3; i++) { int y = 0; y <? in; r = r * 3 + y; }
      for (int t = 0; t < n; t++) { out <! r; r += x[t & 3]; }""",
}


def graph(body: str, directory: Path) -> DFG:
    """The graph of a kernel, after it was seen to do what the kernel does."""
    source = directory / "p.macah"
    source.write_text(HEADER + body + "}}\n")
    program = read_program(source)
    kernel = lower(program, program.kernels[0])
    dfg = build_dfg(optimize(kernel), FABRIC)
    for words in ([3, 1, 4, 1, 5, 9], [1, 1, 1, 2, 2, 2], [5, 0, 7, 7, 7, 7]):
        for n in (0, 1, 6):
            used = {capture.stream.name for capture in kernel.streams}
            inputs = {name: elements for name, elements in {"in": [(8,), (2,), (7,)]}.items() if name in used}
            data = {"scalars": {"r": 12, "n": n}, "arrays": {"x": words}, "inputs": inputs}
            assert outcome_of_graph(kernel, dfg, data) == outcome(kernel, data)
    return dfg


@pytest.mark.parametrize("name", CHAINS)
def test_what_stands_before_a_loop_is_on_no_recurrence(name: str, tmp_path: Path) -> None:
    bounds = minimum_interval(graph(CHAINS[name], tmp_path), FABRIC)
    assert bounds.recurrence <= max(2, bounds.resource)


def test_what_is_done_again_in_each_row_stays_on_its_recurrence(tmp_path: Path) -> None:
    body = """for (int i = 0; i < 4; i++) { FOR (int k = 0; k < 6; k++) r = (r ^ x[k]) * 7;
      for (int t = 0; t < n; t++) out <! t + r; }"""
    assert minimum_interval(graph(body, tmp_path), FABRIC).recurrence > 2
