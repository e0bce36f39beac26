"""Conditions as functions of atoms: comparisons, and values of which nothing is known but whether they are 0.

`x < 3` implies `x < 5`, and excludes `x == 7`: what atoms have to do with each other is a function too, which
holds for all words, so that others need only be right where it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from arch.ops import RECEIVES
from backend.dfg import Const, Use
from backend.record import made_quickly
from macah.bdd import FALSE, TRUE, Bdd
from macah.graph import Draft, Value
from macah.ranges import HALF, TRUTH, WORD, Range
from macah.ranges_of import COMPARE

MOST_ATOMS = 40
MOST_TESTS = 200
"""A condition of more atoms, or whose diagram has more tests, is an atom itself."""

MOST_RELATED = 1000
"""What more tests are needed for is not known of how atoms go together."""


@made_quickly
@dataclass(frozen=True, slots=True)
class Atom:
    """`x == y`, or `x < y` as numbers that `is_signed` says; y may be a number itself."""

    op: str
    x: Value
    y: Value
    is_signed: bool = True

    def number(self, word: int) -> int:
        """A word as such a number."""
        return _signed(word) if self.is_signed else word

    def holds(self, number: int) -> bool:
        """Whether it does for a word x, where y is a constant, both as such numbers."""
        assert isinstance(self.y, Const)
        limit = self.number(self.y.value)
        return number == limit if self.op == "eq" else number < limit


class Words(Protocol):
    """The drafts of a graph, those of them that matter, and what values they may have."""

    @property
    def drafts(self) -> Sequence[Draft]: ...

    @property
    def live(self) -> Sequence[int]: ...

    def range(self, value: Value) -> Range: ...


class Conditions:
    """The functions of a loop's values: whether they are not 0."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.bdd = Bdd()
        self.atoms: list[Atom] = []
        self.operands: list[frozenset[Value]] = []  # of each atom, but for constants
        self.levels: dict[Atom, int] = {}
        self.equal: dict[
            Value, list[tuple[int, int]]
        ] = {}  # constants, and the levels of being equal to them
        self.functions: dict[Value, int] = {}
        self.logical: set[int] = set()
        self._relations: dict[frozenset[int], int] = {}
        self._kept: dict[frozenset[int], int] = {}
        self._pairs: dict[tuple[int, int], int] = {}
        for number in words.live:
            self.enter(number)

    def enter(self, number: int) -> None:
        """Find the function of a draft, if it is a condition; what it is made from has been entered."""
        if self._is_logical(number):
            self.logical.add(number)
            self.functions[Use(number)] = self._function(number)

    def of(self, value: Value) -> int:
        """Whether a value is not 0."""
        if isinstance(value, Const):
            return TRUE if value.value else FALSE
        if value not in self.functions:
            self.functions[value] = self.bdd.opposite(self._atom(Atom("eq", value, Const(0))))
        return self.functions[value]

    def relations(self, functions: Iterable[int]) -> int:
        """What holds between the atoms of some functions."""
        atoms = frozenset[int]().union(*(self.bdd.support(f) for f in functions))
        found = self._kept.get(atoms)
        if found is None:
            found = self._related(atoms)
            for atom in sorted(atoms):
                found = self._with(found, self._unless_received(atom, atoms))
            self._kept[atoms] = found
        return found

    def _unless_received(self, level: int, atoms: frozenset[int]) -> int:
        """That what is received is what it was where nothing is: `x = 0; [g] x <? s;` and !g imply x == 0."""
        match self.atoms[level]:
            case Atom(_, Use(number, output=0), Const()) as atom:
                match self.words.drafts[number]:
                    case Draft(op, (Const(old), guard)) if op in RECEIVES:
                        received = self.bdd.possible(self.of(guard), atoms)
                        return self.bdd.either(received, self._valued(level, atom.holds(atom.number(old))))
                    case _:
                        pass
            case _:
                pass
        return TRUE

    def _valued(self, level: int, holds: bool) -> int:
        found = self.bdd.variable(level)
        return found if holds else self.bdd.opposite(found)

    def _related(self, atoms: frozenset[int]) -> int:
        """What holds between atoms: between all but the last one, which mostly is known, and with that."""
        found = self._relations.get(atoms)
        if found is None:
            found = TRUE
            if len(atoms) > 1:
                last = max(atoms)
                before = atoms - {last}
                found = self._related(before)
                for atom in sorted(before):
                    if not self.operands[atom].isdisjoint(self.operands[last]):
                        found = self._with(found, self._pair(atom, last))
            self._relations[atoms] = found
        return found

    def _with(self, found: int, other: int) -> int:
        """What holds and something else that does, if that can be said with few tests."""
        both = self.bdd.both(found, other)
        return both if self.bdd.is_small(both, MOST_RELATED) else found

    def _pair(self, a: int, b: int) -> int:
        if (a, b) not in self._pairs:
            self._pairs[a, b] = self._relation(a, b)
        return self._pairs[a, b]

    def bounded(self, function: int, instead: int) -> int:
        """The function, or another if it is of too many atoms or its diagram is too large."""
        return function if self._is_small(function) else instead

    def _is_small(self, function: int) -> bool:
        few = len(self.bdd.support(function)) <= MOST_ATOMS
        return few and self.bdd.is_small(function, MOST_TESTS)

    # --- Functions

    def _is_logical(self, number: int) -> bool:
        draft = self.words.drafts[number]
        match draft.op, draft.operands:
            case op, _ if op in COMPARE:
                return True
            case (("and" | "or" | "xor"), operands) | ("select", (_, *operands)):
                return all(self.words.range(operand).within(TRUTH) for operand in operands)
        return False

    def _function(self, number: int) -> int:
        draft, bdd = self.words.drafts[number], self.bdd
        if draft.op in COMPARE:
            return self._comparison(draft)
        parts = [self.of(operand) for operand in draft.operands]
        if len(frozenset[int]().union(*map(bdd.support, parts))) <= MOST_ATOMS:
            found = self._joined(draft.op, parts)
            found = bdd.restrict(found, self.relations([found]))
            if self._is_small(found):
                return found
        return bdd.opposite(self._atom(Atom("eq", Use(number), Const(0))))

    def _joined(self, op: str, parts: Sequence[int]) -> int:
        """An operation on conditions."""
        match op:
            case "and":
                return self.bdd.both(*parts)
            case "or":
                return self.bdd.either(*parts)
            case "xor":
                return self.bdd.choose(parts[0], self.bdd.opposite(parts[1]), parts[1])
            case _:
                return self.bdd.choose(*parts)

    def _comparison(self, draft: Draft) -> int:
        op, (x, y) = draft.op, draft.operands
        if op in ("eq", "ne"):
            if isinstance(x, Const) or (not isinstance(y, Const) and repr(y) < repr(x)):
                x, y = y, x
            atom = self._atom(Atom("eq", x, y))
            return atom if op == "eq" else self.bdd.opposite(atom)
        is_signed = op[0] == "s" or all(self.words.range(value).positive for value in (x, y))
        if op[1:] == "le":  # not y < x
            return self.bdd.opposite(self._less(y, x, is_signed))
        return self._less(x, y, is_signed)

    def _less(self, x: Value, y: Value, is_signed: bool) -> int:
        if not isinstance(x, Const):
            return self._atom(Atom("lt", x, y, is_signed))
        # c < y is not y < c + 1
        if x.value == (HALF - 1 if is_signed else WORD):
            return FALSE
        return self.bdd.opposite(self._atom(Atom("lt", y, Const(x.value + 1 & WORD), is_signed)))

    def _atom(self, atom: Atom) -> int:
        if atom not in self.levels:
            self.levels[atom] = len(self.atoms)
            self.atoms.append(atom)
            compared = (atom.x,) if isinstance(atom.y, Const) else (atom.x, atom.y)
            self.operands.append(frozenset(compared))
            if atom.op == "eq" and isinstance(atom.y, Const):
                self.equal.setdefault(atom.x, []).append((atom.y.value, self.levels[atom]))
        return self.bdd.variable(self.levels[atom])

    # --- Relations

    def _relation(self, first: int, second: int) -> int:
        """Which truths two atoms may have together."""
        a, b = self.atoms[first], self.atoms[second]
        if isinstance(a.y, Const) and isinstance(b.y, Const):
            return self._with_constants(first, second) if a.x == b.x else TRUE
        if {a.x, a.y} == {b.x, b.y} and (a.is_signed == b.is_signed or "eq" in (a.op, b.op)):
            x, y = self.bdd.variable(first), self.bdd.variable(second)
            return self.bdd.opposite(self.bdd.both(x, y))
        return TRUE

    def _with_constants(self, first: int, second: int) -> int:
        a, b = self.atoms[first], self.atoms[second]
        is_signed = a.is_signed if b.op == "eq" else b.is_signed
        if a.op == "lt" == b.op and a.is_signed != b.is_signed:
            return TRUE
        if a.op == "eq" or b.op == "eq":
            a, b = (Atom(atom.op, atom.x, atom.y, is_signed) for atom in (a, b))
        found = self.words.range(a.x)
        least, most = (found.least, found.most) if is_signed else (found.low, found.high)
        limits = [
            _signed(atom.y.value) if is_signed else atom.y.value
            for atom in (a, b)
            if isinstance(atom.y, Const)
        ]
        if a.op == "eq" == b.op and most - least > 1 and all(least <= limit <= most for limit in limits):
            return self.bdd.opposite(self.bdd.both(self.bdd.variable(first), self.bdd.variable(second)))
        near = {least, most, *(limit + step for limit in limits for step in (-1, 0, 1))}
        together = FALSE
        for truths in sorted({(a.holds(n), b.holds(n)) for n in near if least <= n <= most}):
            parts = [self._valued(*each) for each in zip((first, second), truths, strict=True)]
            together = self.bdd.either(together, self.bdd.both(*parts))
        return together


def _signed(value: int) -> int:
    return value - WORD - 1 if value >= HALF else value
