"""Unrolls FOR loops completely, but for those that are to be plain ones (`Kernel.rolled`).

Puts in what is known to be constant, and folds branches on it.

FOR:                                      i = 0
  i = 0                                   a[0] = 5
while (i < 2):                   ->       i = 1
  a[i] = 5                                a[1] = 5
step:                                     i = 2
  i = (i + 1)
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from backend.dfg import Place
from macah import ir
from macah.diagnostic import MacahError, Note
from macah.ir import Const, Expr, Stmt
from macah.optional import enabled
from macah.propagate import Propagator
from macah.walk import bodies, leaves_to, read, variables_in, written

LIMIT = 65536  # copies of bodies in one kernel
STATEMENTS = 1 << 19  # and what they may hold in all


def unroll_for(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without FOR loops."""
    unroller = Unroller(kernel.rolled if enabled(kernel, "roll_for") else ())
    return replace(kernel, body=unroller.body(kernel.body), rolled=())


class Unroller(Propagator):
    """Simulates the FOR loops with the constants that it knows."""

    what = "FOR loop"
    hint = "use 'for', or bounds made of constants and variables of enclosing FOR loops"

    def __init__(self, rolled: Container[Place | None] = ()) -> None:
        super().__init__()
        self.rolled = rolled
        self.bodies = 0
        self.made = 0

    def unroll(self, stmt: ir.UnrolledFor, out: list[Stmt]) -> None:
        out.extend(self.body(stmt.init))
        if stmt.where in self.rolled:
            body = (*stmt.fresh, *stmt.body, *stmt.step)
            self.loop(ir.While(stmt.before, stmt.condition, body, stmt.where), out)
            return
        self.count(stmt)
        while self.known is not None:
            out.extend(self.body(stmt.before))
            if self.known is None:
                break
            condition = self.folded(stmt.condition)
            if not isinstance(condition, Const):
                raise self.unknown(condition, stmt.where)
            if not condition.value:
                break
            self.bodies += 1
            if self.bodies > LIMIT:
                raise self.too_long(f"{LIMIT} copies of its body", stmt.where)
            before, made = len(out), self.made
            out.extend(self.body(stmt.body))
            out.extend(self.body(stmt.step))
            self.made = made + len(out) - before  # loops inside have counted theirs already
            if self.made > STATEMENTS:
                raise self.too_long(f"{STATEMENTS} statements", stmt.where)

    def count(self, stmt: ir.UnrolledFor) -> None:
        """Refuse a loop that surely takes too many iterations before its body is copied in vain."""
        if self.known is None:
            return
        control = (*stmt.before, *stmt.step)
        deciding = {*variables_in(stmt.condition), *read(control), *written(control)}
        if not deciding.isdisjoint(written(stmt.body)) or any(map(bodies, control)):
            return
        if leaves_to(stmt.body):
            return  # only the copies tell whether they end with a `break`
        trial = Propagator()
        trial.known = {v: value for v, value in self.known.items() if v in deciding}
        for _ in range(LIMIT - self.bodies + 1):
            before = None if trial.known is None else dict(trial.known)
            trial.body(stmt.before)
            condition = trial.folded(stmt.condition)
            if not isinstance(condition, Const) or not condition.value:
                return
            trial.body(stmt.step)
            if trial.known == before:
                raise self.endless(stmt)
        raise self.too_long(f"{LIMIT} copies of its body", stmt.where)

    def endless(self, stmt: ir.UnrolledFor) -> MacahError:
        """The error about a loop whose iterations are all the same."""
        names = sorted({variable.name for variable in variables_in(stmt.condition)})
        what = " and ".join(f"'{name}'" for name in names)
        message = f"this {self.what} never ends" + (f": nothing changes {what}" if names else "")
        hint = f"change {what} in its third expression" if names else "give it a condition, or a 'break'"
        return MacahError(message, stmt.where, hint=hint, code="for-too-long")

    def too_long(self, what: str, where: Place | None) -> MacahError:
        message = f"this {self.what} needs more than {what}"
        return MacahError(message, where, hint="use 'for', or fewer iterations", code="for-too-long")

    def unknown(self, condition: Expr, where: Place | None) -> MacahError:
        """The error about a condition that is not constant."""
        names = sorted({variable.name for variable in variables_in(condition)})
        what = " and ".join(f"'{name}'" for name in names) or "values"
        note = Note(f"whether it goes on depends on {what}, not known at compile time", where)
        message = f"the trip count of this {self.what} cannot be computed"
        return MacahError(message, where, (note,), self.hint, code="for-trip-count")
