"""What is wrong with a program's syntax, said as gcc says it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NoReturn

from pycparser.c_parser import Coord, CParser

from macah.beginners import unclosed, usual_mistake
from macah.columns import MacahCoord, place_at
from macah.diagnostic import MacahError, Note, Place
from macah.mistakes import describe
from macah.std_headers import header_hint
from macah.tokens import MacahToken, TokenList


class GccWording(CParser):  # type: ignore[misc]
    """pycparser's parser, whose every error is a `MacahError` with a place."""

    _tokens: TokenList

    def _refuse_unknown_type(self, *following: str) -> None:
        """Where a declaration may stand, a name and one of `following` (a name by default) start no other.

        The name is taken for a type from then on, so that what it declares is no error.
        """
        token = self._peek()
        if token is None or token.type != "ID" or self._peek_type(2) not in (following or {"ID"}):
            return
        if token.value == "kernel":
            behind = self._peek(2)
            label = behind.value if behind is not None else "name"
            hint = "write 'kernel { ... }', with braces around one statement, too"
            if self._peek_type(3) == "LBRACE":
                hint = f"a kernel gets its name by a label: '{label}: kernel {{ ... }}'"
            self._advance()
            self._fail(f"expected '{{' after 'kernel', not '{label}'", hint=hint, code="kernel-block")
        self.note(self._unknown_type(token))
        self._scope_stack[0][token.value] = True
        self._typedef_checked_token = None

    def _unknown_type(self, token: MacahToken) -> MacahError:
        hint = header_hint(token.value) or self._tagged(token.value)
        guess = "" if hint else self._guess(token.value)
        message = f"unknown type name '{token.value}'{guess}"
        return self._error(message, self._tok_coord(token), hint=hint, code="unknown-type")

    def _tagged(self, name: str) -> str:
        """`point p;`: what is only the name of a struct needs the word before it."""
        tokens = self._tokens.tokens
        for word, tag in zip(tokens, tokens[1 : self._tokens.index], strict=False):
            if tag.value == name and word.type in ("STRUCT", "UNION", "ENUM"):
                return f"write '{word.value} {name}'"
        return ""

    def _guess(self, name: str) -> str:
        """What may have been meant by a name where a statement or declaration begins."""
        types = {n for scope in self._scope_stack for n, is_type in scope.items() if is_type and n[0] != "_"}
        known = [*_WORDS, *sorted(types)]
        near = get_close_matches(name, known, 1, 0.7) or get_close_matches(name.lower(), known, 1, 0.8)
        return f"; did you mean '{near[0]}'?" if near and near[0] != name else ""

    def _expect(self, token_type: str) -> Any:
        found = self._peek_type()
        # Labels and enumerators may have the name of a type, which pycparser does not allow for.
        if found != token_type and (token_type, found) != ("ID", "TYPEID"):
            self._unexpected(_SPELLING.get(token_type, f"'{token_type.lower()}'"))
        return self._advance()

    def _unexpected(self, expected: str) -> NoReturn:
        token, before = self._peek(), self._tokens.peek(0)
        if token is None:
            opened = unclosed(self._tokens.tokens)
            notes = (Note(f"to match this '{opened.value}'", self._place(opened)),) if opened else ()
            where = self._behind(before)
            self._fail(f"expected {expected} at end of input", where, notes=notes, code="unterminated")
        if expected == "';'" and before is not None and before.type in {"SEMI", "LBRACE", "RBRACE"}:
            expected = "expression"
        if mistake := usual_mistake(self._tokens, expected):
            where = self._place(mistake.token) if mistake.token else None
            macro = self._of_macro(self._tokens.peek(-1)) if token.type == "ELSE" else ""
            self._fail(mistake.message, where, hint=macro or mistake.hint, code=mistake.code)
        if token.type == "ID" and before is not None and before.type == "ID" and self._may_be_type():
            guess = self._guess(before.value)
            if guess:
                raise self._unknown_type(before)
        # Like gcc, ask for a forgotten semicolon where it is missing, not where the next line begins.
        where = self._behind(before) if expected == "';'" and before is not None else None
        self._fail(f"expected {expected} before {describe(token)}", where, hint=self._of_macro(token, before))

    def _of_macro(self, *tokens: MacahToken | None) -> str:
        """`#define N 8;`: which macro has the semicolon among these tokens, if one has."""
        macros = [self._place(t).macro for t in tokens if t is not None and t.type == "SEMI"]
        found = next((macro for macro in macros if macro), "")
        return f"macro '{found}' contains a ';'" if found else ""

    def _may_be_type(self) -> bool:
        """Whether the word before could have been meant for a type: it is no operand."""
        ahead = self._tokens.peek(-1)
        return ahead is None or ahead.value in _BEFORE_TYPES or ahead.value.isidentifier()

    def _place(self, token: MacahToken) -> Place:
        return place_at(self._tok_coord(token))

    def _tok_coord(self, tok: MacahToken) -> MacahCoord:
        return MacahCoord(tok.filename, tok.lineno, tok.column, self.clex.text, tok.start)

    def _behind(self, token: MacahToken | None) -> Place | None:
        if token is None:
            return None
        place = place_at(self._tok_coord(token))
        line, column = token.behind
        if line == token.lineno:
            column += place.column - token.column
        return Place(place.file, place.line + line - token.lineno, column)

    def _here(self) -> Place | None:
        token = self._peek() or self._tokens.peek(0)
        return place_at(self._tok_coord(token)) if token else None

    def _fail(
        self,
        message: str,
        where: Coord | Place | None = None,
        notes: tuple[Note, ...] = (),
        hint: str = "",
        *,
        code: str = "syntax",
    ) -> NoReturn:
        raise self._error(message, where, notes, hint, code=code)

    def _error(
        self,
        message: str,
        where: Coord | Place | None = None,
        notes: tuple[Note, ...] = (),
        hint: str = "",
        *,
        code: str = "syntax",
    ) -> MacahError:
        if isinstance(where, Coord):
            where = place_at(where)
        return MacahError(message, where or self._here(), notes, hint, code=code)

    def note(self, error: MacahError) -> None:
        """Keeps an error, to go on and find more."""
        raise error

    def _parse_error(self, msg: str, coord: Any) -> NoReturn:
        if msg in _EXPECTED:
            self._unexpected(_EXPECTED[msg])
        if "previously declared" in msg:
            msg = f"'{msg.split(chr(39))[1]}' redeclared as different kind of symbol"
        if msg in _REWORDED and (mistake := usual_mistake(self._tokens, "declaration")):
            place = self._place(mistake.token) if mistake.token else None
            self._fail(mistake.message, place, hint=mistake.hint, code=mistake.code)
        before = self._tokens.peek(0)
        if msg in _REWORDED and before is not None and before.type == "ID" and self._guess(before.value):
            raise self._unknown_type(before)
        msg = _REWORDED.get(msg, msg)
        where = coord if isinstance(coord, Coord) else None
        self._fail(msg[0].lower() + msg[1:], where, code="declaration")

    def _lex_error_func(self, msg: str, line: int, column: int) -> None:
        where = place_at(self.clex.coord_at(line, column))
        if msg.startswith("missing"):
            self.note(MacahError(msg, where, code="unterminated"))
        else:
            self.note(MacahError(msg, where, code="invalid-token"))


# Words that begin statements and declarations.
_WORDS = (
    *("auto", "break", "case", "char", "const", "continue", "default", "do", "double"),
    *("else", "enum", "extern", "float", "for", "goto", "if", "inline", "int"),
    *("kernel", "long", "register", "return", "short", "signed", "sizeof", "static", "struct"),
    *("switch", "typedef", "union", "unsigned", "void", "volatile", "while"),
)

# Marks that a type may stand behind.
_BEFORE_TYPES = frozenset(";{}:(),")

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
