import random
from dataclasses import replace
from pathlib import Path

import pytest

from arch.describe import load_fabric
from macah import ir
from macah.lower import lower
from macah.passes.pipeline import opened, optimize
from macah.passes.roll_transfers import MOST, roll_transfers, rolls
from macah.program import read_program
from macah.run import run_kernel
from macah.spread import spread
from macah.walk import statements

FABRIC = load_fabric("grid8x8")
STATISTICS = """
    int sum = 0, low = 99, high = -1;
    for (int i = 0; i < n; i++) {
      int x; x <? in;
      sum += x; if (x < low) low = x; if (x > high) high = x;
    }
    out <! sum; out <! low; out <! high;"""
HEADER = """
    int scale = 3, offset = 4, last = 5;
    scale <? in; int twice = scale * 2; offset <? in; last <? in;
    for (int i = 0; i < n; i++) { int x; x <? in; out <! x * twice + offset + last; }"""

PEAKS = """
    int scale, before = 0, here = 0, found = 0;
    scale <? in;
    out <! scale;
    for (int i = 0; i < 90; i++) {
      int x; x <? in;
      if (here > before && here > x) { out <! here * scale + i; found++; }
      before = here; here = x;
    }
    out <! -1; out <! found;"""


def lowered(body: str, folder: Path) -> ir.Kernel:
    source = folder / "p.macah"
    source.write_text(f"void f(int stream in, int stream out, int n) {{ kernel {{ {body} }} }}\n")
    program = read_program(source)
    return lower(program, program.kernels[0])


def opened_and_rolled(body: str, folder: Path) -> tuple[ir.Kernel, ir.Kernel]:
    """A kernel before the pass and after it, which does the same whatever streams hold."""
    plain = opened(lowered(body, folder))
    rolled = roll_transfers(replace(plain, by_turns=True))
    for n, count in [(0, 9), (1, 9), (4, 9), (4, 0), (4, 2), (7, 5), (-1, 1)]:
        inputs = {"in": [(random.Random(n + k).randrange(50),) for k in range(count)]}
        runs = [run_kernel(kernel, {"n": n}, inputs=inputs) for kernel in (plain, rolled, optimize(rolled))]
        assert runs[0].outputs == runs[1].outputs == runs[2].outputs
    return plain, rolled


def count(kernel: ir.Kernel, what: type) -> int:
    return sum(isinstance(stmt, what) for stmt in statements(kernel.body))


def test_sends_behind_a_loop_become_one_in_a_loop(tmp_path: Path) -> None:
    plain, rolled = opened_and_rolled(STATISTICS, tmp_path)
    assert (count(plain, ir.Send), count(rolled, ir.Send)) == (3, 1)


def test_receives_before_a_loop_become_one_in_a_loop(tmp_path: Path) -> None:
    plain, rolled = opened_and_rolled(HEADER, tmp_path)
    assert (count(plain, ir.Receive), count(rolled, ir.Receive)) == (4, 2)


@pytest.mark.parametrize(
    "body",
    [
        "int a; a <? in; a <? in; for (int i = 0; i < n; i++) { int x; x <? in; out <! x + a; }",
        "int a, b; a <? in; b = a; b <? in; for (int i = 0; i < n; i++) { int x; x <? in; out <! x + b; }",
        "for (int i = 0; i < n; i++) { out <! i; out <! i + 1; }",
        "out <! 1; out <! 2;",
        "for (int i = 0; i < n; i++) { int x; x <? in; out <! x; } out <! 1; pstream_close(out);",
        "for (int i = 0; i < n; i++) { int x; x <? in; } int w = 1; w :: out <! 5; w :: out <! w;",
    ],
)
def test_what_is_used_in_between_or_in_no_loop_or_does_not_wait_stays(body: str, tmp_path: Path) -> None:
    plain, rolled = opened_and_rolled(body, tmp_path)
    assert rolled.body == plain.body and not rolls(plain)


def test_what_stands_in_branches_beside_loops_is_rolled(tmp_path: Path) -> None:
    body = STATISTICS.replace("out <! sum; out <! low;", "if (sum > 60) { out <! sum; out <! low; }")
    plain, rolled = opened_and_rolled(body, tmp_path)
    assert (count(plain, ir.Send), count(rolled, ir.Send)) == (3, 2)


def test_stores_in_between_are_seen_by_later_values_and_not_by_earlier_ones(tmp_path: Path) -> None:
    body = STATISTICS.replace(
        "out <! low;", "int t[20]; t[low & 15] = low; out <! t[low & 15]; t[low & 15] = 7;"
    )
    assert count(opened_and_rolled(body, tmp_path)[1], ir.Send) == 1


def test_no_loop_moves_more_than_a_few(tmp_path: Path) -> None:
    body = STATISTICS + "out <! low;" * MOST
    assert count(opened_and_rolled(body, tmp_path)[1], ir.Send) == 2


def test_a_kernel_gets_such_loops_where_that_saves_cycles(tmp_path: Path) -> None:
    choice = spread(lowered(STATISTICS, tmp_path), FABRIC)
    assert choice is not None and choice.kernel.by_turns and choice.bounds.mii == 1
    once = spread(lowered(STATISTICS.replace("i < n", "i < 2"), tmp_path), FABRIC)
    assert once is not None and not once.kernel.by_turns


def test_such_loops_are_chosen_where_ports_allow_no_shorter_interval_though_more_than_half_of_units_work(
    tmp_path: Path,
) -> None:
    choice = spread(lowered(PEAKS, tmp_path), FABRIC)
    assert choice is not None and choice.kernel.by_turns and choice.bounds.mii == 1
    assert choice.interval == 2  # where half of the units stay free, as without such a loop
