"""Loops without a test that are left in one place: they get what leaves them as their test.

    loop: while 1: { x = a[k]; if (k == 16) { n = 1; leave L }; body(x) }        becomes

    loop: while (k != 16): { x = a[k]; body(x) }
    n = 1; leave L

if nobody needs the last `x`: what is assigned above the exit is only read below it, in the same iteration. Or
the loop tests at its end, if there is nothing but steps of counters below the exit:

    loop: while 1: { body; if (k == 15) leave L; k = k + 1 }                      becomes

    loop: do: { body; k = k + 1 } while (k != 16)
    k = k - 1; leave L

as does a loop whose exit is its last statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from macah import ir
from macah.fold import inverse
from macah.ir import Assign, Body, Stmt, Variable
from macah.passes.counted_steps import MOST, Sum, added, put_in, sums_of
from macah.passes.liveness import live_at_end
from macah.walk import is_constant, operands, read, statements, variables_in


class Reads:
    """How often a kernel reads each variable, so that one look at a part tells whether it alone does."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.kernel = kernel
        self.counts: Counter[Variable] | None = None

    def only_in(self, part: Stmt, variables: Iterable[Variable]) -> set[Variable]:
        """Those of some variables that are read nowhere but in a part of the kernel."""
        if self.counts is None:
            self.counts = _reads(self.kernel.body)
            self.counts.update(live_at_end(self.kernel))
        inside = _reads((part,))
        return {variable for variable in variables if self.counts[variable] == inside[variable]}


def _reads(body: Body) -> Counter[Variable]:
    return Counter(v for stmt in statements(body) for expr in operands(stmt) for v in variables_in(expr))


@dataclass(frozen=True)
class _Exit:
    """The loop as it was, and its body: what is above the exit, what it does, and what is below it."""

    loop: Stmt
    above: Body
    test: ir.If
    below: Body


def with_exit(loop: ir.While, original: Stmt, reads: Reads) -> Body:
    """A loop that nothing but an exit ends with that as its test, and what stands behind it then.

    `original` is the loop as it stands in the kernel that `reads` knows.
    """
    if loop.before or not is_constant(loop.condition, 1):
        return (loop,)
    count = len(loop.body)
    near = range(min(count, MOST + 1)), range(max(MOST + 1, count - MOST - 1), count)
    for position in chain(*near):
        stmt = loop.body[position]
        if isinstance(stmt, ir.If) and _leaves(stmt.then):
            found = _Exit(original, loop.body[:position], stmt, loop.body[position + 1 :])
            changed = _tested_last(found) or _tested_first(found, reads)
            if changed is None:
                continue
            first, behind = changed
            return (replace(first, where=loop.where), *behind, *stmt.then)
    return (loop,)


def _leaves(body: Body) -> bool:
    """Whether a branch certainly ends in leaving the loop in which it stands."""
    return bool(body) and isinstance(body[-1], ir.Leave)


def _tested_last(found: _Exit) -> tuple[ir.DoWhile, Body] | None:
    """The loop with its test at its end, if there are only steps of counters below the exit."""
    steps = sums_of(found.below)
    if found.test.orelse or len(found.below) > MOST or found.below and not steps:
        return None
    if any(variable is not base for variable, (base, _) in steps.items()):
        return None
    undone = {variable: added(variable, -more) for variable, (_, more) in steps.items()}
    condition = put_in(inverse(found.test.condition), undone)
    behind = tuple([Assign(v, value, found.test.where) for v, value in undone.items()])
    return ir.DoWhile((*found.above, *found.below), condition), behind


def _tested_first(found: _Exit, reads: Reads) -> tuple[ir.While, Body] | None:
    """The loop with its test at its start, if it does nothing above it that anybody needs but the test."""
    above = [stmt for stmt in found.above if isinstance(stmt, Assign)]
    if len(above) < len(found.above) or len(above) > MOST:
        return None
    passing = _for_an_iteration(found, above, reads) if above else set()
    needed = set(variables_in(found.test.condition))
    steps, later = list[Stmt](), list[Stmt]()
    for stmt in reversed(above):
        if stmt.variable in passing - needed:
            later.append(stmt)
        else:
            needed.update(variables_in(stmt.value))
            steps.append(stmt)
    known = sums_of(reversed(steps))
    moved = _moved(above, later, known) if len(known) == len(steps) else None
    if moved is None:
        return None
    body = (*moved, *found.test.orelse, *found.below)
    return ir.While(tuple(reversed(steps)), inverse(found.test.condition), body), ()


def _for_an_iteration(found: _Exit, above: Iterable[Assign], reads: Reads) -> set[Variable]:
    """What is assigned above the exit and only read below it, in the same iteration."""
    seen, given = read(found.test.then), set[Variable]()
    for stmt in above:
        seen.update(variables_in(stmt.value))
        if stmt.variable not in seen:
            given.add(stmt.variable)
    return reads.only_in(found.loop, given)


def _moved(above: Iterable[Assign], later: list[Stmt], steps: Mapping[Variable, Sum]) -> Body | None:
    """Assignments behind the steps that stood among them; None if one needs what a step overwrites."""
    waiting = dict(steps)
    result: list[Stmt] = []
    for stmt in above:
        if any(stmt is moved for moved in later):
            overwritten = [v for v in waiting if v in read((stmt,))]
            if any(waiting[v][0] is not v for v in overwritten):
                return None
            earlier = {v: added(v, -waiting[v][1]) for v in overwritten}
            result.append(replace(stmt, value=put_in(stmt.value, earlier)))
        else:
            waiting.pop(stmt.variable)
    return tuple(result)
