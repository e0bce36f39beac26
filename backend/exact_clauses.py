"""Clauses: variables, and at most k of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

PAIRWISE = 5
"""Up to so many literals, at most one of them is said pair by pair."""

TRUE = 1
"""The literal that is true."""


class Clauses:
    """Hands clauses on to a solver, and new variables out. Literals that are constant are left out."""

    def __init__(self, add: Callable[[Sequence[int]], object]) -> None:
        self.raw = add
        self.top = TRUE
        self.count = 1
        add([TRUE])

    def fresh(self) -> int:
        """A new variable."""
        self.top += 1
        return self.top

    def add(self, *literals: int) -> None:
        """One of the literals holds."""
        self.count += 1
        self.raw(literals)

    def some(self, literals: list[int]) -> None:
        """One of the literals holds."""
        self.count += 1
        self.raw(literals)

    def at_most(self, literals: Sequence[int], most: int) -> None:
        """No more than `most` of the literals hold."""
        if len(literals) <= most:
            return
        if most == 0:
            for literal in literals:
                self.add(-literal)
        elif most == 1:
            self._at_most_one(literals)
        else:
            self._count(literals, most)

    def _at_most_one(self, literals: Sequence[int]) -> None:
        """Pair by pair, or in chunks whose "one of the earlier ones" is carried on (Sinz 2005, by fours)."""
        rest = list(literals)
        while len(rest) > PAIRWISE:
            chunk, rest = rest[: PAIRWISE - 1], rest[PAIRWISE - 1 :]
            carry = self.fresh()
            self._pairs(chunk)
            for literal in chunk:
                self.add(-literal, carry)
            rest.insert(0, carry)
        self._pairs(rest)

    def _pairs(self, literals: list[int]) -> None:
        for k, literal in enumerate(literals):
            for other in literals[:k]:
                self.raw((-literal, -other))
        self.count += len(literals) * (len(literals) - 1) // 2

    def _count(self, literals: Sequence[int], most: int) -> None:
        """A sequential counter (Sinz 2005): `before[j]` holds if more than j of those so far do."""
        before: list[int] = []
        for literal in literals:
            size = min(len(before) + 1, most)
            after = list(range(self.top + 1, self.top + size + 1))
            self.top += size
            for j, there in enumerate(after):
                if j < len(before):
                    self.raw((-before[j], there))
                self.raw((-literal, -before[j - 1], there) if j else (-literal, there))
            self.count += len(before[:size]) + size
            if len(before) == most:
                self.add(-literal, -before[most - 1])
            before = after
