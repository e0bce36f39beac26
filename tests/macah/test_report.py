"""The report says in words and in one word what limits a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from arch.describe import load_fabric
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.report import Account, facts, report_text
from macah.todfg import build_dfg

COUNT = """int f(int n) { int s = 0;
  kernel { for (int i = 0; i < n; i++) s += i; }
  return s; }
"""
RECURRENCE = """int f(int n) { unsigned s = 1;
  kernel {
    for (int i = 0; i < n; i++)
      s = (s * 5 + 3) * 7;
  }
  return s; }
"""
STREAM = """void f(int stream in, int stream out, int n) {
  kernel { for (int i = 0; i < n; i++) { int a, b, c; a <? in; b <? in; c <? in; out <! a * b + c; } }
}
"""


@pytest.mark.parametrize(
    ("text", "arch", "word", "phrases"),
    [
        (COUNT, "grid4x4", "none", ["nothing: an iteration begins in every cycle"]),
        (
            RECURRENCE,
            "grid4x4",
            "recurrence",
            ["a recurrence: ", "p.macah:4: ", " of s", "| s = (s * 5 + 3) * 7;"],
        ),
        (COUNT, "grid2x2", "resources", ["resources: 5 operations (2 add, ", ") on 4 units"]),
        (
            STREAM,
            "grid4x4",
            "resources",
            [
                "resources: 3 operations on stream in, which has 1 port",
                "what would help      stream 'in' moves",
            ],
        ),
    ],
)
def test_what_binds_is_named(text: str, arch: str, word: str, phrases: list[str], tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(text)
    program = read_program(source)
    site = program.kernels[0]
    kernel = lower(program, site)
    mapping = map_kernel(build_dfg(optimize(kernel)), load_fabric(arch), MapOptions(seed=1))
    account = Account(site.where, kernel, mapping)
    assert facts(account)["binding"] == word
    shown = report_text([account])
    for phrase in phrases:
        assert phrase in shown
