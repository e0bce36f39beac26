"""The brackets that are open where the parser looks for the end of what it did not understand."""

from __future__ import annotations

from collections import Counter


class OpenBrackets:
    """A stack of "{", "for" (the head of a loop) and "(" (others); all in constant time on average."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._open)

    def push(self, kind: str) -> None:
        """Opens one."""
        self._open.append(kind)
        self._counts[kind] += 1

    def pop(self) -> None:
        """Closes the last, if there is one."""
        if self._open:
            self._counts[self._open.pop()] -= 1

    def keep_braces(self) -> None:
        """Forgets all but braces."""
        while self._open and self._open[-1] != "{":
            self.pop()
        if len(self._open) > self._counts["{"]:
            self._open = ["{"] * self._counts["{"]
            self._counts = Counter(self._open)

    def hold_semicolons(self) -> bool:
        """Whether a semicolon here ends no statement outside of them."""
        return bool(self._counts["{"] or self._counts["for"])
