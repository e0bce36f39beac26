"""Which variables a program may still read: for kernels without `Block`, `Leave` and `While`."""

from __future__ import annotations

from collections.abc import Iterable, Set

from macah import ir
from macah.ir import Body, Expr, Stmt, Variable
from macah.walk import is_constant, map_bodies, operands, read, statements, targets, variables_in, written

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
    if isinstance(stmt, ir.Assign):  # nearly all are
        live.discard(stmt.variable)
        live.update(variables_in(stmt.value))
    elif isinstance(stmt, ir.If | ir.DoWhile):
        needed, lost = lived_through(stmt)
        live -= lost
        live |= needed
    else:
        live.difference_update(overwritten(stmt))
        for expr in operands(stmt):
            live.update(variables_in(expr))


def without_dead(body: Body, live: set[Variable]) -> Body:
    """The body without assignments of what nobody reads; `live` becomes what is live before it."""
    result: list[Stmt] = []
    for stmt in reversed(body):
        if not isinstance(stmt, ir.Assign) or stmt.variable in live:
            result.append(_without_dead_inside(stmt, live))
    return tuple(reversed(result))


def _without_dead_inside(stmt: Stmt, live: set[Variable]) -> Stmt:
    """The same of what is in a statement; branches are looked at once, however deep they are."""
    end, starts = set(live), list[set[Variable]]()

    def inside(body: Body) -> Body:
        starts.append(set(end))
        return without_dead(body, starts[-1])

    match stmt:
        case ir.If(condition):
            before, skips = condition, False
        case ir.DoWhile(_, condition, before):
            end.update(lived_through(stmt)[0], variables_in(condition))
            skips = not is_constant(before, 1)
        case _:
            step_back(stmt, live)
            return stmt
    made = map_bodies(stmt, inside)
    if not skips:
        live.clear()
    live.update(*starts, variables_in(before))
    return made


def lived_through(stmt: Stmt) -> tuple[set[Variable], set[Variable]]:
    """What is live before a statement in any case; what is not, unless that has it."""
    match stmt:
        case ir.If(condition, then, orelse):
            needed, lost = _of_body(then)
            others, kept = _of_body(orelse)
            needed |= others
            needed.update(variables_in(condition))
            return needed, lost & kept
        case ir.DoWhile(body, condition, guard):
            needed, lost = _of_body(body)
            needed |= set(variables_in(condition)) - lost
            needed.update(variables_in(guard))
            return needed, lost if is_constant(guard, 1) else set()
        case _:
            return {v for expr in operands(stmt) for v in variables_in(expr)}, set(overwritten(stmt))


def _of_body(body: Body) -> tuple[set[Variable], set[Variable]]:
    needed, lost = set[Variable](), set[Variable]()
    for stmt in reversed(body):
        if isinstance(stmt, ir.Assign):
            lost.add(stmt.variable)
            step_back(stmt, needed)
        elif isinstance(stmt, ir.If | ir.DoWhile):
            more, less = lived_through(stmt)
            lost |= less
            needed -= less
            needed |= more
        else:
            lost.update(overwritten(stmt))
            step_back(stmt, needed)
    return needed, lost


def near(stmt: Stmt, live: Set[Variable]) -> Live:
    """What is live of all that a statement touches: the rest neither changes nor matters inside it."""
    return frozenset((read((stmt,)) | written((stmt,))) & live)


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
