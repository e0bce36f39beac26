"""Boolean functions in a canonical form: reduced ordered binary decision diagrams (Bryant 1986).

A function is a number; equal functions are the same number. Each test of a variable leads to two functions of
later variables. What a diagram is not asked for can be anything (`restrict`, Coudert and Madre 1990).
"""

from __future__ import annotations

FALSE, TRUE = 0, 1
_LAST = 1 << 60  # the level of the constants


class Bdd:
    """A set of diagrams that share their parts; variables are numbers from 0, tested in their order."""

    def __init__(self) -> None:
        self.levels = [_LAST, _LAST]
        self.lows, self.highs = [FALSE, TRUE], [FALSE, TRUE]
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._chosen: dict[tuple[int, int, int], int] = {}
        self._restricted: dict[tuple[int, int], int] = {}
        self._supports: dict[int, frozenset[int]] = {FALSE: frozenset(), TRUE: frozenset()}
        self._possible: dict[tuple[int, frozenset[int]], int] = {}

    def _node(self, level: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = level, low, high
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.levels)
            self.levels.append(level)
            self.lows.append(low)
            self.highs.append(high)
        return found

    def variable(self, level: int) -> int:
        """The function that is a variable."""
        return self._node(level, FALSE, TRUE)

    def choose(self, f: int, g: int, h: int) -> int:
        """f ? g : h"""
        if f <= TRUE:
            return g if f else h
        if g == h:
            return g
        if g == TRUE and h == FALSE:
            return f
        key = f, g, h
        found = self._chosen.get(key)
        if found is None:
            levels = self.levels
            level = min(levels[f], levels[g], levels[h])
            f, other_f = (self.lows[f], self.highs[f]) if levels[f] == level else (f, f)
            g, other_g = (self.lows[g], self.highs[g]) if levels[g] == level else (g, g)
            h, other_h = (self.lows[h], self.highs[h]) if levels[h] == level else (h, h)
            low, high = self.choose(f, g, h), self.choose(other_f, other_g, other_h)
            found = self._chosen[key] = self._node(level, low, high)
        return found

    def _part(self, f: int, level: int, value: bool) -> int:
        if self.levels[f] != level:
            return f
        return self.highs[f] if value else self.lows[f]

    def both(self, f: int, g: int) -> int:
        """f and g"""
        return self.choose(f, g, FALSE)

    def either(self, f: int, g: int) -> int:
        """f or g"""
        return self.choose(f, TRUE, g)

    def opposite(self, f: int) -> int:
        """not f"""
        return self.choose(f, FALSE, TRUE)

    def implies(self, f: int, g: int) -> bool:
        """Whether g holds wherever f does."""
        return self.choose(f, g, TRUE) == TRUE

    def restrict(self, f: int, care: int) -> int:
        """A function, if possible smaller, that is `f` wherever `care` holds."""
        if care == TRUE or f <= TRUE:
            return f
        if care == FALSE:
            return FALSE
        key = f, care
        if key not in self._restricted:
            level = self.levels[f]
            if self.levels[care] < level:
                found = self.restrict(f, self.either(self.lows[care], self.highs[care]))
            else:
                low, high = self._part(care, level, False), self._part(care, level, True)
                if high == FALSE:
                    found = self.restrict(self.lows[f], low)
                elif low == FALSE:
                    found = self.restrict(self.highs[f], high)
                else:
                    parts = self.restrict(self.lows[f], low), self.restrict(self.highs[f], high)
                    found = self._node(level, *parts)
            self._restricted[key] = found
        return self._restricted[key]

    def possible(self, f: int, kept: frozenset[int]) -> int:
        """Whether `f` holds for some values of all variables but those that are kept."""
        if self.support(f) <= kept:
            return f
        key = f, kept
        if key not in self._possible:
            low, high = self.possible(self.lows[f], kept), self.possible(self.highs[f], kept)
            level = self.levels[f]
            is_kept = level in kept
            found = self.choose(self.variable(level), high, low) if is_kept else self.either(low, high)
            self._possible[key] = found
        return self._possible[key]

    def is_small(self, f: int, most: int) -> bool:
        """Whether the diagram of a function has at most so many tests."""
        found, pending = {FALSE, TRUE}, [f]
        while pending:
            node = pending.pop()
            if node not in found:
                found.add(node)
                if len(found) > most + 2:
                    return False
                pending += self.lows[node], self.highs[node]
        return True

    def support(self, f: int) -> frozenset[int]:
        """The variables that a function depends on."""
        if f not in self._supports:
            below = self.support(self.lows[f]) | self.support(self.highs[f])
            self._supports[f] = below | {self.levels[f]}
        return self._supports[f]
