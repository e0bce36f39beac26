"""Mistakes in kernels, each with its place and wording: `// error: …` stands on the line of the mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from macah.diagnostic import Diagnostic, MacahError
from macah.lower import lower
from macah.program import read_program

CASES = sorted((Path(__file__).parent.parent / "cases" / "errors").glob("*.macah"))


def found_in(path: Path) -> list[Diagnostic]:
    program = read_program(path)
    found: list[Diagnostic] = []
    for site in program.kernels:
        try:
            lower(program, site)
        except MacahError as error:
            found += error.diagnostics
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_mistake_is_reported_at_its_line(path: Path) -> None:
    expected: dict[int, str] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := re.search(r"// error: (.*)", line):
            expected[number] = match.group(1)
    found = {d.where.line: d.message for d in found_in(path) if d.where is not None}
    assert found.keys() == expected.keys()
    for number, text in expected.items():
        assert text in found[number], number
