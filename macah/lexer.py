"""Tokens of Macah: C's, `<?` and `::`, without the GNU noise of system headers.

The whole text is split at once into a list, so that the parser can look ahead and back as far as it likes,
and every token knows its character positions, so that a node's exact place in the text can be told.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pycparser.c_lexer import CLexer

from macah.clean_tokens import cleaned
from macah.columns import MacahCoord
from macah.tokens import MacahToken


class MacahLexer(CLexer):  # type: ignore[misc]
    """pycparser's lexer with C's exact constants, GNU's spellings and Macah's tokens.

    `error_func(message, line, column)` must raise.
    """

    _pos: int
    _line_start: int

    def __init__(self, error_func: Callable[[str, int, int], None], *, dialect: str = "legacy") -> None:
        super().__init__(error_func, dialect=dialect)
        # An ordinary name in C: `offsetof` is a macro for `__builtin_offsetof`.
        del self._keyword_map["offsetof"]

    def tokens(self, text: str, filename: str) -> list[MacahToken]:
        """All tokens of preprocessed `text`."""
        self.input(text, filename)
        return cleaned(list(iter(self.token, None)), text, self._refuse)

    @property
    def text(self) -> str:
        """The whole input."""
        return str(self._lexdata)

    def coord_at(self, line: int, column: int) -> MacahCoord:
        """The coordinate of a column of the line that is being read, for an error there."""
        return MacahCoord(self._filename, line, column, self.text, self._line_start + column - 1)

    def _refuse(self, message: str, token: MacahToken) -> None:
        self._filename, self._line_start = token.filename, token.start - token.column + 1
        self.error_func(message, token.lineno, token.column)

    def _make_token(self, tok_type: str, value: str, pos: int) -> MacahToken:
        column = pos - self._line_start + 1
        return MacahToken(tok_type, value, self._lineno, column, self._filename, pos, pos + len(value))

    def _match_token(self) -> MacahToken | None:
        text, pos = self._lexdata, self._pos
        if match := _QUOTED.match(text, pos):
            kind, value = self._kind_of_quoted(match), match.group()
        elif match := _WORD.match(text, pos):
            word = match.group()
            kind, value = _GNU_SPELLING.get(word) or (self._keyword_map.get(word, "ID"), word)
        elif match := _NUMBER.match(text, pos):
            kind, value = self._kind_of_number(match.group()), match.group()
        elif match := _MARK.match(text, pos):
            kind, value = _MARKS[match.group()]
        elif text[pos] in "`@\\":
            self._error(f"stray '{text[pos]}' in program", pos)
            self._pos += 1
            return None
        else:
            found: MacahToken | None = super()._match_token()
            return found
        token = self._make_token(kind, value, pos)
        self._pos = token.end = match.end()
        return token

    def _error(self, msg: str, pos: int) -> None:
        if msg.startswith("Illegal character"):
            msg = f"stray {msg.removeprefix('Illegal character ')} in program"
        elif msg.startswith("Comments"):
            msg = "a comment is left: the preprocessor must not be told to keep them"
        super()._error(msg, pos)

    def _kind_of_number(self, spelling: str) -> str:
        if _INTEGER.fullmatch(spelling):
            return "INT_CONST_DEC"
        if _FLOATING.fullmatch(spelling):
            return "FLOAT_CONST"
        self._error(f"invalid number '{spelling}'", self._pos)
        return "INT_CONST_DEC"

    def _kind_of_quoted(self, match: re.Match[str]) -> str:
        prefix, quote, body, closing = match.group("prefix", "quote", "body", "closing")
        if not closing:
            self._error(f"missing terminating {quote} character", self._pos)
        if quote == '"':
            return f"{_PREFIX[prefix]}STRING_LITERAL"
        length = len(_CHARACTER.findall(body))
        if length == 0:
            self._error("empty character constant", self._pos)
        return f"{_PREFIX[prefix]}CHAR_CONST" if prefix or length == 1 else "INT_CONST_CHAR"

    def _handle_pppragma(self) -> list[MacahToken]:
        found: list[MacahToken] = []
        start = self._pos - 1
        found += super()._handle_pppragma()
        if found:
            found[0].start = start
        return found

    def _handle_ppline(self) -> None:
        """A linemarker sets line and file; elsewhere than at the start of a line, `#` is an error."""
        text, start = self._lexdata, self._pos - 1
        match = _LINE.match(text, start)
        if match is None or text[self._line_start : start].strip() or len(match["line"]) > 9:
            self._error("stray '#' in program", start)
            return
        self._lineno = int(match["line"])
        if match["file"] is not None:
            self._filename = re.sub(r"\\(.)", r"\1", match["file"])
        self._pos = self._line_start = match.end()


# Words, numbers and quoted constants are matched here rather than by pycparser, which takes some legal
# ones for errors and some errors for several tokens.
_WORD = re.compile(
    r"(?:[^\W\d]|\$|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8})(?:[\w$]|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8})*"
)
_NUMBER = re.compile(r"\.?[0-9](?:[eEpP][+-]|[\w.])*")
_INTEGER = re.compile(
    r"(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)"
    r"(?:[uU](?:ll|LL|[lL])?|(?:ll|LL|[lL])[uU]?)?[ijIJ]?"
)
_FLOATING = re.compile(
    r"(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
    r"|0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)"
    r"[ijIJ]?(?:[fF](?:16|32x?|64x?|128x?)?|[lLqQwW]|d[fdl]|D[FDL])?[ijIJ]?"
)
_QUOTED = re.compile(
    r"""(?P<prefix>u8|[uUL])?(?P<quote>["'])(?P<body>(?:(?!(?P=quote))[^\\\n]|\\.)*)(?P<closing>(?P=quote))?"""
)
_CHARACTER = re.compile(r"\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|[^\\]")
_PREFIX = {None: "", "L": "W", "u8": "U8", "u": "U16", "U": "U32"}
_LINE = re.compile(
    r'#[ \t]*(?:line\b[ \t]*)?(?P<line>[0-9]+)(?:[ \t]+"(?P<file>(?:[^"\\\n]|\\.)*)")?[ \t0-9]*(?:\n|\Z)'
)
# `<?` and `::` occur nowhere in C. Digraphs are C's; `[` is here because C11 has no `[[attribute]]`.
_MARK = re.compile(r"<\?|::|<:|:>|<%|%>|\[")
_MARKS = {
    "<?": ("RECEIVE", "<?"),
    "::": ("COLONCOLON", "::"),
    "[": ("LBRACKET", "["),
    "<:": ("LBRACKET", "["),
    ":>": ("RBRACKET", "]"),
    "<%": ("LBRACE", "{"),
    "%>": ("RBRACE", "}"),
}

# Spellings of GNU C, each with the token type and the value that pycparser's grammar knows.
_GNU_SPELLING: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("__inline", "__inline__"), ("INLINE", "inline")),
    **dict.fromkeys(("__restrict", "__restrict__"), ("RESTRICT", "restrict")),
    **dict.fromkeys(("__const", "__const__"), ("CONST", "const")),
    **dict.fromkeys(("__volatile", "__volatile__"), ("VOLATILE", "volatile")),
    **dict.fromkeys(("__signed", "__signed__"), ("SIGNED", "signed")),
    **dict.fromkeys(("__complex", "__complex__"), ("_COMPLEX", "_Complex")),
    **dict.fromkeys(("__alignof", "__alignof__"), ("_ALIGNOF", "_Alignof")),
    **dict.fromkeys(("typeof", "__typeof", "__typeof__"), ("TYPEOF", "__typeof__")),
    **dict.fromkeys(("asm", "__asm", "__asm__"), ("ASM", "__asm__")),
    **dict.fromkeys(("__attribute", "__attribute__"), ("ATTRIBUTE", "__attribute__")),
    **{
        name: ("FLOAT", name)
        for name in (
            *(f"_Float{n}" for n in ("16", "32", "64", "128", "32x", "64x")),
            *("_Decimal32", "_Decimal64", "_Decimal128", "__float80", "__float128", "__bf16"),
        )
    },
    **dict.fromkeys(("__real", "__real__"), ("PART", "__real__")),
    **dict.fromkeys(("__imag", "__imag__"), ("PART", "__imag__")),
    "__auto_type": ("INT", "__auto_type"),
    "__label__": ("LOCAL_LABELS", "__label__"),
    "__extension__": ("NOISE", "__extension__"),
    "__thread": ("_THREAD_LOCAL", "__thread"),
    "__builtin_offsetof": ("OFFSETOF", "__builtin_offsetof"),
}
