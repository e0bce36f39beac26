#!/usr/bin/env python3
"""Cycles for each unit of work on grid8x8, beside those published for other compilers from C to hardware.

    .venv/bin/python benchmarks/published.py [--arch NAME] [--jobs N] [NAME...]

The programs are those of benchmarks/published; each compares its results with what host C computes. They are
mapped and simulated, cycle by cycle. docs/kernels.md has the sources of the published figures. Sobel's image
has 16 rows of 512 here, to save time: a row takes as long as any other.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from account import HERE, executed, macahc

PROGRAMS = HERE / "published"


@dataclass(frozen=True)
class Work:
    """A program, how many units of work it does, and the best published cycles for one of them."""

    name: str
    unit: str
    units: int
    published: float
    whose: str
    flags: tuple[str, ...] = ()


WORKS = (
    Work("matmul", "multiply-add", 32 * 32 * 32, 0.18, "Bambu"),
    Work("sobel", "pixel", 512 * 16, 4.0, "LegUp", ("-D", "ROWS=16")),
    Work("vadd", "element", 2000, 0.5, "Bambu"),
    Work("dot", "element", 2000, 0.5, "Bambu"),
    Work("histogram", "element", 8000, 1.0, "Bambu"),
    Work("mandelbrot", "pixel", 48 * 48, 13.3, "Bambu"),
    Work("if_convert", "iteration", 188, 1.64, "Dynamatic"),  # 309 cycles in all
)


def measure(work: Work, arch: str) -> tuple[Work, int, int, bool]:
    """Its interval, its cycles, and whether its results are right."""
    with tempfile.TemporaryDirectory() as name:
        built, report = Path(name) / "program", Path(name) / "report.json"
        source = PROGRAMS / f"{work.name}.macah"
        macahc("--arch", arch, *work.flags, "--save-report", report, source, "-o", built)
        printed, cycles = executed(built)
        interval = json.loads(report.read_text())["kernels"][0]["ii"]
    return work, interval, cycles, printed == "right\n"


def main() -> int:
    """1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", default="grid8x8")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many at a time (default 2)")
    parser.add_argument("names", nargs="*", metavar="NAME")
    words = parser.parse_args()
    works = [work for work in WORKS if not words.names or work.name in words.names]
    print(f"{'program':12} {'unit':14} {'units':>7} {'II':>3} {'cycles':>7} {'cycles/unit':>11}  published")
    good = True
    with ProcessPoolExecutor(words.jobs) as pool:
        for work, interval, cycles, right in pool.map(partial(measure, arch=words.arch), works):
            each = cycles / work.units
            verdict = (
                "ahead" if each < work.published else "level" if each <= work.published * 1.02 else "behind"
            )
            print(
                f"{work.name:12} {work.unit:14} {work.units:7} {interval:3} {cycles:7} {each:11.3f}"
                f"  {work.published} ({work.whose}): {verdict}{'' if right else ', WRONG RESULT'}",
                flush=True,
            )
            good &= right
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
