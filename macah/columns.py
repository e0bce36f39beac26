"""Columns of the source file: the preprocessor keeps lines, but not the space between words.

A coordinate's own column is that in the preprocessed text; `place_at` finds the column in the file, by
aligning the words of the two lines. What a macro expanded to is placed where the macro is used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import Any

from pycparser.c_parser import Coord

from macah.diagnostic import Place

_ATOM = re.compile(r"""\w+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|//.*|/\*.*?(?:\*/|$)|\S""")


@dataclass(slots=True)
class MacahCoord(Coord):  # type: ignore[misc]
    """A coordinate that knows its place in the preprocessed text."""

    text: str = ""
    start: int = 0


def place_at(coord: Any) -> Place:
    """The place in the source file of any of the parser's coordinates."""
    column = coord.column or 0
    if isinstance(coord, MacahCoord):
        column = _source_column(coord) or column
    return Place(coord.file, coord.line, column)


def _source_column(coord: MacahCoord) -> int | None:
    begin = coord.text.rfind("\n", 0, coord.start) + 1
    end = coord.text.find("\n", coord.start)
    line = coord.text[begin : end if end >= 0 else None]
    source = _source_line(coord.file, coord.line)
    if source is None or source == line:
        return None
    return _aligned(line, source).get(coord.start - begin + 1)


def _source_line(file: str, line: int) -> str | None:
    try:
        lines = _lines(file, Path(file).stat().st_mtime_ns)
    except (OSError, ValueError):
        return None
    return lines[line - 1] if 0 < line <= len(lines) else None


@lru_cache(maxsize=64)
def _lines(file: str, changed: int) -> list[str]:
    """The lines of a file that was last changed at a time."""
    return Path(file).read_text(encoding="utf-8-sig", errors="replace").split("\n")


@lru_cache(maxsize=4096)
def _aligned(line: str, source: str) -> dict[int, int]:
    """For the column of each word in a preprocessed line, that in the line of the source."""
    here, there = _atoms(line), _atoms(source)
    columns: dict[int, int] = {}
    matcher = SequenceMatcher(None, [word for word, _ in here], [word for word, _ in there], autojunk=False)
    for kind, i1, i2, j1, _ in matcher.get_opcodes():
        for i in range(i1, i2):
            j = j1 + (i - i1) if kind == "equal" else j1
            if j < len(there):
                columns[here[i][1]] = there[j][1]
    return columns


def _atoms(line: str) -> list[tuple[str, int]]:
    """The words, constants and other characters of a line, each with its column, without comments."""
    found = ((match.group(), match.start() + 1) for match in _ATOM.finditer(line))
    return [(word, column) for word, column in found if not word.startswith(("//", "/*"))]
