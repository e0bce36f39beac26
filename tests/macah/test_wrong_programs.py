"""Programs as a new user would get them wrong: what is said, at which column, and the hint.

Each mistake of `tests/cases/errors/exact` stands before `// error COLUMN: message => hint [code]`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from macah.diagnostic import Diagnostic, MacahError
from macah.driver import LANGUAGE
from macah.program import read_program
from macah.survey import host_mistakes, kernels_of, without_consequences

CASES = sorted((Path(__file__).parent.parent / "cases" / "errors" / "exact").glob("*.macah"))
_MARK = re.compile(r"// error (\d+): ((?:(?!// error ).)*)")


def found_in(path: Path) -> list[Diagnostic]:
    try:
        program = read_program(path)
    except MacahError as error:
        return list(error.diagnostics)
    _, found = kernels_of(program, {})
    return without_consequences([*found, *host_mistakes(program, {}, LANGUAGE, found)])


def text_of(found: Diagnostic) -> str:
    hint = f" => {found.hint}" if found.hint else ""
    return f"{found.message}{hint} [{found.code}]"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_mistake_has_its_place_wording_and_hint(path: Path) -> None:
    wanted = [
        (line, int(match[1]), match[2].rstrip())
        for line, text in enumerate(path.read_text().splitlines(), 1)
        for match in _MARK.finditer(text)
    ]
    found = [(d.where.line, d.where.column, text_of(d)) for d in found_in(path) if d.where is not None]
    assert sorted(found) == sorted(wanted)


def test_there_are_more_than_a_hundred() -> None:
    assert sum(len(_MARK.findall(path.read_text())) for path in CASES) > 150


def test_an_unclosed_block_is_the_one_that_the_indentation_tells() -> None:
    (found,) = found_in(next(path for path in CASES if path.stem == "unclosed_block"))
    assert [(note.message, note.where and note.where.line) for note in found.notes] == [
        ("to match this '{'", 3)
    ]


def test_unclosed_strings_and_characters_are_told_where_they_begin(tmp_path: Path) -> None:
    path = tmp_path / "t.macah"
    path.write_text("const char *a = \"abc;\nconst char b = 'b;\nint c = 3;\nint d = c c;\n")
    found = [(str(d.where).removeprefix(f"{path}:"), text_of(d)) for d in found_in(path)]
    assert found == [
        ("1:17", 'missing terminating " character [unterminated]'),
        ("2:16", "missing terminating ' character [unterminated]"),
        ("4:10", "expected ';' before 'c' [syntax]"),
    ]


def test_an_unclosed_comment_is_told_where_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "t.macah"
    path.write_text("int a;\nint b; /* never closed\nint c;\n")
    with pytest.raises(MacahError) as caught:
        read_program(path)
    assert f"{path}:2:8: error: unterminated comment" in caught.value.output
