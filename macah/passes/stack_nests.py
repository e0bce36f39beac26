"""Gives nests in sequence one shape, so that `fuse_loops` makes one nest of all of them.

    for (i = 0; i < n; i++)  for (j = 0; j < m; j++) A;
    for (i = 0; i < m; i++)  for (j = 0; j < n; j++) B;

Two loops each, of which the inner ones count alike, are rows of one nest:

    do {
      past = n <= row;                                      # as `chain_stages` says
      length = past ? n : m;  turn = 0;
      do {
        if (past) { j = turn; B; } else { j = turn; A; }
        turn = turn + 1;
      } while (turn < length) if turn < length;
      row = row + 1;
    } while (row < n + m);

So rows can be told ahead when they end (`pace_rows`), whichever nest they belong to. A loop that stands alone
is one row. More loops around an inner one are made one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from macah import ir
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, DoWhile, Expr, If, Read, Stmt, Variable
from macah.passes.convert_ifs import converted
from macah.passes.flatten_loops import Flattener
from macah.passes.independent import independent
from macah.passes.liveness import Live, live_before, near, step_back
from macah.passes.predicate import Predicates, Values, select
from macah.passes.row_trips import find_steps, last_number, trips
from macah.trips import conjuncts
from macah.walk import (
    both,
    has_loop,
    loads_in,
    map_expr,
    replace_reads,
    statements,
    targets,
    variables_in,
    written,
)


@dataclass(frozen=True, slots=True)
class Alike:
    """Two loops of which one runs, as one: its state, what each counts with, its last step and its test."""

    setup: Body
    counters: tuple[Assign, Assign]
    step: Assign
    goes_on: Expr


class NestStacker:
    """Makes nests of a kernel alike."""

    def __init__(self, kernel: ir.Kernel, predicates: Predicates) -> None:
        self.kernel = kernel
        self.predicates = predicates
        captured = {c.what for c in kernel.captured if c.into and isinstance(c.what, Variable)}
        self.invariant = captured - written(kernel.body)

    def alike(self, body: Body, after: Live) -> Body | None:
        """A body whose loops each have one loop in them; None if none has."""
        loops = [stmt for stmt in body if isinstance(stmt, DoWhile)]
        if not any(has_loop(loop.body) for loop in loops):
            return None
        live, pieces = set(after), list[Body]()
        for stmt in reversed(body):
            pieces.append(self.rows(stmt, near(stmt, live)) if isinstance(stmt, DoWhile) else (stmt,))
            step_back(stmt, live)
        stacked = tuple([stmt for piece in reversed(pieces) for stmt in piece])
        return independent(stacked, after, self.predicates)

    def rows(self, loop: DoWhile, after: Live) -> Body:
        """A loop of rows: one for a loop that stands alone."""
        inner = _inner(loop)
        if inner is None:
            row = Variable("row", where=loop.where)
            step = Assign(row, Apply("add", (Read(row), Const(1))), loop.where)
            again = Apply("slt", (Read(row), Const(1)))
            return (Assign(row, Const(0), loop.where), DoWhile((loop, step), again, where=loop.where))
        if _inner(inner) is None:
            return (loop,)
        (straight,) = converted((loop,), after, self.predicates)
        assert isinstance(straight, DoWhile)
        flattener = Flattener(self.kernel, self.predicates, _innermost(straight))
        flat = flattener.flatten(straight, after, frozenset(), {})
        body: Body = (*flat.state, flat.loop)
        # Of what an iteration leaves to the next one nothing is known at first, and nothing needed.
        left = live_before(body, after) - live_before((loop,), after)
        news = [v for v in dict.fromkeys(v for s in statements(body) for v in targets(s)) if v in left]
        return (*self.predicates.free(news, loop.where), *body)

    def one_counter(
        self, chosen: Expr, loops: tuple[DoWhile, DoWhile], before: tuple[Body, Body]
    ) -> Alike | None:
        """One counter for two loops of which the first one runs if `chosen`; None if one does not count.

        They stand behind what is `before` each.
        """
        starts = map(self.values, before)
        found = [_counted(loop, known) for loop, known in zip(loops, starts, strict=True)]
        one, other = found
        if one is None or other is None:
            return None
        where = loops[0].where
        turn, length = Variable("turn", where=where), Variable("length", where=where)
        setup = list[Stmt]()
        counters = list[Assign]()
        for counted in (one, other):
            start = counted.start
            if not isinstance(start, Const):
                begun = Variable("start", where=where)
                setup.append(Assign(begun, start, where))
                start = Read(begun)
            value = Apply("add" if counted.step > 0 else "sub", (start, Read(turn)))
            counters.append(Assign(counted.variable, map_expr(value, fold), where))
        setup.append(Assign(length, select(chosen, one.trips, other.trips), where))
        setup.append(Assign(turn, Const(0), where))
        step = Assign(turn, Apply("add", (Read(turn), Const(1))), where)
        return Alike(tuple(setup), (counters[0], counters[1]), step, Apply("ult", (Read(turn), Read(length))))

    def values(self, body: Body) -> Values:
        """What variables are after a body if anybody needs them, where that never changes."""
        known: Values = {}
        for stmt in body:
            for variable in written((stmt,)):
                known.pop(variable, None)
            match stmt:
                case Assign(variable, value):
                    value = map_expr(replace_reads(value, known), fold)
                    if self.invariant.issuperset(variables_in(value)) and not any(loads_in(value)):
                        known[variable] = value
                case If(_, then, orelse):
                    known |= self.either(then, orelse)
                case _:
                    pass
        return known

    def either(self, then: Body, orelse: Body) -> Values:
        """The same for two branches."""
        found = self.values(then), self.values(orelse)
        return {
            variable: value
            for mine, other, others in ((found[0], found[1], orelse), (found[1], found[0], then))
            for variable, value in mine.items()
            if other.get(variable) == value or self.is_forgotten(variable, others)
        }

    def is_forgotten(self, variable: Variable, body: Body) -> bool:
        """Whether nobody needs what a variable is after a body."""
        match [stmt for stmt in body if variable in written((stmt,))]:
            case [*_, Assign(_, value)]:
                return self.predicates.is_unspecified(value)
            case _:
                return False


@dataclass(frozen=True, slots=True)
class _Counted:
    """A loop's counter: where it starts, its step of 1 or -1, and how often the loop runs."""

    variable: Variable
    start: Expr
    step: int
    trips: Expr


def _counted(loop: DoWhile, known: Values) -> _Counted | None:
    """How a loop counts, if that is known before it."""
    steps = None if has_loop(loop.body) else find_steps(loop)
    if steps is None or any(loads_in(loop.guard)) or any(loads_in(steps.bound)):
        return None
    if steps.included and not _has_end(steps.bound, last_number(loop, steps)):
        return None
    start = known.get(steps.variable, Read(steps.variable))
    guard = [map_expr(replace_reads(one, known), fold) for one in conjuncts(loop.guard)]
    entered = map_expr(reduce(both, dict.fromkeys(guard)), fold)
    if loop.condition in conjuncts(loop.guard):
        count = trips(steps, loop, start, entered)
    else:
        count = trips(steps, replace(loop, guard=ir.TRUE), start, ir.TRUE)
        count = count and select(entered, count, Const(0))
    if count is None:
        return None
    return _Counted(steps.variable, start, steps.step, map_expr(replace_reads(count, known), fold))


def _has_end(bound: Expr, last: int) -> bool:
    """Whether a counter that comes to a bound, too, certainly gets beyond it."""
    return isinstance(bound, Const) and bound.value != last


def _inner(loop: DoWhile) -> DoWhile | None:
    found = [stmt for stmt in loop.body if isinstance(stmt, DoWhile)]
    return found[0] if found else None


def _innermost(loop: DoWhile) -> DoWhile:
    inner = _inner(loop)
    return loop if inner is None else _innermost(inner)
