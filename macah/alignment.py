"""Which words of a text stand in another, where one is the other with its macros expanded.

y = TIMES(x) + 1;   and   y = ((x) * 3) + 1;   have   y =   and   x   and   ) + 1;   in common.

`difflib` finds the longest common runs first, which takes cubic time where a text repeats itself. So long
texts are walked through side by side first: where they differ, both go on from the nearest place at which the
next words are the same again, and `difflib` is asked only for what lies between.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

Opcode = tuple[str, int, int, int, int]
"""As `difflib` has it: "equal" or something else, `a[i1:i2]`, `b[j1:j2]`."""

_SHORT = 100_000  # pairs of words
_SAME = 8  # words that make two places the same


def opcodes(a: Sequence[str], b: Sequence[str]) -> list[Opcode]:
    """What becomes what, in order, from the beginning of both texts to their ends."""
    if len(a) * len(b) <= _SHORT:
        return _matched(a, b)
    found: list[Opcode] = []
    for i1, i2, j1, j2, same in _regions(a, b):
        inner = [("equal", 0, i2 - i1, 0, j2 - j1)] if same else _matched(a[i1:i2], b[j1:j2])
        found += [(kind, i1 + i, i1 + k, j1 + j, j1 + m) for kind, i, k, j, m in inner]
    return found


def _matched(a: Sequence[str], b: Sequence[str]) -> list[Opcode]:
    if len(a) * len(b) > _SHORT:
        return [("replace", 0, len(a), 0, len(b))]
    return list[Opcode](SequenceMatcher(None, a, b, autojunk=False).get_opcodes())


def _regions(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[int, int, int, int, bool]]:
    """Parts of both texts in order, and whether they are the same."""
    places: dict[tuple[str, ...], list[int]] = {}
    for place in range(len(b) + 1):
        places.setdefault(_next(b, place), []).append(place)
    i = j = 0
    while i < len(a) or j < len(b):
        length = _same(a, i, b, j)
        if length:
            yield i, i + length, j, j + length, True
            i, j = i + length, j + length
        else:
            k, m = _meeting(a, i, j, places, len(b))
            yield i, k, j, m, False
            i, j = k, m


def _same(a: Sequence[str], i: int, b: Sequence[str], j: int) -> int:
    """How many words are the same from two places on."""
    length = 0
    while i + length < len(a) and j + length < len(b) and a[i + length] == b[j + length]:
        length += 1
    return length


def _next(words: Sequence[str], place: int) -> tuple[str, ...]:
    """The words from a place on; the end of the text is a word like no other."""
    found = (*words[place : place + _SAME], "\n")
    return found[:_SAME]


def _meeting(
    a: Sequence[str], i: int, j: int, places: dict[tuple[str, ...], list[int]], end: int
) -> tuple[int, int]:
    """The nearest places behind two at which both texts have the same words; at last, their ends."""
    best, found = len(a) - i + end - j, (len(a), end)
    for k in range(i, len(a)):
        if k - i >= best:
            break
        there = places.get(_next(a, k), ())
        at = bisect_left(there, j)
        if at < len(there) and k - i + there[at] - j < best:
            best, found = k - i + there[at] - j, (k, there[at])
    return found
