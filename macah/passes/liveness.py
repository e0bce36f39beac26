"""Which variables a program may still read: for kernels without `Block`, `Leave` and `While`."""

from __future__ import annotations

from collections.abc import Iterable

from macah import ir
from macah.ir import Body, Expr, Stmt, Variable
from macah.walk import is_constant, operands, targets, variables_in

Live = frozenset[Variable]


def live_at_end(kernel: ir.Kernel) -> Live:
    """The variables that the host reads back."""
    return frozenset(c.what for c in kernel.captured if c.out and isinstance(c.what, Variable))


def live_before(body: Body, after: Iterable[Variable]) -> Live:
    """The variables that are read before they are overwritten, in `body` or after it."""
    live = set(after)
    for stmt in reversed(body):
        step_back(stmt, live)
    return frozenset(live)


def step_back(stmt: Stmt, live: set[Variable]) -> None:
    """Change what is live after a statement into what is live before it."""
    match stmt:
        case ir.If(condition, then, orelse):
            before = live_before(then, live) | live_before(orelse, live)
            live.clear()
            live.update(before, variables_in(condition))
        case ir.DoWhile(body, condition, guard):
            head = live_before(body, live.union(variables_in(condition)))
            if is_constant(guard, 1):
                live.clear()
            live.update(head, variables_in(guard))
        case _:
            live.difference_update(overwritten(stmt))
            for expr in operands(stmt):
                live.update(variables_in(expr))


def overwritten(stmt: Stmt) -> tuple[Variable, ...]:
    """The variables that a simple statement overwrites in any case.

    The targets of a `Receive` are not among them: they keep their values when the stream has ended.
    """
    match stmt:
        case ir.Assign(variable):
            return (variable,)
        case ir.Receive(passed=Variable() as passed):
            return (passed,)
        case ir.Receive(worked=worked) | ir.Send(worked=worked):
            return () if worked is None or not is_constant(stmt.guard, 1) else (worked,)
        case ir.Ended() | ir.Late():
            return targets(stmt) if is_constant(stmt.guard, 1) else ()
        case _:
            return ()


def live_in_loop(loop: ir.DoWhile, after: Iterable[Variable]) -> Live:
    """What is live where the body of a loop is about to run again.

    One step is the fixed point: a body only adds what it reads and takes away what it overwrites.
    """
    return live_before(loop.body, _leaving(loop.condition, after))


def live_at_body_end(loop: ir.DoWhile, after: Iterable[Variable]) -> Live:
    """What is live at the end of a loop's body, before its condition is evaluated."""
    if is_constant(loop.condition, 0):
        return frozenset(after)
    return _leaving(loop.condition, after) | live_in_loop(loop, after)


def _leaving(condition: Expr, after: Iterable[Variable]) -> Live:
    return frozenset(after).union(variables_in(condition))
