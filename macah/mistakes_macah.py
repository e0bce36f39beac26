"""Mistakes in what Macah adds to C: sends and receives, kernel blocks, streams, shiftable arrays."""

from __future__ import annotations

from difflib import get_close_matches

from macah.mistakes import Mistake, describe, type_of, value_of
from macah.tokens import TYPE_WORDS, TokenList

_THREADS = {"thread", "threads", "task", "spawn", "fork", "parallel", "par"}
_MARKS_BEHIND = {"SEMI", "COMMA", "RPAREN", "RBRACKET", "RBRACE", "EQUALS"}


def receive_inside(tokens: TokenList, expected: str) -> Mistake | None:
    """`y = x <? s + 1`: a receive within an expression."""
    if type_of(tokens.peek()) != "RECEIVE":
        return None
    hint = "receive into a variable first: 'x <? s;', and use that"
    if type_of(tokens.peek(0)) == "ID" and type_of(tokens.peek(-1)) in TYPE_WORDS | {"TYPEID"}:
        name = value_of(tokens.peek(0))
        hint = f"declare '{name}' in a statement of its own, and receive behind it: '{name} <? s;'"
    message = "a receive '<?' must be a statement of its own or stand in the head of 'for'"
    return Mistake(message, hint, "transfer")


def double_colon(tokens: TokenList, expected: str) -> Mistake | None:
    """`w :: x = 1`, and `::` where it cannot stand."""
    if expected == "'<?' or '<!'":
        token = tokens.peek()
        hint = "write 'w :: x <? s;' or 'w :: s <! e;'"
        return Mistake(f"expected '<?' or '<!' before {describe(token)}", hint, "transfer") if token else None
    if type_of(tokens.peek()) != "COLONCOLON":
        return None
    if type_of(tokens.peek(0)) not in ("ID", "LPAREN") or not _moves(tokens):
        return Mistake("'::' belongs before a send or receive", "write 'worked :: x <? s;'", "transfer")
    message = "a non-blocking send or receive must be a statement of its own or stand in the head of 'for'"
    return Mistake(message, _without_value(tokens), "transfer")


def _moves(tokens: TokenList) -> bool:
    """Whether a send or receive stands behind the `::` that comes next."""
    for ahead in range(2, 12):
        kind = type_of(tokens.peek(ahead))
        if kind == "RECEIVE" or (kind == "LT" and type_of(tokens.peek(ahead + 1)) == "LNOT"):
            return True
        if kind in ("SEMI", "RBRACE", ""):
            return False
    return False


def _without_value(tokens: TokenList) -> str:
    """What to write instead of `while (w :: x <? s)`, `if (w :: x <? s)` or `int w :: x <? s;`."""
    word, before = tokens.peek(0), type_of(tokens.peek(-1))
    if type_of(word) != "ID":
        return "write 'w :: x <? s;', and test 'w' behind it"
    name = value_of(word)
    if before in TYPE_WORDS | {"TYPEID"}:
        return f"declare '{name}' in a statement of its own, and behind it write '{name} :: x <? s;'"
    if before == "LPAREN" and type_of(tokens.peek(-2)) == "WHILE":
        return f"write 'for ({name} :: x <? s; {name}; {name} :: x <? s)'"
    return f"write '{name} :: x <? s;', and test '{name}' behind it"


def spaced_receive(tokens: TokenList, expected: str) -> Mistake | None:
    """`x < ? s`."""
    before, token = tokens.peek(0), tokens.peek()
    if type_of(before) == "LT" and type_of(token) == "CONDOP":
        return Mistake("'<' and '?' of a receive must not be apart", "write 'x <? s;'", "transfer", before)
    return None


def spaced_double_colon(tokens: TokenList, expected: str) -> Mistake | None:
    """`w : : x <? s`, or one colon only."""
    token = tokens.peek()
    if type_of(token) != "COLON" or expected not in ("';'", "expression"):
        return None
    for ahead in range(2, 12):
        kind = type_of(tokens.peek(ahead))
        if kind in ("RECEIVE", "LNOT"):
            return Mistake(
                "a non-blocking send or receive has '::', not ':'", "write 'w :: x <? s;'", "transfer"
            )
        if kind in ("SEMI", "RBRACE", ""):
            break
    return None


def reversed_receive(tokens: TokenList, expected: str) -> Mistake | None:
    """`x ?< s` and `s !< x`."""
    before, token = tokens.peek(0), tokens.peek()
    if type_of(before) == "CONDOP" and type_of(token) == "LT":
        return Mistake("'?<' is no operator", "a receive is 'x <? s;'", "transfer", before)
    if type_of(token) == "LNOT" and expected == "';'":
        behind = type_of(tokens.peek(2))
        if behind == "GT":
            return Mistake("'!>' is no operator", "a send is 's <! x;'", "transfer")
        if behind == "LT":
            return Mistake("'!<' is no operator", "a send is 's <! x;'", "transfer")
        return Mistake("'!' cannot stand behind a value", "a send is 's <! x;'", "transfer")
    if type_of(before) == "CONDOP" and type_of(token) == "GT":
        return Mistake("'?>' is no operator", "a receive is 'x <? s;'", "transfer", before)
    return None


def kernel_without_braces(tokens: TokenList, expected: str) -> Mistake | None:
    """`kernel x = 1;`, `y = kernel { … }`, `kernel name: { … }`."""
    opened = type_of(tokens.peek(0)) == "LBRACE"  # then the mistake stands in the block
    for back in (0,) if opened else (0, -1):
        word = tokens.peek(back)
        if value_of(word) == "kernel" and type_of(word) == "ID":
            if back == 0 and type_of(tokens.peek()) == "LBRACE":
                hint = "assign in it, to variables declared outside: 'kernel { x = 1; }'"
                return Mistake("a kernel block is a statement and has no value", hint, "kernel-block", word)
            hint = "write 'kernel { ... }', or 'name: kernel { ... }'"
            return Mistake("expected '{' after 'kernel'", hint, "kernel-block", word)
    if (value_of(tokens.peek(-2)), type_of(tokens.peek(-1)), type_of(tokens.peek())) == (
        "kernel",
        "COLON",
        "LBRACE",
    ):
        hint = f"write '{value_of(tokens.peek(0))}: kernel {{ ... }}'"
        return Mistake("the name of a kernel stands before 'kernel'", hint, "kernel-block", tokens.peek(-2))
    if value_of(tokens.peek()) == "kernel" and not (expected == "';'" and _ends_line(tokens)):
        hint = "a kernel block is a statement: 'kernel { ... }', or 'name: kernel { ... }'"
        return Mistake("a kernel block cannot stand here", hint, "kernel-block")
    return None


def shiftable(tokens: TokenList, expected: str) -> Mistake | None:
    """`[^4]`, `[4^]`, `[^]`."""
    form = "a shiftable dimension is written '[^N^]'"
    token, before = tokens.peek(), tokens.peek(0)
    if expected == "'^]'":
        return Mistake(
            f"expected '^]' before {describe(token)}" if token else "expected '^]'",
            form,
            "shiftable-dimension",
        )
    if type_of(token) == "SHIFTABLE_END":
        return Mistake("'^]' without '[^' before the size", form, "shiftable-dimension")
    if type_of(token) == "XOR" and type_of(before) == "LBRACKET":
        return Mistake(
            "'[^' begins a shiftable dimension, which only a declaration has", form, "shiftable-dimension"
        )
    return None


def pointer_stream(tokens: TokenList, expected: str) -> Mistake | None:
    """`int * stream s`."""
    before, token = tokens.peek(0), tokens.peek()
    if value_of(before) == "stream" and type_of(tokens.peek(-1)) == "TIMES" and type_of(token) == "ID":
        return Mistake(
            "a stream cannot carry pointers",
            "send indices or the values themselves: the accelerator cannot follow pointers of the host",
            "stream-element",
            before,
        )
    return None


def stream_order(tokens: TokenList, expected: str) -> Mistake | None:
    """`stream int s`, `stream<int> s`."""
    before, token = tokens.peek(0), tokens.peek()
    if value_of(before) == "<" and value_of(tokens.peek(-1)) == "stream":
        before = tokens.peek(-1)
    elif (
        value_of(before) != "stream"
        or type_of(before) != "ID"
        or token is None
        or token.type in _MARKS_BEHIND
    ):
        return None
    element = tokens.peek(2) if value_of(token) == "<" else token
    hint = f"the type of the elements comes first: '{value_of(element)} stream s'"
    if type_of(element) == "ID" and type_of(tokens.peek(-1)) == "COMMA":
        hint = f"one 'T stream' is enough for several names: 'T stream s, {value_of(element)}'"
    return Mistake("'stream' stands behind the type of the elements", hint, "declaration", before)


def _ends_line(tokens: TokenList) -> bool:
    """Whether the next token begins a line behind a word that could end a statement."""
    before, token = tokens.peek(0), tokens.peek()
    return before is not None and token is not None and token.lineno > before.lineno


def misspelt_kernel(tokens: TokenList, expected: str) -> Mistake | None:
    """`Kernel {`, `kernal {`, and `name: krenel {`."""
    word, before = tokens.peek(0), tokens.peek(-1)
    if type_of(tokens.peek()) != "LBRACE" or word is None or word.type != "ID":
        return None
    if type_of(before) not in ("SEMI", "LBRACE", "RBRACE", "COLON", "RPAREN", "ELSE"):
        return None
    if not get_close_matches(word.value.lower(), ("kernel",), 1, 0.7):
        return None
    return Mistake(f"'{word.value}' begins no block; did you mean 'kernel'?", code="kernel-block", token=word)


def thread_block(tokens: TokenList, expected: str) -> Mistake | None:
    """`thread { … }`: threads are the C library's."""
    word = tokens.peek(0)
    if type_of(tokens.peek()) != "LBRACE" or type_of(word) != "ID" or value_of(word) not in _THREADS:
        return None
    hint = "threads are POSIX threads, 'pthread_create(...)', or move data with 'mem_reader_spawn(f, ...)'"
    return Mistake(f"'{value_of(word)}' begins no block", hint, token=word)
