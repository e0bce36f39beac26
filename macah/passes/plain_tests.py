"""Says a loop's test by its counter as it is where the test is, and puts exits into tests.

    while (n-- > 0) { body(n) }        is lowered to

    loop: { before = n; n = before - 1 } while (0 < before): { body(n) }       and becomes

    loop: while (0 < n): { body(n - 1); before = n; n = n - 1 }
    before = n; n = n - 1

as `before` is what `n` was; `simplify` removes it where nobody reads it. In the same way the test of

    do: { body; next = t + 1; t = next } while (next < 16)                  becomes

    do: { body; next = t + 1; t = t + 1 } while (t < 16)

A loop that only a leave ends gets that as its test (`exits.py`). So these idioms of C count as plainly as a
`for`, and all later passes know how often they run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from macah import ir
from macah.ir import Assign, Body, Expr, Stmt, Variable
from macah.passes.counted_steps import Sum, added, last_steps, put_in, sums_of
from macah.passes.exits import Reads, with_exit
from macah.walk import flat_map, leaves_to, loads_in, map_bodies, map_operands, variables_in, written


def plain_tests(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with plain tests of its loops; see the module for examples."""
    return replace(kernel, body=_Plain(Reads(kernel)).body(kernel.body))


class _Plain:
    def __init__(self, reads: Reads) -> None:
        self.reads = reads

    def body(self, body: Body) -> Body:
        result: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Assign):  # nearly all are
                result.append(stmt)
                continue
            match map_bodies(stmt, self.body):
                case ir.While() as loop:
                    first, *behind = with_exit(loop, stmt, self.reads)
                    assert isinstance(first, ir.While | ir.DoWhile)
                    result += (*_loop(first), *behind)
                case ir.DoWhile() as loop:
                    result += _loop(loop)
                case ir.Block(label, (*others, ir.Leave(left))) as block if left is label:
                    result.append(replace(block, body=tuple(others)))
                case other:
                    result.append(other)
        return tuple(result)


def _loop(stmt: ir.While | ir.DoWhile) -> Body:
    """A loop with its test by its counter, and what stands behind it then."""
    return (_do_loop(stmt),) if isinstance(stmt, ir.DoWhile) else _while_loop(stmt)


def _while_loop(stmt: ir.While) -> Body:
    sums = sums_of(stmt.before)
    if not sums or not _is_counted(stmt, sums):
        return (stmt,)
    values = {variable: added(*found) for variable, found in sums.items()}
    steps = _stepped(stmt.before)
    # Who leaves the loop finds the counter stepped already.
    body = (*steps, *stmt.body) if leaves_to(stmt.body) else (*_with_values(stmt.body, values), *steps)
    return (replace(stmt, before=(), condition=put_in(stmt.condition, values), body=body), *steps)


def _do_loop(stmt: ir.DoWhile) -> ir.DoWhile:
    steps = last_steps(stmt.body)
    sums = sums_of(steps)
    ends = {
        variable: added(base, more - sums.get(base, (base, 0))[1])
        for variable, (base, more) in sums.items()
        if variable is not base and sums.get(base, (base, 0))[0] is base
    }
    if ends.keys().isdisjoint(variables_in(stmt.condition)):
        return stmt
    body = (*stmt.body[: len(stmt.body) - len(steps)], *_stepped(steps))
    return replace(stmt, body=body, condition=put_in(stmt.condition, ends))


def _stepped(steps: Body) -> Body:
    """The same assignments, those to what they are counted from as steps of it."""
    sums = sums_of(steps)
    result: list[Stmt] = []
    for stmt in steps:
        assert isinstance(stmt, Assign)
        base, more = sums[stmt.variable]
        result.append(replace(stmt, value=added(base, more)) if base is stmt.variable else stmt)
    return tuple(result)


def _is_counted(loop: ir.While, steps: Mapping[Variable, Sum]) -> bool:
    """Whether a test depends on nothing that the loop changes, but by its own steps."""
    tested = variables_in(loop.condition)
    bases = [steps[variable][0] if variable in steps else variable for variable in tested]
    return (
        not loads_in(loop.condition)
        and not steps.keys().isdisjoint(tested)
        and written(loop.body).isdisjoint((*bases, *steps))
    )


def _with_values(body: Body, values: Mapping[Variable, Expr]) -> Body:
    """A body that reads the values of some variables instead of these."""
    return flat_map(body, lambda stmt: (map_operands(stmt, lambda expr: put_in(expr, values)),))
