"""Finds the loops that may test at the start of an iteration instead of at the end of the one before.

    for (...) { x <? in; while (x != 1) x = f(x); }

An iteration of the flat loop computes x and then tests it, for the next one to know whether it receives: one
after the other. With the test first, x and whether there is another one are computed side by side, but each
execution of the loop spends an iteration on finding that it is over (`passes/invert_loops.py`). Loops with a
counter end as is known beforehand: nothing waits for their tests.

    out <! 7;
    for (i = 0; i < 100; i++) if (f(i)) out <! i;
    out <! -1;

What follows a loop that is known to run happens in its last iteration, and what stands before it in the
first, which then send twice. With the test first, these are iterations of their own.
"""

from __future__ import annotations

from arch.ops import COMPARISONS
from backend.dfg import Place
from macah import ir
from macah.ir import Apply, Assign, Body, Const, Read, Stmt
from macah.walk import arrays_read, arrays_written, bodies, has_loop, statements, targets, variables_in

FEW_TRIPS = 8
"""An iteration more must pay for a loop that makes so many."""


def candidates(body: Body) -> tuple[Place, ...]:
    """The innermost `while` loops in other loops that no counter ends."""
    found: dict[Place, None] = {}
    for outer in statements(body):
        if isinstance(outer, ir.While | ir.DoWhile):
            for stmt in (inner for part in bodies(outer) for inner in statements(part)):
                if isinstance(stmt, ir.While) and stmt.where and not (_is_outer(stmt) or _counts(stmt)):
                    found[stmt.where] = None
    return tuple(found)


def crowded(body: Body) -> tuple[Place, ...]:
    """The `while` loops with a stream or an array that is used between them and another loop, too."""
    found: dict[Place, None] = {}
    for part in (body, *(inner for stmt in statements(body) for inner in bodies(stmt))):
        loops, beside = list[Stmt](), [list[Stmt]()]
        for stmt in part:
            if has_loop((stmt,)):
                loops.append(stmt)
                beside.append([])
            else:
                beside[-1].append(stmt)
        for loop, before, after in zip(loops, beside, beside[1:], strict=False):
            if isinstance(loop, ir.While) and loop.where and ports((loop,)) & ports((*before, *after)):
                found[loop.where] = None
    return tuple(found)


def ports(body: Body) -> set[ir.Stream | ir.Array]:
    """The streams and arrays that are used."""
    streams = {stmt.stream for stmt in statements(body) if isinstance(stmt, ir.Move)}
    return streams | arrays_read(body) | arrays_written(body)


def pays(interval: int, before: int, trips: int = FEW_TRIPS, more: int = 1) -> bool:
    """Whether an interval makes up for so many more iterations of a loop."""
    return interval * (trips + more) < before * trips


def _is_outer(loop: ir.While) -> bool:
    return any(has_loop(part) for part in bodies(loop))


def _counts(loop: ir.While) -> bool:
    if not isinstance(loop.condition, Apply) or loop.condition.op not in COMPARISONS:
        return False
    for variable in variables_in(loop.condition):
        writes = [stmt for stmt in statements(loop.body) if variable in targets(stmt)]
        if writes and all(_is_step(stmt, variable) for stmt in writes):
            return True
    return False


def _is_step(stmt: ir.Stmt, variable: ir.Variable) -> bool:
    match stmt:
        case Assign(_, Apply("add" | "sub", (Read(other), Const()))):
            return other is variable
    return False
