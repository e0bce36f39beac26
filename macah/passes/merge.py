"""Gives variables their new values where paths meet: one select each, and that off recurrences if possible.

x' = x + e;       x = p ? x' : x;    ->   x = x + (p ? e : 0);
x' = q ? e : x;   x = p ? x' : x;    ->   x = p & q ? e : x;
x' = e;           x = e < x ? x' : x;  ->   x = min(e, x);
"""

from __future__ import annotations

from collections.abc import Iterable

from arch.ops import OPS
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, Expr, Read, Stmt, Variable
from macah.passes.predicate import Predicates, Values, negate, select, speculate
from macah.walk import both, is_constant, loads_in, variables_in, written

_FUSED = frozenset({"smin", "smax", "umin", "umax", "abs", "absdiff"})


def merge(
    made: Body,
    predicate: Expr,
    values: Values,
    others: Values,
    predicates: Predicates,
    meaning: Expr | None = None,
) -> Body:
    """The code that made new values, and what gives them to their variables: `others` if `predicate` is 0.

    `meaning` is what the predicate was computed from, before `made`.
    """
    merger = _Merger(made, predicate, predicates, meaning)
    for variable in {**values, **others}:
        merger.add(variable, values.get(variable, Read(variable)), others.get(variable, Read(variable)))
    return merger.result()


def guarded(body: Body, predicate: Expr, keep: Iterable[Variable], predicates: Predicates) -> Body:
    """Straight-line code and loops that run if `predicate` is 1; `keep` must keep their values if it is 0.

    The body must not write the predicate's variables.
    """
    if is_constant(predicate, 1) or not body:
        return body
    made, values = speculate(body, keep, predicates, predicate)
    return merge(made, predicate, values, {}, predicates)


class _Merger:
    def __init__(self, made: Body, predicate: Expr, predicates: Predicates, meaning: Expr | None) -> None:
        self.made = made
        self.predicate = predicate
        self.predicates = predicates
        self.meaning = meaning
        self.writers: dict[Variable, list[int]] = {}
        for place, stmt in enumerate(made):
            for variable in written((stmt,)):
                self.writers.setdefault(variable, []).append(place)
        self.parts: dict[int, list[Stmt]] = {}
        self.merged: list[Assign] = []

    def result(self) -> Body:
        code: list[Stmt] = []
        for place, stmt in enumerate(self.made):
            code += (*self.parts.get(place, ()), stmt)
        return (*code, *self.merged)

    def add(self, variable: Variable, value: Expr, other: Expr) -> None:
        """Merge a variable that is to be `value` if the predicate holds, else `other`."""
        old = Read(variable)
        if self.predicates.is_unspecified(value):
            value = other
        elif self.predicates.is_unspecified(other):
            other = value
        new = self.fused(value, other) if value != other else value
        if new is None and other == old:
            new = self.update(variable, value, self.predicate)
        elif new is None and value == old:
            new = self.update(variable, other, negate(self.predicate))
        self.merged.append(Assign(variable, new or select(self.predicate, value, other), variable.where))

    def fused(self, value: Expr, other: Expr) -> Expr | None:
        """The choice as one operation: minimum, maximum or absolute value."""
        if self.meaning is None:
            return None
        choice = fold(select(self.meaning, self.resolved(value), self.resolved(other)))
        if not (isinstance(choice, Apply) and choice.op in _FUSED) or any(loads_in(choice)):
            return None
        changed = self.writers.keys() | {stmt.variable for stmt in self.merged}
        return choice if changed.isdisjoint(variables_in(choice)) else None

    def resolved(self, value: Expr) -> Expr:
        """What a variable was given by its only assignment."""
        match value:
            case Read(variable) if len(self.writers.get(variable, ())) == 1:
                stmt = self.made[self.writers[variable][0]]
                if isinstance(stmt, Assign) and not any(loads_in(stmt.value)):
                    return stmt.value
        return value

    def update(self, variable: Variable, value: Expr, when: Expr) -> Expr | None:
        """The new value of a variable that keeps its value unless `when`, if it is made from the old one."""
        old = Read(variable)
        match value:
            case Read(made) if len(self.writers[made]) == 1:
                place = self.writers[made][0]
            case _:
                return None
        match self.made[place]:
            case Assign(_, Apply("select", (q, a, b))) if old in (a, b) and self.predicates.holds(q):
                chosen, q = (a, q) if b == old else (b, negate(q))
                return select(
                    both(when, self.part(place, "if", q)), self.part(place, variable.name, chosen), old
                )
            case Assign(_, Apply(op, (a, b), bits)) if _neutral(op, bits) is not None:
                if OPS[op].commutative and b == old:
                    a, b = b, a
                if a != old or variable in variables_in(b):
                    return None
                nothing = _neutral(op, bits)
                assert nothing is not None
                return Apply(op, (old, select(when, self.part(place, variable.name, b), nothing)), bits)
        return None

    def part(self, place: int, name: str, expr: Expr) -> Expr:
        """The value that an expression has at a place."""
        if isinstance(expr, Const):
            return expr
        made = self.predicates.variable(name) if name == "if" else Variable(f"{name}_part", expr.bits)
        self.parts.setdefault(place, []).append(Assign(made, expr, self.made[place].where))
        return Read(made)


def _neutral(op: str, bits: int) -> Const | None:
    """The second operand with which an operation gives the first."""
    most = (1 << bits) - 1
    match op:
        case "add" | "sub" | "or" | "xor" | "umax":
            return Const(0, bits)
        case "and" | "umin":
            return Const(most, bits)
        case "smin":
            return Const(most >> 1, bits)
        case "smax":
            return Const((most >> 1) + 1, bits)
        case _:
            return None
