"""Diagnostics as one JSON document: in the shape of gcc's `-fdiagnostics-format=json`, or as SARIF 2.1.0."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .codes import CODES
from .diagnostic import Diagnostic, Note, Place

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def json_text(diagnostics: Sequence[Diagnostic]) -> str:
    """An array of objects as gcc has them; errors have `code`, warnings `option`, where they have one."""
    return json.dumps([_object(diagnostic) for diagnostic in diagnostics]) + "\n"


def _object(diagnostic: Diagnostic) -> dict[str, Any]:
    found = _message(diagnostic.severity, diagnostic.message, diagnostic.where)
    if diagnostic.option:
        found["option"] = diagnostic.option
    if diagnostic.code:
        found["code"] = diagnostic.code
    found["children"] = [_message("note", note.message, note.where) for note in _notes(diagnostic)]
    found["column-origin"] = 1
    return found


def _notes(diagnostic: Diagnostic) -> list[Note]:
    hint = [Note(diagnostic.hint, diagnostic.where)] if diagnostic.hint else []
    included = [Note("included from here", place) for place in diagnostic.included]
    return [*diagnostic.notes, *hint, *included]


def _message(kind: str, message: str, where: Place | None) -> dict[str, Any]:
    locations = [_location(where)] if where is not None else []
    return {"kind": kind, "message": message, "locations": locations, "escape-source": False}


def _location(where: Place) -> dict[str, Any]:
    def point(column: int) -> dict[str, Any]:
        columns = {"column": column, "display-column": column, "byte-column": column}
        return {"file": where.file, "line": where.line, **columns}

    found = {"caret": point(where.column)}
    if 0 < where.begin < where.column:
        found["start"] = point(where.begin)
    if where.end - 1 > where.column:
        found["finish"] = point(where.end - 1)
    return found


def sarif_text(diagnostics: Sequence[Diagnostic]) -> str:
    """A SARIF 2.1.0 log of one run."""
    rules = list(dict.fromkeys(code for d in diagnostics if (code := _rule(d))))
    driver = {
        "name": "macahc",
        "version": _version(),
        "rules": [{"id": rule, "shortDescription": {"text": _title(rule)}} for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": all(d.severity != "error" for d in diagnostics)}],
        "results": [_result(diagnostic, rules) for diagnostic in diagnostics],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _rule(diagnostic: Diagnostic) -> str:
    return diagnostic.code or diagnostic.option


def _title(rule: str) -> str:
    return CODES[rule].title if rule in CODES else f"the C compiler's {rule}"


def _version() -> str:
    try:
        return version("macah")
    except PackageNotFoundError:
        return "0"


def _result(diagnostic: Diagnostic, rules: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "level": diagnostic.severity if diagnostic.severity in ("error", "warning", "note") else "none",
        "message": {"text": diagnostic.message},
        "locations": [_sarif_location(diagnostic.where)] if diagnostic.where else [],
        "relatedLocations": [
            {**(_sarif_location(note.where) if note.where else {}), "message": {"text": note.message}}
            for note in _notes(diagnostic)
        ],
    }
    if rule := _rule(diagnostic):
        found |= {"ruleId": rule, "ruleIndex": rules.index(rule)}
    return found


def _sarif_location(where: Place) -> dict[str, Any]:
    region = {"startLine": max(where.line, 1)}
    if where.column:
        region["startColumn"] = where.begin if 0 < where.begin < where.column else where.column
        region["endColumn"] = where.end if where.end > where.column else where.column + 1
    path = Path(where.file)
    uri = path.as_uri() if path.is_absolute() else quote(where.file)
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
