"""What holds at a place in the source, by the conditions around it, and what that leaves of values there.

if (x < n) y = x <= n ? a : b;            y = a
y = x == 1000 ? max(x, 3) : x;            y = x
for (…; x < n; …) y = x <= n ? a : b;     y = a, as the loop's test holds where an iteration starts
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

from arch.ops import OPS
from backend.dfg import Const, Use
from macah.atoms import Conditions
from macah.bdd import FALSE, TRUE
from macah.graph import Before, Draft, Graph, Value
from macah.ranges import ALL, TRUTH, Range, exactly
from macah.ranges_of import range_of

_DEPTH = 4  # so far values are followed into what they are made from
_EQUAL = 8  # so many constants for a value are tried


class _Words:
    """The ranges of drafts as far as their operands show them; what comes round may be anything."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.drafts: Sequence[Draft] = graph.drafts
        self.live: Sequence[int] = ()
        self.ranges: list[Range] = []

    def enter(self) -> None:
        """Find the range of the next draft."""
        draft = self.drafts[len(self.ranges)]
        known = OPS[draft.op].pure
        self.ranges.append(range_of(draft.op, tuple(map(self.range, draft.operands))) if known else ALL)

    def range(self, value: Value) -> Range:
        match value:
            case Use(node, output=0):
                return self.ranges[node]
            case Const(number):
                return exactly(number)
            case Before(variable) if variable in self.graph.predicates:
                return TRUTH
            case _:
                return ALL


class Facts:
    """What holds at the present place of a graph under construction."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.words = _Words(graph)
        self.conditions = Conditions(self.words)
        self.bdd = self.conditions.bdd
        self.here = TRUE

    @contextmanager
    def under(self, condition: Value) -> Iterator[None]:
        """Inside, the condition holds as well."""
        before, self.here = self.here, self._with(self._of(condition))
        yield
        self.here = before

    def decided(self, condition: Value) -> Value:
        """The condition, or what it is here."""
        function = self._of(condition)
        found = self._where(self.here, function)
        if found == FALSE:
            return Const(0)
        return Const(1) if self._where(self.here, self.bdd.opposite(function)) == FALSE else condition

    def chosen(self, condition: Value, a: Value, b: Value) -> tuple[Value, Value, Value]:
        """A choice of the same as `condition ? a : b` here."""
        condition = self.decided(condition)
        if isinstance(condition, Const):
            return condition, a, b
        function = self._of(condition)
        then, orelse = self._with(function), self._with(self.bdd.opposite(function))
        first, second = self._given(a, then), self._given(b, orelse)
        if first == self._given(b, then):
            return Const(0), a, b
        if second == self._given(a, orelse):
            return Const(1), a, b
        return condition, first, second

    def carried(self, value: Value) -> Value:
        """What a value is here, without the choices that are decided."""
        while isinstance(value, Use) and (draft := self.graph.drafts[value.node]).op == "select":
            decided = self.decided(draft.operands[0])
            if not isinstance(decided, Const):
                break
            value = draft.operands[1 if decided.value else 2]
        return self.decided(value) if self.graph.holds(value) else value

    def exclude(self, some: Iterable[Value], others: Iterable[Value]) -> bool:
        """True if not all of some conditions and all of others hold in the same iteration."""
        found, rest = (reduce(self.bdd.both, map(self._of, values), TRUE) for values in (some, others))
        return self._where(found, rest) == FALSE

    def range(self, value: Value) -> Range:
        """What a value may be, as far as it is known from what it is made of in the same iteration."""
        self._enter()
        return self.words.range(value)

    def _enter(self) -> None:
        while len(self.words.ranges) < len(self.graph.drafts):
            self.words.enter()
            self.conditions.enter(len(self.words.ranges) - 1)

    def _of(self, condition: Value) -> int:
        self._enter()
        return self.conditions.of(condition)

    def _with(self, function: int) -> int:
        return self.conditions.bounded(self.bdd.both(self.here, function), function)

    def _where(self, where: int, function: int) -> int:
        """Where both hold, as far as anything is known of that."""
        together = self.bdd.both(where, function)
        return self.bdd.both(together, self.conditions.relations((where, function)))

    def _given(self, value: Value, where: int, depth: int = _DEPTH) -> Value:
        """The constant that a value is where a condition holds, or the value."""
        for number, level in self.conditions.equal.get(value, ())[:_EQUAL]:
            if level in self.bdd.support(where) and self.bdd.implies(where, self.bdd.variable(level)):
                return Const(number)
        if isinstance(value, Use) and depth and OPS[(draft := self.graph.drafts[value.node]).op].pure:
            operands = [self._given(operand, where, depth - 1) for operand in draft.operands]
            if all(isinstance(operand, Const) for operand in operands):
                return self.graph.pure(draft.op, *operands, where=draft.where)
        return value
