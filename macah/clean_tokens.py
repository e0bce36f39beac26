"""Tokens without what the grammar does not know: GNU attributes and asm, what is for the object file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from macah.tokens import MacahToken

_ASM_QUALIFIERS = {"VOLATILE", "INLINE", "GOTO"}
# Directives for the object file, which the preprocessor leaves where they are.
_IDENT = re.compile(r"#[ \t]*(?:ident|sccs)\b")


def cleaned(
    tokens: list[MacahToken], text: str, refuse: Callable[[str, MacahToken], Any]
) -> list[MacahToken]:
    """The tokens of `text` that the parser sees; `refuse` must raise."""
    return _Cleaner(tokens, text, refuse).clean()


class _Cleaner:
    """Moves attributes out of the way, gathers each asm into one token, and retags `^` before `]`."""

    def __init__(self, tokens: list[MacahToken], text: str, refuse: Callable[[str, MacahToken], Any]) -> None:
        self.tokens, self.text, self.refuse = tokens, text, refuse

    def clean(self) -> list[MacahToken]:
        """The tokens that are left."""
        kept: list[MacahToken] = []
        attributes: tuple[str, ...] = ()
        at = 0
        while at < len(self.tokens):
            token = self.tokens[at]
            at += 1
            match token.type:
                case "NOISE":
                    continue
                case "PPHASH" if _IDENT.match(self.text, token.start):
                    at = self._behind_line(at, token)
                    continue
                case "PPHASH":
                    self.refuse("stray '#' in program", token)
                case "ATTRIBUTE":
                    behind = self._behind_parentheses(at, token)
                    attributes += (self.text[self.tokens[at].end : self.tokens[behind - 1].start],)
                    at = behind
                    continue
                case "ASM":
                    at = self._behind_parentheses(self._behind_qualifiers(at), token)
                    token.end = self.tokens[at - 1].end
                    token.value = self.text[token.start : token.end]
                    kept.append(token)
                case "XOR" if at < len(self.tokens) and self.tokens[at].type == "RBRACKET":
                    # In C no `]` follows `^`, so here it ends a dimension `[^N^]`.
                    token.type = "SHIFTABLE_END"
                    kept.append(token)
                case _:
                    kept.append(token)
            if attributes and kept:
                kept[-1].attributes, attributes = attributes, ()
        return kept

    def _behind_line(self, at: int, first: MacahToken) -> int:
        end = self.text.find("\n", first.start)
        while at < len(self.tokens) and (self.tokens[at].start < end or end < 0):
            at += 1
        return at

    def _behind_qualifiers(self, at: int) -> int:
        while at < len(self.tokens) and self.tokens[at].type in _ASM_QUALIFIERS:
            at += 1
        return at

    def _behind_parentheses(self, at: int, word: MacahToken) -> int:
        if at >= len(self.tokens) or self.tokens[at].type != "LPAREN":
            self.refuse(f"expected '(' after '{word.value}'", word)
        depth = 0
        while at < len(self.tokens):
            depth += {"LPAREN": 1, "RPAREN": -1}.get(self.tokens[at].type, 0)
            at += 1
            if depth == 0:
                return at
        self.refuse(f"missing ')' after '{word.value}'", word)
        return at
