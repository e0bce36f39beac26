"""Walks a kernel in program order with what is known of its variables, and rewrites it with that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from operator import is_

from macah import ir
from macah.fold import Holds, fold, fold_apply, is_predicate
from macah.ir import Apply, Assign, Body, Const, Expr, Label, Load, Read, Stmt, Variable
from macah.walk import GUARDED, LEAVES, is_constant, map_operands, targets, written

# What variables certainly are at a point: constants, or other variables; None where control never comes.
Known = dict[Variable, Expr] | None
# What became of variables since a point before, None for those of which nothing is known; or None as above.
Changes = dict[Variable, Expr | None] | None


class Propagator:
    """Puts in known constants and copies, folds, and removes branches that are never taken."""

    def __init__(self, holds: Holds = is_predicate) -> None:
        self.holds = holds
        self._facts: dict[Variable, Expr] = {}
        self._reached = True
        self._before: list[
            dict[Variable, Expr | None]
        ] = []  # what was known, of what has changed since a point
        self.copies: dict[Variable, set[Variable]] = {}  # what may be known as a copy of it
        self.labels: dict[Label, Label] = {}
        self.leaving: dict[Label, list[Changes]] = {}
        self.depth: dict[Label, int] = {}

    # --- What is known

    @property
    def known(self) -> Known:
        """What is known here."""
        return self._facts if self._reached else None

    @known.setter
    def known(self, known: Known) -> None:
        self._reached = known is not None
        self._facts = known or {}

    def _learn(self, variable: Variable, value: Expr | None) -> None:
        old = self._facts.get(variable)
        if old is value:
            return
        if self._before:
            self._before[-1].setdefault(variable, old)
        if value is None:
            del self._facts[variable]
        else:
            self._facts[variable] = value

    def _changes(self, depth: int) -> Changes:
        """What has changed since a point."""
        if not self._reached:
            return None
        return {v: self._facts.get(v) for before in self._before[depth:] for v in before}

    def _undo(self) -> Changes:
        """Go back to the last point that was begun; what has changed since then."""
        changes = self._changes(len(self._before) - 1)
        for variable, old in self._before.pop().items():
            if old is None:
                self._facts.pop(variable, None)
            else:
                self._facts[variable] = old
        self._reached = True
        return changes

    def _merge(self, ways: list[Changes]) -> None:
        """What is known where several ways from here come together again."""
        coming = [way for way in ways if way is not None]
        self._reached = bool(coming)
        for variable in dict.fromkeys(v for way in coming for v in way):
            old = self._facts.get(variable)
            first, *others = (way.get(variable, old) for way in coming)
            self._learn(variable, first if all(other == first for other in others) else None)

    def folded(self, expr: Expr) -> Expr:
        """The expression with what is known put in."""
        known = self._facts if self._reached else {}
        return _put_in(expr, known, self.holds, {})

    def forget(self, variables: Iterable[Variable]) -> None:
        """These variables get new values."""
        if self._reached:
            for variable in variables:
                self._forget(variable)

    def _forget(self, variable: Variable) -> None:
        self._learn(variable, None)
        for copy in self.copies.get(variable, ()):
            value = self._facts.get(copy)
            if isinstance(value, Read) and value.variable is variable:
                self._learn(copy, None)

    def assign(self, variable: Variable, value: Expr) -> None:
        assert self._reached
        self._forget(variable)
        if isinstance(value, Const | Read):
            self._learn(variable, value)
        if isinstance(value, Read):
            self.copies.setdefault(value.variable, set()).add(variable)

    # --- Statements

    def body(self, body: Body) -> Body:
        """The statements, rewritten, up to where control ends."""
        result: list[Stmt] = []
        for stmt in body:
            if not self._reached:
                break
            if type(stmt) is Assign:  # nearly all are
                self.put(stmt, result)
            else:
                self.statement(stmt, result)
        return tuple(result)

    def put(self, stmt: Assign, out: list[Stmt]) -> None:
        """Rewrite an assignment; the same object where it stays as it is."""
        variable, old = stmt.variable, stmt.value
        value = _put_in(old, self._facts, self.holds, {})
        if isinstance(value, Read) and value.variable is variable:
            return
        # Of most variables nothing is known, nor are they known as copies: then there is nothing to forget.
        if isinstance(value, LEAVES) or variable in self._facts or variable in self.copies:
            self.assign(variable, value)
        out.append(stmt if value is old else Assign(variable, value, stmt.where))

    def statement(self, stmt: Stmt, out: list[Stmt]) -> None:
        match stmt:
            case ir.Assign():
                self.put(stmt, out)
            case ir.If():
                self.branch(stmt, out)
            case ir.Block():
                self.block(stmt, out)
            case ir.Leave(label, where):
                self.leaving[label].append(self._changes(self.depth[label]))
                self._reached = False
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
            case _ if isinstance(stmt, GUARDED) and is_constant(stmt.guard, 0):
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
        self._before.append({})
        then = self.body(stmt.then)
        ways = [self._undo()]
        self._before.append({})
        orelse = self.body(stmt.orelse)
        self._merge([*ways, self._undo()])
        if then or orelse:
            out.append(replace(stmt, condition=condition, then=then, orelse=orelse))

    def block(self, stmt: ir.Block, out: list[Stmt]) -> None:
        self.labels[stmt.label] = Label(stmt.label.name)
        self.leaving[stmt.label] = []
        self.depth[stmt.label] = len(self._before)
        self._before.append({})
        body = self.body(stmt.body)
        if self.leaving[stmt.label]:
            out.append(ir.Block(self.labels[stmt.label], body, stmt.where))
        else:
            out.extend(body)
        self._merge([self._undo(), *self.leaving[stmt.label]])

    def loop(self, stmt: ir.While, out: list[Stmt]) -> None:
        self.forget(written((stmt,)))
        before = self.body(stmt.before)
        condition = self.folded(stmt.condition) if self._reached else ir.FALSE
        if is_constant(condition, 0):
            out.extend(before)
            return
        self._before.append({})
        body = self.body(stmt.body)
        self._undo()
        out.append(replace(stmt, before=before, condition=condition, body=body))
        # A loop whose condition is always true is left by a `Leave` or not at all.
        self._reached = not isinstance(condition, Const)

    def do_loop(self, stmt: ir.DoWhile, out: list[Stmt]) -> None:
        guard = self.folded(stmt.guard)
        if is_constant(guard, 0):
            return
        self.forget(written(stmt.body))
        self._before.append({})
        body = self.body(stmt.body)
        condition = self.folded(stmt.condition) if self._reached else ir.FALSE
        out.append(replace(stmt, body=body, condition=condition, guard=guard))
        if isinstance(condition, Const) and condition.value:
            self._reached = False
        self._merge([None if isinstance(guard, Const) else {}, self._undo()])

    def unroll(self, stmt: ir.UnrolledFor, out: list[Stmt]) -> None:
        """Rewrite a FOR loop; it is a pass of its own that can."""
        raise AssertionError(stmt)


def _put_in(old: Expr, known: dict[Variable, Expr], holds: Holds, done: dict[int, Expr]) -> Expr:
    """`map_expr` with folding written out: much of a large kernel's time is spent here."""
    if isinstance(old, Read):
        return known.get(old.variable, old)
    if isinstance(old, Const):
        return old
    found = done.get(id(old))
    if found is not None:
        return found
    if isinstance(old, Apply):
        inner = tuple(
            [
                known.get(arg.variable, arg) if isinstance(arg, Read) else _put_in(arg, known, holds, done)
                for arg in old.args
            ]
        )
        same = all(map(is_, inner, old.args))
        new = fold(old, holds) if same else fold_apply(old.op, inner, old.bits, holds)
    else:
        inner = tuple([_put_in(arg, known, holds, done) for arg in old.index])
        same = all(map(is_, inner, old.index))
        new = fold(old if same else Load(old.array, inner, old.site, old.settled), holds)
    done[id(old)] = new
    return new
