"""Lets the test of a loop read the loop's counter itself, not a copy of it from before or after the step.

    t = 16;  while (old = t, t = t - 1, old != 0) { … }            while (…, t != -1) { … }
                                                          ->
    t = 0;  do { …; new = t + 1; t = new; } while (new < 16)       do { …; t = t + 1; } while (t < 16)

That is what `while (t--)` and `do … while (++t < 16)` are. Only loops are changed that are known to run a
constant number of times then, so that later passes know it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from arch.ops import word
from macah import ir
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, Expr, Read, Stmt, Variable
from macah.passes.trips import trip_count
from macah.walk import map_bodies, map_expr, replace_reads, targets, variables_in, written

Known = dict[Variable, Const]
Loop = ir.While | ir.DoWhile


def compare_counters(kernel: ir.Kernel) -> ir.Kernel:
    """The same kernel with tests of counters; see the module for examples."""
    return replace(kernel, body=_body(kernel.body, {}))


def _body(body: Body, known: Known) -> Body:
    """A body; `known` are constants at its start, and is changed to those at its end."""
    return tuple([_statement(stmt, known) for stmt in body])


def _statement(stmt: Stmt, known: Known) -> Stmt:
    match stmt:
        case Assign(variable, value):
            _forget(known, (variable,))
            if isinstance(value, Const):
                known[variable] = value
            return stmt
        case ir.While() | ir.DoWhile():
            starts = dict(known)
            _forget(known, written((stmt,)))
            loop = map_bodies(stmt, lambda body: _body(body, dict(known)))
            assert isinstance(loop, ir.While | ir.DoWhile)
            return _tested(loop, starts)
        case _:
            stmt = map_bodies(stmt, lambda body: _body(body, dict(known)))
            _forget(known, (*targets(stmt), *written((stmt,))))
            return stmt


def _forget(known: Known, variables: Iterable[Variable]) -> None:
    for variable in variables:
        known.pop(variable, None)


def _tested(stmt: Loop, starts: Known) -> Loop:
    """A loop with a test of its counter, if it has another one; `starts` are constants before it."""
    if isinstance(stmt, ir.DoWhile) and stmt.guard != ir.TRUE:
        return stmt
    before = stmt.before if isinstance(stmt, ir.While) else ()
    iteration, test = _Sums(), _Sums()
    iteration.run((*stmt.body, *before))
    test.run(before if isinstance(stmt, ir.While) else stmt.body)  # always before the test
    for variable in variables_in(stmt.condition):
        for counter, apart in test.beside(variable):
            step = iteration.step(counter)
            if counter not in starts or step is None:
                continue
            first = starts[counter].value + (test.step(counter) or 0)
            plus = Apply("add", (Read(counter), Const(word(counter.bits, apart), counter.bits)), counter.bits)
            condition = map_expr(replace_reads(stmt.condition, {variable: plus}), fold)
            if trip_count(condition, counter, word(counter.bits, first), step) is not None:
                stmt = replace(stmt, condition=condition, body=_swapped(stmt.body, counter))
                return replace(stmt, before=_swapped(before, counter)) if isinstance(stmt, ir.While) else stmt
    return stmt


@dataclass(slots=True)
class _Sums:
    """Variables as what a variable was at first and a constant; `None` is what is no such sum."""

    known: dict[Variable, tuple[Variable, int] | None] = field(default_factory=dict)

    def run(self, body: Body) -> None:
        """Executes statements."""
        for stmt in body:
            match stmt:
                case Assign(variable, value):
                    self.known[variable] = self.sum(variable, value)
                case _:
                    self.known |= dict.fromkeys((*targets(stmt), *written((stmt,))))

    def sum(self, variable: Variable, value: Expr) -> tuple[Variable, int] | None:
        match value:
            case Read(old) if old.bits == variable.bits:
                return self.known.get(old, (old, 0))
            case Apply("add", (Read(old), Const(more))) if old.bits == variable.bits:
                found = self.known.get(old, (old, 0))
                return None if found is None else (found[0], found[1] + more)
            case _:
                return None

    def step(self, variable: Variable) -> int | None:
        """What is added to a variable, as a word; None if it is no counter."""
        found = self.known.get(variable, (variable, 0))
        return word(variable.bits, found[1]) if found is not None and found[0] is variable else None

    def beside(self, variable: Variable) -> Iterator[tuple[Variable, int]]:
        """A counter, and what is to be added to it for a variable of which it is another one."""
        found = self.known.get(variable)
        if found is not None and found[0] is not variable and self.step(found[0]) is not None:
            yield found[0], found[1] - (self.step(found[0]) or 0)


def _swapped(body: Body, counter: Variable) -> Body:
    """new = t + 1; t = new;  ->  t = t + 1; new = t;"""
    made = list(body)
    for place, (one, two) in enumerate(zip(body, body[1:], strict=False)):
        match one, two:
            case Assign(new, Apply("add", (Read(old), Const())) as value), Assign(changed, Read(copied)) if (
                old is changed is counter and copied is new
            ):
                made[place : place + 2] = [
                    Assign(counter, value, one.where),
                    Assign(new, Read(counter), two.where),
                ]
            case _:
                pass
    return tuple(made)
