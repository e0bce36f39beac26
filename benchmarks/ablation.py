#!/usr/bin/env python3
"""What each optimisation is worth: every kernel without it, by the bound of its interval and its operations.

    .venv/bin/python benchmarks/ablation.py [--arch NAME] [--program FILE]... [KERNEL...]

Nothing is mapped. An entry is `+3 +12`: without the optimisation the least interval is 3 longer and the graph
has 12 operations more. A dot means that nothing changes. `all` is without any of them.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
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
    parser.add_argument("--program", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    words = parser.parse_args()
    fabric = load_fabric(words.arch)
    files = words.program or sources(words.kernels)
    width = {name: max(len(name), 8) for name in COLUMNS}
    print(f"{'kernel':16} {'MII':>3} {'ops':>4}  " + "  ".join(f"{n:>{w}}" for n, w in width.items()))
    rows = []
    for source in files:
        best, found = changes(source, fabric)
        rows.append(found)
        cells = "  ".join(f"{found[name]!s:>{w}}" for name, w in width.items())
        print(f"{source.stem:16} {best.bounds.mii:3} {best.operations:4}  {cells}", flush=True)
    print()
    for name in COLUMNS:
        mine = [row[name] for row in rows]
        shorter, fewer = sum(c.interval > 0 for c in mine), sum(c.operations > 0 for c in mine)
        cycles, operations = sum(c.interval for c in mine), sum(c.operations for c in mine)
        what = OPTIONAL[name].does if name in OPTIONAL else "all of these"
        print(f"{name:>20}: a shorter interval for {shorter} ({cycles} cycles in all),", end=" ")
        print(f"fewer operations for {fewer} ({operations}): {what}")


if __name__ == "__main__":
    main()
