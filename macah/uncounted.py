"""What is known of iterations that do not count: those past the one that ends the loop.

No effect happens there, and values do not matter, but the loop's test has to be false.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arch.ops import OPS, evaluate
from backend.dfg import Const, Place, Use
from macah.graph import ONE, WIDTH, Before, Draft, Value
from macah.rewrite import Loop, Rebuilt


def terms(loop: Loop, value: Value) -> list[Value]:
    """What a value is the conjunction of."""
    found, pending = list[Value](), [value]
    while pending:
        value = pending.pop()
        draft = loop.graph.drafts[value.node] if isinstance(value, Use) and value.output == 0 else None
        if draft is not None and draft.op == "and":
            pending += draft.operands[::-1]
        else:
            found.append(value)
    return found


def conjunction(new: Rebuilt, terms: Iterable[Value], where: Place | None = None) -> Value:
    """That of values of the old graph, in the new one."""
    found: Value = ONE
    for term in terms:
        found = new.graph.pure("and", found, new.value(term), where=where)
    return found


class Uncounted:
    """Which values are constants there.

    The stream `ended`, if there is one, is known to have ended then. Who computes reads `counts` for whether
    the iteration counts.
    """

    def __init__(self, loop: Loop, live: Sequence[int], ended: int | None = None, counts: int = 0) -> None:
        self.loop, self.ended, self.counts = loop, ended, counts
        self.drafts = loop.graph.drafts
        self.known = dict[int, int]()
        for number in live:
            found = self.found(self.drafts[number])
            if found is not None:
                self.known[number] = found

    def value(self, value: Value) -> int | None:
        """The constant that a value is; None if that is not known."""
        match value:
            case Const(word):
                return word
            case Use(node, output=0):
                return self.known.get(node)
            case Use(node, output=1):
                return 0 if self.drafts[node].op == "try_recv" and self.is_off(self.drafts[node]) else None
            case Before(variable) if variable == self.loop.alive:
                return self.counts
        return None

    def found(self, draft: Draft) -> int | None:
        """The first value of a draft, given those before it."""
        values = list(map(self.value, draft.operands))
        match draft.op, values:
            case (("recv" | "try_recv"), [old, _]) if self.is_off(draft):
                return old
            case "ended", [int(asked)] if asked and self.has_ended(draft):
                return 1
            case "and", [*words] if 0 in words:
                return 0
            case "select", [int(condition), one, other]:
                return one if condition else other
            case op, _ if OPS[op].pure and None not in values:
                return evaluate(op, WIDTH, *[word for word in values if word is not None])
        return None

    def is_off(self, draft: Draft) -> bool:
        """True if a stream operation does not happen."""
        return self.value(draft.operands[-1]) == 0 or self.has_ended(draft)

    def has_ended(self, draft: Draft) -> bool:
        """True if it asks for the end of the stream that has ended, or would receive from it."""
        return self.ended is not None and draft.stream == self.ended
