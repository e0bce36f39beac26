"""Walks a kernel in program order with what is known of its variables, and rewrites it with that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from macah import ir
from macah.fold import Holds, fold, is_predicate
from macah.ir import Assign, Body, Const, Expr, Label, Read, Stmt, Variable
from macah.walk import is_constant, map_expr, map_operands, targets, written

# What variables certainly are at a point: constants, or other variables; None where control never comes.
Known = dict[Variable, Expr] | None


class Propagator:
    """Puts in known constants and copies, folds, and removes branches that are never taken."""

    def __init__(self, holds: Holds = is_predicate) -> None:
        self.holds = holds
        self.known: Known = {}
        self.copies: dict[Variable, set[Variable]] = {}  # what may be known as a copy of it
        self.labels: dict[Label, Label] = {}
        self.leaving: dict[Label, list[Known]] = {}

    # --- What is known

    def folded(self, expr: Expr) -> Expr:
        """The expression with what is known put in."""
        known = self.known or {}

        def leaf(inner: Expr) -> Expr:
            if isinstance(inner, Read):
                return known.get(inner.variable, inner)
            return fold(inner, self.holds)

        return map_expr(expr, leaf)

    def forget(self, variables: Iterable[Variable]) -> None:
        """These variables get new values."""
        if self.known is None:
            return
        for variable in variables:
            self.known.pop(variable, None)
            for copy in self.copies.get(variable, ()):
                value = self.known.get(copy)
                if isinstance(value, Read) and value.variable is variable:
                    del self.known[copy]

    def assign(self, variable: Variable, value: Expr) -> None:
        assert self.known is not None
        self.forget((variable,))
        if isinstance(value, Const):
            self.known[variable] = value
        elif isinstance(value, Read):
            self.known[variable] = value
            self.copies.setdefault(value.variable, set()).add(variable)

    # --- Statements

    def body(self, body: Body) -> Body:
        """The statements, rewritten, up to where control ends."""
        result: list[Stmt] = []
        for stmt in body:
            if self.known is None:
                break
            self.statement(stmt, result)
        return tuple(result)

    def statement(self, stmt: Stmt, out: list[Stmt]) -> None:
        match stmt:
            case ir.Assign(variable, value, where):
                value = self.folded(value)
                if value != Read(variable):
                    self.assign(variable, value)
                    out.append(Assign(variable, value, where))
            case ir.If():
                self.branch(stmt, out)
            case ir.Block():
                self.block(stmt, out)
            case ir.Leave(label, where):
                assert self.known is not None
                self.leaving[label].append(dict(self.known))
                self.known = None
                out.append(ir.Leave(self.labels[label], where))
            case ir.While():
                self.loop(stmt, out)
            case ir.DoWhile():
                self.do_loop(stmt, out)
            case ir.UnrolledFor():
                self.unroll(stmt, out)
            case _:
                self.effect(map_operands(stmt, self.folded), out)

    def effect(self, stmt: Stmt, out: list[Stmt]) -> None:
        match stmt:
            case ir.Call():
                pass
            case ir.Assert(condition) if isinstance(condition, Const) and condition.value:
                return
            case ir.Receive(passed=Variable() as passed) if is_constant(stmt.guard, 0):
                self.statement(Assign(passed, ir.TRUE, stmt.where), out)
                return
            case (
                ir.Store() | ir.Shift() | ir.Receive() | ir.Send() | ir.Close() | ir.Ended() | ir.Assert()
            ) if is_constant(stmt.guard, 0):
                return
            case _:
                pass
        out.append(stmt)
        self.forget(targets(stmt))

    def branch(self, stmt: ir.If, out: list[Stmt]) -> None:
        condition = self.folded(stmt.condition)
        if isinstance(condition, Const):
            out.extend(self.body(stmt.then if condition.value else stmt.orelse))
            return
        assert self.known is not None
        before = dict(self.known)
        then = self.body(stmt.then)
        after, self.known = self.known, before
        orelse = self.body(stmt.orelse)
        self.known = _merged([after, self.known])
        if then or orelse:
            out.append(replace(stmt, condition=condition, then=then, orelse=orelse))

    def block(self, stmt: ir.Block, out: list[Stmt]) -> None:
        self.labels[stmt.label] = Label(stmt.label.name)
        self.leaving[stmt.label] = []
        body = self.body(stmt.body)
        if self.leaving[stmt.label]:
            out.append(ir.Block(self.labels[stmt.label], body, stmt.where))
        else:
            out.extend(body)
        self.known = _merged([self.known, *self.leaving[stmt.label]])

    def loop(self, stmt: ir.While, out: list[Stmt]) -> None:
        self.forget(written((stmt,)))
        before = self.body(stmt.before)
        condition = self.folded(stmt.condition) if self.known is not None else ir.FALSE
        after = None if self.known is None else dict(self.known)
        if is_constant(condition, 0):
            out.extend(before)
            return
        body = self.body(stmt.body)
        out.append(replace(stmt, before=before, condition=condition, body=body))
        # A loop whose condition is always true is left by a `Leave` or not at all.
        self.known = None if isinstance(condition, Const) else after

    def do_loop(self, stmt: ir.DoWhile, out: list[Stmt]) -> None:
        guard = self.folded(stmt.guard)
        if is_constant(guard, 0):
            return
        self.forget(written(stmt.body))
        assert self.known is not None
        skipped = None if isinstance(guard, Const) else dict(self.known)
        body = self.body(stmt.body)
        condition = self.folded(stmt.condition) if self.known is not None else ir.FALSE
        out.append(replace(stmt, body=body, condition=condition, guard=guard))
        if isinstance(condition, Const) and condition.value:
            self.known = None
        self.known = _merged([skipped, self.known])

    def unroll(self, stmt: ir.UnrolledFor, out: list[Stmt]) -> None:
        """Rewrite a FOR loop; it is a pass of its own that can."""
        raise AssertionError(stmt)


def _merged(states: list[Known]) -> Known:
    """What is known where several ways come together."""
    coming = [state for state in states if state is not None]
    if not coming:
        return None
    return {v: c for v, c in coming[0].items() if all(other.get(v) == c for other in coming[1:])}
