import random
from dataclasses import replace
from pathlib import Path

import pytest

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah import ir
from macah.lower import lower
from macah.passes import fuse_loops
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.run import run_kernel
from macah.spread import spread
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
ROWS = """
    int line[64];
    for (int b = 0; b < n; b++) {
      for (int i = 0; i < w; i++) line[i] <? in;
      for (int i = 0; i < w; i++) out <! line[w - 1 - i];
    }"""
SUMS = """
    for (int b = 0; b < n; b++) {
      int sum = b, i;
      for (i = 1; i < w; i++) { int x; x <? in; sum += x; }
      sum = sum * 3 + i;
      for (int k = 0; k < 3; k++) out <! sum + k;
    }"""
DOWN = """
    for (int b = 0; b < n; b++) {
      int sum = 0;
      for (int i = w; i > 0; i--) { int x; x <? in; sum += x * i; }
      if (sum & 1) sum = -sum;
      for (int i = 0; i < w; i++) out <! sum + i;
      out <! 7;
    }"""
FOUND = """
    int a[16];
    for (int b = 0; b < n; b++) {
      int m; m <? in;
      for (int i = 0; i < (m & 7); i++) a[i] <? in;
      for (int i = (m & 7) - 1; i >= 0; i--) out <! a[i];
    }"""
BEGUN = """
    int s = 0, a[16];
    for (int b = 0; b < n; b++) {
      for (int i = 0; i < w; i++) { int x; x <? in; out <! x; }
      for (int j = s; j < w; j++) { a[j] = b; s += 2; out <! s; }
      out <! a[b];
      s = b;
    }"""
KERNELS = {"rows": ROWS, "sums": SUMS, "down": DOWN, "found": FOUND, "begun": BEGUN}
NOT_KNOWN = {
    "ends as its data say": "for (int i = 0; i < w && sum < 9; i++) { int x; x <? in; sum += x; }",
    "ends at what the first loop finds": "for (int i = 0; i < sum; i++) { int x; x <? in; }",
    "goes on where the first loop ends": "for (; k < 9; k++) out <! k;",
    "may not end": "for (unsigned i = 0; i <= (unsigned)w; i++) { int x; x <? in; sum += x; }",
}


def lowered(body: str, folder: Path) -> ir.Kernel:
    source = folder / "p.macah"
    source.write_text(f"void f(int stream in, int stream out, int n, int w) {{ kernel {{ {body} }} }}\n")
    program = read_program(source)
    return lower(program, program.kernels[0])


def chains(kernel: ir.Kernel, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each sequence of loops that is asked for, whether it gets one counter."""
    found, real = list[bool](), fuse_loops.chain

    def noted(*given: object) -> object:
        made = real(*given)  # type: ignore[arg-type]
        found.append(made is not None)
        return made

    monkeypatch.setattr(fuse_loops, "chain", noted)
    optimize(replace(kernel, chained=True))
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_a_chain_does_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = lowered(KERNELS[name], tmp_path)
    assert any(chains(kernel, monkeypatch))
    forms = [optimize(kernel)]
    forms += [
        optimize(replace(kernel, chained=True, row=row, delay=d)) for row, d in ((0, 0), (3, 0), (0, 2))
    ]
    for n, w in [(0, 3), (1, 0), (3, 0), (2, 1), (3, 2), (3, 5), (4, 9), (2, -4), (-1, 2)]:
        inputs = {"in": [(random.Random(n * w + k).randrange(50),) for k in range(60)]}
        given = {"n": n, "w": w % 2**32}
        expected = run_kernel(kernel, given, inputs=inputs).outputs
        assert [run_kernel(form, given, inputs=inputs).outputs for form in forms] == [expected] * len(forms)


@pytest.mark.parametrize("first", NOT_KNOWN)
def test_what_is_not_known_where_the_first_loop_begins_gets_no_counter(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = f"""for (int b = 0; b < n; b++) {{
      int sum = 0, k = 0;
      for (int i = 0; i < w; i++) {{ int x; x <? in; sum += x; k++; }}
      {NOT_KNOWN[first]}
      out <! sum;
    }}"""
    assert not any(chains(lowered(body, tmp_path), monkeypatch))


def test_nothing_is_counted_that_might_wrap_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = "for (int i = 0; i < w; i++) { int x; x <? in; sum += x; }"
    body = f"for (int b = 0; b < n; b++) {{ int sum = 0; {loop} {loop} LAST out <! sum; }}"
    assert any(chains(lowered(body.replace("LAST", ""), tmp_path), monkeypatch))
    assert not any(chains(lowered(body.replace("LAST", loop), tmp_path), monkeypatch))


def test_loops_of_rows_reach_the_interval_of_a_single_one(tmp_path: Path) -> None:
    choice = spread(lowered(ROWS, tmp_path), FABRIC)
    assert choice is not None and choice.kernel.chained and choice.bounds.mii == 1


def test_a_chain_that_waits_for_what_is_received_may_have_empty_iterations(tmp_path: Path) -> None:
    chained = replace(lowered(FOUND, tmp_path), chained=True)
    plain, delayed = (
        minimum_interval(build_dfg(optimize(replace(chained, delay=delay)), FABRIC), FABRIC).mii
        for delay in (0, 6)
    )
    assert delayed == 2 < plain
