#!/usr/bin/env python3
"""The kernels that the literature on mapping reports, from Macah sources, on models of its arrays.

    .venv/bin/python benchmarks/literature.py [--array NAME ...] [--prove] [--conflicts N] [KERNEL...]

The sources are those of benchmarks/literature, written from the algorithms; where `kernel` is defined as
nothing they are plain C. Loops get no copies of their bodies: an iteration is one of the source's innermost
loop. `published` is the interval in which somebody else does an iteration of that loop on an array of that
kind and size; PUBLISHED says who. Their graphs come from LLVM and have other operations than ours: there,
multiplications for addresses and an operation for each carried value; here, more for the loop's end and, but
for satmapit, for what it hands back. `proof`: `bound`, no smaller one is possible; `horizon N`, none in
schedules of N cycles (with --prove). Seconds are of processor time, for mapping alone (of two forms of a
kernel, if it has to).
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from account import HERE, sources

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.core import tightened
from backend.flat import Problem
from macah.compile import fronts, map_front
from macah.diagnostic import MacahError
from macah.options import Options
from macah.program import read_program
from macah.stages import Stages

PROGRAMS = HERE / "literature"

ARRAYS = ("satmapit:2x2", "satmapit:3x3", "satmapit:4x4", "satmapit:5x5", "adres:4x4", "hycube:4x4")

CONFLICTS = 60_000

HEEPSILON = "SAT-MapIt's log in github.com/esl-epfl/HEEPsilon, sw/applications/*/kernels/*/out.sat"
SIDE_BY_SIDE = "SAT-MapIt, run on its own graph"
MORPHER = "Morpher, run on its own graph"

PUBLISHED = {
    ("bitcount", "satmapit:2x2"): (4, HEEPSILON),
    ("bitcount", "satmapit:3x3"): (4, HEEPSILON),
    ("gsm", "satmapit:2x2"): (5, HEEPSILON),
    ("gsm", "satmapit:3x3"): (3, HEEPSILON),
    ("gsm", "satmapit:4x4"): (4, SIDE_BY_SIDE),
    ("reversebits", "satmapit:2x2"): (3, HEEPSILON),
    ("reversebits", "satmapit:3x3"): (3, HEEPSILON),
    ("sha", "satmapit:2x2"): (7, HEEPSILON),
    ("sha", "satmapit:3x3"): (4, HEEPSILON),
    ("sha", "satmapit:4x4"): (3, SIDE_BY_SIDE),
    ("sha2", "satmapit:2x2"): (9, HEEPSILON),
    ("sha2", "satmapit:3x3"): (8, HEEPSILON),
    ("sqrt", "satmapit:2x2"): (5, HEEPSILON),
    ("sqrt", "satmapit:3x3"): (5, HEEPSILON),
    ("stringsearch", "satmapit:2x2"): (4, HEEPSILON),
    ("stringsearch", "satmapit:3x3"): (2, HEEPSILON),
    ("2mm", "hycube:4x4"): (4, MORPHER),
    ("array_add", "hycube:4x4"): (4, MORPHER),
    ("atax", "hycube:4x4"): (4, MORPHER),
    ("bicg", "hycube:4x4"): (4, MORPHER),
    ("cholesky", "hycube:4x4"): (5, MORPHER),
}
"""The intervals of others for the same loop, and where they are from. Papers whose tables we could not read
are left out, so most cells are empty."""


@dataclass(frozen=True)
class Row:
    """A kernel on an array; `ii` 0: no mapping."""

    name: str
    array: str
    ops: int
    mii: int
    ii: int
    proof: str
    seconds: float
    cause: str

    @property
    def published(self) -> int:
        return PUBLISHED.get((self.name, self.array), (0, ""))[0]

    @property
    def worse(self) -> bool:
        return not self.ii or 0 < self.published < self.ii

    def __str__(self) -> str:
        verdict = " WORSE" if self.worse else ""
        return (
            f"{self.name:14} {self.array:13} {self.ops:4} {self.mii:4} {self.ii or '-':>4} {self.proof:11}"
            f" {self.published or '':>9} {self.seconds:7.2f}  {self.cause}{verdict}"
        )


TITLE = (
    f"{'kernel':14} {'array':13} {'ops':>4} {'MII':>4} {'II':>4} {'proof':11} {'published':>9} {'seconds':>7}"
    "  cause"
)


def measure(source: Path, array: str, conflicts: int) -> Row:
    """Map a kernel; with `conflicts`, prove that the interval is minimal, or find a better one."""
    fabric = load_fabric(array)
    options, stages = Options(source, arch=array, unroll=("none",)), Stages()
    front = fronts(read_program(source), {}, options, stages)[0]
    begun = time.process_time()
    try:
        front, mapping = map_front(front, fabric, options, stages)
    except MacahError as problem:
        seconds = time.process_time() - begun
        mii = minimum_interval(front.dfg, fabric).mii
        return Row(source.stem, array, len(front.dfg.nodes), mii, 0, "", seconds, str(problem))
    seconds = time.process_time() - begun
    dfg = front.dfg
    bounds = minimum_interval(dfg, fabric)
    ii, horizon = mapping.interval, 0
    bounds = tightened(bounds, Problem(dfg, fabric), ii)
    if conflicts and ii > bounds.mii:
        from backend.certify import ProveOptions, minimal

        found = minimal(dfg, fabric, mapping, ProveOptions(conflicts=conflicts))
        assert found.mapping is not None
        horizon = found.horizon or 0
        if found.mapping.interval < ii:
            proof = f"NO, {found.mapping.interval}"
            return Row(source.stem, array, len(dfg.nodes), bounds.mii, ii, proof, seconds, bounds.binding)
    proof = "bound" if ii == bounds.mii else f"horizon {horizon}" if horizon else ""
    return Row(source.stem, array, len(dfg.nodes), bounds.mii, ii, proof, seconds, bounds.binding)


def main() -> int:
    """1 if an interval is longer than a published one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--array", action="append", help=f"only this array (may be repeated; {', '.join(ARRAYS)})"
    )
    parser.add_argument(
        "--prove", action="store_true", help="prove that intervals above the bound are minimal"
    )
    parser.add_argument(
        "--conflicts", type=int, default=CONFLICTS, help="the solver's budget for an interval"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many at a time (default 2)")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    words = parser.parse_args()
    print(TITLE)
    rows: list[Row] = []
    budget = words.conflicts if words.prove else 0
    with ProcessPoolExecutor(words.jobs) as pool:
        for array in words.array or ARRAYS:
            one = partial(measure, array=array, conflicts=budget)
            for row in pool.map(one, sources(words.kernels, PROGRAMS)):
                print(row, flush=True)
                rows.append(row)
    compared = [row for row in rows if row.published]
    minimal = sum(row.proof != "" and not row.proof.startswith("NO") for row in rows)
    print(
        f"of {len(rows)}: {sum(row.ii > 0 for row in rows)} mapped, {minimal} proven to be minimal,"
        f" {sum(row.proof.startswith('NO') for row in rows)} proven not to be;"
        f" {sum(row.seconds <= 1 for row in rows)} in a second; of {len(compared)} published"
        f" {sum(0 < row.ii < row.published for row in compared)} better,"
        f" {sum(row.worse for row in compared)} worse"
    )
    return 1 if any(row.worse for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
