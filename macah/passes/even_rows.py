"""Flattens two loops of which the inner one runs equally often each time, however often (`pace_rows`).

    for (i = 0; i < n; i++)  for (j = 0; j < w; j++) B;

Where all rows are as long, nothing has to be known of them ahead but how long they are:

    do {
      trips = max(w, 0);  whole = max(trips, m);
      last_m = t == whole - m;  step_m = last_m ? 1 - whole : 1;       # m - 1 iterations ahead
      j = t;  [j < trips] B;                       # in a row that is too short some run in vain
      i = last ? i + 1 : i;
      t = t + step;
      last = last_2; ... last_(m-1) = last_m;  step = step_2; ... step_(m-1) = step_m;
    } while (!last | i < n);

What the outer loop changes by more than a step is computed from its values of m - 1 iterations before, which
are the same as in the row's last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace

from macah.ir import FALSE, TRUE, Apply, Assign, Body, Const, Expr, Read, Variable
from macah.passes.counters import Starts, shift
from macah.passes.liveness import live_before
from macah.passes.predicate import Predicates, negate, select
from macah.passes.row_code import Counted, Paced, Rows
from macah.walk import Renaming, both, targets, written


@dataclass(frozen=True, slots=True)
class EvenRows(Paced):
    """What `pace_rows` adds to a loop; `index` counts the iterations of a row."""

    index: Expr


@dataclass(frozen=True, slots=True)
class LookedAhead:
    """State before a loop, and code at the start of its body."""

    state: Body = ()
    start: Body = ()


def even_rows(trips: Variable, finite: Expr, length: int, predicates: Predicates) -> EvenRows:
    """The code for rows of `trips` iterations, but `length` at least; both are the same in all rows.

    `finite` is as in `Rows`.
    """
    now, whole, first = Variable("t"), Variable("whole"), predicates.variable("first")
    lasts = [predicates.variable("last") for _ in range(length)]
    steps = [Variable("step") for _ in range(length)]
    over = Apply("eq", (Read(now), Apply("sub", (Read(whole), Const(length)))))
    back = Apply("sub", (Const(1), Read(whole)))
    start = (
        Assign(whole, Apply("umax", (Read(trips), Const(length)))),
        Assign(lasts[-1], both(over, finite)),
        Assign(steps[-1], select(Read(lasts[-1]), back, Const(1))),
    )
    end = (
        Assign(now, Apply("add", (Read(now), Read(steps[0])))),
        Assign(first, Read(lasts[0])),
        *shift(lasts),
        *shift(steps),
    )
    state = (
        Assign(now, Const(0)),
        Assign(first, TRUE),
        *(Assign(v, FALSE) for v in lasts[:-1]),
        *(Assign(v, Const(1)) for v in steps[:-1]),
    )
    return EvenRows(state, start, end, Read(first), Read(lasts[0]), False, negate(finite), Read(now))


def counted_from(counted: Iterable[Counted], index: Expr) -> Body:
    """What variables are that are counted from the start of each row."""
    return tuple(Assign(c.variable, _counted(c, index)) for c in counted)


def _counted(counted: Counted, index: Expr) -> Expr:
    if counted.start == Const(0) and counted.step > 0:
        return index
    return Apply("add" if counted.step > 0 else "sub", (counted.start, index))


def looked_ahead(
    rows: Rows, after: Body, stepped: Set[Variable], length: int, starts: Starts, predicates: Predicates
) -> tuple[Body, LookedAhead]:
    """What stands `after` the inner loop, with what the outer loop goes on with computed ahead.

    That is computed from what was `length - 1` iterations ago. What is only `stepped` stays as it is.
    `starts` are constants before the loop.
    """
    needed = live_before((*rows.early, *rows.late), frozenset())
    late = written(rows.late) & needed - stepped
    changed = [v for v in rows.moved if v in late and _last_of(after, v) is not None]
    if not changed or not needed.isdisjoint(written(rows.early)):
        return after, LookedAhead()
    own = Renaming({v: predicates.like(v) for v in rows.moved})
    following = {v: predicates.like(v) for v in changed}
    before = {v: [predicates.like(v) for _ in range(length - 1)] for v in rows.moved if v in needed}
    code = (
        *(Assign(own.variables[v], Read(made[0])) for v, made in before.items()),
        *own.body((*rows.early, *rows.late)),
        *(Assign(new, Read(own.variables[v])) for v, new in following.items()),
        *(stmt for v, made in before.items() for stmt in shift([*made, v])),
    )
    state = tuple(Assign(delay, starts.get(v, Read(v))) for v, made in before.items() for delay in made)
    return _with_values(after, following), LookedAhead(state, code)


def _last_of(after: Body, variable: Variable) -> Assign | None:
    """What assigns a variable last, if that is an assignment."""
    found = [stmt for stmt in after if variable in targets(stmt)]
    return found[-1] if found and isinstance(found[-1], Assign) else None


def _with_values(after: Body, following: dict[Variable, Variable]) -> Body:
    values = {id(_last_of(after, variable)): value for variable, value in following.items()}
    return tuple(
        replace(stmt, value=Read(values[id(stmt)]))
        if isinstance(stmt, Assign) and id(stmt) in values
        else stmt
        for stmt in after
    )
