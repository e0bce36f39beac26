"""Warnings, each with its place and wording: `// warning: … [code]` stands on its line, or alone above it.

In the programs that ship with the compiler, and in those of the other tests, there are only such warnings.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arch.describe import load_fabric
from arch.fabric import Fabric
from macah.codes import CODES
from macah.diagnostic import Diagnostic, Place
from macah.lint import warnings
from macah.program import Program, parse_program, read_program
from macah.survey import kernels_of

ROOT = Path(__file__).parent.parent.parent
CASES = sorted((ROOT / "tests/cases/warnings").glob("*.macah"))
PROGRAMS = sorted((ROOT / "tests/cases/programs").glob("*.macah")) + sorted(
    (ROOT / "examples").glob("*.macah")
)


def warned(program: Program, fabric: Fabric | None = None, *ordered: str) -> tuple[Diagnostic, ...]:
    kernels, mistakes = kernels_of(program, {})
    assert not mistakes
    return warnings(program, [kernel for kernel in kernels if kernel is not None], fabric, ordered)


def expected_in(path: Path) -> list[tuple[int, str]]:
    lines = path.read_text().splitlines()
    found = [(n, line, m[1]) for n, line in enumerate(lines, 1) if (m := re.search("// warning: (.*)", line))]
    return [(n + line.lstrip().startswith("// warning: "), text) for n, line, text in found]


@pytest.mark.parametrize("path", CASES + PROGRAMS, ids=lambda path: path.stem)
def test_a_program_has_the_warnings_that_its_comments_say(path: Path) -> None:
    found = [(d.where.line if d.where else 0, f"{d.message} [{d.code}]") for d in warned(read_program(path))]
    assert found == expected_in(path)


def test_arrays_that_the_memories_cannot_hold_are_told_before_mapping() -> None:
    text = """void f(const int t[5000], int stream s) {
  k: kernel { for (int i = 0; i < 5000; i++) s <! t[i]; }
  few: kernel {
    int a[16][1000];
    FOR (int i = 0; i < 16; i++) FOR (int j = 0; j < 1000; j += 250) a[i][j] = i + j;
    FOR (int i = 0; i < 16; i++) s <! a[i][250];
  }
}
"""
    program = parse_program(text, Path("t.macah"))
    (found,) = warned(program, load_fabric("grid8x8"))
    assert found.message.startswith("kernel 'k' will not fit on grid8x8: array t has 5000 words; the largest")
    assert (found.code, found.where, found.severity) == ("memory-size", Place("t.macah", 2, 3), "warning")
    assert [note.where.line for note in found.notes if note.where] == [2]
    assert warned(program) == ()


def test_a_kernel_whose_order_is_kept_gets_no_warning_of_deadlock() -> None:
    program = read_program(ROOT / "tests/cases/warnings/ping_pong.macah")
    assert [d.message.split("'")[1] for d in warnings(program)] == ["left", "right", "around_kernel"]
    assert [d.message.split("'")[1] for d in warnings(program, ordered=("left",))] == [
        "right",
        "around_kernel",
    ]
    assert warnings(program, ordered=("*",)) == ()


def test_the_notes_of_a_deadlock_lead_round_the_cycle() -> None:
    found = warned(read_program(ROOT / "tests/cases/warnings/lock_step.macah"))[0]
    assert [(note.message, note.where.line if note.where else 0) for note in found.notes] == [
        ("the send to 'e->question'", 17),
        ("'serve' receives it from 'e->question' here", 9),
        ("and sends to 'e->answer'", 10),
    ]


def test_a_program_too_large_to_walk_gets_no_warning_of_its_streams() -> None:
    calls = "".join(f"static void f{n + 1}(int stream s) {{ f{n}(s); f{n}(s); }}\n" for n in range(12))
    text = (
        f"static void f0(int stream s) {{ s <! 1; }}\n{calls}int main(void) {{ f12(pstream_create(int)); }}"
    )
    assert warned(parse_program(text, Path("t.macah"))) == ()


def test_every_warning_is_registered_and_has_a_case() -> None:
    known = {code for code, entry in CODES.items() if entry.kind == "warning"}
    tested = {code for path in CASES for code in re.findall(r"// warning: .*\[([\w-]+)\]", path.read_text())}
    assert tested <= known
    assert known - tested == {"memory-size", "not-mappable"}
