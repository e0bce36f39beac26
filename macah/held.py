"""Leaves out of a loop's test whether the loop had ended before, where what is tested stays as it is then.

do { x <? in; … } while (x != 0);

alive = alive@1 & x != 0          ->          alive = x != 0

An iteration that does not count receives nothing: `x` is what it was, and so the test is still false.
Else each receive would wait for the conjunction, too: three cycles for an iteration instead of two. It is the
same where `x` then is a constant for which the test is false:

do { x = -1; x <? in; … } while (0 <= x);
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arch.ops import OPS
from backend.dfg import Const, LiveIn, Use
from macah.graph import ONE, Before, Draft, Value
from macah.ranges import Range
from macah.rewrite import Loop, Rebuilt, Rules, rebuilt
from macah.uncounted import Uncounted, conjunction, terms


def held(loop: Loop, _: Mapping[int, Range]) -> tuple[Rebuilt, Loop] | None:
    """The loop with a shorter test where that is the same; None if it is not.

    No later step may change values in iterations that do not count.
    """
    test = loop.final.get(loop.alive)
    if not isinstance(test, Use) or loop.initial[loop.alive] != ONE:
        return None
    own = terms(loop, test)
    others = [term for term in own if term != Before(loop.alive)]
    if len(others) == len(own) or not all(map(loop.graph.holds, others)):
        return None
    needed = loop.live()
    fails = 0 in map(Uncounted(loop, needed[0]).value, others)
    if not fails and not all(map(_Held(loop, needed[0]).value, others)):
        return None
    return rebuilt(loop, _Rules(test.node, tuple(others)), needed)


@dataclass(frozen=True)
class _Rules(Rules):
    test: int
    terms: tuple[Value, ...]

    def apply(self, new: Rebuilt, number: int, draft: Draft, operands: tuple[Value, ...]) -> Value:
        """The test is the conjunction of all but `alive`."""
        if number != self.test:
            return super().apply(new, number, draft, operands)
        return conjunction(new, self.terms, draft.where)


class _Held:
    """Which values of an iteration that does not count are those of the one before."""

    def __init__(self, loop: Loop, live: Sequence[int]) -> None:
        self.loop = loop
        self.drafts = loop.graph.drafts
        self.stored = {draft.memory for draft in self.drafts if draft.op == "store"}
        self.held = set[int]()
        for number in live:
            if self.is_held(number):
                self.held.add(number)

    def value(self, value: Value) -> bool:
        """True if a value is held."""
        match value:
            case Const() | LiveIn():
                return True
            case Use(node):
                return value.output == 0 and node in self.held
        return False

    def is_held(self, number: int) -> bool:
        """True if the first value of a draft is, given those before it."""
        draft = self.drafts[number]
        if draft.op in ("recv", "try_recv"):
            old, guard = draft.operands
            return self.carries(old, number) and Before(self.loop.alive) in terms(self.loop, guard)
        constant = draft.op == "load" and draft.memory not in self.stored
        return (OPS[draft.op].pure or constant) and all(self.value(operand) for operand in draft.operands)

    def carries(self, value: Value, number: int) -> bool:
        """True if a value is that of a draft in the iteration before."""
        return isinstance(value, Before) and self.loop.final.get(value.variable) == Use(number)
