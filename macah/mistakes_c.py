"""Mistakes in C: heads of loops, misspelt words, words and operators of other languages."""

from __future__ import annotations

from difflib import get_close_matches

from macah.mistakes import Mistake, describe, type_of, value_of
from macah.tokens import TYPE_WORDS, MacahToken, TokenList

# Words of other languages, with what C has for them.
_FOREIGN = {
    **dict.fromkeys(("then", "function", "def"), ""),
    **dict.fromkeys(("elif", "elsif", "elseif"), "else if"),
    **dict.fromkeys(("let", "var"), "int"),
    "and": "&&",
    "or": "||",
    "not": "!",
    "new": "",
    "string": "char *",
    "begin": "{",
    "end": "}",
}


def walrus(tokens: TokenList, expected: str) -> Mistake | None:
    """`x := 1`."""
    token, behind = tokens.peek(), tokens.peek(2)
    if type_of(token) == "COLON" and type_of(behind) == "EQUALS":
        return Mistake("':=' is no operator", "assign with '='")
    before = tokens.peek(0)
    if type_of(token) == "EQUALS" and type_of(before) == "COLON":
        return Mistake("':=' is no operator", "assign with '='", token=before)
    return None


def arrows(tokens: TokenList, expected: str) -> Mistake | None:
    """`x <- s`, `s -> x`, `x << s` are other languages'."""
    before, token = tokens.peek(0), tokens.peek()
    pair = value_of(before) + value_of(token)
    if pair in ("<>", "=>", "=<", "><", "|>"):
        known = {"=>": ">=", "=<": "<=", "<>": "!="}
        hint = f"did you mean '{known[pair]}'?" if pair in known else ""
        return Mistake(f"'{pair}' is no operator", hint, token=before)
    return None


def for_head(tokens: TokenList, expected: str) -> Mistake | None:
    """The head of `FOR` or `for` without the three parts that it has."""
    if value_of(tokens.peek(0)) == "FOR" and type_of(tokens.peek(0)) == "ID":
        return Mistake("expected '(' after 'FOR'", "write 'FOR (init; condition; step) statement'")
    commas = 0
    for back in range(0, -16, -1):
        token = tokens.peek(back)
        commas += type_of(token) == "COMMA"
        if type_of(token) in ("SEMI", "LBRACE", "RBRACE", ""):
            return None
        word = value_of(token)
        if word in ("for", "FOR") and type_of(tokens.peek(back + 1)) == "LPAREN":
            if word == "for" and not commas:
                return None
            hint = f"write '{word} (init; condition; step) statement'"
            return Mistake(f"the head of '{word}' has three parts with ';' between them", hint, token=token)
    return None


def comma_in_for(tokens: TokenList, expected: str) -> Mistake | None:
    """`for (i = 0, i < n, i++)`."""
    if expected != "';'" or type_of(tokens.peek()) != "RPAREN":
        return None
    depth, back, commas = 1, 0, 0
    while token := tokens.peek(back):
        depth += {"RPAREN": 1, "LPAREN": -1}.get(token.type, 0)
        commas += token.type == "COMMA" and depth == 1
        if depth == 0:
            if value_of(tokens.peek(back - 1)) not in ("for", "FOR"):
                return None
            hint = "write 'for (init; condition; step)'"
            return (
                Mistake("the head of 'for' has three parts with ';' between them", hint) if commas else None
            )
        back -= 1
    return None


def else_without_if(tokens: TokenList, expected: str) -> Mistake | None:
    """`} x++; else`."""
    if type_of(tokens.peek()) != "ELSE" or type_of(tokens.peek(0)) not in ("SEMI", "RBRACE", "LBRACE"):
        return None
    return Mistake("'else' without a previous 'if'", "are braces missing around what stands before it?")


def opened_by(tokens: TokenList) -> int:
    """Where the parenthesis is opened that the token just consumed closes, as `peek` counts."""
    depth, back = 0, 0
    while token := tokens.peek(back):
        depth += {"RPAREN": 1, "LPAREN": -1}.get(token.type, 0)
        if depth == 0:
            break
        back -= 1
    return back


def misspelt_statement(tokens: TokenList, expected: str) -> Mistake | None:
    """`whlie (x) {`: a call, as far as the grammar sees."""
    if type_of(tokens.peek()) != "LBRACE" or type_of(tokens.peek(0)) != "RPAREN":
        return None
    word = tokens.peek(opened_by(tokens) - 1)
    if value_of(word) == "kernel":
        hint = "a kernel has no parameters: it uses the variables around it"
        return Mistake("expected '{' after 'kernel'", hint, "kernel-block", word)
    near = get_close_matches(value_of(word), ("while", "for", "switch", "FOR"), 1, 0.6)
    if word is None or word.type != "ID" or not near or near[0] == word.value:
        return None
    return Mistake(f"'{word.value}' begins no statement; did you mean '{near[0]}'?", token=word)


def misspelt_loop(tokens: TokenList, expected: str) -> Mistake | None:
    """`For (int i = 0; …)`, `fro (i = 0; …)`: a call, as far as the grammar sees, with what no call has."""
    token = tokens.peek()
    if type_of(token) not in TYPE_WORDS | {"TYPEID", "SEMI"}:
        return None
    depth, back = 0, 0
    while type_of(tokens.peek(back)) not in ("SEMI", "LBRACE", "RBRACE", ""):
        depth += {"RPAREN": 1, "LPAREN": -1}.get(type_of(tokens.peek(back)), 0)
        back -= 1
        if depth < 0:
            break
    word = tokens.peek(back)
    if depth >= 0 or word is None or word.type != "ID" or sorted(word.value.lower()) != sorted("for"):
        return None
    if word.value == "FOR":
        return None
    return Mistake(f"'{word.value}' begins no loop; did you mean 'for' or 'FOR'?", token=word)


def brace_value(tokens: TokenList, expected: str) -> Mistake | None:
    """`p = { 1, 2 };`, `s <! { 1, 2 };`: only initialisers need no type."""
    if type_of(tokens.peek()) != "LBRACE" or expected != "expression":
        return None
    if type_of(tokens.peek(0)) not in ("EQUALS", "LNOT", "RETURN", "COMMA", "LPAREN"):
        return None
    return Mistake("expected expression before '{'", "a value in braces needs its type: '(TYPE){ ... }'")


def keyword_as_name(tokens: TokenList, expected: str) -> Mistake | None:
    """`int while;`."""
    token = tokens.peek()
    if (
        token is None
        or not expected.startswith(("identifier", "declaration"))
        or not token.value.isidentifier()
        or "ID" in (token.type, type_of(tokens.peek(0)))
    ):
        return None
    return Mistake(f"'{token.value}' is a word of the language and cannot be a name", "choose another name")


def untyped_parameter(tokens: TokenList, expected: str) -> Mistake | None:
    """`int f(int a, b)`."""
    token, before = tokens.peek(), tokens.peek(0)
    if expected != "declaration" or token is None or token.type != "ID" or type_of(before) != "COMMA":
        return None
    return Mistake(
        f"parameter '{token.value}' needs a type of its own", f"write 'int {token.value}'", "declaration"
    )


def in_list(tokens: TokenList, expected: str) -> Mistake | None:
    """`{ 1, 2 3 }`."""
    token, before = tokens.peek(), tokens.peek(0)
    if expected != "'}'" or token is None or type_of(before) in ("SEMI", "LBRACE", "RBRACE"):
        return None
    return Mistake(f"expected ',' or '}}' before {describe(token)}")


def _is_foreign(tokens: TokenList, token: MacahToken) -> bool:
    """Whether a token is a word of another language; not if the program declares something of that name."""
    if token.type != "ID" or token.value not in _FOREIGN:
        return False
    before = TYPE_WORDS | {"TYPEID", "TIMES", "COMMA"}
    after = {"EQUALS", "SEMI", "COMMA", "LBRACKET", "RPAREN"}
    known = tokens.tokens[: tokens.index]
    return not any(
        name.value == token.value and left.type in before and right.type in after
        for left, name, right in zip(known, known[1:], known[2:], strict=False)
    )


def cpp_words(tokens: TokenList, expected: str) -> Mistake | None:
    """Words of C++ and of other languages."""
    before = tokens.peek(0)
    for token in (tokens.peek(), before):
        if token is not None and _is_foreign(tokens, token):
            instead = _FOREIGN[token.value]
            hint = f"C has '{instead}' for it" if instead else ""
            return Mistake(f"'{token.value}' is no word of C", hint, token=token)
    word = tokens.peek(opened_by(tokens) - 1) if type_of(before) == "RPAREN" else None
    if word is not None and _FOREIGN.get(word.value) == "else if" and _is_foreign(tokens, word):
        return Mistake(f"'{word.value}' is no word of C", "C has 'else if' for it", token=word)
    return None


def reference(tokens: TokenList, expected: str) -> Mistake | None:
    """`int f(int &x)`."""
    before, name = tokens.peek(0), tokens.peek(2)
    if type_of(tokens.peek()) != "AND" or type_of(before) not in TYPE_WORDS | {"TYPEID"}:
        return None
    if name is None or name.type != "ID":
        return None
    hint = f"use a pointer, '{value_of(before)} *{name.value}', and pass an address"
    return Mistake("C has no references", hint)
