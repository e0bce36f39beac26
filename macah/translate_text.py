"""The edits that make a program's text C, noted at the tokens of the preprocessed text."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from macah.columns import MacahCoord
from macah.lexer import MacahLexer
from macah.program import Program
from macah.tokens import MacahToken
from macah.translate_sheet import Edit, Sheet, Span, outermost, quoted


@dataclass(slots=True)
class Source:
    """The text of a program with its tokens, and the edits made to it."""

    program: Program
    tokens: list[MacahToken] = field(init=False)
    _starts: list[int] = field(init=False)
    _edits: dict[tuple[int, int, str], tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # The program has been parsed, so no error can come up here.
        lexer = MacahLexer(lambda message, line, column: None)
        self.tokens = lexer.tokens(self.program.text, str(self.program.path))
        self._starts = [token.start for token in self.tokens]

    @property
    def text(self) -> str:
        """The program's text before any edit."""
        return self.program.text

    @property
    def edits(self) -> list[Edit]:
        """All edits, in no order."""
        return [Edit((s, e), "".join(new), side) for (s, e, side), new in self._edits.items()]

    def marker(self, position: int) -> str:
        """A line marker for `position`, as in a system header: compilers do not warn of what follows."""
        place = self.sheet().place(position)
        return f"\n# {place.line} {place.file} 3\n"

    def sheet(self) -> Sheet:
        """The preprocessed text with its edits."""
        return Sheet.preprocessed(self.text, quoted(str(self.program.path)), self.edits)

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

    def is_member(self, node: Any) -> bool:
        """Whether a node is the name in a designator `.name`."""
        at = self.index_at(node.coord) if node.coord is not None else 0
        return isinstance(node, c_ast.ID) and self.tokens[at - 1].value == "."

    def statement_end(self, end: int) -> int:
        """The end of a statement with its semicolon, which spans of expressions leave out."""
        at = bisect_left(self._starts, end)
        return self.tokens[at].end if at < len(self.tokens) and self.tokens[at].type == "SEMI" else end

    def spelled(self, span: Span) -> str:
        """The text of a span on one line, for messages and comments."""
        return " ".join(self.text[slice(*span)].split())

    def edited(self, span: Span) -> str:
        """The text of a span on one line, with the edits noted inside it so far."""
        inside = [
            Edit((s, e), "".join(new), side)
            for (s, e, side), new in self._edits.items()
            if span[0] <= s and e <= span[1]
        ]
        out, at = "", span[0]
        for edit in outermost(inside):
            out, at = out + self.text[at : edit.span[0]] + edit.text, edit.span[1]
        return " ".join((out + self.text[at : span[1]]).split())

    def replace(self, span: Span, text: str) -> None:
        """Let `text` stand where `span` was."""
        self._edits[*span, ""] = (text,)

    def between(self, start: int, end: int, text: str) -> None:
        """Let `text` stand for the tokens between two that end at `start` and begin at `end`."""
        self.replace((start, self.tokens_in((start, end))[-1].end), text)

    def operand_ends(self, operator: MacahToken, text: str) -> None:
        """Let `text` stand for an operator, right behind its left operand."""
        before = self.tokens[bisect_left(self._starts, operator.start) - 1]
        adjacent = not self.text[before.end : operator.start].strip(" \t")
        self.replace((before.end if adjacent else operator.start, operator.end), text)

    def before(self, position: int, text: str, outermost: bool = False) -> None:
        """Let `text` stand before the token at `position`, behind what does already, or `outermost`."""
        old = self._edits.get((position, position, "before"), ())
        self._edits[position, position, "before"] = (text, *old) if outermost else (*old, text)

    def behind(self, position: int, text: str, outermost: bool = False) -> None:
        """Let `text` stand behind the token that ends at `position`, before what does, or `outermost`."""
        old = self._edits.get((position, position, "behind"), ())
        self._edits[position, position, "behind"] = (*old, text) if outermost else (text, *old)

    def around(self, span: Span, before: str, behind: str) -> None:
        """Let text stand before and behind a span."""
        self.before(span[0], before)
        self.behind(span[1], behind)
