"""Puts in constants and copies, folds operations and branches, and removes what has no effect.

x = 3
y = (x + 0)           ->        out <! 3
out <! y
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from macah import ir
from macah.fold import inverse, is_predicate, predicates
from macah.ir import Array, Body, Expr, Label, Stmt, Variable
from macah.passes.liveness import apart
from macah.propagate import Propagator
from macah.walk import arrays_read, is_constant, operands, read, variables_in


def simplify(kernel: ir.Kernel) -> ir.Kernel:
    """The same kernel, said more simply; what is captured and what it does to streams stays."""
    body = Propagator(partial(is_predicate, variables=predicates(kernel))).body(kernel.body)
    live = {c.what for c in kernel.captured if c.out and isinstance(c.what, Variable)}
    needed = {c.what for c in kernel.captured if c.out and isinstance(c.what, Array)}
    return replace(kernel, body=_Sweeper(needed | arrays_read(body)).body(body, live))


class _Sweeper:
    """Walks backwards with the variables that may still be read; removes assignments of others."""

    def __init__(self, arrays: set[Array]) -> None:
        self.arrays = arrays
        self.leaving: dict[Label, frozenset[Variable]] = {}

    def body(self, body: Body, live: set[Variable]) -> Body:
        """The needed statements; `live` is changed from what is live after them to before them."""
        result: list[Stmt] = []
        for stmt in reversed(body):
            if isinstance(stmt, ir.Assign):  # nearly all are
                if stmt.variable in live:
                    live.discard(stmt.variable)
                    live.update(variables_in(stmt.value))
                    result.append(stmt)
                continue
            needed = self.statement(stmt, live)
            if needed is not None:
                result.append(needed)
        return tuple(reversed(result))

    def statement(self, stmt: Stmt, live: set[Variable]) -> Stmt | None:
        match stmt:
            case ir.Store() | ir.Shift() if stmt.array not in self.arrays:
                return None
            case ir.Forget():
                return None  # scalars are made of arrays before
            case ir.Ended() | ir.Late():
                if stmt.target not in live:
                    return None
                if is_constant(stmt.guard, 1):
                    live.discard(stmt.target)
            case ir.Receive(passed=Variable() as passed):
                live.discard(passed)
            case ir.Receive() | ir.Send():
                if stmt.worked is not None and is_constant(stmt.guard, 1):
                    live.discard(stmt.worked)
            case ir.Leave(label):
                live.clear()
                live |= self.leaving[label]
            case ir.Block(label, body):
                self.leaving[label] = frozenset(live)
                stmt = replace(stmt, body=self.body(body, live))
            case ir.If():
                return self.branch(stmt, live)
            case ir.While() | ir.DoWhile():
                return self.loop(stmt, live)
            case _:
                pass
        _add(live, operands(stmt))
        return stmt

    def branch(self, stmt: ir.If, live: set[Variable]) -> Stmt | None:
        inside = apart(stmt, live)
        other = set(inside)
        then, orelse = self.body(stmt.then, inside), self.body(stmt.orelse, other)
        live |= inside
        live |= other
        if not then and not orelse:
            return None
        condition, expect = stmt.condition, stmt.expect
        if not then:
            then, orelse, condition = orelse, then, inverse(condition)
            expect = None if expect is None else 1 - expect
        _add(live, (condition,))
        return ir.If(condition, then, orelse, expect, stmt.where)

    def loop(self, stmt: ir.While | ir.DoWhile, live: set[Variable]) -> Stmt:
        after = set(live)
        # Whatever the loop reads anywhere may be read in its next iteration.
        live |= read((stmt,))
        if isinstance(stmt, ir.DoWhile):
            stmt = replace(stmt, body=self.body(stmt.body, live))
            if not is_constant(stmt.guard, 1):
                live |= after
            _add(live, (stmt.guard,))
            return stmt
        body = self.body(stmt.body, live)
        live |= after
        _add(live, (stmt.condition,))
        return replace(stmt, body=body, before=self.body(stmt.before, live))


def _add(live: set[Variable], exprs: Iterable[Expr]) -> None:
    for expr in exprs:
        live.update(variables_in(expr))
