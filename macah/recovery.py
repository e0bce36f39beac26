"""Parsing behind a mistake: several errors in one run, and none that only follows from another.

A mistake ends the statement or the declaration that it is in; parsing goes on with the next one. A semicolon
that is missing at the end of a line is taken for written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from pycparser import c_ast
from pycparser.c_parser import ParseError

from macah.brackets import OpenBrackets
from macah.diagnostic import Diagnostic, MacahError
from macah.tokens import TYPE_WORDS, MacahToken
from macah.wording import GccWording

# What pycparser raises on some malformed declarations, which it takes for well-formed.
_CONFUSED = (ParseError, AssertionError, AttributeError, IndexError, TypeError, ValueError)
_OPENING, _CLOSING = {"LPAREN", "LBRACKET", "LBRACE"}, {"RPAREN", "RBRACKET", "RBRACE"}
# What only stands inside functions.
_STATEMENTS = {
    "IF",
    "ELSE",
    "FOR",
    "WHILE",
    "DO",
    "SWITCH",
    "CASE",
    "DEFAULT",
    "RETURN",
    "BREAK",
    "CONTINUE",
    "GOTO",
}
_BEHIND_NAME = {
    "EQUALS",
    "PERIOD",
    "ARROW",
    "PLUSPLUS",
    "MINUSMINUS",
    "RECEIVE",
    "COLONCOLON",
    "PLUSEQUAL",
}
# What begins a declaration that stands at the start of a line.
_DECLARATIONS = {
    "TYPEDEF",
    "STATIC",
    "EXTERN",
    "STRUCT",
    "UNION",
    "ENUM",
    "CONST",
    "INLINE",
    "_STATIC_ASSERT",
    "TYPEID",
}


class _MarkAdded(Exception):
    """A brace or semicolon was missing in a declaration, and has been added."""


class Recovering(GccWording):
    """Collects mistakes instead of stopping at the first."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.forget_mistakes()

    def forget_mistakes(self) -> None:
        """Begin with none."""
        self.errors: list[Diagnostic] = []
        self._wrong_lines = set[tuple[str, int]]()

    def note(self, error: MacahError) -> None:
        """Keeps an error, unless there is one in the same line already: it would follow from that."""
        wrong = [(d.where and (d.where.file, d.where.line), d) for d in error.diagnostics]
        self.errors += [found for line, found in wrong if line not in self._wrong_lines]
        self._wrong_lines.update(line for line, _ in wrong if line)

    def _forget(self) -> None:
        """Leave the rules that were being followed."""

    def _guarded(self, rule: Callable[[], Any], skip: Callable[[int], None]) -> Any:
        """What `rule` gives; None if there is a mistake, behind which `skip` goes."""
        start, scopes = self._mark(), len(self._scope_stack)
        try:
            found = rule()
            if self._mark() > start:
                return found
        except _MarkAdded:
            del self._scope_stack[scopes:]
            self._typedef_checked_token = None
            self._forget()
            self._tokens.index = start
            return self._guarded(rule, skip)
        except MacahError as error:
            self.note(error)
        except _CONFUSED:
            try:
                self._unexpected("a valid declaration")
            except MacahError as error:
                self.note(error)
        del self._scope_stack[scopes:]
        self._typedef_checked_token = None
        self._forget()
        self._keep_typedef(start)
        skip(start)
        if self._mark() == start and self._peek_type() != "RBRACE":
            self._tokens.next()
        return None

    def _parse_translation_unit(self) -> list[Any]:
        found: list[Any] = []
        while self._peek() is not None:
            if self._at_stray_statement():
                self._skip_stray()
            else:
                found += self._guarded(self._parse_external_declaration, self._skip_declaration) or []
        return found

    def _parse_block_item_list(self) -> list[Any]:
        items: list[Any] = []
        while self._peek_type() not in {"RBRACE", None}:
            item = self._guarded(self._parse_block_item, self._skip_statement)
            if isinstance(item, c_ast.Node):
                items.append(item)
            elif item is not None and item != [None]:
                items += item
        return items

    def _expect(self, token_type: str) -> Any:
        if token_type == "SEMI" and self._peek_type() != "SEMI" and self._lacks_brace():
            self._add_brace()
        if token_type == "SEMI" and self._peek_type() != "SEMI" and self._ends_line():
            before = self._tokens.peek(0)
            try:
                self._unexpected("';'")
            except MacahError as error:
                self.note(error)
            return before
        return super()._expect(token_type)

    def _parse_struct_or_union_specifier(self) -> Any:
        node = super()._parse_struct_or_union_specifier()
        token, before = self._peek(), self._tokens.peek(0)
        if token is not None and before is not None and before.type == "RBRACE" and _begins_line(token):
            where = self._behind(before)
            self.note(self._error(f"expected ';' after definition of '{_named(node)}'", where))
            semicolon = _mark("SEMI", ";", before)
            self._tokens.tokens.insert(self._tokens.index, semicolon)
        return node

    def _ends_line(self) -> bool:
        """Whether a statement may end here, as far as lines show."""
        token, before = self._peek(), self._tokens.peek(0)
        if before is None or before.type in {"SEMI", "LBRACE", "RBRACE"}:
            return False
        if token is None or token.type in {"RECEIVE", "COLONCOLON", "LBRACE", "ELSE"}:
            return False
        if token.type in _STATEMENTS and len(self._scope_stack) == 1:
            return False
        return token.type == "RBRACE" or token.lineno > before.lineno and token.type not in _CLOSING

    def _lacks_brace(self) -> bool:
        """Whether what seems to be a function's body begins without a brace."""
        token, before = self._peek(), self._tokens.peek(0)
        if before is None or before.type != "RPAREN":
            return False
        at_file_level = len(self._scope_stack) == 1
        return at_file_level and token is not None and token.column > 1 and token.lineno > before.lineno

    def _add_brace(self) -> NoReturn:
        """Has the declaration read again as a function, with the brace that is missing."""
        self.note(
            self._error(
                "expected '{' behind the parameters of a function", self._behind(self._tokens.peek(0))
            )
        )
        self._read_again_with("LBRACE", "{")

    def _add_semicolon(self) -> NoReturn:
        """Has the declaration read again with the semicolon that is missing."""
        try:
            self._unexpected("';'")
        except MacahError as error:
            self.note(error)
        self._read_again_with("SEMI", ";")

    def _read_again_with(self, kind: str, text: str) -> NoReturn:
        before = self._tokens.peek(0)
        assert before is not None
        self._tokens.tokens.insert(self._tokens.index, _mark(kind, text, before))
        raise _MarkAdded

    def _keep_typedef(self, start: int) -> None:
        """What a wrong `typedef` was to declare is taken for a type, so that its uses are no errors."""
        tokens = self._tokens.tokens
        if start >= len(tokens) or tokens[start].type != "TYPEDEF":
            return
        names = []
        for token in map(tokens.__getitem__, range(start, len(tokens))):
            if token.type == "SEMI" or token.lineno > tokens[self._at_error()].lineno:
                break
            if token.type in {"ID", "TYPEID"}:
                names.append(token.value)
        if names:
            self._scope_stack[-1][names[-1]] = True

    def _at_error(self) -> int:
        return min(self._tokens.index, len(self._tokens.tokens) - 1)

    # ---- skipping --------------------------------------------------------------------------------

    def _skip_statement(self, start: int) -> None:
        """Go behind the statement that begins at token `start`, or before the brace that ends its block."""
        self._tokens.index = self._end_of(start, at_file_level=False)

    def _skip_declaration(self, start: int) -> None:
        """Go behind the declaration or function that begins at token `start`."""
        end = self._end_of(start, at_file_level=True)
        self._tokens.index = max(end, start + 1)

    def _end_of(self, start: int, at_file_level: bool) -> int:
        tokens, error = self._tokens.tokens, self._tokens.index
        open_brackets = OpenBrackets()
        at = start
        while at < len(tokens):
            token = tokens[at]
            behind_error = at >= error
            if token.type in _OPENING:
                is_head = at > 0 and tokens[at - 1].value in ("for", "FOR")
                if token.type == "LBRACE" and behind_error:
                    # Parentheses that are still open do not reach into a block.
                    open_brackets.keep_braces()
                open_brackets.push("{" if token.type == "LBRACE" else "for" if is_head else "(")
            elif token.type in _CLOSING:
                if not open_brackets and token.type == "RBRACE" and (behind_error or not at_file_level):
                    return at + 1 if at_file_level else at
                open_brackets.pop()
                if token.type == "RBRACE" and not open_brackets and behind_error:
                    end = self._behind_block(at + 1)
                    if end is not None:
                        return end
            elif token.type == "SEMI" and behind_error and not open_brackets.hold_semicolons():
                return at + 1
            elif at_file_level and at > max(start, error) and not open_brackets and _begins_line(token):
                return at
            at += 1
        return at

    def _behind_block(self, at: int) -> int | None:
        """Where the next statement begins behind a block that ended before token `at`; None if it goes on."""
        tokens = self._tokens.tokens
        following = tokens[at].type if at < len(tokens) else None
        if following == "SEMI":
            return at + 1
        return None if following in {"ELSE", "COMMA", "RPAREN", "EQUALS"} else at

    # ---- what stands outside functions -----------------------------------------------------------

    def _at_stray_statement(self) -> bool:
        kind, following = self._peek_type(), self._peek_type(2)
        return kind in _STATEMENTS or kind == "RBRACE" or kind == "ID" and following in _BEHIND_NAME

    def _skip_stray(self) -> None:
        """Statements outside functions are one mistake, up to the brace that seems to end their function."""
        token = self._peek()
        assert token is not None
        message = (
            "expected a declaration before '}'"
            if token.type == "RBRACE"
            else "a statement must stand inside a function"
        )
        note = "there may be one '}' too many above"
        self.note(MacahError(message, self._here(), hint=note, code="syntax"))
        depth = 0
        while (token := self._tokens.next()) is not None:
            depth += {"LBRACE": 1, "RBRACE": -1}.get(token.type, 0)
            following = self._tokens.peek()
            if depth < 0:
                return
            ended = depth == 0 and token.type in {"SEMI", "RBRACE"}
            if ended and following is not None and following.column == 1 and following.type != "RBRACE":
                return


def _mark(kind: str, text: str, behind: MacahToken) -> MacahToken:
    """A token without text of its own behind another."""
    line, column = behind.behind
    return MacahToken(kind, text, line, column, behind.filename, behind.end, behind.end)


def _begins_line(token: MacahToken) -> bool:
    """Whether a declaration may begin with a token, as columns show."""
    return token.column == 1 and (token.type in _DECLARATIONS or token.type in TYPE_WORDS)


def _named(node: Any) -> str:
    """A struct or union as the program calls it."""
    return f"{type(node).__name__.lower()} {node.name or ''}".rstrip()
