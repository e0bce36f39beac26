"""Sends and receives as expressions of GNU C.

    w :: x <? s;    __extension__({ __auto_type macah_s = s; MACAH_ELEMENT(macah_s) macah_e;
                    if ((w = macah_try_receive((macah_stream *)macah_s, &macah_e))) x = macah_e; });

The type of the temporary makes conversions those of an assignment, and each operand stands there once.
"""

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
    stream = left if sends else right
    head: Parts = ("__extension__({ __auto_type macah_s = ", stream, "; MACAH_ELEMENT(macah_s) macah_e")
    name = ("send" if sends else "receive") if worked is None else ("try_send" if sends else "try_receive")
    call: Parts = (f"macah_{name}((macah_stream *)macah_s, &macah_e)",)
    if worked is not None:
        call = (worked, " = ", *call)
    if sends:
        return (*head, " = ", right, "; ", *call, "; })")
    if worked is not None:
        call = ("(", *call, ")")
    before, target = _target(translator, node.target, left)
    return (*head, "; ", *before, "if (", *call, ") ", *target, " = macah_e; })")


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


def _target(translator: Translator, node: Any, span: Span) -> tuple[Parts, Parts]:
    """What computes the place of a received value, and that place.

    What has effects is computed even if nothing is received. A bit-field is a member without an address.
    """
    if not _has_effects(node):
        return (), (span,)
    if not isinstance(node, c_ast.StructRef):
        return ("__auto_type macah_x = &(", span, "); "), ("*macah_x",)
    span = translator.source.span(node) or span
    operator = translator.source.tokens_in(span)[-2]
    base = (span[0], operator.start)
    address: Parts = ("(", base, ")") if node.type == "->" else ("&(", base, ")")
    return ("__auto_type macah_x = ", *address, "; "), (f"macah_x->{node.field.name}",)


def _has_effects(node: Any) -> bool:
    return any(
        isinstance(n, c_ast.FuncCall | c_ast.Assignment | c_ast.Compound)
        or (isinstance(n, c_ast.UnaryOp) and n.op in {"++", "--", "p++", "p--"})
        for n in walk(node)
    )
