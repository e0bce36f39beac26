"""What is done with a stream until it has ended does not wait for the answer whether it has.

    while (!pstream_ended(s)) { x <? s; … }

    over = ended s;  alive = alive@1 & !over;  x = recv s if alive

    over = ended s;  alive = !over;            x = recv s

Where a stream has ended there is nothing to receive, and it stays so: iterations that do not count get the
same answer again. Else each receive would wait for an answer, and each question for the receive before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arch.ops import OPS
from backend.dfg import Use
from macah.atoms import Conditions
from macah.bdd import FALSE, TRUE
from macah.graph import ONE, Before, Draft, Value
from macah.ir import Variable
from macah.ranges import Range
from macah.rewrite import Loop, Rebuilt, Rules, rebuilt
from macah.uncounted import Uncounted, conjunction, terms
from macah.widths import Widths


def past_end(loop: Loop, words: Mapping[int, Range]) -> tuple[Rebuilt, Loop] | None:
    """The loop with simpler guards of receives, and a simpler test; None if there are none."""
    if not any(draft.op == "ended" and draft.effect for draft in loop.graph.drafts):
        return None
    needed = loop.live()
    ends = _Ends(loop, Conditions(Widths(loop, words)), needed[0])
    rules = _Rules(loop.alive, ends.test(), ends.guards())
    return rebuilt(loop, rules, needed) if rules.test or rules.guards else None


class _Ends:
    """Where a stream must have ended; if nothing but the end of one ends the loop, that is `last`."""

    def __init__(self, loop: Loop, conditions: Conditions, live: Sequence[int]) -> None:
        self.loop, self.conditions, self.live = loop, conditions, live
        self.drafts = loop.graph.drafts
        self.asked = [n for n in live if self.drafts[n].op == "ended" and self.drafts[n].operands == (ONE,)]
        self.last: int | None = None
        test = loop.final.get(loop.alive)
        if test is not None and loop.initial[loop.alive] == ONE:
            over = conditions.bdd.opposite(conditions.of(Before(loop.alive)))
            streams = [self.drafts[n].stream for n in self.asked]
            self.last = next((s for s in streams if self.only_ends(test, s, over)), None)

    def only_ends(self, value: Value, stream: int | None, unless: int = FALSE) -> bool:
        """True of a value that is 0 only where the stream has been seen to have ended, or `unless` holds."""
        if not isinstance(value, Use):
            return False
        bdd, found = self.conditions.bdd, self.conditions.of(value)
        questions = [n for n in self.asked if self.drafts[n].stream == stream and n < value.node]
        ended = [self.conditions.of(Use(number)) for number in questions]
        return any(bdd.either(bdd.either(found, unless), each) == TRUE for each in ended)

    def guards(self) -> dict[int, tuple[Value, ...]]:
        """What is left of receives' guards, of those that get simpler."""
        found = {}
        for number in self.live:
            draft = self.drafts[number]
            if draft.op in ("recv", "try_recv"):
                guard = terms(self.loop, draft.operands[1])
                left = [term for term in guard if not self.is_needless(term, draft)]
                if len(left) < len(guard):
                    found[number] = tuple(left)
        return found

    def is_needless(self, term: Value, receive: Draft) -> bool:
        """True of a part of a receive's guard that is 0 only where there is nothing to receive."""
        if term == Before(self.loop.alive):
            return self.last is not None and receive.stream == self.last
        return self.only_ends(term, receive.stream)

    def test(self) -> tuple[int, ...]:
        """What of the test needlessly asks whether the iteration counts; the test itself is the last."""
        alive, test = self.loop.alive, self.loop.final.get(self.loop.alive)
        if self.last is None or not isinstance(test, Use) or not self.loop.graph.holds(test):
            return ()
        if Uncounted(self.loop, self.live, self.last, counts=1).value(test) != 0:
            return ()
        depends = set[Value]({Before(alive)})
        for number in self.live:
            draft = self.drafts[number]
            if OPS[draft.op].pure and not depends.isdisjoint(draft.operands):
                depends.add(Use(number))
        found, pending = set[int](), [test] if test in depends else []
        while pending:
            number = pending.pop().node
            found.add(number)
            operands = self.drafts[number].operands
            pending += [v for v in operands if isinstance(v, Use) and v in depends and v.node not in found]
        return tuple(sorted(found))


@dataclass(frozen=True)
class _Rules(Rules):
    alive: Variable
    test: tuple[int, ...]
    guards: Mapping[int, tuple[Value, ...]]

    def operand(self, new: Rebuilt, number: int, position: int, value: Value) -> Value:
        """Receives get their new guards."""
        if number in self.guards and position == 1:
            return conjunction(new, self.guards[number])
        return super().operand(new, number, position, value)

    def apply(self, new: Rebuilt, number: int, draft: Draft, operands: tuple[Value, ...]) -> Value:
        """The test is what it is in an iteration that counts."""
        if self.test and number == self.test[-1]:
            return self._counting(new)
        return super().apply(new, number, draft, operands)

    def _counting(self, new: Rebuilt) -> Value:
        made: dict[Value, Value] = {Before(self.alive): ONE}
        result: Value = ONE
        for number in self.test:
            draft = new.old.graph.drafts[number]
            operands = [made[v] if v in made else new.value(v) for v in draft.operands]
            made[Use(number)] = result = new.graph.pure(draft.op, *operands, where=draft.where)
        return result
