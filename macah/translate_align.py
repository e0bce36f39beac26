"""Which words of a preprocessed text are which words of the file it was made from.

Lines whose words are the same in both are clear. Between them, words are matched; what is left of the file is
the use of a macro, and what is left of the preprocessed text there is what it expanded to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from backend.record import made_quickly
from macah.alignment import opcodes

_WORD = re.compile(
    r"""(?P<skip>(?:[ \t\f\v]|\\\n)+|/\*.*?\*/|//(?:\\\n|[^\n])*)"""
    r"""|(?P<line>\n)"""
    r"""|(?P<word>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:[uUL])?'(?:[^'\\\n]|\\.)*'"""
    r"""|\.?[0-9](?:[eEpP][+-]|[\w.])*|[\w$]+|.)""",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"#(?:/\*.*?\*/|\\\n|[^\n])*", re.DOTALL)


@made_quickly
@dataclass(frozen=True, slots=True)
class Word:
    """A word, constant or other character, with its place in its text and its line."""

    text: str
    start: int
    end: int
    line: int


@made_quickly
@dataclass(frozen=True, slots=True)
class Group:
    """The characters `start:end` of the file became `pre_start:pre_end` of the preprocessed text."""

    start: int
    end: int
    pre_start: int
    pre_end: int
    expanded: bool = False

    def with_(self, other: Group, expanded: bool = True) -> Group:
        """The group from the start of this to the end of the other."""
        return replace(self, end=other.end, pre_end=other.pre_end, expanded=expanded)


def source_words(text: str) -> Iterator[Word]:
    """The words of a text, without comments and directives."""
    at, line, fresh = 0, 1, True
    while at < len(text):
        if fresh and text[at] == "#" and (match := _DIRECTIVE.match(text, at)):
            # Pragmas are the directives that the preprocessor leaves.
            words = match[0][1:].split()
            if words[:1] == ["pragma"]:
                yield Word(f"#{' '.join(words)}", at, match.end(), line)
        else:
            match = _WORD.match(text, at)
            assert match is not None
            if match.lastgroup == "word":
                yield Word(match[0], at, match.end(), line)
                fresh = False
            elif match.lastgroup == "line":
                fresh = True
        end = match.end()
        if end > at + 1 or fresh:  # else it is one character that ends no line
            line += text.count("\n", at, end)
        at = end


def align(file: Sequence[Word], pre: Sequence[Word]) -> list[Group]:
    """The groups of a file in order."""
    lines: dict[int, tuple[list[Word], list[Word]]] = {}
    for side, words in enumerate((file, pre)):
        for word in words:
            lines.setdefault(word.line, ([], []))[side].append(word)

    def same(line: int) -> bool:
        here, there = lines[line]
        return [w.text for w in here] == [w.text for w in there]

    groups: list[Group] = []
    for clear, run in groupby(sorted(lines), same):
        numbers = list(run)
        here, there = ([w for line in numbers for w in lines[line][side]] for side in (0, 1))
        groups += map(_pair, here, there) if clear else _matched(here, there)
    return groups


def _pair(here: Word, there: Word) -> Group:
    return Group(here.start, here.end, there.start, there.end)


def _matched(here: list[Word], there: list[Word]) -> Iterator[Group]:
    """The groups of lines that differ."""
    keys = [word.text for word in here]
    words = [word.text for word in there]
    codes = opcodes(keys, words)
    # A macro's arguments may be there too, but a part of what it expanded to is not their place.
    for kind, i1, i2, _, _ in codes:
        for i in range(i1, i2) if kind != "equal" else ():
            if re.match(r"[A-Za-z_]", keys[i]) and keys[i + 1 : i + 2] == ["("]:
                for k in range(i, _closing(here, i + 1) + 1):
                    keys[k] = ""
    for kind, i1, i2, j1, j2 in opcodes(keys, words):
        if kind == "equal":
            yield from map(_pair, here[i1:i2], there[j1:j2])
        elif i1 < i2:
            before = there[j1 - 1].end if j1 else (there[0].start if there else 0)
            start, end = (there[j1].start, there[j2 - 1].end) if j1 < j2 else (before, before)
            yield Group(here[i1].start, here[i2 - 1].end, start, end)


def _closing(words: list[Word], at: int) -> int:
    """The parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(words)):
        depth += (words[i].text == "(") - (words[i].text == ")")
        if depth == 0:
            return i
    return len(words) - 1
