"""Whether what a condition says may be of a value, from how the two are made: mostly it is not.

    c = x < 9;  c ? (x + 1) * 2 : y        of x, from which the first arm is made, and not of y

That does not depend on ranges, so `Widths`, which asks again whenever these grow, need not look at what a
condition says unless it concerns somebody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arch.ops import OPS
from backend.dfg import Const, Use
from macah.graph import Draft, Value
from macah.ranges_of import COMPARE

DEPTH = 3
"""How far a condition is followed into what a value is made from."""

LITERALS = 8
"""So many parts of a condition are looked at."""

EFFECTS = frozenset(name for name, op in OPS.items() if not op.pure)
_PARTED = frozenset({"and", "or", "xor"})


class Relevance:
    """What values of a graph, whose drafts stay as they are, have to do with its conditions."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self.drafts = drafts
        # by depth
        self._origins: list[dict[Value, frozenset[Value]]] = [{} for _ in range(DEPTH + 1)]
        self._told: dict[Value, frozenset[Value]] = {}
        self._concerned: dict[tuple[Value, Value], bool] = {}

    def concerns(self, condition: Value, value: Value) -> bool:
        """False if no fact from the condition is of the value or of what it is made from."""
        known = self._concerned.get((condition, value))
        if known is None:
            told = self._told.get(condition)
            if told is None:
                told = self._told[condition] = self._of_which_told(condition)
            known = self._concerned[condition, value] = not told.isdisjoint(self.origins(value))
        return known

    def origins(self, value: Value, depth: int = DEPTH) -> frozenset[Value]:
        """A value, no constant, and what it is made from as far as facts of that are looked for."""
        known = self._origins[depth].get(value)
        if known is None:
            found = {value}
            if depth and isinstance(value, Use) and (draft := self.drafts[value.node]).op not in EFFECTS:
                parts = [part for part in draft.operands if not isinstance(part, Const)]
                found.update(*[self.origins(part, depth - 1) for part in parts])
            known = self._origins[depth][value] = frozenset(found)
        return known

    def _of_which_told(self, condition: Value) -> frozenset[Value]:
        """All of which `Widths.facts` may say something, whatever ranges are."""
        found, last = {condition}, [condition]
        for _ in range(LITERALS):
            drafts = self._behind(last)
            last = []
            for draft in drafts:
                if draft.op in COMPARE:
                    found.update(draft.operands)
                elif draft.op in _PARTED:
                    last += [part for part in draft.operands if part not in found]
            found.update(last)
        # Of a sum with a constant it says what that means for the other operand.
        found.update([draft.operands[0] for draft in self._behind(found) if draft.op == "add"])
        return frozenset(found)

    def _behind(self, values: Iterable[Value]) -> list[Draft]:
        """What makes those of the values that a draft makes."""
        uses = [value for value in values if isinstance(value, Use) and value.output == 0]
        return [self.drafts[use.node] for use in uses]
