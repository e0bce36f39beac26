"""Gives variables their new values where paths meet: one select each, and that off recurrences if possible.

x' = x + e;       x = p ? x' : x;    ->   x = x + (p ? e : 0);
x' = q ? e : x;   x = p ? x' : x;    ->   x = p & q ? e : x;
x' = e;           x = e < x ? x' : x;  ->   x = min(e, x);
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from arch.ops import OPS
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, Ended, Expr, Read, Stmt, Variable
from macah.passes.code import Code, Node, code_of
from macah.passes.predicate import Arm, Predicates, negate, select
from macah.walk import both, is_constant, loads_in, variables_in, with_guard

_FUSED = frozenset({"smin", "smax", "umin", "umax", "abs", "absdiff"})


def merge(
    code: Code,
    predicate: Expr,
    arms: tuple[Arm, Arm | None],
    wanted: Container[Variable],
    predicates: Predicates,
    meaning: Expr | None = None,
    order: int = 0,
) -> None:
    """Add to code what gives variables the new values that the arms in it have made.

    They are those of the second arm if `predicate` is 0; only `wanted` variables need them. `meaning` is what
    the predicate was computed from, before the code. `order` is that of the new places.
    """
    values, others = arms[0].values, arms[1].values if arms[1] else {}
    writers = arms[0].writers | (arms[1].writers if arms[1] else {})
    merger = _Merger(code, predicate, predicates, meaning, writers)
    for variable in {**values, **others}:
        if variable in wanted:
            stmt = merger.merged(
                variable, values.get(variable, Read(variable)), others.get(variable, Read(variable))
            )
            if stmt.value != Read(variable):  # else one arm keeps the value, and the other one does not care
                code.add(Node(order, stmt))
                order += 1


def guarded(body: Body, predicate: Expr, keep: Iterable[Variable], predicates: Predicates) -> Body:
    """Straight-line code and loops that run if `predicate` is 1; `keep` must keep their values if it is 0.

    The body must not write the predicate's variables.
    """
    if is_constant(predicate, 1) or not body:
        return body
    code = code_of(body)
    arm = Arm(code, frozenset(keep), predicates)
    for node in code.nodes:
        if not isinstance(node.stmt, Assign | None) and not _asks_in_vain(node.stmt, arm.keep):
            node.stmt = with_guard(node.stmt, predicate)
    merge(code, predicate, (arm, None), arm.values, predicates, order=len(body))
    return code.body()


def _asks_in_vain(stmt: Stmt, keep: Container[Variable]) -> bool:
    """True of a question whose answer may as well be given where nobody looks at it."""
    return isinstance(stmt, Ended) and stmt.target not in keep


class _Merger:
    def __init__(
        self,
        code: Code,
        predicate: Expr,
        predicates: Predicates,
        meaning: Expr | None,
        writers: dict[Variable, list[Node]],
    ) -> None:
        self.code = code
        self.predicate = predicate
        self.predicates = predicates
        self.meaning = meaning
        self.writers = writers

    def merged(self, variable: Variable, value: Expr, other: Expr) -> Assign:
        """What gives a variable `value` if the predicate holds, else `other`."""
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
        return Assign(variable, new or select(self.predicate, value, other), variable.where)

    def fused(self, value: Expr, other: Expr) -> Expr | None:
        """The choice as one operation: minimum, maximum or absolute value."""
        if self.meaning is None:
            return None
        choice = fold(select(self.meaning, self.resolved(value), self.resolved(other)))
        if not (isinstance(choice, Apply) and choice.op in _FUSED) or any(loads_in(choice)):
            return None
        return None if any(map(self.code.is_written, variables_in(choice))) else choice

    def resolved(self, value: Expr) -> Expr:
        """What a variable was given by its only assignment."""
        match value:
            case Read(variable) if len(self.writers.get(variable, ())) == 1:
                stmt = self.writers[variable][0].stmt
                if isinstance(stmt, Assign) and not any(loads_in(stmt.value)):
                    return stmt.value
        return value

    def update(self, variable: Variable, value: Expr, when: Expr) -> Expr | None:
        """The new value of a variable that keeps its value unless `when`, if it is made from the old one."""
        old = Read(variable)
        match value:
            case Read(made) if len(self.writers.get(made, ())) == 1:
                place = self.writers[made][0]
            case _:
                return None
        match place.stmt:
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

    def part(self, place: Node, name: str, expr: Expr) -> Expr:
        """The value that an expression has at a place."""
        if isinstance(expr, Const):
            return expr
        made = self.predicates.variable(name) if name == "if" else Variable(f"{name}_part", expr.bits)
        where = place.stmt.where if place.stmt else None
        place.before.append(Assign(made, expr, where))
        self.code.made.add(made)
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
