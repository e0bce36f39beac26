"""Every error and warning has a registered name, and every name is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import macah
from macah.codes import CODES

SOURCES = sorted(Path(macah.__file__).parent.rglob("*.py"))


def calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield node


def named_codes(path: Path) -> Iterator[tuple[int, str]]:
    """The strings that a source gives as `code`, in calls and as default of a parameter; with their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        values: list[ast.expr] = []
        if isinstance(node, ast.Call):
            values = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        elif isinstance(node, ast.FunctionDef):
            defaults = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            values = [default for argument, default in defaults if argument.arg == "code" and default]
        elif isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "code" for target in node.targets
        ):
            values = [node.value]
        for value in values:
            for part in ast.walk(value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value:
                    yield part.lineno, part.value


def test_every_error_has_a_code() -> None:
    without = [
        f"{path.name}:{call.lineno}"
        for path in SOURCES
        for call in calls(path)
        if isinstance(call.func, ast.Name)
        and (call.func.id == "MacahError" or call.func.id == "Diagnostic" and path.name != "gcc_json.py")
        and "code" not in [keyword.arg for keyword in call.keywords]
    ]
    assert without == []


def test_every_code_is_registered() -> None:
    unknown = [
        f"{path.name}:{line}: {code}"
        for path in SOURCES
        for line, code in named_codes(path)
        if code not in CODES
    ]
    assert unknown == []


def test_every_registered_code_is_used() -> None:
    used = {code for path in SOURCES for _, code in named_codes(path)}
    assert sorted(CODES.keys() - used) == []


def test_names_and_titles_have_one_form() -> None:
    for name, code in CODES.items():
        assert name == name.lower().replace("_", "-").replace(" ", "-"), name
        assert 10 < len(code.title) < 80, name
        assert not code.title.endswith("."), name
        assert (code.group != "") <= (code.kind == "warning"), name
