"""Turns `if` into straight-line code with predicates.

    if (a < b) { t = a * 2; x = t; out <! t; } else { x = 0; y = 1; }

becomes, where t is not read afterwards,

    c = a < b;
    t = a * 2; x' = t; out <! t if c;
    x = c ? x' : 0;  y = c ? y : 1;
"""

from __future__ import annotations

from dataclasses import replace

from arch.ops import COMPARISONS
from macah import ir
from macah.ir import Apply, Assign, Body, Const, Expr, If, Read, Stmt, Variable
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_before, step_back
from macah.passes.merge import merge
from macah.passes.predicate import Predicates, negate, speculate
from macah.walk import both, is_constant, statements, with_guard, written


def convert_ifs(kernel: ir.Kernel) -> ir.Kernel:
    """Remove every `If`; see the module for an example."""
    converter = _Converter(Predicates(kernel))
    return replace(kernel, body=converter.body(kernel.body, live_at_end(kernel), ir.TRUE))


class _Converter:
    def __init__(self, predicates: Predicates) -> None:
        self.predicates = predicates

    def body(self, body: Body, after: Live, path: Expr) -> Body:
        """A body whose effects happen only if `path`: 1 or a variable it does not write."""
        live, pieces = set(after), list[Body]()
        for stmt in reversed(body):
            pieces.append(self.statement(stmt, live, path))
            step_back(stmt, live)
        return tuple([stmt for piece in reversed(pieces) for stmt in piece])

    def statement(self, stmt: Stmt, after: set[Variable], path: Expr) -> Body:
        match stmt:
            case If():
                return self.branch(stmt, frozenset(after), path)
            case ir.DoWhile(body, condition, guard):
                inner = self.body(body, live_at_body_end(stmt, after), ir.TRUE)
                condition, guard = self.predicates.truth(condition), self.predicates.truth(guard)
                return (replace(stmt, body=inner, condition=condition, guard=both(path, guard)),)
            case Assign():
                return (stmt,)
            case _:
                return (with_guard(stmt, path),)

    def branch(self, stmt: If, after: Live, path: Expr) -> Body:
        if isinstance(stmt.condition, Const):
            return self.body(stmt.then if stmt.condition.value else stmt.orelse, after, path)
        value = self.predicates.truth(stmt.condition)
        setup, condition = self.condition(value, stmt)
        opposite = negate(condition if _is_logic(value) else value)
        first, then_path = self.path(path, condition, stmt.then, stmt)
        second, else_path = self.path(path, opposite, stmt.orelse, stmt)
        then = self.body(stmt.then, after, then_path)
        orelse = self.body(stmt.orelse, after, else_path)
        then, new = speculate(then, after | live_before(stmt.orelse, after), self.predicates)
        orelse, other = speculate(orelse, after, self.predicates)
        new = {variable: value for variable, value in new.items() if variable in after}
        other = {variable: value for variable, value in other.items() if variable in after}
        merged = merge((*then, *orelse), condition, new, other, self.predicates, value)
        return (*setup, *first, *second, *merged)

    def condition(self, value: Expr, stmt: If) -> tuple[Body, Expr]:
        """The condition as a predicate that stays what it is while the branches run."""
        if isinstance(value, Read) and value.variable not in written((stmt,)):
            return (), value
        return self.predicates.named(value, "if", stmt.where)

    def path(self, path: Expr, condition: Expr, arm: Body, stmt: If) -> tuple[Body, Expr]:
        """The predicate of an arm's effects, as a variable or a constant, if the arm has any."""
        if not any(not _is_pure(inner) for inner in statements(arm)):
            return (), ir.TRUE
        if is_constant(path, 1) and isinstance(condition, Read):
            return (), condition
        return self.predicates.named(both(path, condition), "path", stmt.where)


def _is_logic(predicate: Expr) -> bool:
    """True unless the negation of the predicate costs as much as the predicate itself: one comparison."""
    return not (isinstance(predicate, Apply) and predicate.op in COMPARISONS)


def _is_pure(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign | If)
