"""Two iterations at once of what counts in a circle: sums modulo a number are associative, too.

    x = x@1 + d < m ? x@1 + d : x@1 + d - m      ->      s = d@1 + d < m ? d@1 + d : d@1 + d - m
                                                         x = umin(x@2 + s, x@2 + (s - m))

Places in rings that do not always go on are such, `if (c && ++at == m) at = 0`, and checksums. The former are
found by trying each place, so no spelling is special; the latter by what narrowing makes of `(x + d) % m`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from arch.ops import evaluate, signed
from backend.dfg import DFG, Const, Use
from macah.graph import WIDTH, ZERO, Value
from macah.ranges import HALF, WORD
from macah.shorten_ahead import Round, is_state, rounds
from macah.shorten_graph import Choices

_STATE = -1
"""Stands for the number of the iteration before, as the numbers of drafts stand for theirs."""

_EXTENSIONS = {"zext8": 0xFF, "zext16": 0xFFFF}

MOST_PLACES = 4096
MOST_CONDITIONS = 3
REMEMBERED = 256
"""So many ways to count are known, as graphs are searched again and again."""

MOST_DEPTH = 8
"""What a sum is made of is followed so far for its size."""


@dataclass(frozen=True, slots=True)
class Turns:
    """A draft's value is that of the iteration before and a step, of `most` at most, modulo a number."""

    carried: int
    start: int
    modulus: int
    step: Value
    most: int


def count_turns(dfg: DFG, choices: Choices, drafts: Sequence[int]) -> None:
    """Give what counts in a circle a way to be made of what it was two iterations ago."""
    known: dict[int, int] = {}
    for around in rounds(dfg, drafts):
        if isinstance(around.start, Const):
            turns = _tried(choices, around) or _wrapped(choices, around, _Sizes(dfg, choices, known))
            if turns is not None:
                known[choices.find(turns.carried)] = turns.modulus
                choices.equal(turns.carried, _later(choices, turns))


def _later(choices: Choices, turns: Turns) -> Value:
    first, modulus = turns.start, turns.modulus
    if isinstance(turns.step, Const):
        first = (turns.start - turns.step.value) % modulus
        step: Value = Const(2 * turns.step.value % modulus)
    else:
        step = choices.apply("add", choices.delayed(turns.step, (ZERO,)), turns.step)
        if 2 * turns.most > modulus:
            step = _reduced(choices, step, ZERO, modulus)
    before = choices.delayed(Use(turns.carried), (Const(first), Const(turns.start)))
    return _reduced(choices, before, step, modulus)


def _reduced(choices: Choices, x: Value, y: Value, modulus: int) -> Value:
    """The remainder of x + y, which is less than two divisors."""
    less = choices.apply("add", y, Const(-modulus & WORD))
    return choices.apply("umin", choices.apply("add", x, y), choices.apply("add", x, less))


# --- Places in circles, with steps that conditions choose


def _tried(choices: Choices, around: Round) -> Turns | None:
    """What is found by trying each place that can be reached, whatever the conditions are."""
    move = _Move(choices, around)
    if move.depends or len(move.conditions) > MOST_CONDITIONS:
        return None
    assert isinstance(around.start, Const)
    circle = _circle(move.made(), around.start.value, len(move.conditions))
    if circle is None:
        return None
    modulus, steps = circle
    step = _chosen(choices, move.conditions, steps)
    return Turns(around.carried, around.start.value, modulus, step, max(steps))


@lru_cache(maxsize=REMEMBERED)
def _circle(move: Made, start: int, conditions: int) -> tuple[int, tuple[int, ...]] | None:
    """The number modulo which places are counted, and the step for each case of so many conditions."""
    cases = list(product((0, 1), repeat=conditions))
    found: list[set[int]] = [set() for _ in cases]
    pending, places = [start], {start}
    while pending:
        place = pending.pop()
        for case, seen in zip(cases, found, strict=True):
            there = move.after(place, case)
            seen.add(there - place)
            if len(seen) > 2 or len(places) > MOST_PLACES:
                return None
            if there not in places:
                places.add(there)
                pending.append(there)
    spans = {max(seen) - min(seen) for seen in found if len(seen) > 1}
    if len(spans) != 1 or not max(places) < (modulus := spans.pop()) < HALF:
        return None
    return modulus, tuple(max(seen) % modulus for seen in found)


def _chosen(choices: Choices, conditions: Sequence[Value], steps: Sequence[int]) -> Value:
    """The one of the steps that conditions choose: those for a first one that is 0 come first."""
    if len(set(steps)) == 1:
        return Const(steps[0])
    half = len(steps) // 2
    if not conditions[1:] and tuple(steps) == (0, 1) and choices.is_predicate(conditions[0]):
        return conditions[0]
    other, then = (_chosen(choices, conditions[1:], part) for part in (steps[:half], steps[half:]))
    return choices.apply("select", conditions[0], then, other)


@dataclass(frozen=True, slots=True)
class Made:
    """How a number is made of the one before and of conditions, apart from where that is in a graph.

    `operations` take words by their positions: the number, conditions, `constants`, and results so far.
    """

    constants: tuple[int, ...]
    operations: tuple[tuple[str, tuple[int, ...]], ...]

    def after(self, number: int, case: Sequence[int]) -> int:
        """The next number."""
        words = [number, *case, *self.constants]
        for op, operands in self.operations:
            words.append(evaluate(op, WIDTH, *[words[position] for position in operands]))
        return words[-1]


class _Move:
    """What a recurrence makes of a number, and of the conditions that do not depend on it.

    `depends`: on words of which more is asked than whether they are 0.
    """

    def __init__(self, choices: Choices, around: Round) -> None:
        self.choices, self.around = choices, around
        self.conditions: list[Value] = []
        self.depends = False
        self.constants: dict[Value, int] = {}
        self.order: dict[int, tuple[str, tuple[Value | int, ...]]] = {}
        self._visit(around.carried)

    def made(self) -> Made:
        """The same, without names."""
        keys: list[Value | int] = [_STATE, *self.conditions, *self.constants, *self.order]
        at = {key: position for position, key in enumerate(keys)}
        operations = [(op, tuple([at[key] for key in operands])) for op, operands in self.order.values()]
        return Made(tuple(self.constants.values()), tuple(operations))

    def _visit(self, number: int) -> None:
        draft = self.choices.graph.drafts[number]
        tested = draft.op == "select"
        keys = tuple([self._key(value, tested and k == 0) for k, value in enumerate(draft.operands)])
        self.order.setdefault(number, (draft.op, keys))

    def _key(self, value: Value, tested: bool) -> Value | int:
        past = self.choices.meant(value)
        if isinstance(value, Const):
            self.constants[value] = value.value
        elif past and is_state(self.choices, self.around, past):
            return _STATE
        elif isinstance(value, Use) and value.node in self.around.inside and not value.output:
            if value.node not in self.order:
                self._visit(value.node)
            return value.node
        else:
            self.depends |= not (tested or self.choices.is_predicate(value))
            if value not in self.conditions:
                self.conditions.append(value)
        return value


# --- Sums of words, as narrowing leaves them


def _wrapped(choices: Choices, around: Round, sizes: _Sizes) -> Turns | None:
    """x = umin(x@1 + d, x@1 + d - m), where d is no more than m."""
    drafts = choices.graph.drafts
    extremes = [number for number in around.inside if drafts[number].op != "add"]
    if extremes != [around.carried] or drafts[around.carried].op != "umin":
        return None
    one, other = [_Sum(choices, around, value) for value in drafts[around.carried].operands]
    if one.rests != other.rests or (one.states, other.states) != (1, 1):
        return None
    constant, modulus = sorted((signed(WIDTH, one.constant), signed(WIDTH, other.constant)), reverse=True)
    modulus = constant - modulus
    most = constant + sum(sizes.most(value) * count for value, count in one.rests.items())
    assert isinstance(around.start, Const)
    if constant < 0 or not around.start.value < modulus < HALF or most > modulus:
        return None
    step: Value = Const(constant)
    for value in one.rests.elements():
        step = choices.apply("add", value, step)
    return Turns(around.carried, around.start.value, modulus, step, most)


class _Sum:
    """What additions of a recurrence add up: the state so many times, other values, and a constant."""

    def __init__(self, choices: Choices, around: Round, value: Value) -> None:
        self.choices, self.around = choices, around
        self.states, self.constant = 0, 0
        self.rests = Counter[Value]()
        self._add(value)

    def _add(self, value: Value) -> None:
        past = self.choices.meant(value)
        if isinstance(value, Const):
            self.constant += value.value
        elif past and is_state(self.choices, self.around, past):
            self.states += 1
        elif isinstance(value, Use) and self.choices.graph.drafts[value.node].op == "add":
            for operand in self.choices.graph.drafts[value.node].operands:
                self._add(operand)
        else:
            self.rests[value] += 1


class _Sizes:
    """The largest word that values may be; `moduli`: of sums that are known already."""

    def __init__(self, dfg: DFG, choices: Choices, moduli: dict[int, int]) -> None:
        self.dfg, self.choices, self.moduli = dfg, choices, moduli

    def most(self, value: Value, depth: int = MOST_DEPTH) -> int:
        """No less than any word that a value can be."""
        past = self.choices.meant(value)
        if isinstance(value, Const):
            return value.value
        if self.choices.is_predicate(value):
            return 1
        if past is None or past.output or depth == 0:
            return WORD
        starts = [self.most(start) for start in past.initials]
        return max([self._most_made(past.node, depth - 1), *starts])

    def _most_made(self, node: int, depth: int) -> int:
        if self.choices.find(node) in self.moduli:
            return self.moduli[self.choices.find(node)] - 1
        draft = self.choices.graph.drafts[node]
        match draft.op, draft.operands:
            case "recv", _ if draft.stream is not None:
                words = self.dfg.streams[draft.stream].words
                return WORD if any(w.signed for w in words) else (1 << 8 * max(w.size for w in words)) - 1
            case "and", operands:
                return min([self.most(value, depth) for value in operands])
            case "umin", operands:
                return min([self.most(value, depth) for value in operands])
            case "select", (_, then, other):
                return max(self.most(then, depth), self.most(other, depth))
            case "shr", (x, Const(count)):
                return self.most(x, depth) >> (count & WIDTH - 1)
            case "add", operands:
                return min(WORD, sum([self.most(value, depth) for value in operands]))
            case _, (x,) if draft.op in _EXTENSIONS:
                return min(_EXTENSIONS[draft.op], self.most(x, depth))
        return WORD
