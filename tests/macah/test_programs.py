"""Whole programs print the same in C and on the accelerator."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("kernels_kept")

PROGRAMS = sorted((Path(__file__).parent.parent / "cases" / "programs").glob("*.macah"))


def run(*words: object) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "macah", "run", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def test_a_failing_assertion_prints_and_aborts_as_in_c(tmp_path: Path) -> None:
    program = tmp_path / "p.macah"
    program.write_text("""#include <assert.h>
#include <stdio.h>
static int twice(int x) { assert(x < 3 && "it is small"); return 2 * x; }
int main(void)
{
  int n = 5, sum = 0;
  kernel { for (int i = 0; i < n; i++) { assert(i >= 0); sum += twice(i); } }
  printf("%d", sum);
}
""")
    expected = run("--mode", "c", program)
    assert expected == (-6, "", f'p: {program}:3: twice: Assertion `x < 3 && "it is small"\' failed.\n')
    assert run(program) == expected
    assert run("-DNDEBUG", program) == (0, "20", "")


DATAFLOW = ("packets", "pointed_numbers", "structs")
APART, OVERLAP = (), ("--overlap",)


def array(number: int) -> str:
    """The array that a program is mapped on by tools/check, by turns; its graphs serve both modes."""
    return ("grid4x4", "grid8x8")[number % 2]


def as_dataflow() -> list[object]:
    """Some programs in both ways of execution; the others, slow, in turns."""
    found = []
    for k, program in enumerate(PROGRAMS):
        quick = program.stem in DATAFLOW
        for how in (APART, OVERLAP) if quick else (OVERLAP if k % 2 else APART,):
            marks = () if quick and how is APART else pytest.mark.slow
            name = f"{program.stem}{''.join(how)}"
            found.append(pytest.param(program, how, array(k), marks=marks, id=name))
    return found


@pytest.mark.parametrize(("program", "overlap", "arch"), as_dataflow())
def test_a_program_prints_the_same_as_dataflow(program: Path, overlap: tuple[str, ...], arch: str) -> None:
    expected = run("--mode", "c", "--arch", arch, "-w", program)
    assert expected[0] == 0, expected[2]
    assert run("--mode", "dataflow", "--arch", arch, "-w", *overlap, program) == expected


MAPPED = ("aliases", "builtins", "packets", "pointed_numbers", "structs", "threads")


def mapped() -> list[object]:
    """All programs on both arrays, by turns; some are quick."""
    found = []
    for k, program in enumerate(PROGRAMS):
        for arch in ("grid8x8", "grid4x4"):
            slow = () if program.stem in MAPPED else pytest.mark.slow
            marks = slow if arch == array(k) else pytest.mark.whole
            found.append(pytest.param(program, arch, marks=marks, id=f"{program.stem}-{arch}"))
    return found


@pytest.mark.parametrize(("program", "arch"), mapped())
def test_a_program_prints_the_same_mapped_as_in_c(program: Path, arch: str) -> None:
    expected = run("--mode", "c", "--arch", arch, program)  # which chooses pseudo-constants
    assert expected[0] == 0, expected[2]
    assert expected[1]
    assert run("--arch", arch, program) == expected
