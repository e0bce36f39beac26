"""Makes a failing program smaller: lines go, blocks lose their heads, expressions become constants."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from random_checks import Failure, Unfit

PATIENCE = 120.0
"""Seconds for one program."""


def reduced(text: str, failure: Failure, check: Callable[[str], Failure | None]) -> str:
    """The smallest program found that fails alike. What is not C any more is Unfit, and no candidate."""
    end = time.monotonic() + PATIENCE

    def fails(candidate: str) -> bool:
        try:
            found = check(candidate)
        except Unfit:
            return False
        return found is not None and _kind(found) == _kind(failure)

    improved = True
    while improved and time.monotonic() < end:
        improved = False
        for candidates in (_without_lines, _without_heads, _simpler):
            while time.monotonic() < end:
                smaller = next((c for c in candidates(text) if time.monotonic() > end or fails(c)), None)
                if smaller is None or time.monotonic() > end:
                    break
                text, improved = smaller, True
    return text


def _kind(failure: Failure) -> str:
    """What must stay: refusals and crashes with their words, differences as such."""
    text = re.sub(r"/\S*:\d+:\d+:|'[^']*'|\d+", "", failure.message)
    return text if "refused" in text or "Error" in text else "differs"


def _without_lines(text: str) -> Iterator[str]:
    """Without a statement, a whole block, or a run of lines; the largest first."""
    lines = text.splitlines()
    spans = sorted(set(_blocks(lines)) | {(i, i + 1) for i in range(len(lines))}, key=lambda s: s[0] - s[1])
    for start, end in spans:
        rest = lines[:start] + lines[end:]
        if _balanced(lines[start:end]):
            yield "\n".join(rest) + "\n"


def _without_heads(text: str) -> Iterator[str]:
    """A block without its head and closing brace."""
    lines = text.splitlines()
    for start, end in _blocks(lines):
        if "kernel {" not in lines[start] and not lines[start].startswith(("int main", "static", "struct")):
            yield "\n".join([*lines[:start], *lines[start + 1 : end - 1], *lines[end:]]) + "\n"


def _blocks(lines: list[str]) -> list[tuple[int, int]]:
    """Where blocks start and end, by their indent."""
    found = []
    for start, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())]
        if line.endswith("{"):
            end = next((i for i in range(start + 1, len(lines)) if re.match(indent + r"\}", lines[i])), None)
            if end is not None:
                found.append((start, end + 1))
    return sorted(found, key=lambda span: span[0] - span[1])


def _balanced(lines: list[str]) -> bool:
    return sum(line.count("{") - line.count("}") for line in lines) == 0


def _simpler(text: str) -> Iterator[str]:
    """A parenthesis replaced by a constant or without a side of its operator; an initializer made 0."""
    for start, end in _parentheses(text):
        inner = text[start + 1 : end - 1]
        for other in ("0", "1", *_sides(inner)):
            if len(other) < end - start:
                yield text[:start] + other + text[end:]
    for found in re.finditer(r" = [^;{}=]{2,};| = \{[^;]{5,}\};", text):
        yield text[: found.start()] + (" = { 0 };" if "{" in found[0] else " = 1;") + text[found.end() :]


def _parentheses(text: str) -> list[tuple[int, int]]:
    found, stack = [], []
    for position, character in enumerate(text):
        if character == "(":
            stack.append(position)
        elif character == ")" and stack:
            found.append((stack.pop(), position + 1))
    return sorted(found, key=lambda span: span[0] - span[1])


def _sides(inner: str) -> list[str]:
    """The operands of the outermost operators."""
    depth, cuts = 0, []
    for position, character in enumerate(inner):
        depth += (character in "([") - (character in ")]")
        if depth == 0 and character in "+-*/%&|^<>=?:," and position:
            cuts.append(position)
    if not cuts:
        return []
    sides = (inner[: cuts[0]].strip(), inner[cuts[-1] + 1 :].strip())
    return [side for side in sides if side]
