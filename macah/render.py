"""Diagnostics as text, in gcc's form: place, severity, message, source line, caret, notes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from .diagnostic import Diagnostic, Place, source_line, source_lines

ReadLine = Callable[[Place], str | None]

_LONGEST = 400
"""So many characters of a line are shown."""

_BOLD = "01"
# gcc's colours, as an escape sequence has them.
_COLORS = {"error": "01;31", "warning": "01;35", "note": "01;36"}


def render(diagnostic: Diagnostic, read_line: ReadLine = source_line, color: bool = False) -> str:
    """The text of a diagnostic, ending in a newline. `read_line` gives the source line of a place or None."""
    painter = _Painter(color, read_line)
    where, severity = diagnostic.where, diagnostic.severity
    lines = painter.included(diagnostic)
    lines += painter.message(severity, diagnostic.message, where, _tag(diagnostic))
    if where is not None and where.macro:
        # Of a macro of the system's it is not known where it is defined.
        expanded, at = f"expanded from macro '{where.macro}'", _definition(where)
        lines += painter.message("note", expanded, at) if at else [painter.head("note", expanded, where)]
    for note in diagnostic.notes:
        lines += painter.message("note", note.message, note.where)
    if diagnostic.hint:
        lines.append(painter.head("note", diagnostic.hint, where))
    return "\n".join(lines) + "\n"


def _tag(diagnostic: Diagnostic) -> str:
    return diagnostic.option or diagnostic.code


class _Painter:
    """Builds lines, in colour or not."""

    def __init__(self, color: bool, read_line: ReadLine) -> None:
        self.color, self.read_line = color, read_line

    def paint(self, text: str, style: str) -> str:
        return f"\33[{style}m\33[K{text}\33[m\33[K" if self.color and text else text

    def included(self, diagnostic: Diagnostic) -> list[str]:
        """Where the file of the diagnostic is included from."""
        words = ["In file included from", *["                 from"] * (len(diagnostic.included) - 1)]
        ends = [*[","] * (len(diagnostic.included) - 1), ":"]
        return [
            f"{word} {self.paint(f'{place.file}:{place.line}', _BOLD)}{end}"
            for word, place, end in zip(words, diagnostic.included, ends, strict=False)
        ]

    def message(self, severity: str, message: str, where: Place | None, tag: str = "") -> list[str]:
        """A message and the source line that it is about."""
        return [self.head(severity, message, where, tag), *self.excerpt(severity, where)]

    def head(self, severity: str, message: str, where: Place | None, tag: str = "") -> str:
        """The first line of a message."""
        style = _COLORS.get(severity, _BOLD)
        place = self.paint(f"{where or 'macahc'}:", _BOLD)
        text = re.sub(r"'([^']*)'", lambda m: f"'{self.paint(m[1], _BOLD)}'", message)
        mark = f" [{self.paint(tag, style)}]" if tag else ""
        return f"{place} {self.paint(f'{severity}:', style)} {text}{mark}"

    def excerpt(self, severity: str, where: Place | None) -> list[str]:
        """The line of the source, with what the message is about underlined."""
        text = self.read_line(where) if where else None
        if where is None or text is None:
            return []
        if not where.column:
            return [f"{where.line:5d} | {text[:_LONGEST]}"]
        style = _COLORS.get(severity, _BOLD)
        where, text = _window(where, text)
        begin, end = _extent(where, text)
        # A tab stays a tab in the padding, so that the caret stands below its character.
        padding = "".join("\t" if c == "\t" else " " for c in text[: begin - 1])
        marks = "~" * (where.column - begin) + "^" + "~" * (end - where.column - 1)
        inside = text[begin - 1 : end - 1]
        line = f"{text[: begin - 1]}{self.paint(inside, style)}{text[end - 1 :]}" if self.color else text
        return [f"{where.line:5d} | {line}", f"      | {padding}{self.paint(marks, style)}"]


def _window(where: Place, text: str) -> tuple[Place, str]:
    """As much of a line as people look at, and the place in it."""
    left = max(0, where.column - _LONGEST // 2) if len(text) > _LONGEST else 0
    begin, end = max(0, where.begin - left), max(0, where.end - left)
    return replace(where, column=where.column - left, begin=begin, end=end), text[left : left + _LONGEST]


def _extent(where: Place, text: str) -> tuple[int, int]:
    """The columns to underline, the second exclusive: inside the line and around the caret."""
    begin = where.begin if 0 < where.begin <= where.column else where.column
    end = where.end if where.column < where.end <= len(text) + 1 else where.column + 1
    return begin, end


def _definition(where: Place) -> Place | None:
    """Where the macro of a place is defined, if that is above it in the same file."""
    lines = source_lines(where)
    pattern = re.compile(rf"\s*#\s*define\s+({re.escape(where.macro)})\b")
    for number in range(min(where.line, len(lines)), 0, -1):
        if match := pattern.match(lines[number - 1]):
            return Place(where.file, number, match.start(1) + 1, match.start(1) + 1, match.end(1) + 1)
    return None
