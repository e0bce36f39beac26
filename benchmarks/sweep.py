#!/usr/bin/env python3
"""Random graphs that fill arrays up to nine tenths: how many are mapped at the bound of their interval.

    .venv/bin/python benchmarks/sweep.py [--graphs N] [--seeds N] [--fabric NAME ...] [--iterations N]

A graph for each number and fabric, mapped with each seed. Every mapping is checked, and run on the array's
registers and wires beside the graph, for some iterations. Printed are the cases above the bound, and for each
fabric how many are at the bound, and seconds of processor time. The status is 1 if fewer than 98 % are.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "backend")]

import graphs  # noqa: E402

from arch.describe import load_fabric  # noqa: E402
from arch.fabric import Fabric  # noqa: E402
from backend.bound import minimum_interval  # noqa: E402
from backend.dfg import DFG  # noqa: E402
from backend.mapper import map_kernel  # noqa: E402
from backend.mapping import MapOptions  # noqa: E402
from backend.run_mapping import compare  # noqa: E402

FABRICS = ("grid4x4", "grid:6x6", "grid8x8", "torus:5x5")
FULLEST, EMPTIEST = 0.9, 0.5
LONGEST = 8
AIM = 0.98


def graph(number: int, fabric: Fabric) -> DFG:
    """A graph whose arithmetic keeps at most nine tenths of the array's units busy at a random interval."""
    rng = random.Random(number)
    interval, share = rng.randint(1, LONGEST), rng.uniform(EMPTIEST, FULLEST)
    count = int(len(fabric.units_for("add")) * interval * share)
    return graphs.mixed(count, number, accesses=rng.choice((0.0, 0.1)), ring=interval)


def sweep(name: str, count: int, seeds: int, iterations: int) -> tuple[int, int]:
    """Maps all cases of a fabric; how many are at the bound, and how many there are."""
    fabric = load_fabric(name)
    begun, best = time.process_time(), 0
    for number in range(count):
        dfg = graph(number, fabric)
        bound = minimum_interval(dfg, fabric).mii
        for seed in range(1, seeds + 1):
            mapping = map_kernel(dfg, fabric, MapOptions(seed=seed))
            compare(mapping, iterations)
            best += mapping.interval == bound
            if mapping.interval > bound:
                print(
                    f"{dfg.name}, {len(dfg.nodes)} operations, seed {seed}: {mapping.interval}, not {bound}"
                )
    cases = count * seeds
    seconds = time.process_time() - begun
    print(f"{fabric.name}: {best} of {cases} at the bound ({best / cases:.1%}), {seconds:.1f} s", flush=True)
    return best, cases


def main() -> int:
    """Sweep the fabrics."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fabric", action="append", help="only on this fabric (may be repeated)")
    parser.add_argument("--iterations", type=int, default=5, help="how many are run")
    words = parser.parse_args()
    found = [sweep(name, words.graphs, words.seeds, words.iterations) for name in words.fabric or FABRICS]
    best, cases = (sum(column) for column in zip(*found, strict=True))
    return int(best < AIM * cases)


if __name__ == "__main__":
    sys.exit(main())
