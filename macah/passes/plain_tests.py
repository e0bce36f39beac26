"""Says a loop's test by its counter as it is where the test is, and puts exits into tests.

    while (n-- > 0) { body(n) }        is lowered to

    loop: { before = n; n = before - 1 } while (0 < before): { body(n) }       and becomes

    loop: while (0 < n): { body(n - 1); before = n; n = n - 1 }
    before = n; n = n - 1

as `before` is what `n` was; `simplify` removes it where nobody reads it. In the same way the test of

    do: { body; next = t + 1; t = next } while (next < 16)                  becomes

    do: { body; next = t + 1; t = t + 1 } while (t < 16)

A loop that only a leave ends, if it is what the loop does first or last, gets its condition as a test:

    block L: { loop: while 1: { if (k == 16) leave L; body } }              becomes

    block L: { loop: while (k != 16): { body } }

So these idioms of C count as plainly as a `for`, and all later passes know how often they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from arch.ops import word
from macah import ir
from macah.fold import fold, inverse
from macah.ir import Apply, Assign, Body, Const, Expr, Read, Stmt, Variable
from macah.walk import (
    flat_map,
    is_constant,
    leaves_to,
    loads_in,
    map_bodies,
    map_expr,
    map_operands,
    replace_reads,
    variables_in,
    written,
)

MOST = 8
"""So many assignments are looked at where a loop's body begins and where it ends."""

Sum = tuple[Variable, int]
"""A variable's earlier value plus a constant."""


def plain_tests(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with plain tests of its loops; see the module for examples."""
    return replace(kernel, body=_body(kernel.body))


def _body(body: Body) -> Body:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Assign):  # nearly all are
            result.append(stmt)
            continue
        match map_bodies(stmt, _body):
            case ir.Block(_, (*others, ir.While() as loop)) as block:
                result.append(replace(block, body=(*others, *_loop(_with_exit(loop, block.label)))))
            case ir.While() | ir.DoWhile() as loop:
                result += _loop(loop)
            case other:
                result.append(other)
    return tuple(result)


def _loop(stmt: ir.While | ir.DoWhile) -> Body:
    """A loop with its test by its counter, and what stands behind it then."""
    return (_do_loop(stmt),) if isinstance(stmt, ir.DoWhile) else _while_loop(stmt)


def _while_loop(stmt: ir.While) -> Body:
    sums = _sums(stmt.before)
    if not sums or not _is_counted(stmt, sums):
        return (stmt,)
    values = {variable: _added(*found) for variable, found in sums.items()}
    steps = _stepped(stmt.before)
    # Who leaves the loop finds the counter stepped already.
    body = (*steps, *stmt.body) if leaves_to(stmt.body) else (*_with_values(stmt.body, values), *steps)
    return (replace(stmt, before=(), condition=_put_in(stmt.condition, values), body=body), *steps)


def _do_loop(stmt: ir.DoWhile) -> ir.DoWhile:
    steps = _last_sums(stmt.body)
    sums = _sums(steps)
    ends = {
        variable: _added(base, more - sums.get(base, (base, 0))[1])
        for variable, (base, more) in sums.items()
        if variable is not base and sums.get(base, (base, 0))[0] is base
    }
    if ends.keys().isdisjoint(variables_in(stmt.condition)):
        return stmt
    body = (*stmt.body[: len(stmt.body) - len(steps)], *_stepped(steps))
    return replace(stmt, body=body, condition=_put_in(stmt.condition, ends))


def _stepped(steps: Body) -> Body:
    """The same assignments, those to what they are counted from as steps of it."""
    sums = _sums(steps)
    result: list[Stmt] = []
    for stmt in steps:
        assert isinstance(stmt, Assign)
        base, more = sums[stmt.variable]
        result.append(replace(stmt, value=_added(base, more)) if base is stmt.variable else stmt)
    return tuple(result)


def _with_exit(loop: ir.While, label: ir.Label) -> ir.While | ir.DoWhile:
    """The last loop of a block with its test where it is left, if that is first or last in its body."""
    if loop.before or not is_constant(loop.condition, 1):
        return loop
    steps = _first_sums(loop.body)
    match loop.body[len(steps) :]:
        case (ir.If(condition, (ir.Leave(left),), orelse), *rest) if left is label:
            return replace(loop, before=steps, condition=inverse(condition), body=(*orelse, *rest))
    match loop.body:
        case (*rest, ir.If(condition, (ir.Leave(left),), ())) if left is label:
            return ir.DoWhile(tuple(rest), inverse(condition), where=loop.where)
        case _:
            return loop


def _is_counted(loop: ir.While, steps: Mapping[Variable, Sum]) -> bool:
    """Whether a test depends on nothing that the loop changes, but by its own steps."""
    tested = variables_in(loop.condition)
    bases = [steps[variable][0] if variable in steps else variable for variable in tested]
    return (
        not loads_in(loop.condition)
        and not steps.keys().isdisjoint(tested)
        and written(loop.body).isdisjoint((*bases, *steps))
    )


def _sums(steps: Iterable[Stmt]) -> dict[Variable, Sum]:
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


def _first_sums(body: Body) -> Body:
    """The assignments that a body begins with, as far as `_sum` knows them and none assigns twice."""
    count = 0
    while count < min(MOST, len(body)) and _sums(body[: count + 1]):
        count += 1
    return body[:count]


def _last_sums(body: Body) -> Body:
    """The same at its end."""
    start = len(body)
    while start > max(0, len(body) - MOST) and _sums(body[start - 1 :]):
        start -= 1
    return body[start:]


def _added(base: Variable, more: int) -> Expr:
    bits = base.bits
    return fold(Apply("add", (Read(base), Const(word(bits, more), bits)), bits)) if more else Read(base)


def _put_in(expr: Expr, values: Mapping[Variable, Expr]) -> Expr:
    if values.keys().isdisjoint(variables_in(expr)):
        return expr
    return map_expr(replace_reads(expr, values), fold)


def _with_values(body: Body, values: Mapping[Variable, Expr]) -> Body:
    """A body that reads the values of some variables instead of these."""
    return flat_map(body, lambda stmt: (map_operands(stmt, lambda expr: _put_in(expr, values)),))
