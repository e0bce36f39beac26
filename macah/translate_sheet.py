"""Text with edits, written so that every line, and if asked every column, stays that of the source file."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

Span = tuple[int, int]

MARKER = re.compile(r'^#[ \t]*(?:line[ \t]+)?(\d+)(?:[ \t]+("(?:[^"\\\n]|\\.)*"))?([^\n]*)\n', re.MULTILINE)
_REST_OF_LINE = re.compile(r"[^\n]*")


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` instead of a span; with a `side`, an insertion before or behind the token there."""

    span: Span
    text: str
    side: str = ""

    @property
    def order(self) -> tuple[int, int, int]:
        """Insertions behind one token come before those that are before the next."""
        rank = {"behind": 0, "before": 1, "": 2}[self.side]
        return self.span[0], rank, -self.span[1]


@dataclass(frozen=True, slots=True)
class Place:
    """A file (quoted), a line of it, and blanks as wide as what stands before on the line.

    `indent` is None where text has no column in the file, as in the expansion of a macro.
    """

    file: str
    line: int
    indent: str | None = ""

    def behind(self, text: str) -> Place:
        """The place that `text` leads to from here."""
        line, at = self.line, text.rfind("\n") + 1
        if at:
            return replace(self, line=line + text.count("\n"), indent=blank(text[at:]))
        return self if self.indent is None else replace(self, indent=self.indent + blank(text))


@dataclass(frozen=True)
class Sheet:
    """A text, the places in files where parts of it come from, by the start of each part, and edits."""

    text: str
    places: Sequence[tuple[int, Place]]
    edits: Sequence[Edit]

    @classmethod
    def preprocessed(cls, text: str, file: str, edits: Sequence[Edit]) -> Sheet:
        """The sheet of a text with line markers; it begins in `file`."""
        places = [(0, Place(file, 1))]
        for match in MARKER.finditer(text):
            places.append((match.end(), Place(match[2] or places[-1][1].file, int(match[1]))))
        return cls(text, places, edits)

    @cached_property
    def lines(self) -> list[int]:
        """Where lines start."""
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def place(self, position: int) -> Place:
        """Where the text at `position` comes from."""
        start, place = self.places[bisect_right(self.places, position, key=lambda p: p[0]) - 1]
        line = bisect_right(self.lines, position)
        if passed := line - bisect_right(self.lines, start):
            start, place = self.lines[line - 1], replace(place, line=place.line + passed, indent="")
        return place.behind(self.text[start:position])

    def written(self, head: str = "", columns: bool = False) -> str:
        """The text with all edits behind `head`. Places of lines are kept by markers, columns if asked."""
        writer = _Writer(columns)
        writer.add(head)
        for text, position, new in self._chunks():
            writer.add(writer.meet(text, self.place(position), new))
        return "".join(writer.out)

    def _chunks(self) -> Iterator[tuple[str, int, bool]]:
        """Pieces of the result, each with its position in the text, and whether it is new there."""
        at = 0
        starts = [start for start, _ in self.places]
        for edit in outermost(self.edits):
            yield from self._kept(at, edit.span[0], starts)
            yield edit.text, edit.span[0], True
            at = edit.span[1]
        yield from self._kept(at, len(self.text), starts)

    def _kept(self, start: int, end: int, starts: list[int]) -> Iterator[tuple[str, int, bool]]:
        """What stays of the text, cut where parts begin."""
        for cut in (*starts[bisect_right(starts, start) : bisect_right(starts, end)], end):
            if cut > start:
                yield self.text[start:cut], start, False
                start = cut


class _Writer:
    """Writes pieces of text and knows which place of which file the C compiler takes the next one for."""

    def __init__(self, columns: bool) -> None:
        self.out: list[str] = []
        self.columns = columns
        self.here = Place("", 1)
        self.in_system = False  # where the C compiler gives no warnings; `#line` would not end that

    def add(self, text: str) -> None:
        """Write a text."""
        self.out.append(text)
        markers = list(MARKER.finditer(text))
        if markers:
            last = markers[-1]
            self.here = Place(last[2] or self.here.file, int(last[1]))
            self.in_system = "3" in last[3].split()
            text = text[last.end() :]
        self.here = self.here.behind(text)

    def meet(self, text: str, place: Place, new: bool) -> str:
        """The text that is at `place`, behind a marker or blanks if it would be taken for another's."""
        if MARKER.match(text.lstrip("\n")):
            return text
        here = self.here
        same_line = (here.file, here.line) == (place.file, place.line)
        if same_line and (new or not self.columns or place.indent is None or not _has_words(text)):
            return text
        indent = place.indent or ""
        if same_line and here.indent is not None and indent.startswith(here.indent):
            return indent[len(here.indent) :] + text
        begins = text.lstrip(" \t")
        line = place.line
        if begins.startswith("\n"):
            line, indent, text = line + 1, "", begins[1:]
        new_line = "\n" if here.indent else ""
        word = "#" if self.in_system else "#line"
        return f"{new_line}{word} {line} {place.file}\n{indent}{text}"


def outermost(edits: Iterable[Edit]) -> Iterator[Edit]:
    """Edits in the order of the text, without those inside others."""
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.order):
        if edit.span[0] >= at:
            yield edit
            at = edit.span[1]


def blank(text: str) -> str:
    """Blanks as wide as a text."""
    if text.isascii():
        return re.sub(r"[^\t]", " ", text)
    return "".join("\t" if c == "\t" else " " * _width(c) for c in text)


def quoted(name: str) -> str:
    """A file name as a line marker has it."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _has_words(text: str) -> bool:
    """Whether messages may point into the first line of a text."""
    match = _REST_OF_LINE.match(text)
    return match is not None and re.search(r"\w", match[0]) is not None
