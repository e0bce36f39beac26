"""The programs of tests/conformance mean C in every mode and at every stage."""

from __future__ import annotations

from pathlib import Path

import pytest
from random_checks import SANITIZE, check, check_translation

from arch.describe import load_fabric

PROGRAMS = sorted((Path(__file__).parent.parent / "conformance").glob("*.macah"))
SLOW = {"operators"}
MAPPED = ("assignments", "initializers", "sequencing", "streams", "structs", "switches")


def cases() -> list[object]:
    marks = dict.fromkeys(SLOW, pytest.mark.slow)
    return [pytest.param(p, id=p.stem, marks=marks.get(p.stem, ())) for p in PROGRAMS]


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One directory for all programs, which keeps the compiled runtime."""
    return tmp_path_factory.mktemp("conformance")


@pytest.mark.quick(5)
@pytest.mark.parametrize("path", cases())
def test_a_program_means_the_same_at_every_stage(path: Path, directory: Path) -> None:
    assert check(path.read_text(), directory, flags=SANITIZE) is None


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_prints_the_same_translated(path: Path, directory: Path) -> None:
    assert check_translation(path.read_text(), directory) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", MAPPED)
def test_a_program_means_the_same_mapped(name: str, directory: Path) -> None:
    text = next(path for path in PROGRAMS if path.stem == name).read_text()
    assert check(text, directory, every_pass=False, fabric=load_fabric("grid8x8")) is None
