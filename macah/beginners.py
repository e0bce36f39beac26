"""What people write who are new to Macah, or to C, and what to say about it.

Each function looks at the tokens around a mistake; the parser has found already that there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from macah.lexer import MacahToken, TokenList

_CLOSED_BY = {"LPAREN": "RPAREN", "LBRACKET": "RBRACKET", "LBRACE": "RBRACE"}

_MARKS_BEHIND = {"SEMI", "COMMA", "RPAREN", "RBRACKET", "RBRACE", "EQUALS"}
# Words of other languages, with what C has for them.
_FOREIGN = {
    **dict.fromkeys(("then", "function", "def"), ""),
    **dict.fromkeys(("elif", "elsif", "elseif"), "else if"),
    **dict.fromkeys(("let", "var"), "int"),
    "and": "&&",
    "or": "||",
    "not": "!",
    "string": "char *",
    "begin": "{",
    "end": "}",
}


@dataclass(frozen=True, slots=True)
class Mistake:
    """What to say; `token` is where the mistake is, if not at the next token."""

    message: str
    hint: str = ""
    code: str = "syntax"
    token: MacahToken | None = None


def usual_mistake(tokens: TokenList, expected: str) -> Mistake | None:
    """What is known about the mistake at the next token, where `expected` could stand."""
    for look in _LOOKS:
        if mistake := look(tokens, expected):
            return mistake
    return None


def describe(token: MacahToken) -> str:
    """A token as messages name it."""
    if token.type.endswith("STRING_LITERAL"):
        return "string constant"
    if "CONST_" in token.type or token.type.endswith("_CONST"):
        return "constant"
    if token.type in {"PPPRAGMA", "PPPRAGMASTR"}:
        return "'#pragma'"
    return f"'{token.value}'"


def unclosed(tokens: Sequence[MacahToken]) -> MacahToken | None:
    """The bracket that is probably the one not closed.

    That is one whose partner, as brackets match, begins a line further to the left; else the last one open.
    """
    open_brackets: list[tuple[MacahToken, int]] = []
    indent, line = 0, 0
    for token in tokens:
        first = token.lineno != line
        if first:
            indent, line = token.column, token.lineno
        if token.type in _CLOSED_BY:
            open_brackets.append((token, indent))
            continue
        if token.type == "RBRACE" and any(opened.type == "LBRACE" for opened, _ in open_brackets):
            # Parentheses that are still open do not reach beyond their block.
            while open_brackets[-1][0].type != "LBRACE":
                open_brackets.pop()
        if open_brackets and token.type == _CLOSED_BY[open_brackets[-1][0].type]:
            opened, column = open_brackets.pop()
            if token.type == "RBRACE" and first and token.column < column:
                return opened
    return open_brackets[-1][0] if open_brackets else None


def _type(token: MacahToken | None) -> str:
    return token.type if token is not None else ""


def _value(token: MacahToken | None) -> str:
    return token.value if token is not None else ""


def _receive_inside(tokens: TokenList, expected: str) -> Mistake | None:
    if _type(tokens.peek()) != "RECEIVE":
        return None
    hint = "receive into a variable first: 'x <? s;', and use that"
    message = "a receive '<?' must be a statement of its own or stand in the head of 'for'"
    return Mistake(message, hint, "transfer")


def _double_colon(tokens: TokenList, expected: str) -> Mistake | None:
    if expected == "'<?' or '<!'":
        token = tokens.peek()
        hint = "write 'w :: x <? s;' or 'w :: s <! e;'"
        return Mistake(f"expected '<?' or '<!' before {describe(token)}", hint, "transfer") if token else None
    if _type(tokens.peek()) != "COLONCOLON":
        return None
    return Mistake("'::' belongs before a send or receive", "write 'worked :: x <? s;'", "transfer")


def _spaced_receive(tokens: TokenList, expected: str) -> Mistake | None:
    """`x < ? s`."""
    before, token = tokens.peek(0), tokens.peek()
    if _type(before) == "LT" and _type(token) == "CONDOP":
        return Mistake("'<' and '?' of a receive must not be apart", "write 'x <? s;'", "transfer", before)
    return None


def _spaced_double_colon(tokens: TokenList, expected: str) -> Mistake | None:
    """`w : : x <? s`, or one colon only."""
    token = tokens.peek()
    if _type(token) != "COLON" or expected not in ("';'", "expression"):
        return None
    for ahead in range(2, 12):
        kind = _type(tokens.peek(ahead))
        if kind in ("RECEIVE", "LNOT"):
            return Mistake(
                "a non-blocking send or receive has '::', not ':'", "write 'w :: x <? s;'", "transfer"
            )
        if kind in ("SEMI", "RBRACE", ""):
            break
    return None


def _walrus(tokens: TokenList, expected: str) -> Mistake | None:
    """`x := 1`."""
    token, behind = tokens.peek(), tokens.peek(2)
    if _type(token) == "COLON" and _type(behind) == "EQUALS":
        return Mistake("':=' is no operator", "assign with '='")
    before = tokens.peek(0)
    if _type(token) == "EQUALS" and _type(before) == "COLON":
        return Mistake("':=' is no operator", "assign with '='", token=before)
    return None


def _arrows(tokens: TokenList, expected: str) -> Mistake | None:
    """`x <- s`, `s -> x`, `x << s` are other languages'."""
    before, token = tokens.peek(0), tokens.peek()
    pair = _value(before) + _value(token)
    if pair in ("<>", "=>", "=<", "><", "|>"):
        known = {"=>": ">=", "=<": "<=", "<>": "!="}
        hint = f"did you mean '{known[pair]}'?" if pair in known else ""
        return Mistake(f"'{pair}' is no operator", hint, token=before)
    return None


def _reversed_receive(tokens: TokenList, expected: str) -> Mistake | None:
    """`x ?< s` and `s !< x`."""
    before, token = tokens.peek(0), tokens.peek()
    if _type(before) == "CONDOP" and _type(token) == "LT":
        return Mistake("'?<' is no operator", "a receive is 'x <? s;'", "transfer", before)
    if _type(token) == "LNOT" and expected == "';'":
        behind = _type(tokens.peek(2))
        if behind == "GT":
            return Mistake("'!>' is no operator", "a send is 's <! x;'", "transfer")
        if behind == "LT":
            return Mistake("'!<' is no operator", "a send is 's <! x;'", "transfer")
        return Mistake("'!' cannot stand behind a value", "a send is 's <! x;'", "transfer")
    if _type(before) == "CONDOP" and _type(token) == "GT":
        return Mistake("'?>' is no operator", "a receive is 'x <? s;'", "transfer", before)
    return None


def _kernel_without_braces(tokens: TokenList, expected: str) -> Mistake | None:
    for back in (0, -1):
        word = tokens.peek(back)
        if _value(word) == "kernel" and _type(word) == "ID":
            if back == 0 and _type(tokens.peek()) == "LBRACE":
                hint = "assign in it, to variables declared outside: 'kernel { x = 1; }'"
                return Mistake("a kernel block is a statement and has no value", hint, "kernel-block", word)
            hint = "write 'kernel { ... }', or 'name: kernel { ... }'"
            return Mistake("expected '{' after 'kernel'", hint, "kernel-block", word)
    if (_value(tokens.peek(-2)), _type(tokens.peek(-1)), _type(tokens.peek())) == (
        "kernel",
        "COLON",
        "LBRACE",
    ):
        hint = f"write '{_value(tokens.peek(0))}: kernel {{ ... }}'"
        return Mistake("the name of a kernel stands before 'kernel'", hint, "kernel-block", tokens.peek(-2))
    if _value(tokens.peek()) == "kernel" and not (expected == "';'" and _ends_line(tokens)):
        hint = "a kernel block is a statement: 'kernel { ... }', or 'name: kernel { ... }'"
        return Mistake("a kernel block cannot stand here", hint, "kernel-block")
    return None


def _shiftable(tokens: TokenList, expected: str) -> Mistake | None:
    """`[^4]`, `[4^]`, `[^]`."""
    form = "a shiftable dimension is written '[^N^]'"
    token, before = tokens.peek(), tokens.peek(0)
    if expected == "'^]'":
        return Mistake(
            f"expected '^]' before {describe(token)}" if token else "expected '^]'",
            form,
            "shiftable-dimension",
        )
    if _type(token) == "SHIFTABLE_END":
        return Mistake("'^]' without '[^' before the size", form, "shiftable-dimension")
    if _type(token) == "XOR" and _type(before) == "LBRACKET":
        return Mistake(
            "'[^' begins a shiftable dimension, which only a declaration has", form, "shiftable-dimension"
        )
    return None


def _pointer_stream(tokens: TokenList, expected: str) -> Mistake | None:
    """`int * stream s`."""
    before, token = tokens.peek(0), tokens.peek()
    if _value(before) == "stream" and _type(tokens.peek(-1)) == "TIMES" and _type(token) == "ID":
        return Mistake(
            "a stream cannot carry pointers",
            "send indices or the values themselves: the accelerator cannot follow pointers of the host",
            "stream-element",
            before,
        )
    return None


def _stream_order(tokens: TokenList, expected: str) -> Mistake | None:
    """`stream int s`, `stream<int> s`."""
    before, token = tokens.peek(0), tokens.peek()
    if _value(before) == "<" and _value(tokens.peek(-1)) == "stream":
        before = tokens.peek(-1)
    elif _value(before) != "stream" or _type(before) != "ID" or token is None or token.type in _MARKS_BEHIND:
        return None
    element = tokens.peek(2) if _value(token) == "<" else token
    hint = f"the type of the elements comes first: '{_value(element)} stream s'"
    if _type(element) == "ID" and _type(tokens.peek(-1)) == "COMMA":
        hint = f"one 'T stream' is enough for several names: 'T stream s, {_value(element)}'"
    return Mistake("'stream' stands behind the type of the elements", hint, "declaration", before)


def _for_head(tokens: TokenList, expected: str) -> Mistake | None:
    """The head of `FOR` or `for` without the three parts that it has."""
    if _value(tokens.peek(0)) == "FOR" and _type(tokens.peek(0)) == "ID":
        return Mistake("expected '(' after 'FOR'", "write 'FOR (init; condition; step) statement'")
    commas = 0
    for back in range(0, -16, -1):
        token = tokens.peek(back)
        commas += _type(token) == "COMMA"
        if _type(token) in ("SEMI", "LBRACE", "RBRACE", ""):
            return None
        word = _value(token)
        if word in ("for", "FOR") and _type(tokens.peek(back + 1)) == "LPAREN":
            if word == "for" and not commas:
                return None
            hint = f"write '{word} (init; condition; step) statement'"
            return Mistake(f"the head of '{word}' has three parts with ';' between them", hint, token=token)
    return None


def _comma_in_for(tokens: TokenList, expected: str) -> Mistake | None:
    """`for (i = 0, i < n, i++)`."""
    if expected != "';'" or _type(tokens.peek()) != "RPAREN":
        return None
    depth, back, commas = 1, 0, 0
    while token := tokens.peek(back):
        depth += {"RPAREN": 1, "LPAREN": -1}.get(token.type, 0)
        commas += token.type == "COMMA" and depth == 1
        if depth == 0:
            if _value(tokens.peek(back - 1)) not in ("for", "FOR"):
                return None
            hint = "write 'for (init; condition; step)'"
            return (
                Mistake("the head of 'for' has three parts with ';' between them", hint) if commas else None
            )
        back -= 1
    return None


def _else_without_if(tokens: TokenList, expected: str) -> Mistake | None:
    if _type(tokens.peek()) != "ELSE" or _type(tokens.peek(0)) not in ("SEMI", "RBRACE", "LBRACE"):
        return None
    return Mistake("'else' without a previous 'if'", "are braces missing around what stands before it?")


def _ends_line(tokens: TokenList) -> bool:
    """Whether the next token begins a line behind a word that could end a statement."""
    before, token = tokens.peek(0), tokens.peek()
    return before is not None and token is not None and token.lineno > before.lineno


def _misspelt_kernel(tokens: TokenList, expected: str) -> Mistake | None:
    """`Kernel {`, `kernal {`, and `name: krenel {`."""
    word, before = tokens.peek(0), tokens.peek(-1)
    if _type(tokens.peek()) != "LBRACE" or word is None or word.type != "ID":
        return None
    if _type(before) not in ("SEMI", "LBRACE", "RBRACE", "COLON", "RPAREN", "ELSE"):
        return None
    if not get_close_matches(word.value.lower(), ("kernel",), 1, 0.7):
        return None
    return Mistake(f"'{word.value}' begins no block; did you mean 'kernel'?", code="kernel-block", token=word)


def _misspelt_statement(tokens: TokenList, expected: str) -> Mistake | None:
    """`whlie (x) {`: a call, as far as the grammar sees."""
    if _type(tokens.peek()) != "LBRACE" or _type(tokens.peek(0)) != "RPAREN":
        return None
    depth, back = 0, 0
    while token := tokens.peek(back):
        depth += {"RPAREN": 1, "LPAREN": -1}.get(token.type, 0)
        back -= 1
        if depth == 0:
            break
    word = tokens.peek(back)
    if _value(word) == "kernel":
        hint = "a kernel has no parameters: it uses the variables around it"
        return Mistake("expected '{' after 'kernel'", hint, "kernel-block", word)
    near = get_close_matches(_value(word), ("while", "for", "switch", "FOR"), 1, 0.6)
    if word is None or word.type != "ID" or not near or near[0] == word.value:
        return None
    return Mistake(f"'{word.value}' begins no statement; did you mean '{near[0]}'?", token=word)


def _keyword_as_name(tokens: TokenList, expected: str) -> Mistake | None:
    token = tokens.peek()
    if (
        token is None
        or not expected.startswith(("identifier", "declaration"))
        or not token.value.isidentifier()
        or "ID" in (token.type, _type(tokens.peek(0)))
    ):
        return None
    return Mistake(f"'{token.value}' is a word of the language and cannot be a name", "choose another name")


def _untyped_parameter(tokens: TokenList, expected: str) -> Mistake | None:
    """`int f(int a, b)`."""
    token, before = tokens.peek(), tokens.peek(0)
    if expected != "declaration" or token is None or token.type != "ID" or _type(before) != "COMMA":
        return None
    return Mistake(
        f"parameter '{token.value}' needs a type of its own", f"write 'int {token.value}'", "declaration"
    )


def _in_list(tokens: TokenList, expected: str) -> Mistake | None:
    """`{ 1, 2 3 }`."""
    token, before = tokens.peek(), tokens.peek(0)
    if expected != "'}'" or token is None or _type(before) in ("SEMI", "LBRACE", "RBRACE"):
        return None
    return Mistake(f"expected ',' or '}}' before {describe(token)}")


def _cpp_words(tokens: TokenList, expected: str) -> Mistake | None:
    """Words of C++ and of other languages."""
    before = tokens.peek(0)
    for token in (tokens.peek(), before):
        if token is not None and token.type == "ID" and token.value in _FOREIGN:
            instead = _FOREIGN[token.value]
            hint = f"C has '{instead}' for it" if instead else ""
            return Mistake(f"'{token.value}' is no word of C", hint, token=token)
    return None


_LOOKS: tuple[Callable[[TokenList, str], Mistake | None], ...] = (
    _walrus,
    _spaced_receive,
    _reversed_receive,
    _spaced_double_colon,
    _receive_inside,
    _double_colon,
    _kernel_without_braces,
    _shiftable,
    _pointer_stream,
    _stream_order,
    _comma_in_for,
    _for_head,
    _else_without_if,
    _misspelt_kernel,
    _misspelt_statement,
    _arrows,
    _cpp_words,
    _untyped_parameter,
    _in_list,
    _keyword_as_name,
)
