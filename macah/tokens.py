"""Tokens of Macah with their places in the text, and the list of them that the parser walks through."""

from __future__ import annotations

from dataclasses import dataclass

from pycparser.c_lexer import Token

TYPE_WORDS = frozenset(
    {"VOID", "_BOOL", "CHAR", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "_COMPLEX", "SIGNED", "UNSIGNED"}
    | {"__INT128"}
)
"""The kinds of the words that types without names are made of."""


@dataclass(slots=True)
class MacahToken(Token):  # type: ignore[misc]
    """A token and the characters it stands for: `text[start:end]` of the lexer's input.

    `attributes` are the arguments of GNU attributes that stand before it.
    """

    start: int = 0
    end: int = 0
    attributes: tuple[str, ...] = ()

    @property
    def behind(self) -> tuple[int, int]:
        """Line and column right after it; an `asm` with its operands is one token of several lines."""
        lines = self.value.count("\n")
        if lines:
            return self.lineno + lines, len(self.value) - self.value.rindex("\n")
        return self.lineno, self.column + self.end - self.start


class TokenList:
    """All tokens of a text and a position among them: what pycparser's parser wants of a token stream."""

    __slots__ = ("tokens", "index")

    def __init__(self, tokens: list[MacahToken]) -> None:
        self.tokens = tokens
        self.index = 0

    def peek(self, k: int = 1) -> MacahToken | None:
        """The token `k` places ahead; `peek(0)` is the one just consumed."""
        at = self.index + k - 1
        return self.tokens[at] if 0 <= at < len(self.tokens) else None

    def next(self) -> MacahToken | None:
        """Consume and return a token; None at the end."""
        if self.index == len(self.tokens):
            return None
        self.index += 1
        return self.tokens[self.index - 1]

    def mark(self) -> int:
        """The present position, for `reset`."""
        return self.index

    def reset(self, mark: int) -> None:
        """Go back to an earlier position."""
        self.index = mark
