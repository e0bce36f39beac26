"""What matters in the first iteration only is computed from what variables are before the loop.

    r = start@1 ? (r@1 * 7 + x) * 7 + y : r@1 + z

    r = start@1 ? (r0 * 7 + x) * 7 + y : r@1 + z

Statements before a loop are done in its first iteration, which `start` says is the first: there `r@1` is what
`r` was at first. Else the recurrence of `r` would lead through all of these statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arch.ops import OPS
from backend.dfg import Const, LiveIn, Use
from macah.graph import ONE, ZERO, Before, Draft, Value
from macah.ranges import Range
from macah.rewrite import Loop, Rebuilt, Rules, rebuilt
from macah.uncounted import terms


def firsts(loop: Loop, _: Mapping[int, Range]) -> tuple[Rebuilt, Loop] | None:
    """The loop with such values computed from constants and live-ins; None if there are none."""
    starts = {
        Before(variable)
        for variable, value in loop.final.items()
        if value == ZERO and loop.initial[variable] == ONE
    }
    if not starts:
        return None
    needed = loop.live()
    carried = _carried(loop, needed[0])
    chosen = {n: at for n in needed[0] if (at := _only_first(loop, loop.graph.drafts[n], starts, carried))}
    return rebuilt(loop, _Rules(loop, chosen, carried), needed) if chosen else None


def _carried(loop: Loop, live: Iterable[int]) -> set[Value]:
    """The values of pure drafts in which there is one of the iteration before."""
    found = set[Value]()
    for number in live:
        draft = loop.graph.drafts[number]
        if OPS[draft.op].pure and any(isinstance(v, Before) or v in found for v in draft.operands):
            found.add(Use(number))
    return found


def _only_first(loop: Loop, draft: Draft, starts: set[Before], carried: set[Value]) -> tuple[int, ...]:
    """The operands of a draft that matter in the first iteration only, if they are of carried values."""
    if draft.op == "select" and not starts.isdisjoint(terms(loop, draft.operands[0])):
        places: tuple[int, ...] = (1,)
    elif draft.op == "and" and len(given := starts.intersection(draft.operands)) == 1:
        places = tuple(place for place, value in enumerate(draft.operands) if value not in given)
    else:
        return ()
    return tuple(p for p in places if isinstance(draft.operands[p], Before) or draft.operands[p] in carried)


class _Rules(Rules):
    def __init__(self, loop: Loop, chosen: Mapping[int, tuple[int, ...]], carried: set[Value]) -> None:
        self.loop, self.chosen, self.carried = loop, chosen, carried
        operands = [loop.graph.drafts[number].operands[p] for number, at in chosen.items() for p in at]
        self.cone = sorted(self._cone(operands))
        self.made = 0  # of the cone
        self.values: dict[int, Value] = {}

    def operand(self, new: Rebuilt, number: int, position: int, value: Value) -> Value:
        """What matters in the first iteration only is what it is there."""
        if position not in self.chosen.get(number, ()):
            return super().operand(new, number, position, value)
        while self.made < len(self.cone) and self.cone[self.made] < number:
            self._make(new, self.cone[self.made])
            self.made += 1
        return self._first(new, value)

    def _cone(self, values: Iterable[Value]) -> set[int]:
        """The drafts that some values come from, as far as these change."""
        found, pending = set[int](), [*values]
        while pending:
            value = pending.pop()
            if isinstance(value, Use) and value in self.carried and value.node not in found:
                found.add(value.node)
                pending += self.loop.graph.drafts[value.node].operands
        return found

    def _make(self, new: Rebuilt, number: int) -> None:
        draft = self.loop.graph.drafts[number]
        operands = [self._first(new, value) for value in draft.operands]
        self.values[number] = new.graph.pure(draft.op, *operands, where=draft.where)

    def _first(self, new: Rebuilt, value: Value) -> Value:
        """What a value is in the first iteration."""
        match value:
            case Before(variable):
                initial: Const | LiveIn = self.loop.initial[variable]
                return initial
            case Use(number) if value in self.carried:
                return self.values[number]
        return new.value(value)
