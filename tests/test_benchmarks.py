"""Benchmarks run, and print what they measure: they are no timed tests, but shall not rot either."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

SMALL = {
    "ablation": ("fir16", "--jobs", "1", "fir16"),
    "compile": ("fir", "fir"),
    "kernels": ("fir16", "--jobs", "1", "fir16"),
    "literature": ("bitcount", "--jobs", "1", "--array", "hycube:4x4", "bitcount"),
    "mapping": ("fir", "--set", "kernels", "--only", "fir", "--fabric", "grid4x4"),
    "motion": ("usage:", "--help"),
    "planes": ("usage:", "--help"),
    "published": ("vadd", "--jobs", "1", "vadd"),
    "scale": ("statements", "--size", "100", "--shape", "statements"),
    "simulation": ("usage:", "--help"),
    "streams": ("1024", "--words", "20000", "--repeat", "1"),
    "sweep": ("grid4x4", "--graphs", "1", "--seeds", "1", "--fabric", "grid4x4"),
    "translated": ("matmul", "1"),
}
"""What is printed, and words with which that takes a few seconds; some can only tell how they are used."""

HELPERS = {"account", "all", "inputs", "replay"}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_measures_something(name: str) -> None:
    printed, *words = SMALL[name]
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr  # 1: an aim is missed
    assert "Traceback" not in done.stderr
    assert printed in done.stdout


def test_all_benchmarks_are_run() -> None:
    assert {path.stem for path in BENCHMARKS.glob("*.py")} == SMALL.keys() | HELPERS
