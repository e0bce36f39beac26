"""Elements that arrays do not have: constant indices out of range, in kernels whose FOR loops are unrolled.

    int t[4];  t[4] = 0;      FOR (int i = 0; i <= 4; i++) t[i] = 0;

What a copy of a FOR loop does under a condition of the running program may never happen there, so it counts
only where the index is constant as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator

from arch.ops import signed
from macah import ir
from macah.diagnostic import Diagnostic, Place
from macah.ir import Apply, Array, Const, Expr, Load
from macah.walk import bodies, children, operands, statements

_CHOOSING = frozenset({"select", "and", "or"})
_Access = tuple[Array, tuple[Expr, ...]]


def outside_of_arrays(lowered: ir.Kernel, flat: ir.Kernel) -> Iterator[Diagnostic]:
    """The warnings of a kernel as it is lowered, and with FOR loops unrolled, each once for a place."""
    written = _constants(lowered)
    told: dict[tuple[str, Place | None], None] = {}
    for stmt, happens in _reached(flat.body, True):
        for (array, index), sure in _accesses(stmt):
            for dimension, value in enumerate(index):
                message = _outside(array, dimension, value)
                if message and (happens and sure or (stmt.where, value) in written):
                    told[message, stmt.where] = None
    yield from (Diagnostic(message, where, code="undefined-result") for message, where in told)


def _constants(kernel: ir.Kernel) -> set[tuple[Place | None, Expr]]:
    """The indices that are constant without unrolling, and where."""
    found, pending, seen = set[tuple[Place | None, Expr]](), [kernel.body], set[int]()
    while pending:
        for stmt in statements(pending.pop()):
            if isinstance(stmt, ir.Call) and id(stmt.function) not in seen:
                seen.add(id(stmt.function))
                pending.append(stmt.function.body)
            for (_, index), _ in _accesses(stmt):
                found.update((stmt.where, value) for value in index if isinstance(value, Const))
    return found


def _reached(body: ir.Body, happens: bool) -> Iterator[tuple[ir.Stmt, bool]]:
    """The statements that may be executed, and whether each is in every iteration of the loops around it."""
    for stmt in body:
        yield stmt, happens
        if isinstance(stmt, ir.Leave):
            return
        for inner in bodies(stmt):
            yield from _reached(inner, happens and not isinstance(stmt, ir.If))
        happens = happens and not any(
            isinstance(s, ir.Leave) for part in bodies(stmt) for s in statements(part)
        )


def _accesses(stmt: ir.Stmt) -> Iterator[tuple[_Access, bool]]:
    """The elements that a statement itself loads or stores, and whether it does so whatever it chooses."""
    if isinstance(stmt, ir.Store):
        yield (stmt.array, stmt.index), True
    pending = [(operand, True) for operand in operands(stmt)]
    while pending:
        expr, sure = pending.pop()
        if isinstance(expr, Load):
            yield (expr.array, expr.index), sure
        sure = sure and not (isinstance(expr, Apply) and expr.op in _CHOOSING)
        pending += [(inner, sure) for inner in children(expr)]


def _outside(array: Array, dimension: int, index: Expr) -> str:
    """What is wrong with an index; '' if nothing is, or it is not constant."""
    extent = array.shape[dimension]
    if not isinstance(index, Const) or not extent or index.value < extent:
        return ""
    which = f"dimension {dimension + 1} of " if len(array.shape) > 1 else ""
    size = f"{extent} element{'' if extent == 1 else 's'}"
    return f"index {signed(32, index.value)} is outside of {which}'{array.name}', which has {size}"
