"""Predicates as logic: conditions that equal, imply or exclude each other are found, whatever their form.

c = x < 3;  d = x < 5;  e = x >= 5;
y = c ? (d ? a : b) : z;                      ->      y = c ? a : z;
out <! e ? 0 : w  if d;                               out <! w  if d;
q = c & d;                                            q = c;

A value need only be right where it is observed: one that is chosen if a condition holds, or sent if it holds,
may be simplified as if it did.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from itertools import combinations

from backend.dfg import Const, Use
from macah.atoms import Conditions
from macah.bdd import FALSE, TRUE
from macah.graph import Draft, Value
from macah.ir import Variable
from macah.observed import Observed
from macah.ranges import Range
from macah.ranges_of import COMPARE
from macah.rewrite import Loop, Rebuilt, Rules, rebuilt
from macah.widths import Widths

_STEPS = 32  # so many choices in a row are looked through
_EQUAL = 8  # so many values with a function, or constants for a value, are tried
_PARTS = 12  # so many parts of a condition


def simplify_logic(loop: Loop, words: Mapping[int, Range]) -> tuple[Rebuilt, Loop]:
    """The loop with simpler conditions, choices and guards."""
    widths = Widths(loop, words)
    bits = {variable for variable, found in widths.before.items() if found.high <= 1}
    return rebuilt(loop, _Rules(widths, Conditions(widths)), widths.needed, bits)


class _Rules(Rules):
    def __init__(self, widths: Widths, conditions: Conditions) -> None:
        self.conditions, self.bdd = conditions, conditions.bdd
        self.observed = Observed(widths, conditions)
        self.drafts, self.loop = widths.drafts, widths.loop
        self.made: dict[int, list[int]] = {}  # the logical drafts that have a function
        self.operands: dict[int, list[Value]] = {}  # what a draft's operands have become, in the old graph
        # Where what stands for a draft is what the draft is: everywhere, or where that matters.
        self.valid: dict[int, int] = {}
        self.uses = Counter(
            value.node
            for number in widths.live
            for value in self.drafts[number].operands
            if isinstance(value, Use)
        )
        kept = [
            *widths.loop.bases.values(),
            *(widths.loop.final[v] for v in widths.variables),
        ]
        self.uses.update(value.node for value in kept if isinstance(value, Use))

    # --- Operands

    def operand(self, new: Rebuilt, number: int, position: int, value: Value) -> Value:
        """An operand as it is where it matters: choices that are decided there are looked through."""
        where = self.observed.where(number, position)
        found = self._looked_through(value, where)
        self.operands.setdefault(number, []).append(found)
        if self.drafts[number].op == "load":
            self._validate(number, found == value)
        return new.value(found)

    def _looked_through(self, value: Value, where: int) -> Value:
        for _ in range(_STEPS):
            draft = self._draft(value)
            if draft is None:
                break
            if isinstance(value, Use) and value.node in self.conditions.logical:
                decided = self._decided(self.conditions.of(value), where)
                return value if decided is None else Const(int(decided))
            if draft.op != "select":
                break
            decided = self._decided(self.conditions.of(draft.operands[0]), where)
            if decided is None:
                break
            value = draft.operands[1 if decided else 2]
        return self._constant(value, where)

    def _draft(self, value: Value) -> Draft | None:
        return self.drafts[value.node] if isinstance(value, Use) and value.output == 0 else None

    def _constant(self, value: Value, where: int) -> Value:
        """What a value is compared with, if it is equal to that here."""
        for number, level in self.conditions.equal.get(value, ())[:_EQUAL]:
            if level in self.bdd.support(where) and self.bdd.implies(where, self.bdd.variable(level)):
                return Const(number)
        return value

    def _cared(self, where: int, *functions: int) -> int:
        return self.bdd.both(where, self.conditions.relations((where, *functions)))

    def _decided(self, function: int, where: int) -> bool | None:
        """Whether a condition holds wherever another does, or nowhere there."""
        if function <= TRUE:
            return function == TRUE
        if where == TRUE:
            return None
        cared = self._cared(where, function)
        if self.bdd.implies(cared, function):
            return True
        return False if self.bdd.both(cared, function) == FALSE else None

    def last(self, new: Rebuilt, variable: Variable, value: Value) -> Value:
        """What comes round, which matters where the loop goes on."""
        if variable == self.loop.alive:
            return new.value(value)
        return new.value(self._looked_through(value, self.observed.goes_on))

    # --- Results

    def apply(self, new: Rebuilt, number: int, draft: Draft, operands: tuple[Value, ...]) -> Value:
        """What stands for a pure draft in the new graph."""
        where = self.observed.of[number]
        if where == FALSE:
            self.valid[number] = FALSE
            return Const(0)
        found = None
        if number in self.conditions.logical:
            found = self._known(new, number, where)
        elif draft.op == "select":
            found = self._chosen(new, self.operands[number], where)
        self._validate(number, found is None and self.operands[number] == list(draft.operands))
        if found is None:
            found = new.graph.pure(draft.op, *operands, where=draft.where)
        if number in self.conditions.logical:
            new.graph.mark_predicate(found)
            self.made.setdefault(self.conditions.of(Use(number)), []).append(number)
        return found

    def _validate(self, number: int, unchanged: bool) -> None:
        """Note where what stands for a draft is what the draft is."""
        where = self.observed.of[number]
        exact = unchanged and all(map(self._is_exact, self.drafts[number].operands))
        self.valid[number] = TRUE if exact else where

    def _is_exact(self, value: Value) -> bool:
        """True if what stands for a value is always what the value is."""
        return not isinstance(value, Use) or self.valid.get(value.node, TRUE) == TRUE

    def _known(self, new: Rebuilt, number: int, where: int) -> Value | None:
        """A condition that was made already, or is one operation on such."""
        function = self.conditions.of(Use(number))
        decided = self._decided(function, where)
        if decided is not None:
            return Const(int(decided))
        found = self._found(new, function, where)
        if found is not None or self.drafts[number].op in COMPARE:
            return found
        return self._shorter(new, number, function, where)

    def _found(self, new: Rebuilt, function: int, where: int) -> Value | None:
        """What has been made and is the function wherever that matters."""
        cared = self._cared(where, function)
        for same in (function, self.bdd.restrict(function, cared)):
            for number in self.made.get(same, ())[:_EQUAL]:
                if self.bdd.implies(where, self.valid[number]):
                    return new.values[number]
        return None

    def _shorter(self, new: Rebuilt, number: int, function: int, where: int) -> Value | None:
        """A part of a condition that is all of it where it matters, or two parts that are."""
        parts = self._parts(number)
        cared = self._cared(where, function, *(self.conditions.of(Use(part)) for part in parts))
        wanted = self.bdd.both(cared, function)
        usable = [
            (self.bdd.both(cared, self.conditions.of(Use(p))), p)
            for p in parts
            if self.bdd.implies(where, self.valid[p])
        ]
        for found, part in usable:
            if found == wanted:
                return new.values[part]
        own = self._own(number)
        best, least = None, len(own) - 1
        for (f, a), (g, b) in combinations(usable, 2):
            op = "and" if self.bdd.both(f, g) == wanted else "or" if self.bdd.either(f, g) == wanted else None
            left = len(self._below((a, b), own)) if op else least
            if op and left < least:
                best, least = (op, a, b), left
        if best is None:
            return None
        op, a, b = best
        return new.graph.pure(op, new.values[a], new.values[b], where=self.drafts[number].where)

    def _parts(self, number: int) -> list[int]:
        """The conditions that a condition is made from, the outermost first."""
        found, pending = dict[int, None](), deque([number])
        while pending and len(found) < _PARTS:
            for value in self.drafts[pending.popleft()].operands:
                if (
                    isinstance(value, Use)
                    and value.node in self.conditions.logical
                    and value.node not in found
                ):
                    found[value.node] = None
                    if self.drafts[value.node].op not in COMPARE:
                        pending.append(value.node)
        return list(found)

    def _own(self, number: int) -> set[int]:
        """The operations that would go if nothing used a condition."""
        found, left = {number}, Counter[int]()
        pending = [number]
        while pending:
            for value in self.drafts[pending.pop()].operands:
                if isinstance(value, Use) and value.node in self.conditions.logical:
                    left[value.node] += 1
                    if left[value.node] == self.uses[value.node] and len(found) < _PARTS:
                        found.add(value.node)
                        pending.append(value.node)
        return found

    def _below(self, numbers: Iterable[int], own: set[int]) -> set[int]:
        """Which of these operations some of them need."""
        found, pending = set[int](), [number for number in numbers if number in own]
        while pending:
            number = pending.pop()
            if number not in found:
                found.add(number)
                operands = self.drafts[number].operands
                pending.extend(
                    value.node for value in operands if isinstance(value, Use) and value.node in own
                )
        return found

    # --- Choices

    def _chosen(self, new: Rebuilt, operands: list[Value], where: int) -> Value | None:
        """A choice that is decided, or that is one together with a choice inside it."""
        condition, a, b = operands
        bdd, first = self.bdd, self.conditions.of(condition)
        decided = self._decided(first, where)
        if decided is not None:
            return new.value(a if decided else b)
        for value, other, swapped in ((b, a, False), (a, b, True)):
            # c ? other : (d ? x : y), or with c inverted
            draft = self._draft(value)
            if draft is None or draft.op != "select" or other not in draft.operands[1:]:
                continue
            outer = bdd.opposite(first) if swapped else first
            inner = self.conditions.of(draft.operands[0])
            _, x, y = draft.operands
            left, inner = (y, inner) if x == other else (x, bdd.opposite(inner))
            together = self.conditions.bounded(bdd.either(outer, inner), TRUE)
            if together == TRUE:
                continue
            for function, arms in ((together, (other, left)), (bdd.opposite(together), (left, other))):
                made = self._found(new, function, where)
                if made is not None:
                    return new.graph.pure("select", made, *map(new.value, arms))
        return None
