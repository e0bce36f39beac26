#!/usr/bin/env python3
"""What a plane of bits brings: kernels mapped on the default grid and on the same with one.

    .venv/bin/python benchmarks/planes.py [--size RxC] [--jobs N] [KERNEL...]

Kernels are those of benchmarks/kernels; loops get no copies of bodies. For `grid` and `bitgrid`: the
interval and its bound, operations on the arithmetic units, and how many links for words and for bits are
busy in a cycle.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from account import sources

from arch.describe import load_fabric
from arch.fabric import Fabric, Kind
from backend.bound import minimum_interval
from backend.mapping import Mapping
from macah.compile import fronts, map_front
from macah.diagnostic import MacahError
from macah.options import Options
from macah.program import read_program
from macah.stages import Stages

FAMILIES = ("grid", "bitgrid")


@dataclass(frozen=True)
class Row:
    """One kernel on one array; an interval of 0: not mapped. Links by plane: busy in a cycle."""

    operations: int
    mii: int
    interval: int = 0
    arithmetic: int = 0
    words: float = 0.0
    bits: float = 0.0

    def __str__(self) -> str:
        reached = f"{self.interval or '-'}/{self.mii}"
        return f"{self.operations:5} {reached:>7} {self.arithmetic:5} {self.words:7.1f} {self.bits:6.1f}"


TITLE = f"{'ops':>5} {'II/MII':>7} {'alu':>5} {'words':>7} {'bits':>6}"


def links(fabric: Fabric, narrow: bool) -> frozenset[int]:
    """The links of a plane: what is a register of one tile, and read by another."""
    return frozenset(
        r.id
        for r in fabric.resources
        if r.kind is Kind.REGISTER
        and r.narrow == narrow
        and any(fabric.resources[sink].tile != r.tile for sink in fabric.sinks[r.id])
    )


def busy(mapping: Mapping, narrow: bool) -> float:
    """How many links of a plane are busy in a cycle, in the mean."""
    found, interval = links(mapping.fabric, narrow), mapping.interval
    steps = {(r, cycle % interval) for route in mapping.routes for r, cycle in route.steps if r in found}
    return len(steps) / interval


def measure(source: Path, family: str, size: str) -> Row:
    """Map a kernel."""
    array = f"{family}:{size}"
    fabric = load_fabric(array)
    options, stages = Options(source, arch=array, unroll=("none",)), Stages()
    front = fronts(read_program(source), {}, options, stages)[0]
    try:
        front, mapping = map_front(front, fabric, options, stages)
    except MacahError:
        return Row(len(front.dfg.nodes), minimum_interval(front.dfg, fabric).mii)
    adders = set(fabric.units_for("add"))
    return Row(
        len(front.dfg.nodes),
        minimum_interval(front.dfg, fabric).mii,
        mapping.interval,
        sum(unit in adders for unit in mapping.placement.unit),
        busy(mapping, narrow=False),
        busy(mapping, narrow=True),
    )


def main() -> int:
    """1 if the plane of bits makes an interval longer."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", default="4x4")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many at a time (default 2)")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    words = parser.parse_args()
    plain, planes = (load_fabric(f"{family}:{words.size}") for family in FAMILIES)
    there = [len(links(plain, narrow=False)), len(links(planes, narrow=True))]
    print(f"{planes.name}: {there[0]} links for words, {there[1]} for bits")
    print(f"{'kernel':16} {TITLE}   {TITLE}")
    worse = 0
    chosen = list(sources(words.kernels))
    with ProcessPoolExecutor(words.jobs) as pool:
        sides = [pool.map(partial(measure, family=f, size=words.size), chosen) for f in FAMILIES]
        for source, before, after in zip(chosen, *sides, strict=True):
            print(f"{source.stem:16} {before}   {after}", flush=True)
            worse += before.interval > 0 and not 0 < after.interval <= before.interval
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
