"""Lets inner loops run once for nothing where they would not run at all, if that is simpler.

    do {                                        do {
      k = 0;                                      k = 0;
      do if (k < p) {                             do {
        s = s + a[k]; k = k + 1;         ->         [0 < p] s = s + a[k]; k = k + 1;
      } while (k < p);                            } while (k < p);
      S;                                          S;
    } while (...);                              } while (...);

Flattened, a row takes an iteration even if its loop does not run. Where all loops run, nothing has to find
out whether one does, and rows can be told ahead when they end (`pace_rows`), as those of `do` loops can. A
loop in one that runs for nothing ends at once, too: its bound is where it starts.
"""

from __future__ import annotations

from dataclasses import replace

from macah import ir
from macah.fold import fold
from macah.ir import Apply, Body, Const, DoWhile, Expr, Read, Stmt
from macah.passes.ahead import constants
from macah.passes.counters import Starts, find_counter
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_before
from macah.passes.merge import guarded
from macah.passes.nest import unwrapped
from macah.passes.predicate import Predicates, select
from macah.walk import is_constant, loads_in, map_expr, replace_reads, variables_in, written


def enter_loops(kernel: ir.Kernel) -> ir.Kernel:
    """The same kernel with inner loops that always run, if it says so; see the module for an example."""
    if not kernel.entered:
        return kernel
    body = with_entered_loops(kernel.body, live_at_end(kernel), Predicates(kernel))
    return replace(kernel, body=body)


def with_entered_loops(body: Body, after: Live, predicates: Predicates) -> Body:
    """A body with loops, in which inner ones always run."""
    return _Enterer(predicates).body(body, after, False)


class _Enterer:
    def __init__(self, predicates: Predicates) -> None:
        self.predicates = predicates

    def body(self, body: Body, after: Live, inside: bool) -> Body:
        """Some statements, `inside` of a loop or not, with the loops in them entered."""
        made: list[Stmt] = []
        for place, stmt in enumerate(body):
            if isinstance(stmt, DoWhile):
                live = live_before(body[place + 1 :], after)
                loop = replace(stmt, body=unwrapped(stmt.body))
                if inside and not is_constant(loop.guard, 1):
                    loop = self.entered(loop, constants(body[:place]), live)
                stmt = replace(loop, body=self.body(loop.body, live_at_body_end(loop, live), True))
            made.append(stmt)
        return tuple(made)

    def entered(self, loop: DoWhile, starts: Starts, after: Live) -> DoWhile:
        """A loop that always runs; the same one if it does not simply count up to a bound.

        What is only used in the loop changes even where it runs for nothing, so that it counts as before.
        """
        guard = self.first(loop.guard, starts)
        counter = find_counter(loop.body, loop.condition, starts, after)
        match loop.condition:
            case Apply("slt" | "ult" as op, (Read(variable), bound)) if (
                counter is not None
                and variable is counter.variable
                and _steps_up(counter.start, counter.step)
                and self.stays((guard, bound), loop)
            ):
                if self.first(loop.condition, starts) != guard:
                    bound = select(guard, bound, counter.start)
                body = guarded(loop.body, guard, after, self.predicates)
                return replace(loop, body=body, condition=Apply(op, (Read(variable), bound)), guard=ir.TRUE)
            case _:
                return loop

    def first(self, condition: Expr, starts: Starts) -> Expr:
        """What a condition is before the loop."""
        return self.predicates.truth(map_expr(replace_reads(condition, starts), fold))

    def stays(self, exprs: tuple[Expr, ...], loop: DoWhile) -> bool:
        """Whether the values of some expressions are the same in all iterations of a loop."""
        changed = written(loop.body)
        return not any(any(loads_in(e)) or not changed.isdisjoint(variables_in(e)) for e in exprs)


def _steps_up(start: Const, step: Const) -> bool:
    """Whether a counter that is not below a bound at its start is not after a step, signed or not."""
    limit = 1 << (start.bits - 1)
    return start.value < limit and 0 < step.value < limit and start.value + step.value < limit
