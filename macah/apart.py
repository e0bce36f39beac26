"""Flags of a loop of which never two are set: where in its rows an iteration is.

    start, again = 1, 0;
    do { …  again = (start | again) & more;  start = left & !again; } while (…);

Neither is set with the other at first, nor later if they are not now: that is an inductive invariant. As many
pairs of flags as there are may need each other for that: those that do not follow from all pairs are left out
until the others do (van Eijk, Sequential Equivalence Checking Based on Structural Similarities, 2000).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from backend.dfg import Const, LiveIn, Use
from macah import ir
from macah.atoms import Conditions
from macah.bdd import FALSE
from macah.graph import Before, Value
from macah.ranges import TRUTH

MOST_FLAGS = 40
"""Of so many flags pairs are looked at."""

MOST_TESTS = 16
"""What diagrams with more tests say is not asked."""


class Apart:
    """The pairs of flags that are never both set."""

    def __init__(
        self,
        conditions: Conditions,
        initial: Mapping[ir.Variable, Const | LiveIn],
        final: Mapping[ir.Variable, Value],
    ) -> None:
        self.conditions, self.bdd = conditions, conditions.bdd
        flags = [v for v in final if conditions.words.range(Before(v)).within(TRUTH)][:MOST_FLAGS]
        self.now = {self._atom(v): conditions.of(Before(v)) for v in flags}
        self.next = {self._atom(v): conditions.of(self._copied(final[v])) for v in flags}
        first = {self._atom(v) for v in flags if initial.get(v) != Const(0)}
        self.pairs = {pair for pair in combinations(sorted(self.now), 2) if not first.issuperset(pair)}
        while broken := [pair for pair in sorted(self.pairs) if not self._stays(*pair)]:
            self.pairs -= set(broken)

    def never(self, function: int) -> bool:
        """Whether a condition never holds, as two flags would be set."""
        flags = sorted(self.bdd.support(function) & self.now.keys())
        for pair in [pair for pair in combinations(flags, 2) if pair in self.pairs]:
            if function == FALSE or not self.bdd.is_small(function, MOST_TESTS):
                break
            a, b = (self.now[flag] for flag in pair)
            function = self.bdd.both(function, self.bdd.opposite(self.bdd.both(a, b)))
        return function == FALSE

    def _stays(self, a: int, b: int) -> bool:
        """Whether two flags are not both set behind an iteration in which no pair is."""
        return self.never(self.bdd.both(self.next[a], self.next[b]))

    def _copied(self, value: Value) -> Value:
        """What a value is a copy of."""
        while isinstance(value, Use) and (draft := self.conditions.words.drafts[value.node]).op == "mov":
            (value,) = draft.operands
        return value

    def _atom(self, flag: ir.Variable) -> int:
        """The atom that says whether a flag is set."""
        (atom,) = self.bdd.support(self.conditions.of(Before(flag)))
        return atom
