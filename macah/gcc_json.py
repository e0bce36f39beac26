"""The C compiler's messages as diagnostics, from the JSON that gcc writes."""

from __future__ import annotations

import json
import shlex
import subprocess
from functools import lru_cache
from typing import Any

from .diagnostic import Diagnostic, Note, Place
from .gcc_text import in_macah, is_internal, is_mixed
from .toolchain import compiler


def supported() -> bool:
    """Whether the C compiler writes its messages as JSON: gcc does."""
    return _is_gcc(compiler())


def read(output: str) -> list[Diagnostic]:
    """The diagnostics in what the C compiler wrote; what is no JSON becomes one without a place."""
    entries, plain = _entries(output)
    found = [_diagnostic(entry) for entry in entries if not _is_internal(entry)]
    if plain:
        found.append(Diagnostic("\n".join(plain), severity="note"))
    return found


def mixes_streams(output: str) -> bool:
    """Whether the C compiler only warns of a stream where one of another type is needed."""
    return any(is_mixed(json.dumps(entry)) for entry in _entries(output)[0])


def _entries(output: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Messages in JSON, and lines that are none."""
    found: list[dict[str, Any]] = []
    plain: list[str] = []
    for line in output.splitlines():
        try:
            entries = json.loads(line) if line.startswith("[") else None
        except ValueError:
            entries = None
        if isinstance(entries, list):
            found += entries
        elif line.strip():
            plain.append(line)
    return found, plain


def _diagnostic(entry: dict[str, Any]) -> Diagnostic:
    kind = str(entry["kind"])
    notes = tuple(Note(_quoted(child["message"]), _place(child)) for child in _children(entry))
    return Diagnostic(
        _quoted(entry["message"]),
        _place(entry),
        notes,
        severity="error" if "error" in kind else kind,
        option=str(entry.get("option", "")),
    )


def _children(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [child for child in entry.get("children", ()) if not _is_internal(child)]


def _is_internal(entry: dict[str, Any]) -> bool:
    place = _place(entry)
    return is_internal(str(entry["message"]), place.file if place is not None else "")


def _quoted(message: str) -> str:
    return (
        in_macah(message)
        .replace("\N{LEFT SINGLE QUOTATION MARK}", "'")
        .replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    )


def _place(entry: dict[str, Any]) -> Place | None:
    if not entry.get("locations"):
        return None
    location = entry["locations"][0]
    caret = location["caret"]
    finish = location.get("finish", caret)
    start = location.get("start", caret)
    line, column = int(caret["line"]), int(caret["column"])
    begin = int(start["column"]) if start["line"] == line else column
    end = int(finish["column"]) + 1 if finish["line"] == line else 0
    return Place(str(caret["file"]), line, column, begin, end)


@lru_cache(maxsize=4)
def _is_gcc(cc: str) -> bool:
    command = [*shlex.split(cc), "-fdiagnostics-format=json", "-x", "c", "-fsyntax-only", "-"]
    try:
        done = subprocess.run(command, input=b"", capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0
