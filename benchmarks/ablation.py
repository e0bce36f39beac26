#!/usr/bin/env python3
"""What each optimisation is worth: every kernel without it, by the bound of its interval and its operations.

    .venv/bin/python benchmarks/ablation.py [--arch NAME] [--jobs N] [--program FILE]... [KERNEL...]

Nothing is mapped. An entry is `+3 +12`: without the optimisation the least interval is 3 longer and the graph
has 12 operations more. A dot means that nothing changes. `all` is without any of them. A table for
docs/kernels.md follows.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from account import ALL, Graph, graph, lowered, sources

from arch.describe import load_fabric
from arch.fabric import Fabric
from macah.optional import OPTIONAL

COLUMNS = {**{name: frozenset([name]) for name in OPTIONAL}, "all": ALL}


@dataclass(frozen=True)
class Change:
    """What leaving something out adds."""

    interval: int
    operations: int

    def __str__(self) -> str:
        if not self.interval and not self.operations:
            return "."
        return f"{self.interval:+} {self.operations:+}"


def changes(source: Path, fabric: Fabric) -> tuple[Graph, dict[str, Change]]:
    """A kernel with everything, and what each name is worth to it."""
    kernel = lowered(source, fabric)
    best = graph(kernel, fabric)
    found = {}
    for name, without in COLUMNS.items():
        other = graph(kernel, fabric, without)
        found[name] = Change(other.bounds.mii - best.bounds.mii, other.operations - best.operations)
    return best, found


def main() -> None:
    """Print the table, one kernel a line, and what each optimisation is worth to how many."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", default="grid8x8")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many at a time (default 2)")
    parser.add_argument("--program", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    words = parser.parse_args()
    fabric = load_fabric(words.arch)
    files = words.program or sources(words.kernels)
    width = {name: max(len(name), 8) for name in COLUMNS}
    print(f"{'kernel':16} {'MII':>3} {'ops':>4}  " + "  ".join(f"{n:>{w}}" for n, w in width.items()))
    rows = []
    with ProcessPoolExecutor(words.jobs) as pool:
        measured = pool.map(partial(changes, fabric=fabric), files)
        for source, (best, found) in zip(files, measured, strict=True):
            rows.append(found)
            cells = "  ".join(f"{found[name]!s:>{w}}" for name, w in width.items())
            print(f"{source.stem:16} {best.bounds.mii:3} {best.operations:4}  {cells}", flush=True)
    print("\n| without | longer bound | cycles | more operations | operations | what it does |")
    print("|---|---|---|---|---|---|")
    for name in COLUMNS:
        mine = [row[name] for row in rows]
        shorter, fewer = sum(c.interval > 0 for c in mine), sum(c.operations > 0 for c in mine)
        cycles, operations = sum(c.interval for c in mine), sum(c.operations for c in mine)
        what = OPTIONAL[name].does if name in OPTIONAL else "all of these"
        print(f"| `{name}` | {shorter} | {cycles} | {fewer} | {operations} | {what} |")


if __name__ == "__main__":
    main()
