"""What the benchmarks of kernels share: compile a program once, look at its kernel's graphs, run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.bound import Bounds, minimum_interval
from backend.dfg import DFG
from macah import ir
from macah.choose import choose
from macah.compile import fronts, map_front
from macah.lower import lower
from macah.optional import OPTIONAL
from macah.options import Options
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.report_facts import count_predicates
from macah.spread import spread
from macah.stages import Stages
from macah.todfg import build_dfg

HERE = Path(__file__).resolve().parent
KERNELS = HERE / "kernels"
ALL = frozenset(OPTIONAL)


@dataclass(frozen=True)
class Graph:
    """A kernel's graph, and how long the interval must be at least."""

    dfg: DFG
    bounds: Bounds

    @property
    def operations(self) -> int:
        return len(self.dfg.nodes)

    @property
    def selects(self) -> int:
        return sum(node.op == "select" for node in self.dfg.nodes)

    @property
    def predicates(self) -> int:
        return count_predicates(self.dfg)


def lowered(source: Path, fabric: Fabric) -> ir.Kernel:
    """The first kernel of a program."""
    program = read_program(source)
    return lower(program, program.kernels[0], choose(program, {}, fabric))


def graph(kernel: ir.Kernel, fabric: Fabric, without: Iterable[str] = ()) -> Graph:
    """A kernel's graph, without some optimisations, and without copies of bodies that nobody asks for."""
    kernel = replace(kernel, without=frozenset(without))
    choice = spread(kernel, fabric, automatic=False)
    dfg = build_dfg(optimize(kernel), fabric) if choice is None else choice.dfg
    return Graph(dfg, minimum_interval(dfg, fabric))


def chosen(source: Path, arch: str, automatic: bool) -> ir.Kernel:
    """The first kernel with what the compiler chooses and maps; without copies if not `automatic`."""
    program = read_program(source)
    options = Options(source, arch=arch, unroll=() if automatic else ("none",))
    front = fronts(program, choose(program, {}, load_fabric(arch)), options, Stages())[0]
    return map_front(front, load_fabric(arch), options, Stages())[0].lowered


def macahc(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs the compiler."""
    command = [sys.executable, "-m", "macah", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True)


def executed(program: Path) -> tuple[str, int]:
    """What a compiled program prints, and the cycles that its kernels took."""
    environment = {**os.environ, "MACAH_STATS": "1"}
    done = subprocess.run([program], check=True, capture_output=True, text=True, env=environment)
    rows = re.findall(r"^\S+ +\d+ +(\d+) +\d+$", done.stderr, re.MULTILINE)
    return done.stdout, sum(map(int, rows))


def sources(names: Iterable[str], directory: Path = KERNELS) -> list[Path]:
    """The programs of these names, all without any."""
    return [directory / f"{name}.macah" for name in names] or sorted(directory.glob("*.macah"))
