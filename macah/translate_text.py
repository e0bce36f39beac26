"""Replacing parts of a program's text while the rest, and its line numbers, stay as they are."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Any

from macah.columns import MacahCoord
from macah.lexer import MacahLexer, MacahToken
from macah.program import Program

Span = tuple[int, int]
# What stands for a span: literal text, and spans of the program that are themselves edited.
Parts = tuple[str | Span, ...]

_MARKER = re.compile(r'^#[ \t]*(?:line[ \t]+)?(\d+)(?:[ \t]+("(?:[^"\\\n]|\\.)*"))?[^\n]*\n', re.MULTILINE)


@dataclass(slots=True)
class Source:
    """The text of a program with its tokens, and the edits made to it."""

    program: Program
    tokens: list[MacahToken] = field(init=False)
    _starts: list[int] = field(init=False)
    _markers: list[tuple[int, int, str]] = field(init=False)
    _edits: dict[Span, Parts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # The program has been parsed, so no error can come up here.
        lexer = MacahLexer(lambda message, line, column: None)
        self.tokens = lexer.tokens(self.program.text, str(self.program.path))
        self._starts = [token.start for token in self.tokens]
        self._markers = [(0, 1, quoted(str(self.program.path)))]
        for match in _MARKER.finditer(self.program.text):
            name = match[2] or self._markers[-1][2]
            self._markers.append((match.end(), int(match[1]), name))

    @property
    def text(self) -> str:
        """The program's text before any edit."""
        return self.program.text

    @property
    def edited(self) -> bool:
        """Whether there are any edits."""
        return bool(self._edits)

    def span(self, node: Any) -> Span | None:
        """The characters of a node, if the parser knows them."""
        return self.program.span_of(node)

    def tokens_in(self, span: Span) -> list[MacahToken]:
        """The tokens that lie in a span."""
        return self.tokens[bisect_left(self._starts, span[0]) : bisect_left(self._starts, span[1])]

    def index_at(self, coord: MacahCoord) -> int:
        """The number of the token that `coord` is the place of."""
        # Not by line and column, which tokens behind different line markers may share.
        return bisect_left(self._starts, coord.start)

    def replace(self, span: Span, *parts: str | Span) -> None:
        """Let `parts` stand where `span` was; an empty span is an insertion."""
        self._edits[span] = parts

    def insert(self, position: int, text: str) -> None:
        """Let `text` stand before `position`, behind what was inserted there before."""
        self._edits[position, position] = (*self._edits.get((position, position), ()), text)

    def marker(self, position: int) -> str:
        """A line marker that makes what follows belong to the line of `position`."""
        at = bisect_right(self._markers, position, key=lambda marker: marker[0]) - 1
        start, line, name = self._markers[at]
        return f"\n# {line + self.text.count(chr(10), start, position)} {name}\n"

    def result(self) -> str:
        """The text with all edits."""
        # Insertions first, then outer edits before those inside them.
        order = sorted(self._edits, key=lambda s: (s[0], s[0] != s[1], -s[1]))
        return self._render((0, len(self.text)), order)

    def _render(self, span: Span, order: list[Span], outer: Span | None = None) -> str:
        """The text of a span with the edits inside it, but for `outer`, the edit that asks."""
        out, at = [], span[0]
        for index in range(bisect_left(order, span[0], key=lambda s: s[0]), len(order)):
            edit = order[index]
            if edit[0] > span[1]:
                break
            if edit != outer and edit[0] >= at and edit[1] <= span[1]:
                out += [self.text[at : edit[0]], self._apply(edit, order)]
                at = edit[1]
        return "".join((*out, self.text[at : span[1]]))

    def _apply(self, edit: Span, order: list[Span]) -> str:
        parts = self._edits[edit]
        new = "".join(part if isinstance(part, str) else self._render(part, order, edit) for part in parts)
        if "\n" in new or "\n" in self.text[edit[0] : edit[1]]:
            new += self.marker(edit[1]) + self._indent(edit[1])
        return new

    def _indent(self, position: int) -> str:
        """Blanks that keep what follows in its column, which messages of the C compiler name."""
        before = self.text[self.text.rfind("\n", 0, position) + 1 : position]
        return "".join("\t" if c == "\t" else " " * len(c.encode()) for c in before)


def quoted(name: str) -> str:
    """A file name as a line marker has it."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
