"""What is wrong with a program's syntax, said as gcc says it."""

from __future__ import annotations

from typing import Any, NoReturn

from pycparser.c_parser import Coord, CParser

from macah.columns import MacahCoord, place_at
from macah.diagnostic import MacahError, Place
from macah.lexer import MacahToken, TokenList


class GccWording(CParser):  # type: ignore[misc]
    """pycparser's parser, whose every error is a `MacahError` with a place."""

    _tokens: TokenList

    def _refuse_unknown_type(self, *following: str) -> None:
        """Where a declaration may stand, a name and one of `following` (a name by default) start no other."""
        token = self._peek()
        if token is None or token.type != "ID" or self._peek_type(2) not in (following or {"ID"}):
            return
        if token.value == "kernel":
            self._advance()
            self._fail(
                "expected '{' after 'kernel': a kernel gets its name by a label, 'name: kernel { }'",
                code="kernel-block",
            )
        self._fail(f"unknown type name '{token.value}'", code="unknown-type")

    def _expect(self, token_type: str) -> Any:
        found = self._peek_type()
        # Labels and enumerators may have the name of a type, which pycparser does not allow for.
        if found != token_type and (token_type, found) != ("ID", "TYPEID"):
            self._unexpected(_SPELLING.get(token_type, f"'{token_type.lower()}'"))
        return self._advance()

    def _unexpected(self, expected: str) -> NoReturn:
        token, before = self._peek(), self._tokens.peek(0)
        if token is None:
            self._fail(f"expected {expected} at end of input", self._behind(before), code="unterminated")
        if token.type == "RECEIVE":
            self._fail(
                "a receive '<?' must be a statement of its own or stand in the head of 'for'", code="transfer"
            )
        if token.type == "COLONCOLON":
            self._fail("'::' belongs before a send or receive: 'worked :: x <? s;'", code="transfer")
        if token.type == "ID" and before is not None and before.type == "ID":
            self._fail(f"unknown type name '{before.value}'", self._tok_coord(before), code="unknown-type")
        # Like gcc, ask for a forgotten semicolon where it is missing, not where the next line begins.
        where = self._behind(before) if expected == "';'" and before is not None else None
        self._fail(f"expected {expected} before {_describe(token)}", where)

    def _tok_coord(self, tok: MacahToken) -> MacahCoord:
        return MacahCoord(tok.filename, tok.lineno, tok.column, self.clex.text, tok.start)

    def _behind(self, token: MacahToken | None) -> Place | None:
        if token is None:
            return None
        place = place_at(self._tok_coord(token))
        return Place(place.file, place.line, place.column + token.end - token.start)

    def _here(self) -> Place | None:
        token = self._peek() or self._tokens.peek(0)
        return place_at(self._tok_coord(token)) if token else None

    def _fail(self, message: str, where: Coord | Place | None = None, *, code: str = "syntax") -> NoReturn:
        if isinstance(where, Coord):
            where = place_at(where)
        raise MacahError(message, where or self._here(), code=code)

    def _parse_error(self, msg: str, coord: Any) -> NoReturn:
        if msg in _EXPECTED:
            self._unexpected(_EXPECTED[msg])
        if "previously declared" in msg:
            msg = f"'{msg.split(chr(39))[1]}' redeclared as different kind of symbol"
        msg = _REWORDED.get(msg, msg)
        where = coord if isinstance(coord, Coord) else None
        self._fail(msg[0].lower() + msg[1:], where, code="declaration")

    def _lex_error_func(self, msg: str, line: int, column: int) -> NoReturn:
        code = "unterminated" if msg.startswith("missing terminating") else "invalid-token"
        raise MacahError(msg, place_at(self.clex.coord_at(line, column)), code=code)


def _describe(token: MacahToken) -> str:
    if token.type.endswith("STRING_LITERAL"):
        return "string constant"
    if "CONST_" in token.type or token.type.endswith("_CONST"):
        return "constant"
    if token.type in {"PPPRAGMA", "PPPRAGMASTR"}:
        return "'#pragma'"
    return f"'{token.value}'"


_SPELLING = {
    "SEMI": "';'",
    "COLON": "':'",
    "COMMA": "','",
    "EQUALS": "'='",
    "LPAREN": "'('",
    "RPAREN": "')'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LBRACKET": "'['",
    "RBRACKET": "']'",
    "SHIFTABLE_END": "'^]'",
    "ID": "identifier",
    "TYPEID": "identifier",
}

# pycparser's messages that only say which rule failed, as what gcc would have expected there.
_EXPECTED = {
    "At end of input": "declaration or statement",
    "Invalid expression": "expression",
    "Invalid declarator": "identifier or '('",
    "Invalid abstract declarator": "declarator",
    "Invalid declaration": "declaration",
    "Invalid specifier list": "type name",
    "Missing type in declaration": "type name",
    "Invalid struct/union declaration": "'{'",
    "Invalid struct reference": "member name",
    "Expected identifier": "identifier",
}

_REWORDED = {
    "Invalid function definition": "a declaration needs a type",
    "Invalid multiple types specified": "two or more data types in declaration specifiers",
    "Invalid typedef": "function definition declared 'typedef'",
}
