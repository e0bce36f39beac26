#!/usr/bin/env python3
"""What becomes of the kernels in benchmarks/kernels, mapped and simulated on grid8x8.

    .venv/bin/python benchmarks/kernels.py [--arch NAME] [--jobs N] [KERNEL...]

Operations, selects and predicates are those of the graph without the optimisations that can be left out
(`macahc --disable`), and with them. `MII` is the bound of the graph that was made, `bound` that of the
source program (`macah/source_bound.py`); a star stands at an interval that reaches it. Both are about one
iteration of the source: loops have no copies of their bodies that nobody asks for. `executed` are the
iterations of the one loop that is left, `useful` those of the source's innermost loops
(`macah/iterations.py`). `same` tells whether the mapped program prints what it prints in mode `c`.
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

from account import ALL, Graph, chosen, executed, graph, lowered, macahc, sources
from inputs import inputs

from arch.describe import load_fabric
from macah.iterations import Iterations, count_iterations

MOST_STEPS = 10**8


@dataclass(frozen=True)
class Row:
    """One kernel."""

    name: str
    before: Graph
    after: Graph
    interval: int
    bound: int
    iterations: Iterations
    cycles: int
    same: bool

    @property
    def at_bound(self) -> bool:
        return self.interval <= self.bound

    def __str__(self) -> str:
        counts = [
            f"{getattr(self.before, what)}>{getattr(self.after, what)}"
            for what in ("operations", "selects", "predicates")
        ]
        return (
            f"{self.name:16} {counts[0]:>9} {counts[1]:>7} {counts[2]:>7} {self.interval:4}"
            f" {self.after.bounds.mii:4} {self.bound:5}{'*' if self.at_bound else ' '}"
            f" {self.iterations.executed:8} {self.iterations.useful:6} {self.cycles:7}"
            f" {'yes' if self.same else 'NO':>5}"
        )


TITLE = (
    f"{'kernel':16} {'ops':>9} {'selects':>7} {'preds':>7} {'II':>4} {'MII':>4} {'bound':>5} "
    f" {'executed':>8} {'useful':>6} {'cycles':>7} {'same':>5}"
)


def measure(source: Path, arch: str) -> Row:
    """Compiles a program in both modes, and runs it."""
    fabric = load_fabric(arch)
    kernel = lowered(source, fabric)
    with tempfile.TemporaryDirectory() as name:
        mapped, plain, report = (Path(name) / file for file in ("mapped", "plain", "report.json"))
        macahc("--arch", arch, "--unroll", "none", "--save-report", report, source, "-o", mapped)
        macahc("--mode", "c", source, "-o", plain)
        printed, cycles = executed(mapped)
        same = printed == executed(plain)[0]
        found = json.loads(report.read_text())["kernels"][0]
    before, after = graph(kernel, fabric, ALL), graph(kernel, fabric)
    given = inputs(source, kernel)
    kernel = chosen(kernel, fabric)
    iterations = count_iterations(kernel, given.scalars, given.arrays, given.streams, MOST_STEPS)
    return Row(source.stem, before, after, found["ii"], found["source_bound"], iterations, cycles, same)


def main() -> int:
    """1 if a kernel's modes differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", default="grid8x8")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many at a time (default 2)")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    words = parser.parse_args()
    print(TITLE)
    rows = []
    with ProcessPoolExecutor(words.jobs) as pool:
        for row in pool.map(partial(measure, arch=words.arch), sources(words.kernels)):
            print(row, flush=True)
            rows.append(row)
    mapped = sum(row.interval == row.after.bounds.mii for row in rows)
    print(f"of {len(rows)}: {sum(row.at_bound for row in rows)} at the bound of the source,", end=" ")
    print(f"{mapped} at that of their graph, {sum(row.same for row in rows)} print the same,", end=" ")
    print(f"{sum(row.iterations.share >= 0.99 for row in rows)} with 99 % useful iterations or more")
    return 0 if all(row.same for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
