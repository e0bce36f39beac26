"""The four packages import in one direction only."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("arch", "backend", "sim", "macah")
FILES = sorted(file for layer in LAYERS for file in (ROOT / layer).rglob("*.py"))


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names & set(LAYERS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_package_imports_itself_and_those_to_its_left(file: Path) -> None:
    layer = file.relative_to(ROOT).parts[0]
    allowed = LAYERS[: LAYERS.index(layer) + 1]
    assert imported(ast.parse(file.read_text())) <= set(allowed)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_file_is_over_500_lines(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= 500
