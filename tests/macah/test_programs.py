"""Whole programs print the same in C and on the accelerator."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent.parent / "cases" / "programs").glob("*.macah"))


def run(*words: object) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "macah", "run", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arch", ["grid4x4", "grid8x8"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_prints_the_same_mapped_as_in_c(program: Path, arch: str) -> None:
    expected = run("--mode", "c", program)
    assert expected[0] == 0, expected[2]
    assert expected[1]
    assert run("--arch", arch, program) == expected
