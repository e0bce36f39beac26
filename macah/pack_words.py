"""Small words of an element together in one word: a stream's port moves a word in a cycle.

struct { unsigned char red, green, blue; }          one word of three bytes instead of three words
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from backend.dfg import Const, Place, Word
from macah.graph import WIDTH, Graph, Value

_ZEROS = {1: "zext8", 2: "zext16"}
_SIGNS = {1: "sext8", 2: "sext16"}


@lru_cache(maxsize=256)
def groups_of(words: tuple[Word, ...]) -> tuple[tuple[Word, ...], ...]:
    """An element's words, those together that fit into one."""
    groups: list[tuple[Word, ...]] = []
    for word in words:
        first = groups[-1][0] if groups else word
        follows = bool(groups) and word.offset >= groups[-1][-1].offset + groups[-1][-1].size
        if follows and 8 * (word.offset + word.size - first.offset) <= WIDTH:
            groups[-1] = (*groups[-1], word)
        else:
            groups.append((word,))
    return tuple(groups)


def words_apart(words: tuple[Word, ...]) -> tuple[tuple[Word, ...], ...]:
    """An element's words, each by itself."""
    return tuple((word,) for word in words)


def moved(group: Sequence[Word]) -> Word:
    """The word in which those of a group move."""
    if len(group) == 1:
        return group[0]
    return Word(group[0].offset, group[-1].offset + group[-1].size - group[0].offset, False)


def moved_words(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words in which an element moves, if nothing keeps some of them apart."""
    return tuple(moved(group) for group in groups_of(words))


def packed(
    graph: Graph, groups: Sequence[Sequence[Word]], values: Sequence[Value], where: Place | None
) -> list[Value]:
    """An element's values as the words in which it moves; bits above the bytes of each may be anything."""
    made: list[Value] = []
    left = list(values)
    for group in groups:
        parts, left = left[: len(group)], left[len(group) :]
        total = parts[0]
        for word, value in zip(group, parts, strict=True):
            # what is above the last one's bytes does not move
            part = value if word is group[-1] else graph.pure(_ZEROS[word.size], value, where=where)
            by = Const(8 * (word.offset - group[0].offset))
            part = graph.pure("shl", part, by, where=where)
            total = part if word is group[0] else graph.pure("or", total, part, where=where)
        made.append(total)
    return made


def packed_number(group: Sequence[Word], values: Sequence[int]) -> int:
    """Numbers as the word in which a group moves."""
    parts = zip(group, values, strict=True)
    return sum(
        (value & (1 << 8 * word.size) - 1) << 8 * (word.offset - group[0].offset) for word, value in parts
    )


def unpacked(graph: Graph, group: Sequence[Word], value: Value, where: Place | None) -> list[Value]:
    """The values of a group of words in a word that came without a sign."""
    if len(group) == 1:
        return [value]
    made: list[Value] = []
    end = group[-1].offset + group[-1].size
    for word in group:
        by = 8 * (word.offset - group[0].offset)
        is_last = word.offset + word.size == end
        is_whole = is_last and (not word.signed or 8 * (end - group[0].offset) == WIDTH)
        shift = "sar" if is_whole and word.signed else "shr"
        part = graph.pure(shift, value, Const(by), where=where) if by else value
        extend = (_SIGNS if word.signed else _ZEROS).get(word.size)
        made.append(part if is_whole or extend is None else graph.pure(extend, part, where=where))
    return made
