#!/usr/bin/env python3
"""What becomes of the kernels in benchmarks/kernels, mapped and simulated on grid8x8.

    .venv/bin/python benchmarks/kernels.py [--arch NAME] [--jobs N] [KERNEL...]

A row is what `macahc` makes of a kernel without further options. Where it puts copies of an innermost
loop's body into one iteration, a second row is of the kernel without them (`--unroll none`).

Operations, selects and predicates are those of the graph without the optimisations that can be left out
(`macahc --disable`), but with the copies, and with them. `MII` is the bound of the graph that was made.
`each` is the interval for each innermost iteration of the source, of which one with copies has several;
`bound` is the least interval of the source program without copies (`macah/source_bound.py`); a star stands
where `each` reaches it. `executed` are the iterations of the one loop that is left, `useful` those of the
source's innermost loops, with the copies (`macah/iterations.py`). `same` tells whether the mapped program
prints what it prints in mode `c`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from account import ALL, Graph, chosen, executed, graph, lowered, macahc, sources
from inputs import inputs

from arch.describe import load_fabric
from macah import ir
from macah.iterations import Iterations, count_iterations
from macah.source_bound import source_bound

MOST_STEPS = 10**8


@dataclass(frozen=True)
class Row:
    """One kernel; `source` are the iterations of its innermost loops, without copies."""

    name: str
    before: Graph
    after: Graph
    interval: int
    bound: int
    source: int
    iterations: Iterations
    cycles: int
    same: bool

    @property
    def each(self) -> float:
        """The interval for each iteration of the source."""
        return self.interval * self.iterations.useful / self.source if self.source else self.interval

    @property
    def at_bound(self) -> bool:
        return self.each <= self.bound

    def __str__(self) -> str:
        counts = [
            f"{getattr(self.before, what)}>{getattr(self.after, what)}"
            for what in ("operations", "selects", "predicates")
        ]
        return (
            f"{self.name:16} {counts[0]:>9} {counts[1]:>7} {counts[2]:>7} {self.interval:4}"
            f" {self.after.bounds.mii:4} {self.each:6.3g} {self.bound:5}{'*' if self.at_bound else ' '}"
            f" {self.iterations.executed:8} {self.iterations.useful:6} {self.cycles:7}"
            f" {'yes' if self.same else 'NO':>5}"
        )


TITLE = (
    f"{'kernel':16} {'ops':>9} {'selects':>7} {'preds':>7} {'II':>4} {'MII':>4} {'each':>6} {'bound':>5} "
    f" {'executed':>8} {'useful':>6} {'cycles':>7} {'same':>5}"
)


def measure(source: Path, arch: str) -> list[Row]:
    """A kernel as the compiler makes it, and if that has copies of loops' bodies, without them."""
    fabric = load_fabric(arch)
    kernel = lowered(source, fabric)
    plain, best = (chosen(source, arch, automatic) for automatic in (False, True))
    given = inputs(source, kernel)

    def row(name: str, made: ir.Kernel, *options: str) -> Row:
        counted = count_iterations(made, given.scalars, given.arrays, given.streams, MOST_STEPS)
        copied = replace(kernel, unroll=made.unroll)
        before, after = graph(copied, fabric, ALL - {"unroll_loops"}), graph(copied, fabric)
        interval, cycles, same = run(source, "--arch", arch, *options)
        return Row(name, before, after, interval, bound, iterations, counted, cycles, same)

    bound = source_bound(kernel, fabric).interval
    iterations = count_iterations(plain, given.scalars, given.arrays, given.streams, MOST_STEPS).useful
    rows = [row(source.stem, best)]
    if best.unroll != plain.unroll:
        rows.append(row("  without copies", plain, "--unroll", "none"))
    return rows


def run(source: Path, *options: str) -> tuple[int, int, bool]:
    """Compiles a program in both modes: its interval, its cycles, and whether both print the same."""
    with tempfile.TemporaryDirectory() as name:
        mapped, plain, report = (Path(name) / file for file in ("mapped", "plain", "report.json"))
        macahc(*options, "--save-report", report, source, "-o", mapped)
        macahc("--mode", "c", source, "-o", plain)
        printed, cycles = executed(mapped)
        interval = json.loads(report.read_text())["kernels"][0]["ii"]
        return interval, cycles, printed == executed(plain)[0]


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
        for found in pool.map(partial(measure, arch=words.arch), sources(words.kernels)):
            print(*found, sep="\n", flush=True)
            rows.append(found)
    print(summary("", [found[0] for found in rows]))
    print(summary("without copies, ", [found[-1] for found in rows]))
    return 0 if all(row.same for found in rows for row in found) else 1


def summary(which: str, rows: Sequence[Row]) -> str:
    """How many rows are how good."""
    mapped = sum(row.interval == row.after.bounds.mii for row in rows)
    return (
        f"{which}of {len(rows)}: {sum(row.at_bound for row in rows)} at the bound of the source,"
        f" {mapped} at that of their graph, {sum(row.same for row in rows)} print the same,"
        f" {sum(row.iterations.share >= 0.99 for row in rows)} with 99 % useful iterations or more"
    )


if __name__ == "__main__":
    sys.exit(main())
