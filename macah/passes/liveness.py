"""Which variables a program may still read: for kernels without `Block`, `Leave` and `While`."""

from __future__ import annotations

from collections.abc import Iterable

from macah import ir
from macah.ir import Body, Expr, Stmt, Variable
from macah.walk import is_constant, operands, statements, targets, variables_in

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
    if isinstance(stmt, ir.If | ir.DoWhile):
        needed, lost = _summary(stmt)
        live -= lost
        live |= needed
    else:
        live.difference_update(overwritten(stmt))
        for expr in operands(stmt):
            live.update(variables_in(expr))


def _summary(stmt: ir.If | ir.DoWhile) -> tuple[set[Variable], set[Variable]]:
    """What is live before a statement in any case; what is not, unless that has it."""
    if isinstance(stmt, ir.If):
        needed, lost = _of_body(stmt.then)
        others, kept = _of_body(stmt.orelse)
        needed |= others
        needed.update(variables_in(stmt.condition))
        return needed, lost & kept
    needed, lost = _of_body(stmt.body)
    needed |= set(variables_in(stmt.condition)) - lost
    needed.update(variables_in(stmt.guard))
    return needed, lost if is_constant(stmt.guard, 1) else set()


def _of_body(body: Body) -> tuple[set[Variable], set[Variable]]:
    needed, lost = set[Variable](), set[Variable]()
    for stmt in reversed(body):
        if isinstance(stmt, ir.If | ir.DoWhile):
            more, less = _summary(stmt)
            lost |= less
            needed -= less
            needed |= more
        else:
            lost.update(overwritten(stmt))
            step_back(stmt, needed)
    return needed, lost


def apart(stmt: Stmt, live: set[Variable]) -> set[Variable]:
    """Takes out of `live` all that a statement may touch: the rest neither changes nor matters inside it.

    It takes all if that is less work.
    """
    touched = set[Variable]()
    for count, inner in enumerate(statements((stmt,))):
        touched.update(targets(inner))
        for expr in operands(inner):
            touched.update(variables_in(expr))
        if count > len(live) or isinstance(inner, ir.Leave):
            touched = set(live)
            break
    touched &= live
    live -= touched
    return touched


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
