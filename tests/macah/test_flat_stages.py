"""Kernels of several loops in sequence, some of them nests, that run as often as their data say."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from out_of_order import run_out_of_order

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah import ir
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.run import run_kernel
from macah.spread import spread
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
ROWS = """
    int start[20], values[200];
    start[0] = 0;
    for (int r = 0; r < n; r++) { int len; len <? lengths; start[r + 1] = start[r] + len; }
    int total = start[n];
    for (int i = 0; i < total; i++) values[i] <? in;
    for (int r = 0; r < n; r++) {
      int s = r;
      for (int k = start[r]; k < start[r + 1]; k++) s = s + values[k] * (k - start[r] + 1);
      out <! s;
    }"""
FRAMES = """
    int a[16];
    for (int f = 0; f < n; f++) {
      int m; m <? in;
      for (int i = 0; i < m; i++) a[i] <? in;
      int sum = 0;
      for (int i = 0; i < m; i++) for (int j = i; j < m; j++) sum += a[i] * a[j];
      for (int i = 0; i < m; i++) out <! a[i] ^ sum;
    }"""
REVERSE = """
    int a[16];
    for (int f = 0; f < n; f++) {
      int m; m <? in;
      for (int i = 0; i < m; i++) a[i] <? in;
      for (int i = m - 1; i >= 0; i--) out <! a[i];
    }"""
PRODUCT = """
    int v[16], m; m <? in;
    for (int j = 0; j < m; j++) v[j] <? in;
    for (int i = 0; i < n; i++) {
      int s = 0;
      for (int j = 0; j < m; j++) { int x; x <? in; s += x * v[j]; }
      out <! s;
    }"""
MATRIX = """
    int b[9][9], c[9][9];
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { int x; x <? in; b[i][j] = x; }
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        int s = 0;
        for (int k = 0; k < n; k++) s += b[i][k] * b[k][j];
        c[j][i] = s;
      }
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) out <! c[i][j];"""
SPARSE = """
    int v[64];
    for (int i = 0; i < 64; i++) v[i] <? in;
    for (int r = 0; r < n; r++) {
      int m; m <? in;
      int s = 0;
      for (int k = 0; k < m; k++) { int x; x <? in; s += (x >> 6) * v[x & 63]; }
      out <! s;
    }"""
KERNELS = {
    "rows": ROWS,
    "frames": FRAMES,
    "reverse": REVERSE,
    "product": PRODUCT,
    "matrix": MATRIX,
    "sparse": SPARSE,
}
FORMS: tuple[dict[str, Any], ...] = ({}, {"entered": True}, {"delay": 1}, {"delay": 3, "entered": True})


def lowered(name: str, folder: Path) -> ir.Kernel:
    source, body = folder / "p.macah", KERNELS[name]
    source.write_text(
        f"void f(int stream lengths, int stream in, int stream out, int n) {{ kernel {{ {body} }} }}\n"
    )
    program = read_program(source)
    return lower(program, program.kernels[0])


def given(name: str, n: int, seed: int) -> dict[str, list[int]]:
    """What such a kernel receives; lengths are often 0."""
    choices = random.Random(seed)
    lengths = [choices.choice((0, 0, 1, 2, 5, 9)) for _ in range(max(n, 0))]
    if name == "rows":
        return {"lengths": lengths, "in": [choices.randrange(99) for _ in range(sum(lengths))]}
    if name == "product":
        m = choices.choice((0, 1, 2, 5))
        return {"in": [m, *(choices.randrange(99) for _ in range(m + m * max(n, 0)))]}
    if name == "matrix":
        return {"in": [choices.randrange(99) for _ in range(max(n, 0) ** 2)]}
    first = [choices.randrange(99) for _ in range(64 if name == "sparse" else 0)]
    words = [word for m in lengths for word in (m, *(choices.randrange(99) for _ in range(m)))]
    return {"in": first + words}


@pytest.mark.quick(6)
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_the_results_are_the_same(name: str, form: dict[str, Any], tmp_path: Path) -> None:
    made = lowered(name, tmp_path)
    final = optimize(replace(made, **form))
    graph = build_dfg(final)
    sends = next(place for place, port in enumerate(graph.streams) if port.sends)
    for seed, n in enumerate((0, -3, 1, 2, 3, 7, 7)):
        words = given(name, n, seed)
        elements = {stream: [(word,) for word in mine] for stream, mine in words.items()}
        expected = run_kernel(made, {"n": n}, inputs=elements).outputs
        assert run_kernel(final, {"n": n}, inputs=elements).outputs == expected
        inputs = {place: words[port.name] for place, port in enumerate(graph.streams) if not port.sends}
        found = run_out_of_order(graph, seed, [n % 2**32 for _ in graph.live_ins], inputs)
        assert [(word,) for word in found.outputs[sends]] == list(expected.get("out", []))


@pytest.mark.parametrize(
    ("name", "interval", "before"),
    [("rows", 4, 7), ("reverse", 4, 5), ("product", 5, 6), ("matrix", 2, 3)],
)
def test_stages_do_not_wait_for_each_other(name: str, interval: int, before: int, tmp_path: Path) -> None:
    graph = build_dfg(optimize(lowered(name, tmp_path)), FABRIC)
    assert minimum_interval(graph, FABRIC).mii <= interval < before


@pytest.mark.slow
def test_nests_in_sequence_get_empty_iterations_between_their_rows(tmp_path: Path) -> None:
    made = lowered("sparse", tmp_path)
    plain = minimum_interval(build_dfg(optimize(made), FABRIC), FABRIC)
    choice = spread(made, FABRIC)
    assert choice is not None
    assert choice.kernel.delay
    assert choice.bounds.mii <= 2 < plain.mii
