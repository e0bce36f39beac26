"""Where the values of a loop matter: what is stored where the store happens, an arm where it is chosen.

Who changes a value where it does not matter changes nothing, even if all values are changed so at once: what
decides where a value matters is itself only changed where it does not matter.
"""

from __future__ import annotations

from backend.dfg import Use
from macah.atoms import Conditions
from macah.bdd import FALSE, TRUE
from macah.graph import Value
from macah.widths import Widths

_GUARDS = {"store": 2, "send": 1, "try_send": 1, "result": 1}
"""Which operand says whether others of an effect matter."""


class Observed:
    """Where values are observed: for each draft a function that holds wherever its value matters."""

    def __init__(self, widths: Widths, conditions: Conditions) -> None:
        self.conditions = conditions
        self.drafts, self.loop = widths.drafts, widths.loop
        self.of: dict[int, int] = dict.fromkeys(widths.live, FALSE)
        alive = self.loop.alive
        self.goes_on = conditions.of(self.loop.final[alive]) if alive in self.loop.final else TRUE
        for variable in widths.variables:
            self._observe(self.loop.final[variable], TRUE if variable == alive else self.goes_on)
        for number in reversed(widths.live):
            if (base := self.loop.bases.get(number)) is not None:
                self._observe(base, self.where(number, 0))
            for position, operand in enumerate(self.drafts[number].operands):
                self._observe(operand, self.where(number, position))

    def where(self, number: int, position: int) -> int:
        """Where an operand of a draft is observed."""
        draft, conditions = self.drafts[number], self.conditions
        mine = TRUE if draft.effect else self.of[number]
        if draft.op == "select" and position:
            chosen = conditions.of(draft.operands[0])
            chosen = chosen if position == 1 else conditions.bdd.opposite(chosen)
            return conditions.bounded(conditions.bdd.both(mine, chosen), chosen)
        if draft.op in _GUARDS and position != _GUARDS[draft.op]:
            return conditions.of(draft.operands[_GUARDS[draft.op]])
        return TRUE if draft.effect else mine

    def _observe(self, value: Value, where: int) -> None:
        if isinstance(value, Use):
            found = self.conditions.bdd.either(self.of[value.node], where)
            self.of[value.node] = self.conditions.bounded(found, TRUE)
