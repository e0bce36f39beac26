"""Large arrays that are shifted become windows that slide over twice the room, so that a shift moves nothing.

    int d[^1024^];      int macah_d[2 * (1024)], *d = macah_d;
    d >>= 1;            macah_slide_right(d, macah_d, 1);

Only now and then, when the window has come to the end of its room, its elements are moved to the other.
This is for local arrays of which only elements are used: what takes an address or size wants the array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from macah.diagnostic import MacahError
from macah.program import walk
from macah.syntax import Asm, ShiftableDecl
from macah.tokens import MacahToken

if TYPE_CHECKING:
    from macah.translate_walk import Translator

# Smaller arrays are moved with a few instructions.
_LARGE = 64
# Twice the room of larger ones might be more than the stack has.
_TOO_LARGE = 1 << 16


def windows_of(translator: Translator, function: Any) -> frozenset[str]:
    """The names of the arrays in a function that become windows; their declarations are edited."""
    nodes = list(walk(function))
    if any(isinstance(n, c_ast.Label | c_ast.Goto | c_ast.Switch | c_ast.TypeOf | Asm) for n in nodes):
        # A jump might pass the declaration of the window by.
        return frozenset()
    declared = [n for n in nodes if isinstance(n, c_ast.Decl) and n.name]
    found = {n.name: n for n in walk(function.body) if isinstance(n, c_ast.Decl) and _is_plain(n)}
    for name in list(found):
        if sum(n.name == name for n in declared) > 1:
            del found[name]
    for node in nodes:
        _strike_out(node, found)
    return frozenset(name for name, node in found.items() if _slides(translator, node))


def _is_plain(node: Any) -> bool:
    """Whether a declaration is that of a shiftable array of one dimension without any frills."""
    return (
        isinstance(node.type, ShiftableDecl)
        and isinstance(node.type.type, c_ast.TypeDecl)
        and not {"extern", "register", "_Thread_local"} & {*node.storage}
        and not node.align
    )


def _strike_out(node: Any, found: dict[str, Any]) -> None:
    """Remove the arrays that `node` uses otherwise than by their elements."""
    allowed: list[Any] = []
    match node:
        case c_ast.UnaryOp(op="&", expr=inner):
            for part in walk(inner):
                if isinstance(part, c_ast.ID):
                    found.pop(part.name, None)
        case c_ast.ArrayRef(name=base):
            allowed = [base]
        case c_ast.Assignment(op="<<=" | ">>=", lvalue=base):
            allowed = [base]
    for child in node:
        if isinstance(child, c_ast.ID) and not any(child is a for a in allowed):
            found.pop(child.name, None)


def _slides(translator: Translator, node: Any) -> bool:
    """Edit the declaration of an array, if it is large and its text is as expected."""
    try:
        if not _LARGE <= translator.constant(node.type.dim, node) <= _TOO_LARGE:
            return False
    except MacahError:
        return False
    source = translator.source
    tokens = source.tokens_in(translator.place(node))
    at = next((i for i, t in enumerate(tokens) if t.value == node.name and tokens[i + 1].value == "["), -1)
    close = next((i for i in range(at, len(tokens)) if tokens[i].type == "SHIFTABLE_END"), -1) + 1
    if at < 0 or not 0 < close < len(tokens) - 1 or tokens[at - 1].value in ("*", "("):
        return False
    end = _end_of_declarator(tokens, close)
    behind = source.text[end:].lstrip()
    if not behind.startswith((",", ";")):
        return False  # an attribute
    room = f"macah_{node.name}"
    source.replace((tokens[at].start, tokens[at].end), room)
    dimension = (tokens[at + 3].start, tokens[close - 2].end)
    source.around(dimension, "2 * (", ")")
    source.behind(end, f", *{node.name} = {room}", outermost=True)
    return True


def _end_of_declarator(tokens: list[MacahToken], at: int) -> int:
    """Where a declarator with its initialiser ends, of which token `at` is a part."""
    depth = 0
    for token, following in zip(tokens[at:], tokens[at + 1 :], strict=False):
        depth += (token.value in "([{") - (token.value in ")]}") if token.type != "RBRACKET" or depth else 0
        if depth == 0 and following.type in ("COMMA", "SEMI"):
            return token.end
    return tokens[-1].end
