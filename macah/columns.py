"""Columns of the source file: the preprocessor keeps lines, but not the space between words.

A coordinate's own column is that in the preprocessed text; `place_at` finds the column in the file, by
aligning the words of the two lines. What a macro expanded to is placed where the macro is used.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pycparser.c_parser import Coord

from macah.alignment import opcodes
from macah.diagnostic import Place

_ATOM = re.compile(r"""\w+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|//.*|/\*.*?(?:\*/|$)|\S""")
_MARKER = re.compile(r'# (\d+) ("(?:[^"\\]|\\.)*")')
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(slots=True)
class MacahCoord(Coord):  # type: ignore[misc]
    """A coordinate that knows its place in the preprocessed text: `text[start:end]`, `end` 0 if not known."""

    text: str = ""
    start: int = 0
    end: int = 0


_Column = tuple[int, int, str]
"""Where a word of the preprocessed text stands in the source: its columns, and the macro it came from."""


def place_at(coord: Any) -> Place:
    """The place in the source file of any of the parser's coordinates."""
    column = coord.column or 0
    if not isinstance(coord, MacahCoord):
        return Place(coord.file, coord.line, column)
    begins = _begins(coord.text)
    number = bisect_right(begins, coord.start) - 1
    columns, starts = _words(coord.text, number, coord.file, coord.line)
    begin = begins[number]
    first = columns.get(coord.start - begin + 1)
    if first is None:
        return Place(coord.file, coord.line, column)
    # Words keep their order, so the last one ends where all of them do.
    at = starts[bisect_right(starts, max(coord.end, coord.start + 1) - begin) - 1]
    start, end, macro = first
    return Place(coord.file, coord.line, start, start, max(end, columns[at][1]), macro)


def forget_files() -> None:
    """Files may have changed since they were looked at."""
    _words.cache_clear()


@lru_cache(maxsize=4)
def _begins(text: str) -> list[int]:
    """Where the lines of a text begin, and where another one would."""
    return [0, *(match.end() for match in re.finditer("\n", text)), len(text) + 1]


@lru_cache(maxsize=4)
def _origins(text: str) -> list[tuple[str, int]]:
    """The file and line that each line of a text comes from; line 0 stands for a line marker."""
    file, following = "", 1
    found = []
    for line in text.split("\n"):
        if marker := _MARKER.match(line):
            file, following = marker[2], int(marker[1])
            found.append((file, 0))
        else:
            found.append((file, following))
            following += 1
    return found


def _parts(text: str, number: int) -> tuple[int, int]:
    """The first and last of the lines between line markers that one line of the source has become.

    Such are around what macros of the system's headers have expanded to.
    """
    origins = _origins(text)

    def end(step: int) -> int:
        at = number
        while 0 <= at + 2 * step < len(origins) and origins[at + step][1] == 0:
            if origins[at + 2 * step] != origins[number]:
                break
            at += 2 * step
        return at

    return end(-1), end(1)


@lru_cache(maxsize=4096)
def _words(text: str, number: int, file: str, line: int) -> tuple[dict[int, _Column], list[int]]:
    """For the column of each word of a line of the text, that in the file; and the columns in order."""
    begins = _begins(text)
    first, last = _parts(text, number)
    whole = "\n".join(text[begins[at] : begins[at + 1] - 1] for at in range(first, last + 1, 2))
    there = _source_line(file, line)
    columns = _aligned(whole, whole if there is None else there)
    if first < last:
        before = sum(begins[at + 1] - begins[at] for at in range(first, number, 2))
        length = begins[number + 1] - begins[number]
        columns = {at - before: column for at, column in columns.items() if before < at <= before + length}
    return columns, sorted(columns)


def _source_line(file: str, line: int) -> str | None:
    try:
        lines = _lines(file, os.stat(file).st_mtime_ns)  # noqa: PTH116 - asked for each line
    except (OSError, ValueError):
        return None
    return lines[line - 1] if 0 < line <= len(lines) else None


@lru_cache(maxsize=64)
def _lines(file: str, changed: int) -> list[str]:
    """The lines of a file that was last changed at a time."""
    return Path(file).read_text(encoding="utf-8-sig", errors="replace").split("\n")


def _aligned(line: str, source: str) -> dict[int, _Column]:
    """For the column of each word in a preprocessed line, that in the line of the source."""
    here = _atoms(line)
    if line == source:
        return {column: (column, column + len(word), "") for word, column in here}
    there = _atoms(source)
    columns: dict[int, _Column] = {}
    for kind, i1, i2, j1, j2 in opcodes([word for word, _ in here], [word for word, _ in there]):
        for i in range(i1, i2):
            j = j1 + (i - i1) if kind == "equal" else j1
            if j < len(there):
                word, column = there[j]
                macro = word if kind == "replace" and j1 < j2 and _NAME.fullmatch(word) else ""
                columns[here[i][1]] = (column, column + len(word), macro)
    return columns


def _atoms(line: str) -> list[tuple[str, int]]:
    """The words, constants and other characters of a line, each with its column, without comments."""
    found = [(match.group(), match.start() + 1) for match in _ATOM.finditer(line)]
    if "//" in line or "/*" in line:
        found = [(word, column) for word, column in found if not word.startswith(("//", "/*"))]
    return found
