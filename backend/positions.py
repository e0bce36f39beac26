"""Where things stand in a text: line and column of an offset, and the offsets of JSON's objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .dfg import Place

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def place_at(file: str, text: str, offset: int) -> Place:
    """The place of an offset: line and column count from 1."""
    line = text.count("\n", 0, offset) + 1
    return Place(file, line, offset - (text.rfind("\n", 0, offset) + 1) + 1)


class Lines:
    """A text in which places are asked for."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file

    def place(self, offset: int) -> Place:
        """The place of an offset."""
        return place_at(self.file, self.text, offset)

    def locate(self, offsets: dict[str, list[int]]) -> Callable[[str, int], Place]:
        """A `foreign.Locate` from the offsets of what can be asked for."""
        return lambda what, position: self.place(offsets[what][position] if what else 0)


def json_offset(text: str, path: Sequence[str | int]) -> int:
    """Where the value at `path` (keys and positions) begins in a JSON text that is well-formed.

    The offset of the nearest value around it if there is no such value.
    """
    import json

    best = 0
    here: list[str | int] = []
    depth_found = 0
    expect_key = False
    key = ""
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word in ",:":
            if word == "," and here:
                if isinstance(here[-1], int):
                    here[-1] += 1
                else:
                    expect_key = True
            continue
        if word in "}]":
            here.pop()
            expect_key = False
            continue
        if expect_key:
            key = json.loads(word)
            here[-1] = key
            expect_key = False
            continue
        if len(here) > depth_found and here == list(path[: len(here)]):
            best, depth_found = token.start(), len(here)
            if depth_found == len(path):
                return best
        if word == "{":
            here.append("")
            expect_key = True
        elif word == "[":
            here.append(0)
    return best
