"""What matters in the first iteration only is computed from what variables are before the loop.

    r = start@1 ? (r@1 * 7 + x) * 7 + y : r@1 + z

    r = start@1 ? (r0 * 7 + x) * 7 + y : r@1 + z

Statements before a loop are done in its first iteration, which `start` says is the first: there `r@1` is what
`r` was at first. Else the recurrence of `r` would lead through all of these statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from arch.ops import OPS
from backend.dfg import Use
from macah.graph import ONE, ZERO, Before, Draft, Value
from macah.ranges import Range
from macah.rewrite import Loop, Rebuilt, Rules, rebuilt
from macah.uncounted import terms


def firsts(loop: Loop, _: Mapping[int, Range]) -> tuple[Rebuilt, Loop] | None:
    """The loop with such values computed from constants and live-ins; None if there are none.

    What other iterations need, too, stays as it is, so that nothing is computed twice.
    """
    starts = {
        Before(variable)
        for variable, value in loop.final.items()
        if value == ZERO and loop.initial.get(variable) == ONE
    }
    if not starts:
        return None
    needed = loop.live()
    chosen = {n: at for n in needed[0] if (at := _only_first(loop, loop.graph.drafts[n], starts))}
    alone = set(needed[0]).difference(loop.live(chosen)[0])
    rules = _Rules(loop, chosen, [n for n in sorted(alone) if OPS[loop.graph.drafts[n].op].pure])
    return rebuilt(loop, rules, needed) if rules.changes() else None


def _only_first(loop: Loop, draft: Draft, starts: set[Before]) -> tuple[int, ...]:
    """The operands of a draft that matter in the first iteration only."""
    if draft.op == "select" and not starts.isdisjoint(terms(loop, draft.operands[0])):
        return (1,)
    if draft.op == "and" and len(given := starts.intersection(draft.operands)) == 1:
        given.add(Before(loop.alive))  # which effects are told by, even where all iterations count
        return tuple(place for place, value in enumerate(draft.operands) if value not in given)
    return ()


class _Rules(Rules):
    """`alone`: the pure drafts that only the first iteration needs, in their order."""

    def __init__(self, loop: Loop, chosen: Mapping[int, tuple[int, ...]], alone: Sequence[int]) -> None:
        self.loop, self.chosen, self.alone = loop, chosen, alone
        self.made = 0  # of these
        self.values: dict[int, Value] = {}

    def changes(self) -> bool:
        """Whether anything is of the iteration before that need not be."""
        drafts = self.loop.graph.drafts
        inside = (value for number in self.alone for value in drafts[number].operands)
        chosen = (drafts[number].operands[p] for number, at in self.chosen.items() for p in at)
        return any(isinstance(value, Before) for value in chain(inside, chosen))

    def operand(self, new: Rebuilt, number: int, position: int, value: Value) -> Value:
        """What matters in the first iteration only is what it is there."""
        if position not in self.chosen.get(number, ()):
            return super().operand(new, number, position, value)
        while self.made < len(self.alone) and self.alone[self.made] < number:
            self._make(new, self.alone[self.made])
            self.made += 1
        return self._first(new, value)

    def _make(self, new: Rebuilt, number: int) -> None:
        draft = self.loop.graph.drafts[number]
        operands = [self._first(new, value) for value in draft.operands]
        self.values[number] = new.graph.pure(draft.op, *operands, where=draft.where)

    def _first(self, new: Rebuilt, value: Value) -> Value:
        """What a value is in the first iteration."""
        if isinstance(value, Before):
            return self.loop.initial.get(value.variable, ZERO)
        known = self.values.get(value.node) if isinstance(value, Use) and not value.output else None
        return new.value(value) if known is None else known
