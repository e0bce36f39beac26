"""Makes a program that fails small, by leaving out what the failure does not need."""

from __future__ import annotations

from collections.abc import Callable

from fuzz_mutator import tokens_of


def shrink(text: str, fails: Callable[[str], bool], attempts: int = 400) -> str:
    """A text of fewer tokens that `fails` too, found in at most `attempts` trials."""
    tokens = tokens_of(text)
    size = len(tokens) // 2
    while size and attempts:
        at, removed = 0, False
        while at < len(tokens) and attempts:
            shorter = tokens[:at] + tokens[at + size :]
            attempts -= 1
            if fails("".join(shorter)):
                tokens, removed = shorter, True
            else:
                at += size
        size = size if removed and size == 1 else size // 2
    return "".join(tokens)
