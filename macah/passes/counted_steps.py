"""Assignments that add constants to what variables were: the steps of loops' counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arch.ops import word
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, Expr, Read, Stmt, Variable
from macah.walk import map_expr, replace_reads, variables_in

MOST = 8
"""So many assignments are looked at where a loop's body begins and where it ends."""

Sum = tuple[Variable, int]
"""A variable's earlier value plus a constant."""


def sums_of(steps: Iterable[Stmt]) -> dict[Variable, Sum]:
    """What assignments make of variables, by what was there before them; empty if one assigns twice."""
    found: dict[Variable, Sum] = {}
    for stmt in steps:
        sum_ = _sum(stmt, found)
        if sum_ is None or not isinstance(stmt, Assign) or stmt.variable in found:
            return {}
        found[stmt.variable] = sum_
    return found


def _sum(stmt: Stmt, before: Mapping[Variable, Sum]) -> Sum | None:
    """What an assignment makes of its variable, if that is another one or itself, with a constant added."""
    match stmt:
        case Assign(_, Read(other)):
            more = 0
        case Assign(_, Apply("add", (Read(other), Const(more)))):
            pass
        case Assign(_, Apply("sub", (Read(other), Const(less)))):
            more = -less
        case _:
            return None
    base, sum_ = before.get(other, (other, 0))
    return base, sum_ + more


def last_steps(body: Body) -> Body:
    """The assignments that a body ends with, as far as `sums_of` knows them and none assigns twice."""
    start = len(body)
    while start > max(0, len(body) - MOST) and sums_of(body[start - 1 :]):
        start -= 1
    return body[start:]


def added(base: Variable, more: int) -> Expr:
    """A variable plus a constant."""
    bits = base.bits
    return fold(Apply("add", (Read(base), Const(word(bits, more), bits)), bits)) if more else Read(base)


def put_in(expr: Expr, values: Mapping[Variable, Expr]) -> Expr:
    """An expression with values instead of some variables, folded."""
    if values.keys().isdisjoint(variables_in(expr)):
        return expr
    return map_expr(replace_reads(expr, values), fold)
