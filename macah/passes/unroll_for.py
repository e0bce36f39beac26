"""Unrolls FOR loops completely; puts in what is known to be constant, and folds branches on it.

FOR:                                      i = 0
  i = 0                                   a[0] = 5
while (i < 2):                   ->       i = 1
  a[i] = 5                                a[1] = 5
step:                                     i = 2
  i = (i + 1)
"""

from __future__ import annotations

from dataclasses import replace

from backend.dfg import Place
from macah import ir
from macah.diagnostic import MacahError, Note
from macah.fold import fold
from macah.ir import Assign, Body, Const, Expr, Label, Read, Stmt, Variable
from macah.walk import map_expr, map_operands, targets, variables_in, written

LIMIT = 65536  # copies of bodies in one kernel

# Variables that are certainly constant at a point; None where control never comes.
Known = dict[Variable, Const] | None


def unroll_for(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without FOR loops."""
    unroller = _Unroller()
    return replace(kernel, body=unroller.body(kernel.body))


class _Unroller:
    """Walks a kernel in program order and knows the constants at each point."""

    def __init__(self) -> None:
        self.known: Known = {}
        self.labels: dict[Label, Label] = {}
        self.leaving: dict[Label, list[Known]] = {}
        self.copies = 0

    # --- What is known

    def folded(self, expr: Expr) -> Expr:
        known = self.known or {}

        def leaf(inner: Expr) -> Expr:
            if isinstance(inner, Read):
                return known.get(inner.variable, inner)
            return fold(inner)

        return map_expr(expr, leaf)

    def forget(self, variables: set[Variable]) -> None:
        if self.known is not None:
            self.known = {v: c for v, c in self.known.items() if v not in variables}

    def assign(self, variable: Variable, value: Expr) -> None:
        assert self.known is not None
        if isinstance(value, Const):
            self.known[variable] = value
        else:
            self.known.pop(variable, None)

    # --- Statements

    def body(self, body: Body) -> Body:
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
                out.append(map_operands(stmt, self.folded))
                self.forget(set(targets(stmt)))

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
        if condition == ir.FALSE:
            out.extend(before)
            return
        body = self.body(stmt.body)
        out.append(replace(stmt, before=before, condition=condition, body=body))
        # A loop whose condition is always true is left by a `Leave` or not at all.
        self.known = None if isinstance(condition, Const) and condition.value else after

    def do_loop(self, stmt: ir.DoWhile, out: list[Stmt]) -> None:
        guard = self.folded(stmt.guard)
        if guard == ir.FALSE:
            return
        self.forget(written(stmt.body))
        assert self.known is not None
        skipped = None if isinstance(guard, Const) else dict(self.known)
        body = self.body(stmt.body)
        condition = self.folded(stmt.condition) if self.known is not None else ir.FALSE
        out.append(replace(stmt, body=body, condition=condition, guard=guard))
        self.known = _merged([skipped, self.known])

    def unroll(self, stmt: ir.UnrolledFor, out: list[Stmt]) -> None:
        out.extend(self.body(stmt.init))
        while self.known is not None:
            out.extend(self.body(stmt.before))
            if self.known is None:
                break
            condition = self.folded(stmt.condition)
            if not isinstance(condition, Const):
                raise _unknown(condition, stmt.where)
            if not condition.value:
                break
            self.copies += 1
            if self.copies > LIMIT:
                raise MacahError(
                    f"this FOR loop needs more than {LIMIT} copies of its body",
                    stmt.where,
                    hint="use `for`, or fewer iterations",
                )
            out.extend(self.body(stmt.body))
            out.extend(self.body(stmt.step))


def _merged(states: list[Known]) -> Known:
    """What is known where several ways come together."""
    coming = [state for state in states if state is not None]
    if not coming:
        return None
    return {v: c for v, c in coming[0].items() if all(other.get(v) == c for other in coming[1:])}


def _unknown(condition: Expr, where: Place | None) -> MacahError:
    names = sorted({variable.name for variable in variables_in(condition)})
    what = " and ".join(f"`{name}`" for name in names) or "values"
    note = Note(f"whether it goes on depends on {what}, not known at compile time")
    return MacahError(
        "the trip count of this FOR loop cannot be computed",
        where,
        (note,),
        "use `for`, or bounds made of constants and variables of enclosing FOR loops",
    )
