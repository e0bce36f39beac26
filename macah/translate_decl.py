"""Declarations: the stream type and the marks of shiftable dimensions."""

from __future__ import annotations

from macah.syntax import StreamType
from macah.tokens import TYPE_WORDS, MacahToken
from macah.translate_text import Source

_OUTSIDE = frozenset(
    {"CONST", "VOLATILE", "_ATOMIC", "AUTO", "REGISTER", "STATIC", "EXTERN", "TYPEDEF", "_THREAD_LOCAL"}
    | {"INLINE", "_NORETURN"}
)
_TAGGED = frozenset({"STRUCT", "UNION", "ENUM"})


def replace_stream_type(source: Source, node: StreamType) -> None:
    """`const short stream s` becomes `const MACAH_STREAM(short) s`."""
    at = source.index_at(node.coord)
    first, moved = _specifiers(source, at)
    opening, last, word = source.tokens[first], source.tokens[at - 1], source.tokens[at]
    source.before(opening.start, "".join(f"{t.value} " for t in moved) + "MACAH_STREAM(")
    for token in moved:
        source.replace((token.start, token.end), "")
    adjacent = not source.text[last.end : word.start].strip(" \t") and last not in moved
    source.replace((last.end if adjacent else word.start, word.end), ")")


def unmark_dimensions(source: Source) -> None:
    """`[^N^]` becomes `[N]`."""
    for before, token in zip(source.tokens, source.tokens[1:], strict=False):
        opens = before.type == "LBRACKET" and token.type == "XOR"
        if opens or token.type == "SHIFTABLE_END":
            source.replace((token.start, token.end), "")


def _specifiers(source: Source, at: int) -> tuple[int, list[MacahToken]]:
    """The first token of the element type before token `at`, and those in it that qualify the stream."""
    tokens = source.tokens
    outside: list[MacahToken] = []
    first, index, named = at, at - 1, False
    while index >= 0:
        token = tokens[index]
        if token.type in _OUTSIDE:
            outside.append(token)
        elif token.type in TYPE_WORDS:
            first, named = index, True
        elif named:
            break
        elif token.type == "RBRACE":
            brace = _opening(tokens, index)
            first = index = brace - 1 if tokens[brace - 1].type in _TAGGED else brace - 2
            named = True
        elif token.type == "RPAREN":
            first = index = _opening(tokens, index) - 1
            named = True
        elif token.type in {"ID", "TYPEID"}:
            first = index = index - 1 if tokens[index - 1].type in _TAGGED else index
            named = True
        else:
            break
        index -= 1
    return first, [t for t in reversed(outside) if t.start > tokens[first].start]


def _opening(tokens: list[MacahToken], index: int) -> int:
    """The bracket that the closing one at `index` belongs to."""
    depth = 0
    while True:
        kind = tokens[index].type
        depth += (kind in {"RBRACE", "RPAREN"}) - (kind in {"LBRACE", "LPAREN"})
        if depth == 0:
            return index
        index -= 1
