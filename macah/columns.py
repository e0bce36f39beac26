"""Columns of the source file: the preprocessor keeps lines, but not the space between words.

A coordinate's own column is that in the preprocessed text; `place_at` finds the column in the file, by
aligning the words of the two lines. What a macro expanded to is placed where the macro is used.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from pycparser.c_parser import Coord

from macah.alignment import opcodes
from macah.diagnostic import Place

_ATOM = re.compile(r"""\w+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|//.*|/\*.*?(?:\*/|$)|\S""")
_MARKER = re.compile(r'# (\d+) ("(?:[^"\\]|\\.)*")')
_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"[\w\"']")


@dataclass(slots=True)
class MacahCoord(Coord):  # type: ignore[misc]
    """A coordinate that knows its place in the preprocessed text: `text[start:end]`, `end` 0 if not known."""

    text: str = ""
    start: int = 0
    end: int = 0


_Column = tuple[int, int, str]
"""Where a word of the preprocessed text stands in the source: its columns, and the macro it came from."""


class _Use(NamedTuple):
    """Where a macro's name stands among the words of a line, and where its arguments end."""

    name: int
    end: int


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
    matched = _matched([word for word, _ in here], [word for word, _ in there])
    uses = deque(_uses(there, {*range(len(there))} - {*matched.values()}))
    columns: dict[int, _Column] = {}
    behind = iter([*sorted(matched.values()), len(there)])
    following = next(behind)
    around: list[_Use] = []  # the macros in whose arguments the last word is that is there, too
    for i, (_, at) in enumerate(here):
        j, macro = matched.get(i), ""
        if j is not None:
            following = next(behind)
            while uses and uses[0].name < j:
                around.append(uses.popleft())
            while around and around[-1].end <= j:
                around.pop()
        elif used := [use for use in (*islice(uses, 1), *around[-1:]) if use.name < following][:1]:
            j = used[0].name
            macro = there[j][0]
        else:
            j = min(following, len(there) - 1)
        if there:
            word, column = there[j]
            columns[at] = (column, column + len(word), macro)
    return columns


def _matched(here: list[str], there: list[str]) -> dict[int, int]:
    """Which words of a preprocessed line are which of the source.

    Names, numbers and strings first; of the marks between two of them, what is alike in front and at the end.
    """
    ours, theirs = ([k for k, word in enumerate(words) if _WORD.match(word)] for words in (here, there))
    found: dict[int, int] = {}
    for kind, i1, i2, j1, _ in opcodes([here[i] for i in ours], [there[j] for j in theirs]):
        if kind == "equal":
            found.update((ours[i], theirs[j1 + i - i1]) for i in range(i1, i2))
    fixed = [(-1, -1), *sorted(found.items()), (len(here), len(there))]
    for (i1, j1), (i2, j2) in pairwise(fixed):
        while i1 + 1 < i2 and j1 + 1 < j2 and here[i1 + 1] == there[j1 + 1]:
            i1, j1 = i1 + 1, j1 + 1
            found[i1] = j1
        while i1 + 1 < i2 and j1 + 1 < j2 and here[i2 - 1] == there[j2 - 1]:
            i2, j2 = i2 - 1, j2 - 1
            found[i2] = j2
    return found


def _uses(words: list[tuple[str, int]], missing: set[int]) -> Iterator[_Use]:
    """The macros that a line of the source uses: names that have gone."""
    for k in sorted(missing):
        if _NAME.fullmatch(words[k][0]):
            yield _Use(k, _behind_arguments(words, k + 1))


def _behind_arguments(words: list[tuple[str, int]], at: int) -> int:
    """Where what a macro is given in parentheses ends, if they begin at this word."""
    depth = 0
    for end in range(at, len(words)):
        depth += (words[end][0] == "(") - (words[end][0] == ")")
        if depth == 0:
            return end + 1 if end > at else at
    return at


def _atoms(line: str) -> list[tuple[str, int]]:
    """The words, constants and other characters of a line, each with its column, without comments."""
    found = [(match.group(), match.start() + 1) for match in _ATOM.finditer(line)]
    if "//" in line or "/*" in line:
        found = [(word, column) for word, column in found if not word.startswith(("//", "/*"))]
    return found
