"""Emitted kernels in cocotb tests: by their own ports, and with AXI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from macah.cli_options import UsageError
from macah.cli_parse import parse
from sim import Kernel
from sim.compiler import compile_text

TEXT = """\
#include <assert.h>
struct item { short a; unsigned char b; int c; };
struct sums { long long sum; int difference; };
int sum(struct item stream in, struct sums stream out, long long first) {
  int n = 0;
  kernel {
    for (;;) {
      struct item x = { 0, 0, 77 };
      x <? in;
      if (x.c == 77 && pstream_ended(in)) break;
      assert(x.c != 99);
      struct sums y = { first + ((long long)n << 33) + x.a + x.b, x.c - x.b };
      out <! y;
      n++;
    }
    pstream_close(out);
  }
  return n;
}
"""


@pytest.fixture(scope="module", params=["mapped", pytest.param("dataflow", marks=pytest.mark.slow)])
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Kernel, Path]:
    import json

    design = tmp_path_factory.mktemp("design") / "design.json"
    table = compile_text(TEXT, ["--mode", request.param])
    design.write_text(json.dumps({"format": "macah-design 1", "kernels": table}))
    return Kernel(table[0]), design


def simulate(verilog: str, top: str, test: str, design: Path, directory: Path, patch: Any) -> None:
    """Runs one of `api_benches.py` on a design."""
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner

    source = directory / "design.v"
    source.write_text(verilog)
    patch.setenv("DESIGN", str(design))
    runner = get_runner("icarus")
    runner.build(sources=[source], hdl_toplevel=top, build_dir=directory, timescale=("1ns", "1ns"))
    results = runner.test(
        "api_benches",
        top,
        test_filter=test,
        test_dir=Path(__file__).parent,
        build_dir=directory,
        results_xml=str(directory / "results.xml"),
    )
    count, failed = get_results(results)
    assert count and not failed


def test_a_kernel_by_its_own_ports(
    compiled: tuple[Kernel, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, design = compiled
    simulate(kernel.verilog, kernel.top, "native_ports", design, tmp_path, monkeypatch)


def test_a_kernel_with_axi(
    compiled: tuple[Kernel, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cocotbext.axi")
    kernel, design = compiled
    simulate(kernel.axi_verilog(), f"{kernel.top}_axis", "axi_ports", design, tmp_path, monkeypatch)


def test_the_emitted_wrapper_has_the_words_of_the_design_at_the_same_addresses(
    compiled: tuple[Kernel, Path], tmp_path: Path
) -> None:
    kernel, _ = compiled
    source = tmp_path / "p.macah"
    source.write_text(TEXT)
    command = [
        sys.executable,
        "-m",
        "macah",
        "--mode",
        kernel.mode,
        "--emit",
        "verilog",
        "--axi-stream",
        source,
    ]
    emitted = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert addresses(emitted) == addresses(kernel.verilog)


def addresses(verilog: str) -> list[str]:
    return [line.strip() for line in verilog.splitlines() if "ctl_address == {" in line]


def test_axi_goes_with_verilog_of_single_kernels() -> None:
    for words, message in (
        (["--emit", "dfg"], "--axi-stream goes with --emit verilog"),
        (
            ["--emit", "verilog", "--netlist", "generic"],
            "--axi-stream is about kernels on specialised netlists",
        ),
    ):
        with pytest.raises(UsageError, match=message):
            parse(["--axi-stream", *words, "p.macah"])


@pytest.mark.needs("verilator")
def test_verilator_has_nothing_to_say_of_the_wrapper(compiled: tuple[Kernel, Path], tmp_path: Path) -> None:
    kernel, _ = compiled
    source = tmp_path / "design.v"
    source.write_text(kernel.axi_verilog())
    command = ["verilator", "--lint-only", "-Wall", "-Wno-DECLFILENAME", "--top-module", f"{kernel.top}_axis"]
    done = subprocess.run([*command, source], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
