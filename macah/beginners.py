"""What people write who are new to Macah, or to C, and what to say about it.

The parser has found already that there is a mistake; each look at the tokens around it knows one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from macah import mistakes_c, mistakes_macah
from macah.mistakes import Mistake
from macah.tokens import MacahToken, TokenList

_CLOSED_BY = {"LPAREN": "RPAREN", "LBRACKET": "RBRACKET", "LBRACE": "RBRACE"}


def usual_mistake(tokens: TokenList, expected: str) -> Mistake | None:
    """What is known about the mistake at the next token, where `expected` could stand."""
    for look in _LOOKS:
        if mistake := look(tokens, expected):
            return mistake
    return None


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


_LOOKS: tuple[Callable[[TokenList, str], Mistake | None], ...] = (
    mistakes_c.walrus,
    mistakes_macah.spaced_receive,
    mistakes_macah.reversed_receive,
    mistakes_macah.spaced_double_colon,
    mistakes_macah.receive_inside,
    mistakes_macah.double_colon,
    mistakes_macah.kernel_without_braces,
    mistakes_macah.shiftable,
    mistakes_macah.pointer_stream,
    mistakes_macah.stream_order,
    mistakes_c.comma_in_for,
    mistakes_c.misspelt_loop,
    mistakes_c.for_head,
    mistakes_c.else_without_if,
    mistakes_macah.misspelt_kernel,
    mistakes_macah.thread_block,
    mistakes_c.misspelt_statement,
    mistakes_c.arrows,
    mistakes_c.brace_value,
    mistakes_c.cpp_words,
    mistakes_c.reference,
    mistakes_c.untyped_parameter,
    mistakes_c.in_list,
    mistakes_c.keyword_as_name,
)
