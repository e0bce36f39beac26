"""Anyone's own cocotb bench around an emitted kernel with AXI4-Stream: this builds it and runs it.

pip install pytest cocotb cocotbext-axi
pytest examples/python/axi/test_axi.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCE = HERE.parent.parent / "fir.macah"


def macahc(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "macah", *map(str, words), SOURCE], check=True)


def test_the_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cocotbext.axi")
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner

    verilog, design = tmp_path / "fir.v", tmp_path / "fir.json"
    macahc("--emit", "verilog", "--axi-stream", "-o", verilog)
    macahc("--emit", "design", "-o", design)
    monkeypatch.setenv("DESIGN", str(design))
    runner = get_runner("icarus")
    sources, timescale = [verilog, HERE / "fir_top.v"], ("1ns", "1ns")
    runner.build(sources=sources, hdl_toplevel="fir_top", build_dir=tmp_path, timescale=timescale)
    file = str(tmp_path / "results.xml")
    results = runner.test("bench", "fir_top", test_dir=HERE, build_dir=tmp_path, results_xml=file)
    count, failed = get_results(results)
    assert (count, failed) == (2, 0)
