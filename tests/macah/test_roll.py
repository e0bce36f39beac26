from dataclasses import replace
from pathlib import Path

import pytest

from arch.describe import load_fabric
from macah import ir
from macah.lower import lower
from macah.passes.pipeline import opened, optimize
from macah.program import read_program
from macah.roll import rollings
from macah.run import run_kernel
from macah.spread import MOST_NODES, spread

FABRIC = load_fabric("grid8x8")
HISTOGRAM = """
    int h[32];
    FOR (int i = 0; i < 32; i++) h[i] = i;
    for (int i = 0; i < n; i++) { int x; x <? in; h[x & 31] += x; }
    FOR (int i = 0; i < 32; i++) out <! h[i];"""
LEAVES = HISTOGRAM.replace("out <!", "if (i == 20) break; else if (i & 1) continue; else out <!")
PRODUCT = """
    int a[6][6];
    for (int b = 0; b < n; b++) {
      for (int i = 0; i < 6; i++) for (int j = 0; j < 6; j++) a[i][j] <? in;
      FOR (int i = 0; i < 6; i++) FOR (int j = 0; j < 6; j++) {
        int sum = 0;
        FOR (int t = 0; t < 6; t++) sum += a[i][t] * a[t][j];
        out <! sum;
      }
    }"""
FIR = """
    int t[8], x;
    FOR (int i = 0; i < 8; i++) t[i] = 0;
    for (int i = 0; i < n; i++) {
      int sum = 0;
      FOR (int k = 7; k > 0; k--) t[k] = t[k - 1];
      t[0] <? in;
      FOR (int k = 0; k < 8; k++) sum += t[k] * (k + 3);
      out <! sum;
    }"""


PHASES = """
    for (int b = 0; b < n; b++) {
      int t[8][8];
      for (int r = 0; r < 8; r++)
        FOR (int k = 0; k < 8; k++) t[r][k] <? in;
      for (int k = 0; k < 8; k++)
        for (int u = 0; u < 8; u++) {
          int a = 0;
          FOR (int i = 0; i < 8; i++) a += t[i][k] * (i + u);
          out <! a;
        }
    }"""


def lowered(body: str, folder: Path) -> ir.Kernel:
    source = folder / "p.macah"
    source.write_text(f"void f(int stream in, int stream out, int n) {{ kernel {{ {body} }} }}\n")
    program = read_program(source)
    return lower(program, program.kernels[0])


def lines(kernel: ir.Kernel, everywhere: bool = False) -> list[list[int]]:
    return [[place.line for place in places] for places in rollings(kernel, everywhere)]


def test_loops_beside_plain_ones_are_tried_and_those_of_an_iteration_are_not(tmp_path: Path) -> None:
    assert lines(lowered(HISTOGRAM, tmp_path)) == [[3, 5]]
    assert lines(lowered(PRODUCT, tmp_path)) == [[5, 5], [5, 5, 7]]
    assert lines(lowered(FIR, tmp_path)) == [[3]]
    assert lines(lowered(PHASES, tmp_path)) == [[5]]
    assert lines(lowered(FIR, tmp_path), everywhere=True) == [[3, 6, 8]]
    assert not lines(lowered("int s = 0; FOR (int i = 0; i < 4; i++) s += i; out <! s;", tmp_path))


@pytest.mark.parametrize("body", [HISTOGRAM, LEAVES, PRODUCT, FIR, PHASES])
def test_a_plain_loop_does_the_same(body: str, tmp_path: Path) -> None:
    kernel = lowered(body, tmp_path)
    forms = [replace(kernel, rolled=places) for places in rollings(kernel, everywhere=True)]
    for n in (0, 1, 2):
        inputs = {"in": [(k * 37 % 100,) for k in range(160)]}
        expected = run_kernel(kernel, {"n": n}, inputs=inputs).outputs
        for form in forms:
            assert run_kernel(opened(form), {"n": n}, inputs=inputs).outputs == expected
            assert run_kernel(optimize(form), {"n": n}, inputs=inputs).outputs == expected


@pytest.mark.slow
@pytest.mark.parametrize(("body", "most"), [(HISTOGRAM, 2), (PRODUCT, 6)])
def test_what_is_done_once_does_not_hold_up_what_is_done_often(body: str, most: int, tmp_path: Path) -> None:
    kernel = lowered(body, tmp_path)
    choice = spread(kernel, FABRIC)
    assert choice is not None and choice.kernel.rolled and choice.bounds.mii <= most
    without = spread(replace(kernel, without=frozenset({"roll_for", "roll_transfers"})), FABRIC)
    assert without is not None and not without.kernel.rolled and without.cycles > 4 * choice.cycles


def test_receives_of_one_loop_do_not_hold_up_the_others(tmp_path: Path) -> None:
    kernel = lowered(PHASES, tmp_path)
    choice, without = spread(kernel, FABRIC), spread(replace(kernel, without=frozenset({"roll_for"})), FABRIC)
    assert choice is not None and choice.kernel.rolled and choice.bounds.mii == 2
    assert without is not None and without.interval == 8 and without.cycles > 1.2 * choice.cycles


@pytest.mark.slow
def test_what_every_iteration_does_stays_unrolled_unless_it_does_not_fit(tmp_path: Path) -> None:
    kernel = lowered(FIR.replace("8", "96").replace("= 7", "= 95"), tmp_path)
    choice, small = spread(kernel, FABRIC), spread(kernel, FABRIC, most=80)
    assert choice is not None and not choice.kernel.rolled and choice.cycles < 400
    assert small is not None and small.kernel.rolled and len(small.dfg.nodes) <= 80 < len(choice.dfg.nodes)


def test_what_a_plain_loop_receives_does_not_come_round(tmp_path: Path) -> None:
    body = """int k[4];
    FOR (int i = 0; i < 4; i++) k[i] <? in;
    for (int i = 0; i < n; i++) { int x; x <? in; out <! x ^ k[i & 3]; }"""
    choice = spread(lowered(body, tmp_path), FABRIC)
    assert choice is not None and choice.kernel.rolled and choice.bounds.mii == 1


@pytest.mark.slow
def test_copies_of_an_iteration_that_are_too_many_to_be_mapped_become_loops(tmp_path: Path) -> None:
    copy = "FOR (int i = 0; i < 12; i++) FOR (int j = 0; j < 12; j++)"
    body = f"""int a[12][12], b[12][12];
    {copy} a[i][j] = i * j;
    for (int g = 0; g < n; g++) {{
      {copy} b[i][j] = a[i][j];
      b[g & 7][n & 7] += 1;
      {copy} a[i][j] = b[i][j];
    }}
    for (int i = 0; i < 12; i++) out <! a[i][n & 7];"""
    choice = spread(lowered(body, tmp_path), FABRIC)
    assert choice is not None and len(choice.dfg.nodes) <= MOST_NODES and choice.interval <= 8
