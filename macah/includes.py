"""Where headers are included from, as the marks of the preprocessor tell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from .diagnostic import Diagnostic, Place

_MARK = re.compile(r'^# (\d+) "((?:[^"\\\n]|\\.)*)"([ \d]*)$', re.MULTILINE)


def with_includes(diagnostics: Iterable[Diagnostic], text: str) -> tuple[Diagnostic, ...]:
    """Diagnostics that say where the headers that they are in are included from, in preprocessed `text`."""
    found = tuple(diagnostics)
    ways = _ways(text) if any(d.where is not None for d in found) else {}
    return tuple(replace(d, included=ways.get(d.where.file, ())) if d.where else d for d in found)


def _ways(text: str) -> dict[str, tuple[Place, ...]]:
    """Of each file the places that include it when it is first read, innermost first."""
    ways: dict[str, tuple[Place, ...]] = {}
    stack: list[Place] = []
    file, line, read_to = "", 0, 0
    for mark in _MARK.finditer(text):
        line += text.count("\n", read_to, mark.start()) - 1
        flags = mark[3].split()
        if "1" in flags and file and not file.startswith("<"):
            stack.append(Place(file, max(line, 1)))
        elif "2" in flags and stack:
            stack.pop()
        file, line, read_to = mark[2], int(mark[1]), mark.end()
        ways.setdefault(file, tuple(reversed(stack)))
    return ways
