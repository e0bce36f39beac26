"""What values the words of a loop may have in iterations that count: bounds, and bits that are certainly 0.

A variable that comes round starts with its initial value and grows until nothing changes; what makes the loop
go on, and what a choice is decided by, bounds it:

    i = 0; do { … i = i + 1; } while (i < 64);          0 <= i <= 63 in the loop's body
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping

from arch.ops import OPS, RECEIVES
from backend.dfg import Const, LiveIn, Use
from macah.graph import Before, Draft, Value
from macah.ir import Variable
from macah.ranges import ALL, HALF, TRUTH, WORD, Range, exactly, joined, made
from macah.ranges_of import COMPARE, range_of
from macah.relevance import DEPTH, EFFECTS, LITERALS, Relevance
from macah.rewrite import Loop

_FINE = 8  # what grows more often stops at fewer numbers
_STEPS = 16  # what grows more often may be anything
_ROUNDS = 100  # after so many, what still grows may be anything
_ORDERS = frozenset({"slt", "sle", "ult", "ule"})
_INVERSE = {"eq": "ne", "ne": "eq", "slt": "sle", "sle": "slt", "ult": "ule", "ule": "ult"}

Facts = dict[Value, Range]
Told = frozenset[Value]
Limits = tuple[list[int], list[int]]
"""Unsigned and signed numbers, in order."""


class Widths:
    """The ranges of a loop's values. `words` are those of drafts that are not pure, where they are known."""

    def __init__(self, loop: Loop, words: Mapping[int, Range]) -> None:
        self.loop = loop
        self.drafts = loop.graph.drafts
        self.words = words
        self.needed = loop.live()
        self.live, variables = self.needed
        self.variables = _in_order(variables, loop.final)
        self.ranges: dict[int, Range] = {}
        self.before: dict[Variable, Range] = {v: self._initial(v) for v in self.variables}
        self.steps = Counter[Variable]()  # how often they have grown
        # What is computed from a value: its users, and choices whose conditions are followed as far as that;
        # variables that get their next values so, by the complements of their places.
        self.users: dict[Variable | int, dict[int, None]] = {}  # of variables and nodes
        self.reader: int | None = None
        self.stale = set[int]()  # places of variables whose next values may have changed
        self.due: list[int] = []  # those behind the present one, `place`, as a heap
        self.place = len(self.variables)
        self.going_on: Facts | None = None
        self.relevance = Relevance(self.drafts)
        self._grow()
        self._shrink()

    def range(self, value: Value) -> Range:
        """What a value may be."""
        if isinstance(value, Use):
            if value.output:
                return TRUTH
            return self._of(value.node)
        if isinstance(value, Const):
            return exactly(value.value)
        if not isinstance(value, Before):
            return ALL
        if self.reader is not None:
            self._uses(value.variable, self.reader)
        return self.before[value.variable]

    def _of(self, node: int) -> Range:
        """What the first output of a node may be."""
        if self.reader is not None:
            self._uses(node, self.reader)
        return self.ranges[node]

    def _uses(self, value: Variable | int, reader: int) -> None:
        readers = self.users.get(value)
        if readers is None:
            self.users[value] = {reader: None}
        else:
            readers[reader] = None

    # --- Loop-carried values

    def _initial(self, variable: Variable) -> Range:
        if variable == self.loop.alive:
            return TRUTH
        start = self.loop.initial.get(variable)
        # What is unspecified becomes 0, or what another variable is initially; that one's range has it.
        return ALL if isinstance(start, LiveIn) else exactly(start.value if start else 0)

    def _grow(self) -> None:
        """From the initial values, until no more values come round."""
        for number in self.live:
            self.ranges[number] = self._computed(number)
        turn, limits = 0, (self._limits(frozenset(OPS)), self._limits(_ORDERS))
        while self._grown(turn, *limits):
            turn += 1

    def _grown(self, turn: int, fine: Limits, coarse: Limits) -> bool:
        """One more iteration of the loop; returns whether that gave new values."""
        facts, changed = self._goes_on(), False
        if facts != self.going_on:
            self.going_on, self.stale = facts, set(range(len(self.variables)))
        self.due = sorted(self.stale)
        while self.due:
            self.place = place = heapq.heappop(self.due)
            variable = self.variables[place]
            self.stale.discard(place)
            self.reader = ~place
            old, new = self.before[variable], self._returning(variable, facts)
            if not new.within(old):
                wider = old | new
                self.steps[variable] += 1
                if turn >= _ROUNDS or self.steps[variable] > _STEPS:
                    wider = ALL
                elif turn > 1:
                    wider = _widened(old, wider, *(fine if self.steps[variable] <= _FINE else coarse))
                self.before[variable] = wider
                self._update([variable])
                changed = True
        self.reader, self.place = None, len(self.variables)
        return changed

    def _wake(self, place: int) -> None:
        """The next value of the variable at a place may have changed."""
        if place not in self.stale:
            self.stale.add(place)
            if place > self.place:
                heapq.heappush(self.due, place)

    def _shrink(self) -> None:
        """What is returned to a range that allows everything that happens is itself such a range."""
        for _ in range(2):
            facts = self._goes_on()
            found = {v: self._initial(v) | self._returning(v, facts) for v in self.variables}
            changed = [v for v, new in found.items() if new != self.before[v]]
            self.before |= found
            self._update(changed)

    def _goes_on(self) -> Facts:
        """What values are at the end of iterations that are followed by another."""
        alive = self.loop.alive
        return self.facts(self.loop.final[alive], True) if alive in self.loop.final else {}

    def _returning(self, variable: Variable, facts: Facts) -> Range:
        return TRUTH if variable == self.loop.alive else self.under(self.loop.final[variable], facts)

    def _update(self, changed: list[Variable]) -> None:
        """Compute again what uses the values of these variables."""
        self.reader = None
        queued = {number for variable in changed for number in self.users.get(variable, ())}
        for number in queued:
            if number < 0:
                self._wake(~number)
        pending = sorted(number for number in queued if number >= 0)
        while pending:
            number = heapq.heappop(pending)
            queued.discard(number)
            new = self._computed(number)
            if new != self.ranges[number]:
                self.ranges[number] = new
                for user in self.users.get(number, ()):
                    if user < 0:
                        self._wake(~user)
                    elif user not in queued:
                        queued.add(user)
                        heapq.heappush(pending, user)

    def _limits(self, ops: frozenset[str]) -> Limits:
        """Numbers at which ranges that grow stop first: constant operands of these, and their neighbours."""
        drafts = (self.drafts[number] for number in self.live)
        values = (value for draft in drafts if draft.op in ops for value in draft.operands)
        words = {value.value for value in values if isinstance(value, Const)} | {0, HALF - 1}
        near = {word + step & WORD for word in words for step in (-1, 0, 1)}
        return sorted(near), sorted(word - WORD - 1 if word >= HALF else word for word in near)

    # --- Operations

    def _computed(self, number: int) -> Range:
        self.reader = number
        found = self._result(self.drafts[number], self.words.get(number, ALL))
        self.reader = None
        return found

    def _result(self, draft: Draft, word: Range) -> Range:
        if draft.op == "select":
            condition, a, b = draft.operands
            arms = [
                self._arm(arm, condition, holds)
                for arm, holds in ((a, True), (b, False))
                if self._possible(condition, holds)
            ]
            return joined(arms)
        if draft.op not in EFFECTS:
            found = range_of(draft.op, tuple([self.range(operand) for operand in draft.operands]))
            return found & self._wrapped(*draft.operands) if draft.op == "umin" else found
        if draft.op in RECEIVES:
            return word | self.range(draft.operands[0])
        return TRUTH if draft.op in ("ended", "try_send") else word

    def _arm(self, arm: Value, condition: Value, holds: bool) -> Range:
        """What an arm of a choice may be where it is chosen."""
        found = self.range(arm)
        if isinstance(arm, Const):
            return found
        if not self.relevance.concerns(condition, arm):
            return found & found  # with what follows from its bounds
        facts = self.facts(condition, holds)
        return found & (self._affected(arm, facts, frozenset(facts), DEPTH) or found)

    def _wrapped(self, a: Value, b: Value) -> Range:
        """What umin(x, x - c) may be, which is x less c where that is not below 0."""
        for x, y in ((a, b), (b, a)):
            match self._draft(y):
                case Draft("add", (z, Const(c))) if z == x:
                    size = -c & WORD
                    return made(high=max(size - 1, self.range(x).high - size))
                case _:
                    pass
        return ALL

    def _possible(self, condition: Value, holds: bool) -> bool:
        found = self.range(condition)
        return found.high > 0 if holds else found.low == 0

    # --- Conditions

    def facts(self, condition: Value, holds: bool) -> Facts:
        """What values may be where a condition holds, or where it does not."""
        found: Facts = {}
        self._gather(found, condition, holds, LITERALS)
        return found

    def _gather(self, found: Facts, condition: Value, holds: bool, count: int) -> int:
        """Adds what follows from so many parts of a condition; returns how many are left to look at."""
        pending = [(condition, holds)]
        while pending and count > 0:
            value, holds = pending.pop()
            count -= 1
            self._note(found, value, made(low=1) if holds else exactly(0))
            match self._draft(value):
                case Draft(op, (a, b)) if op in COMPARE:
                    self._compared(found, *(op, a, b) if holds else _opposite(op, a, b))
                case Draft("and" | "or" as op, operands) if holds == (op == "and"):
                    pending.extend((operand, holds) for operand in operands)
                case Draft("or", (a, b)):
                    count = self._either(found, (a, b), True, count)
                case Draft("and", (a, b)) if (self.range(a) | self.range(b)).within(TRUTH):
                    count = self._either(found, (a, b), False, count)
                case Draft("xor", (a, Const(1))) if self.range(a).within(TRUTH):
                    pending.append((a, not holds))
                case _:
                    pass
        return count

    def _either(self, found: Facts, conditions: tuple[Value, Value], holds: bool, count: int) -> int:
        """The same where at least one of two conditions holds, or does not hold."""
        sides: list[Facts] = []
        for condition in conditions:
            side: Facts = {}
            count = self._gather(side, condition, holds, count)
            sides.append(side)
        a, b = sides
        for value in a:
            if value in b:
                self._note(found, value, a[value] | b[value])
        return count

    def _compared(self, found: Facts, op: str, a: Value, b: Value) -> None:
        x, y = self.range(a), self.range(b)
        match op:
            case "eq":
                limits = y, x
            case "ne":
                limits = _without(x, y), _without(y, x)
            case "ult" | "ule":
                limits = made(high=y.high - (op == "ult")), made(low=x.low + (op == "ult"))
            case _:
                limits = made(most=y.most - (op == "slt")), made(least=x.least + (op == "slt"))
        self._note(found, a, limits[0])
        self._note(found, b, limits[1])

    def _note(self, found: Facts, value: Value, limit: Range) -> None:
        found[value] = found.get(value, ALL) & limit
        draft = self._draft(value)
        if draft is not None and draft.op == "add" and isinstance(draft.operands[1], Const):
            a, c = draft.operands[0], exactly(draft.operands[1].value)
            found[a] = found.get(a, ALL) & range_of("sub", (self.range(value) & limit, c))

    def under(self, value: Value, facts: Facts) -> Range:
        """What a value may be where these facts hold."""
        told = frozenset(facts)
        if not facts or self.relevance.origins(value).isdisjoint(told):
            return self.range(value)
        found = self._affected(value, facts, told, DEPTH)
        return self.range(value) if found is None else found

    def _affected(self, value: Value, facts: Facts, told: Told, depth: int) -> Range | None:
        """What a value may be there, or None if no fact is of it or of what it is made from.

        `told` are the values that facts are of.
        """
        if isinstance(value, Const) or self.relevance.origins(value, depth).isdisjoint(told):
            return None
        fact = facts.get(value)
        found = self._remade(value.node, facts, told, depth) if depth and isinstance(value, Use) else None
        if fact is None:
            return found
        return (found or self.range(value)) & fact

    def _remade(self, node: int, facts: Facts, told: Told, depth: int) -> Range | None:
        """The same for what a draft makes, from its operands."""
        draft = self.drafts[node]
        if draft.op in EFFECTS:
            return None
        parts, known = [], False
        for operand in draft.operands:
            part = self._affected(operand, facts, told, depth - 1)
            known = known or part is not None
            parts.append(part)
        if not known:
            return None
        ranges = [part or self.range(operand) for part, operand in zip(parts, draft.operands, strict=True)]
        return self._of(node) & range_of(draft.op, tuple(ranges))

    def _draft(self, value: Value) -> Draft | None:
        return self.drafts[value.node] if isinstance(value, Use) and value.output == 0 else None


def _in_order(variables: list[Variable], final: Mapping[Variable, Value]) -> list[Variable]:
    """Variables that get their values from others come after them, so that values pass on at once."""
    found = dict[Variable, None]()
    for variable in variables:
        chain = dict[Variable, None]()
        while variable not in found and variable not in chain:
            chain[variable] = None
            match final[variable]:
                case Before(other):
                    variable = other
                case _:
                    pass
        found |= dict.fromkeys(reversed(chain))
    return list(found)


def _opposite(op: str, a: Value, b: Value) -> tuple[str, Value, Value]:
    return (_INVERSE[op], a, b) if op in ("eq", "ne") else (_INVERSE[op], b, a)


def _without(range_: Range, other: Range) -> Range:
    """A range less a constant at one of its ends."""
    match other.constant:
        case None:
            return ALL
        case value:
            pass
    low, high, least, most = range_.low, range_.high, range_.least, range_.most
    number = value - WORD - 1 if value >= HALF else value
    return made(
        low + (value == low), high - (value == high), least + (number == least), most - (number == most)
    )


def _widened(old: Range, new: Range, words: list[int], numbers: list[int]) -> Range:
    """Bounds that have moved move on to the next limit."""
    low = new.low if new.low == old.low else words[bisect_right(words, new.low) - 1]
    high = new.high if new.high == old.high else words[bisect_left(words, new.high)]
    least = new.least if new.least == old.least else numbers[bisect_right(numbers, new.least) - 1]
    most = new.most if new.most == old.most else numbers[bisect_left(numbers, new.most)]
    bits = new.bits if new.bits == old.bits else (1 << max(high, new.bits).bit_length()) - 1
    return made(low, high, least, most, bits) | new
