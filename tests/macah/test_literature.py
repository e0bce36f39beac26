"""The kernels of the literature compute what plain C does: in mode c, as graphs, mapped on published arrays.

Their sources, with `kernel` defined as nothing, are plain C.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from arch.describe import load_fabric
from macah.compile import fronts, map_front
from macah.options import Options
from macah.program import read_program
from macah.stages import Stages

PROGRAMS = sorted((Path(__file__).parents[2] / "benchmarks" / "literature").glob("*.macah"))

QUICK = {("gsm", "dataflow"), ("gsm", "satmapit"), ("fir", "hycube")}
"""Quick ones; of the others, tools/check takes each kernel in one way, by turns."""

WAYS = {
    "c": ("--mode", "c"),
    "dataflow": ("--mode", "dataflow", "--arch", "satmapit:4x4"),
    "satmapit": ("--arch", "satmapit:4x4", "--unroll", "none"),
    "hycube": ("--arch", "hycube:4x4", "--unroll", "none"),
}


def in_plain_c(program: Path, directory: Path) -> str:
    """What a program prints, compiled by gcc alone."""
    built = directory / "plain"
    command = ["gcc", "-x", "c", "-w", "-O1", "-fwrapv", "-Dkernel=", program, "-o", built]
    subprocess.run(command, check=True)
    return subprocess.run([built], check=True, capture_output=True, text=True).stdout


def run(*words: object) -> str:
    command = [sys.executable, "-m", "macah", "run", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout


def cases() -> list[object]:
    found = []
    for k, program in enumerate(PROGRAMS):
        for way, how in enumerate(WAYS):
            mark = pytest.mark.slow if k % len(WAYS) == way else pytest.mark.whole
            marks = () if (program.stem, how) in QUICK else mark
            found.append(pytest.param(program, how, marks=marks, id=f"{program.stem}-{how}"))
    return found


@pytest.mark.sweep(20)
@pytest.mark.parametrize(("program", "how"), cases())
def test_a_kernel_computes_what_plain_c_does(program: Path, how: str, tmp_path: Path) -> None:
    assert run(*WAYS[how], program) == in_plain_c(program, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "array", "least"),
    [("bicg", "hycube:4x4", 1), ("viterbi", "hycube:4x4", 2), ("hotspot", "satmapit:3x3", 4)],
)
def test_what_only_the_solver_maps_at_the_bound_is_mapped_there(name: str, array: str, least: int) -> None:
    (program,) = (one for one in PROGRAMS if one.stem == name)
    fabric, options = load_fabric(array), Options(program, arch=array, unroll=("none",))
    (front,) = fronts(read_program(program), {}, options, Stages())
    assert map_front(front, fabric, options, Stages())[1].interval == least


def test_all_kernels_are_found() -> None:
    assert len(PROGRAMS) > 40
