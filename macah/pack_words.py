"""Small words of an element that is sent, together in one word: a stream's port moves a word in a cycle.

struct { unsigned char red, green, blue; }          one word of three bytes instead of three words
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from backend.dfg import Const, Place, Word
from macah.graph import WIDTH, Graph, Value

_ZEROS = {1: "zext8", 2: "zext16"}


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


def sent_words(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words in which an element is sent."""
    return tuple(
        group[0]
        if len(group) == 1
        else Word(group[0].offset, group[-1].offset + group[-1].size - group[0].offset, False)
        for group in groups_of(words)
    )


def packed(
    graph: Graph, words: tuple[Word, ...], values: Sequence[Value], where: Place | None
) -> list[Value]:
    """An element's values as the words in which it is sent; the last bytes of each may be anything."""
    made: list[Value] = []
    left = list(values)
    for group in groups_of(words):
        parts, left = left[: len(group)], left[len(group) :]
        total = parts[0]
        for word, value in zip(group, parts, strict=True):
            # what is above the last one's bytes is not sent
            part = value if word is group[-1] else graph.pure(_ZEROS[word.size], value, where=where)
            by = Const(8 * (word.offset - group[0].offset))
            part = graph.pure("shl", part, by, where=where)
            total = part if word is group[0] else graph.pure("or", total, part, where=where)
        made.append(total)
    return made
