"""One send for several on a stream of which at most one takes place.

    if (x < 0) out <! -x; else if (x > 9) out <! x * 3;

    out <! x < 0 ? -x : x * 3  if x < 0 | x > 9;

A stream has one port, so that two operations on it take two cycles even if they exclude each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from macah.atoms import Conditions
from macah.bdd import FALSE
from macah.graph import Draft, Graph, Value
from macah.ir import Stream
from macah.pack_words import moved_words
from macah.ranges import Range
from macah.rewrite import Loop
from macah.widths import Widths

Operations = Mapping[Stream | None, Sequence[int]]


@dataclass(frozen=True, slots=True)
class _Element:
    """What is sent at a time: a draft for each word. `function` says when, as do the drafts' guards."""

    drafts: tuple[Draft, ...]
    guard: Value
    function: int
    shares: bool


def share_sends(loop: Loop, operations: Operations, words: Mapping[int, Range]) -> Operations:
    """Change the loop's graph in place; returns the operations of each stream afterwards."""
    drafts = loop.graph.drafts
    many = [s for s, nodes in operations.items() if s and _sends(drafts, nodes) > len(moved_words(s.words))]
    if not many:
        return operations
    sharing = _Sharing(Conditions(Widths(loop, words)), loop.graph)
    return {**operations, **{stream: sharing.shared(stream, operations[stream]) for stream in many}}


def _sends(drafts: Sequence[Draft], nodes: Sequence[int]) -> int:
    """How many words are sent, if a kernel only sends to a stream, and waits for it."""
    plain = all(drafts[node].op in ("send", "close") for node in nodes)
    return sum(drafts[node].op == "send" for node in nodes) if plain else 0


class _Sharing:
    def __init__(self, conditions: Conditions, graph: Graph) -> None:
        self.conditions = conditions
        self.graph = graph

    def shared(self, stream: Stream, nodes: Sequence[int]) -> Sequence[int]:
        """The operations on a stream, in order."""
        drafts = [self.graph.drafts[node] for node in nodes]
        elements: list[_Element] = []
        while drafts:
            count = len(moved_words(stream.words)) if drafts[0].op == "send" else 1
            self.enter(elements, tuple(drafts[:count]))
            drafts = drafts[count:]
        if sum(len(element.drafts) for element in elements) == len(nodes):
            return nodes
        for node in nodes:
            self.graph.drafts[node].effect = False
        # All are made anew, so that their numbers are in their order.
        return [self.graph.add(draft) for element in elements for draft in element.drafts]

    def enter(self, elements: list[_Element], drafts: tuple[Draft, ...]) -> None:
        """Put an element together with the first that is followed by none it could meet, or behind all.

        With the first, so that what follows this element finds as many to go together with as there are.
        """
        guard = drafts[0].operands[-1]
        drafts = tuple([replace(draft) for draft in drafts])
        new = _Element(drafts, guard, self.conditions.of(guard), drafts[0].op == "send")
        first = None
        for place in reversed(range(len(elements))):
            if not self.exclude(elements[place].function, new.function):
                break
            if elements[place].shares and new.shares:
                first = place
        if first is None:
            elements.append(new)
        else:
            elements[first] = self.together(elements[first], new)

    def exclude(self, a: int, b: int) -> bool:
        """True if two conditions never hold both."""
        bdd = self.conditions.bdd
        both = bdd.both(a, b)
        return both == FALSE or bdd.both(both, self.conditions.relations((a, b))) == FALSE

    def together(self, a: _Element, b: _Element) -> _Element:
        guard = self.graph.pure("or", a.guard, b.guard, where=b.drafts[0].where)
        made = []
        for one, other in zip(a.drafts, b.drafts, strict=True):
            value = self.graph.pure("select", a.guard, one.operands[0], other.operands[0], where=other.where)
            made.append(replace(one, operands=(value, guard)))
        function = self.conditions.bdd.either(a.function, b.function)
        bounded = self.conditions.bounded(function, FALSE)
        return _Element(tuple(made), guard, function, bounded == function)
