"""Each error has a page, whose wrong example gives exactly that error and whose right one gives none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from macah.codes import CODES
from macah.diagnostic import Diagnostic, MacahError
from macah.explain import explain, listing
from macah.program import read_program
from macah.survey import as_in_c, kernels_of
from macah.translate import to_c

PAGES = Path(__file__).parent.parent.parent / "docs" / "diagnostics"
COMPILED = [name for name, code in CODES.items() if code.kind in ("language", "accelerator")]
# Pages of these are about the command line or other programs; warnings' pages are tested with the warnings.
SHOWN = [name for name, code in CODES.items() if code.kind in ("limit", "tool")]


def examples(name: str, language: str) -> list[str]:
    text = (PAGES / f"{name}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def found_in(example: str, path: Path) -> list[Diagnostic]:
    path.write_text(example)
    try:
        program = read_program(path)
        _, found = kernels_of(program, {})
        if not found:
            to_c(program)
    except MacahError as error:
        return list(error.diagnostics)
    return found


@pytest.mark.parametrize("name", CODES)
def test_there_is_a_page(name: str) -> None:
    lines = (PAGES / f"{name}.md").read_text().splitlines()
    assert lines[0] == f"# {name}"
    assert max(map(len, lines)) <= 120
    assert explain(f"[{name}]") == "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", [*COMPILED, "for-too-long"])
def test_the_wrong_example_gives_the_error_and_the_right_one_none(name: str, tmp_path: Path) -> None:
    wrong, right = examples(name, "macah")
    assert {d.code for d in found_in(wrong, tmp_path / "wrong.macah")} == {name}
    assert found_in(right, tmp_path / "right.macah") == []


@pytest.mark.parametrize("name", [n for n in SHOWN if n != "for-too-long"])
def test_pages_about_commands_show_them(name: str) -> None:
    assert "macahc" in (PAGES / f"{name}.md").read_text()
    assert all(example.startswith("$ macahc") for example in examples(name, "console"))


def test_what_cannot_be_mapped_is_a_warning_in_c(tmp_path: Path) -> None:
    wrong, right = examples("not-mappable", "macah")
    found = as_in_c(found_in(wrong, tmp_path / "wrong.macah"))
    assert [(d.severity, d.code) for d in found] == [("warning", "not-mappable")]
    assert found_in(right, tmp_path / "right.macah") == []


def test_there_is_no_page_without_a_code() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} - {"README"} == set(CODES)


def test_the_index_lists_all_pages() -> None:
    linked = re.findall(r"\[`([\w-]+)`\]\(([\w-]+)\.md\)", (PAGES / "README.md").read_text())
    assert [name for name, _ in linked] == [file for _, file in linked]
    assert sorted(name for name, _ in linked) == sorted(CODES)


def test_unknown_codes_are_answered_with_near_ones() -> None:
    with pytest.raises(MacahError) as caught:
        explain("undeclard")
    assert "undeclared" in caught.value.diagnostics[0].hint
    assert all(name in listing() for name in CODES)
