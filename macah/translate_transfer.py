"""Sends and receives: `w :: x <? s` becomes `w = macah_try_receive(x, s)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.program import has_effects
from macah.syntax import NOT_A_SEND, TRANSFERS, Send, StreamType
from macah.translate_batch import cursor
from macah.translate_sheet import Span

if TYPE_CHECKING:
    from macah.translate_walk import Translator

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def translate_transfer(translator: Translator, node: Any) -> None:
    """Note the edits of a send or receive."""
    sends = isinstance(node, Send)
    translator.check_stream(node.stream, "a send" if sends else "a receive", hint=TRANSFERS)
    source = translator.source
    worked, left, right = _operands(translator, node)
    batched = isinstance(node.stream, c_ast.ID) and (node.stream.name, not sends) in translator.ends
    kind = "try_" if worked is not None else "batch_" if batched else ""
    name = f"macah_{kind}{'send' if sends else 'receive'}"
    first = f"{cursor(node.stream.name, not sends)}, " if kind == "batch_" else ""
    if worked is not None:
        source.between(worked[1], left[0], " =")
    source.between(left[1], right[0], ",")
    if not sends and has_effects(node.target):
        _take_address(translator, node.target, (left, right), name, first)
        return
    source.before(left[0], f"{name}({first}")
    source.behind(right[1], ")")
    # The macros end an operand at a comma; only the value sent may hold one.
    translator.guard(left)
    if not sends:
        translator.guard(right)


def refuse_comparison(translator: Translator, node: Any) -> None:
    """Refuse `s <! x` within an expression of the host, which C takes for a comparison of a pointer."""
    if isinstance(translator.scopes.type_of(node.left), StreamType):
        translator.fail("a stream cannot be compared with '<'", node, NOT_A_SEND, code="invalid-operands")


def _operands(translator: Translator, node: Any) -> tuple[Span | None, Span, Span]:
    """The texts before `::`, before the operator and behind it, with any parentheses around them.

    Expressions exclude parentheses around them from their spans, so the operator is looked for.
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


def _take_address(
    translator: Translator, target: Any, sides: tuple[Span, Span], name: str, first: str
) -> None:
    """Receive where a pointer points, so that an lvalue with side effects is evaluated even if nothing comes.

    A bit-field has no address, but what it is a member of has one.
    """
    source, (left, right) = translator.source, sides
    if not (isinstance(target, c_ast.StructRef) and _is_bit_field(translator, target)):
        source.before(left[0], f"{name}_at({first}&(")
        source.behind(left[1], ")")
        source.behind(right[1], ")")
        translator.guard(right)
        return
    span = translator.place(target)
    operator = source.tokens_in(span)[-2]
    address = ("(", ")") if target.type == "->" else ("&(", ")")
    source.before(left[0], f"__extension__({{ __auto_type macah_x = {address[0]}")
    source.replace((operator.start, span[1]), f"{address[1]}; {name}({first}macah_x->{target.field.name}")
    source.behind(right[1], "); })")


def _is_bit_field(translator: Translator, target: Any) -> bool:
    member = translator.scopes.member(target)
    return member is not None and member.bitsize is not None
