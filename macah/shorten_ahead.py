"""Several iterations at once of a recurrence that goes on with one chain, or starts anew as its values say.

    c = m@1 + x > 1000                 m = c@1 ? (0 + x > 1000 ? 0 : 0 + x) : m@2 + (x@1 + x) > 1000 ? 0 : …
    m = c ? 0 : m@1 + x         ->

What m is if it started anew in one of k iterations is known without it; whether it did is told by what it was
k iterations ago and the sum of what was added since. So there are k values to choose from, in as many cycles
as the logarithm of k, behind an addition and a comparison: five iterations take five cycles. That holds for
words that wrap around, too, and for minima and maxima, which start anew at a bound (`m = min(m + x, 1000)`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from arch.ops import OPS
from backend.cycles import Delay, components
from backend.dfg import DFG, Const, Use
from macah.balance import ASSOCIATIVE
from macah.graph import ONE, ZERO, Draft, Value
from macah.shorten_graph import Choices, Past, Start
from macah.shorten_inverse import neutral

MOST_AHEAD = 6
MOST_EXITS = 12
MOST_INSIDE = 24
"""Recurrences of more operations are not looked at."""

_EXTREMES = {"smin": "slt", "smax": "slt", "umin": "ult", "umax": "ult"}


Exit = tuple[Value, Value]


@dataclass(frozen=True, slots=True)
class Pieces:
    """A value in terms of the state: that of the first of `exits` whose condition holds.

    If none does: the state with `link`, if there is one, or else `rest`.
    """

    exits: tuple[Exit, ...]
    link: Value | None
    rest: Value = ZERO


@dataclass(frozen=True, slots=True)
class Round:
    """The operations of a recurrence by their drafts, the one that is carried, and what it starts with."""

    inside: frozenset[int]
    carried: int
    start: Start
    chains: tuple[str, ...]


def look_ahead(dfg: DFG, choices: Choices, drafts: Sequence[int]) -> bool:
    """Give what recurrences carry further ways to be made; False if there are none."""
    found = False
    for around in rounds(dfg, drafts):
        for chain in around.chains:
            values = list(_Ahead(choices, around, chain).ways())
            for value in values:
                found |= choices.equal(around.carried, value)
            if values:
                break
    return found


def rounds(dfg: DFG, drafts: Sequence[int]) -> Iterator[Round]:
    """The recurrences of pure operations that carry one value, from one iteration to the next."""
    for arcs in components([Delay(use.node, node, use.distance, 1) for node, _, use in dfg.uses()]):
        nodes = {arc.target for arc in arcs}
        ops = {dfg.nodes[n].op for n in nodes}
        uses = [o for n in nodes for o in dfg.nodes[n].operands if isinstance(o, Use) and o.node in nodes]
        carried = {use for use in uses if use.distance}
        if len(nodes) > MOST_INSIDE or len(carried) != 1 or not all(OPS[op].pure for op in ops):
            continue
        (use,) = carried
        chains = tuple(sorted((ops | {"add"} if "sub" in ops else ops) & ASSOCIATIVE))
        if use.distance == 1 and not use.output:
            yield Round(frozenset(drafts[n] for n in nodes), drafts[use.node], use.initial, chains)


def is_state(choices: Choices, around: Round, past: Past) -> bool:
    """Whether this is what a recurrence carried from the iteration before."""
    return past.initials == (around.start,) and past.node == choices.find(around.carried)


def _lifted(value: Value | Pieces) -> Pieces:
    return value if isinstance(value, Pieces) else Pieces((), None, value)


class _NotOneChain(Exception):
    """A recurrence goes on in several ways."""


class _Ahead:
    """Iterations of a recurrence that goes on by `chain` with what is the same whatever its state is."""

    def __init__(self, choices: Choices, around: Round, chain: str) -> None:
        self.choices, self.around, self.chain = choices, around, chain
        self.before: Value = ZERO  # the state
        self.known: dict[int, Value | Pieces] = {}
        self.last = False
        self.common = 0  # exits of the state

    def ways(self) -> Iterator[Value]:
        """The carried value by what it was two iterations ago, by what it was three ago, and so on."""
        nothing = neutral(self.chain)
        assert nothing is not None
        state = Pieces((), nothing)
        start = self.around.start
        carried = Use(self.around.carried)
        try:
            for distance in range(1, MOST_AHEAD + 1):
                self.before = self.choices.delayed(carried, (start,) * distance)
                if distance > 1:
                    state = self.delayed(state, nothing)
                    end = self.iteration(state, True)
                    for late in (0, 1):
                        yield self.chosen(end.exits, self.rest(end), late)
                state = self.iteration(state, False)
                if state.link is None or not 0 < len(state.exits) <= MOST_EXITS:
                    return
        except _NotOneChain:
            return

    def delayed(self, state: Pieces, nothing: Start) -> Pieces:
        """The state an iteration later: before the first one, what it starts with is taken as an exit."""
        assert state.link is not None
        later, start = self.choices.delayed, (self.around.start,)
        exits = tuple([(later(c, (ONE,)), later(value, start)) for c, value in state.exits])
        return Pieces(exits, later(state.link, (self.choices.natural(state.link) or nothing,)))

    def iteration(self, state: Pieces, last: bool) -> Pieces:
        """What is carried on from a state."""
        self.known, self.last, self.common = {}, last, len(state.exits)
        found = self.of_draft(self.around.carried, state)
        return found if isinstance(found, Pieces) else Pieces((), None, found)

    def of_draft(self, number: int, state: Pieces) -> Value | Pieces:
        if number not in self.known:
            draft = self.choices.graph.drafts[number]
            if not OPS[draft.op].pure:  # a choice of the recurrence that was folded to what is loaded
                return Use(number)
            args = [self.of(value, state) for value in draft.operands]
            self.known[number] = args[0] if draft.op == "mov" else self.applied(draft, args)
        return self.known[number]

    def of(self, value: Value, state: Pieces) -> Value | Pieces:
        past = self.choices.meant(value)
        if past is None or past.output:
            return value
        if is_state(self.choices, self.around, past):
            return state
        if isinstance(value, Use) and value.node in self.around.inside:
            return self.of_draft(value.node, state)
        return value

    # --- Operations on pieces

    def applied(self, draft: Draft, args: list[Value | Pieces]) -> Value | Pieces:
        if not any(isinstance(arg, Pieces) for arg in args):
            return self.made(draft, [arg for arg in args if not isinstance(arg, Pieces)])
        if draft.op == "select":
            return self.select(draft, args)
        pieces = self.aligned([_lifted(arg) for arg in args])
        exits = self.exits(draft, pieces)
        links = [k for k, arg in enumerate(args) if isinstance(arg, Pieces)]
        if len(links) == 1 and (link := pieces[links[0]].link) is not None:
            others = [link if k == links[0] else arg.rest for k, arg in enumerate(pieces)]
            if self.goes_on(draft.op, links[0]):
                return Pieces(exits, self.made(draft, others))
            if draft.op in _EXTREMES and not self.last:
                state, bound = self.rest(pieces[links[0]]), pieces[1 - links[0]].rest
                order = (bound, state) if draft.op.endswith("min") else (state, bound)
                beyond = self.choices.apply(_EXTREMES[draft.op], *order, where=draft.where)
                return Pieces((*exits, (beyond, bound)), link)
            inverse = {"add": "sub", "xor": "xor"}.get(self.chain)
            if draft.op in ("eq", "ne") and inverse is not None:
                rest = self.choices.apply(inverse, pieces[1 - links[0]].rest, link, where=draft.where)
                return Pieces(exits, None, self.made(draft, [self.before, rest]))
        return Pieces(exits, None, self.made(draft, [self.rest(arg) for arg in pieces]))

    def exits(self, draft: Draft, pieces: Sequence[Pieces]) -> tuple[Exit, ...]:
        """An operation on what is there at each exit."""
        several = zip(*[arg.exits for arg in pieces], strict=True)
        return tuple([(same[0][0], self.made(draft, [value for _, value in same])) for same in several])

    def goes_on(self, op: str, operand: int) -> bool:
        """Whether an operation on the state is a link of the chain."""
        return op == self.chain or self.chain == "add" and (op, operand) in (("sub", 0), ("muladd", 2))

    def select(self, draft: Draft, args: list[Value | Pieces]) -> Pieces:
        pieces = [_lifted(arg) for arg in args]
        same = [c for c, _ in pieces[1].exits] == [c for c, _ in pieces[2].exits]
        goes_on = any(arm.link is not None for arm in pieces[1:])
        if not same and goes_on and len(pieces[0].exits) <= self.common:
            condition, then, other = self.aligned(
                [replace(arg, exits=arg.exits[: self.common]) for arg in pieces]
            )
            own = [arm.exits[self.common :] for arm in pieces[1:]]
        else:
            condition, then, other = self.aligned(pieces)
            own = [(), ()]
        exits = self.exits(draft, (condition, then, other))
        test = self.predicate(self.rest(condition), draft)
        if isinstance(test, Const):
            arm, more = (then, own[0]) if test.value else (other, own[1])
            return replace(arm, exits=exits + more)
        opposite = self.choices.inverse(test)
        assert opposite is not None
        for side, more in zip((test, opposite), own, strict=True):
            exits += tuple([(self.choices.apply("and", side, c), value) for c, value in more])
        if then.link is not None and other.link is not None:
            if then.link == other.link:
                return Pieces(exits, then.link)
            if not isinstance(args[0], Pieces):
                return Pieces(exits, self.made(draft, [test, then.link, other.link]))
        elif then.link is not None:
            return Pieces((*exits, (opposite, other.rest)), then.link)
        elif other.link is not None:
            return Pieces((*exits, (test, then.rest)), other.link)
        return Pieces(exits, None, self.made(draft, [test, self.rest(then), self.rest(other)]))

    def aligned(self, pieces: Sequence[Pieces]) -> list[Pieces]:
        """The arguments with the same exits."""
        conditions = max([[c for c, _ in arg.exits] for arg in pieces], key=len)
        found = []
        for arg in pieces:
            have = [c for c, _ in arg.exits]
            if have != conditions[: len(have)]:
                raise _NotOneChain
            rest = self.rest(arg)
            found.append(replace(arg, exits=(*arg.exits, *[(c, rest) for c in conditions[len(have) :]])))
        return found

    def rest(self, pieces: Pieces) -> Value:
        """What a value is if no exit is taken."""
        if pieces.link is None:
            return pieces.rest
        return self.choices.apply(self.chain, self.before, pieces.link)

    def made(self, draft: Draft, values: list[Value]) -> Value:
        return self.choices.apply(draft.op, *values, where=draft.where)

    def predicate(self, value: Value, draft: Draft) -> Value:
        if isinstance(value, Const) or self.choices.is_predicate(value):
            return value
        return self.choices.apply("ne", value, ZERO, where=draft.where)

    # --- One value

    def chosen(self, exits: Sequence[Exit], rest: Value, late: int) -> Value:
        """The value of the first exit whose condition holds, in few steps; the rest may come late by one."""
        if not exits:
            return rest
        half = min(len(exits), (len(exits) + 1 + late) // 2)
        first, others = exits[:half], exits[half:]
        taken = self.some([condition for condition, _ in first])
        then = self.chosen(first[:-1], first[-1][1], 0)
        return self.choices.apply("select", taken, then, self.chosen(others, rest, late))

    def some(self, conditions: Sequence[Value]) -> Value:
        """Whether one of them holds."""
        if len(conditions) == 1:
            return conditions[0]
        half = len(conditions) // 2
        return self.choices.apply("or", self.some(conditions[:half]), self.some(conditions[half:]))
