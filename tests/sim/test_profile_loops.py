"""A profile counts bodies of loops and iterations as the interpreter does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from macah.iterations import Iterations, count_iterations
from macah.lower import lower
from macah.program import read_program

BODIES = (
    "for (int i = 0; i < 4; i++) for (int j = 0; j < 5; j++) for (int k = 0; k < 3; k++) out <! i + j * k;",
    "for (int i = 0; i < n; i++) { int s = a[i]; for (int j = 0; j < 3; j++) s += b[j];"
    "  for (int j = 0; j < m; j++) { s ^= a[j]; for (int k = 0; k < 2; k++) out <! s; } a[i] = s; }",
    "for (int i = 0; i < n; i++) { int j = 0; do { out <! j; j += 2; } while (j < a[i]); }",
    "for (int i = 0; i < 9; i++) for (int j = 0; j < 8; j++) { if (j > a[i]) break; out <! j; }",
    "for (int i = 0; i < 9; i++) { for (int j = 0; j < 8; j++) { if (j & a[i]) continue; out <! j; }"
    "  if (i == n) break; }",
    "for (int i = 0; i < 12; i++) for (int j = 0; j < (i & 1); j++) out <! i - j;",
    "for (int i = 0; i < 10; i++) { for (int j = 0; j < a[i]; j++) out <! j;"
    "  for (int j = 0; j < b[i]; j++) out <! -j; }",
    "for (int i = 0; i < 6; i++) { int x; x <? in; while (x > 0) { out <! x; x--; } }",
    "for (int i = 0; i < 8; i++) { unsigned v = i * 1237 + 5, root = 0, bit = 1u << 14;"
    "  while (bit > v) bit >>= 2;"
    "  while (bit) { if (v < root + bit) root >>= 1; else { v -= root + bit; root = (root >> 1) + bit; }"
    "    bit >>= 2; }"
    "  out <! root; }",
    "n += m;",
)
FILL = "for (int x = 0; x < 64; x++) { a[x] = x * 7 % 5; b[x] = x * x % 11; }"


def program() -> str:
    """Each body in a kernel of a function of its own, so that all begin with the same values."""
    functions = "".join(
        f"void f{k}(int stream in, int stream out, int n, int m)\n{{ int a[64], b[64]; {FILL}\n"
        f"k{k}: kernel {{\n{body}\n}} (void)n; }}\n"
        for k, body in enumerate(BODIES)
    )
    calls = "".join(
        "  { int stream in = pstream_create(int, 200); int stream out = pstream_create(int, 4000);\n"
        f"    for (int x = 0; x < 200; x++) in <! x * x % 7;\n    f{k}(in, out, 5, 3); }}\n"
        for k in range(len(BODIES))
    )
    return f"{functions}int main(void)\n{{\n{calls}  return 0;\n}}\n"


def cycles_of(*options: str) -> str:
    """The runtime's own counts of a run in lock step."""
    words = [sys.executable, "-m", "macah", "run", "-w", *options]
    environment = {**os.environ, "MACAH_STATS": "1", "MACAH_TIME": "lockstep"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["mapped", "dataflow"])
def test_a_profile_changes_no_cycle(mode: str, tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(program())
    options = ("--mode", mode, "--effort=low")
    assert cycles_of(*options, str(source)) == cycles_of(
        *options, f"--profile={tmp_path / 'p.json'}", str(source)
    )


def counted(source: Path) -> list[Iterations]:
    """What the interpreter makes of each kernel."""
    found = []
    read = read_program(source, (), "cc")
    values = {"a": [x * 7 % 5 for x in range(64)], "b": [x * x % 11 for x in range(64)]}
    for site in read.kernels:
        kernel = lower(read, site, {})
        names = {c.what.name for c in kernel.captured}
        given = {name: array for name, array in values.items() if name in names}
        found.append(
            count_iterations(kernel, {"n": 5, "m": 3}, given, {"in": [(x * x % 7,) for x in range(200)]})
        )
    return found


# What the interpreter does not do: it knows no architecture.
GENERIC = (
    "mapped",
    "--effort=low",
    "--arch=grid4x4",
    "--netlist=generic",
    "--disable=tests_first,delay_rows",
)


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(("mapped", "--effort=low"), marks=pytest.mark.slow),
        pytest.param(GENERIC, marks=pytest.mark.slow),
        pytest.param(
            (*GENERIC, "--simulator=verilator"), marks=(pytest.mark.whole, pytest.mark.needs("verilator"))
        ),
        pytest.param(("dataflow",), marks=pytest.mark.whole),
        pytest.param(("dataflow", "--overlap=4"), marks=pytest.mark.slow),
    ],
)
def test_loops_are_counted_as_the_interpreter_does(mode: tuple[str, ...], tmp_path: Path) -> None:
    source, target = tmp_path / "p.macah", tmp_path / "p.json"
    source.write_text(program())
    # Copies of bodies would make iterations of the two differ.
    options = ["-w", "--unroll=none", "--disable=delay_rows", f"--profile={target}", "--mode", *mode]
    words = [sys.executable, "-m", "macah", "run", *options, str(source)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, env=os.environ)
    assert done.returncode == 0, done.stderr
    kernels = json.loads(target.read_text())["kernels"]
    for kernel, wanted in zip(kernels, counted(source), strict=True):
        check(kernel, wanted)


def check(kernel: dict[str, Any], wanted: Iterations) -> None:
    """That a profile says of a kernel what the interpreter does."""
    assert kernel["uncounted"] is None
    loops = kernel["loops"]
    assert kernel["iterations"]["complete"] == wanted.executed, kernel["name"]
    bodies = sum(loop["bodies"] for loop in loops if loop["innermost"])
    useful = kernel["iterations"]["useful"]
    assert bodies == (wanted.useful if loops else 0), kernel["name"]
    assert sum(part["iterations"] for part in kernel["work"]) == wanted.executed
    assert sum(part["cycles"] for part in kernel["work"]) <= kernel["cycles"]["active"]
    assert useful == sum(p["iterations"] for p in kernel["work"] if p["loops"] or not loops)
    assert useful <= bodies or not loops


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["mapped", "dataflow"])
def test_loops_are_counted_where_graphs_have_nothing_in_common(mode: str, tmp_path: Path) -> None:
    source, target = tmp_path / "p.macah", tmp_path / "p.json"
    source.write_text(program())
    never = "import macah.cli, macah.loop_counts as l; l.shadow_of = lambda *_: None; macah.cli.main()"
    options = ["run", "-w", "--unroll=none", "--disable=delay_rows", f"--profile={target}", "--mode", mode]
    words = [sys.executable, "-c", never, *options, "--effort=low", str(source)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, env=os.environ)
    assert done.returncode == 0, done.stderr
    kernels = json.loads(target.read_text())["kernels"]
    for kernel, wanted in zip(kernels, counted(source), strict=True):
        check(kernel, wanted)


def test_why_loops_are_not_counted_is_said(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(
        "int main(void) { int s = 0; k: kernel { for (int i = 0; i < 9; i++) s += i; } return s - 36; }"
    )
    none = "import macah.cli, macah.loop_counts as l; l.MOST = 0; macah.cli.main()"
    words = [sys.executable, "-c", none, "run", "-w", "--effort=low", "--profile", str(source)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "    loops are not counted: there are more than 0" in done.stderr
