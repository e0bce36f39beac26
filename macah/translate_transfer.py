"""Sends and receives as the runtime's macros: `w :: x <? s` becomes `w = macah_try_receive(x, s)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.program import walk
from macah.syntax import Send
from macah.translate_text import Parts, Span

if TYPE_CHECKING:
    from macah.translate_walk import Translator

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def transfer_parts(translator: Translator, node: Any) -> Parts:
    """What stands for a send or receive."""
    sends = isinstance(node, Send)
    translator.check_stream(node.stream, "a send" if sends else "a receive")
    worked, left, right = _operands(translator, node)
    name = ("send" if sends else "receive") if worked is None else ("try_send" if sends else "try_receive")
    assigned: Parts = (worked, " = ") if worked is not None else ()
    if sends:
        return (*assigned, f"macah_{name}(", *_operand(translator, left), ", ", right, ")")
    stream = _operand(translator, right)
    if not _has_effects(node.target):
        return (*assigned, f"macah_{name}(", *_operand(translator, left), ", ", *stream, ")")
    if not isinstance(node.target, c_ast.StructRef):
        return (*assigned, f"macah_{name}_at(&(", left, "), ", *stream, ")")
    # It may be a bit-field, which has no address.
    span = translator.source.span(node.target) or left
    base = (span[0], translator.source.tokens_in(span)[-2].start)
    address: Parts = ("(", base, ")") if node.target.type == "->" else ("&(", base, ")")
    member = f"macah_x->{node.target.field.name}"
    call: Parts = (*assigned, f"macah_{name}({member}, ", *stream, ")")
    return ("__extension__({ __auto_type macah_x = ", *address, "; ", *call, "; })")


def _operand(translator: Translator, span: Span) -> Parts:
    """An operand of a macro: parentheses protect a comma between other brackets."""
    depth = 0
    for token in translator.source.tokens_in(span):
        depth += (token.type == "LPAREN") - (token.type == "RPAREN")
        if depth == 0 and token.type == "COMMA":
            return ("(", span, ")")
    return (span,)


def _operands(translator: Translator, node: Any) -> tuple[Span | None, Span, Span]:
    """The texts before `::`, before the operator and behind it, with any parentheses around them.

    The first two are unary expressions, so they need none.
    """
    tokens = translator.source.tokens_in(translator.place(node))
    depth, first, worked = 0, 0, None
    for at, token in enumerate(tokens):
        depth += (token.value in _OPENING) - (token.value in _CLOSING)
        if depth == 0 and token.type == "COLONCOLON":
            worked = (tokens[0].start, tokens[at - 1].end)
            first = at + 1
        sends = token.type == "LT" and tokens[at + 1].type == "LNOT" and token.end == tokens[at + 1].start
        if depth == 0 and (sends or token.type == "RECEIVE"):
            left = (tokens[first].start, tokens[at - 1].end)
            return worked, left, (tokens[at + 1 + sends].start, tokens[-1].end)
    raise AssertionError(node)


def _has_effects(node: Any) -> bool:
    return any(
        isinstance(n, c_ast.FuncCall | c_ast.Assignment | c_ast.Compound)
        or (isinstance(n, c_ast.UnaryOp) and n.op in {"++", "--", "p++", "p--"})
        for n in walk(node)
    )
