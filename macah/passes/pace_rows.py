"""Flattens two loops so that the end of the inner one is known iterations ahead, however often that runs.

    for (i = 0; i < n; i++)  for (j = 0; j <= i; j++)  B;

A row here is what an iteration of the outer loop does. Flattened, j and whether it is the last one of its row
depend on each other: a step, a comparison and a choice for each iteration. But if no row has fewer than m
iterations, at most one ends within the next m - 1. So these run in one loop, where t counts all iterations:

    end, the number of the row's last iteration, less m - 1; trips1, those of the next row; row, the one after
    do {
      last_m = t == end;                                  # m - 1 iterations ahead
      j = t + base;  [j < trips] B;                       # in a row that is too short some run in vain
      end = last ? end' + max(trips1', m) : end;  base = last ? -(t + 1) : base;
      trips = last ? trips1' : trips;  trips1 = last ? trips_of(row') : trips1;
      row = last ? row' + 1 : row;
      last = last_2; ... last_(m-1) = last_m;  t = t + 1;
    }

where x' is what x was m - 1 iterations before, in the same row. So m iterations may pass from one choice to
the next. There are as many rows between `trips` and `row` as that needs (`row_code`). Sums that start anew in
each row are differences of sums that do not (`row_sums`). More loops around the inner one are made
one before, so that a row is what an iteration of that does.

A kernel says (`Kernel.row`) how long its rows are to be at least; the first row may be as short as it is.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from macah import ir
from macah.ir import Apply, Assign, Body, Const, DoWhile, Expr, Read, Variable
from macah.passes.ahead import Ahead, Parts, constants, parts_of
from macah.passes.counters import Starts, Sum, find_counter
from macah.passes.even_rows import counted_from, even_rows, looked_ahead
from macah.passes.flatten_loops import Flattener
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_before, live_in_loop
from macah.passes.merge import guarded
from macah.passes.nest import unwrapped, with_loop
from macah.passes.predicate import Predicates, either, negate
from macah.passes.row_code import Counted, Paced, Rows, paced
from macah.passes.row_sums import row_sums
from macah.passes.row_trips import Around, comes_to_an_end, find_steps, step_of, trips
from macah.passes.steady import computed_from, steady
from macah.trips import conjuncts
from macah.walk import arrays_written, targets, written


def pace_rows(kernel: ir.Kernel) -> ir.Kernel:
    """The same kernel with nests of two loops flattened, if it says so; see the module for an example."""
    if not kernel.row:
        return kernel
    captured = frozenset(c.what for c in kernel.captured if c.into and isinstance(c.what, Variable))
    predicates = Predicates(kernel)
    invariant = (captured - written(kernel.body)) | predicates.unspecified
    ahead = Ahead(predicates, invariant, arrays_written(kernel.body))
    pacer = _Pacer(kernel, ahead)
    return replace(kernel, body=with_loop(kernel.body, live_at_end(kernel), pacer.loop))


@dataclass(frozen=True, slots=True)
class _Nest:
    """An outer loop with its parts; `rows` is what is known of its iterations ahead.

    `goes_on` says behind its body whether there is another row, `left` whether a row ends. `after` is live
    after the loop.
    """

    outer: DoWhile
    parts: Parts
    rows: Rows
    goes_on: Assign
    left: Variable
    after: Live

    @property
    def finish(self) -> Live:
        """What is live after the inner loop."""
        return live_before((*self.parts.after, self.goes_on), live_at_body_end(self.outer, self.after))


class _Pacer:
    def __init__(self, kernel: ir.Kernel, ahead: Ahead) -> None:
        self.kernel = kernel
        self.ahead = ahead
        self.predicates = ahead.predicates
        self.length = kernel.row

    def loop(self, loop: DoWhile, after: Live, before: Body) -> Body | None:
        """What a loop becomes: some statements and a loop; None if it stays as it is."""
        starts = constants(before)
        around = list(_around(loop, starts))
        if not around:
            return None
        inner = around[-1].parts.inner
        steps = find_steps(inner)
        if steps is None or _is_constant(around[-1]):
            return None
        finite = comes_to_an_end(steps, inner, around, self.ahead.invariant)
        if finite is None or (finite != ir.TRUE and not _is_always_entered(around)):
            return None
        state: Body = ()
        if len(around) > 1:  # what they do together is a row
            state, loop = self.flattened(loop, inner, after)
            starts = {**starts, **constants(state)}
        parts = parts_of(loop.body)
        nest = self.nest(loop, parts, after, starts) if parts else None
        if nest is None:
            return None
        return (*state, *self.paced(replace(nest, rows=replace(nest.rows, finite=finite)), starts))

    def flattened(self, loop: DoWhile, inner: DoWhile, after: Live) -> tuple[Body, DoWhile]:
        """The loops around an inner one as one loop, and the state for it."""
        flattener = Flattener(self.kernel, self.predicates, inner)
        flat = flattener.flatten(loop, after, frozenset(), {})
        return flat.state, flat.loop

    # --- What is known of rows ahead

    def nest(self, loop: DoWhile, parts: Parts, after: Live, starts: Starts) -> _Nest | None:
        """The nest of a loop, if it is known when a row starts how long it is."""
        plain, steps = parts.inner, find_steps(parts.inner)
        if steps is None:  # they are not found again where the loops around it have become one
            return None
        parts = self.ahead.with_named_guard(self.ahead.with_named_starts(parts))
        start = _start(parts, steps.variable)
        count = start and trips(steps, plain, start, parts.inner.guard)
        if count is None:
            return None
        length = Variable("trips", where=plain.where)
        parts = replace(parts, before=(*parts.before, Assign(length, count, plain.where)))
        goes_on = Assign(
            self.predicates.variable("more", loop.where), self.predicates.truth(loop.condition), loop.where
        )
        moved = self.ahead.movable(parts, goes_on, written((loop,)) | {length})
        if length not in moved:
            return None
        early = _assigning(parts.before, moved)
        copied = dict.fromkeys((*self.ahead.copied(early), length))
        others = (v for v in moved if v not in written(early) and v is not goes_on.variable)
        known = (*copied, *(v for v in others if not _is_stepped(loop, v)))
        late = _assigning((*parts.after, goes_on), moved)
        more = goes_on.variable if goes_on.variable in moved else None
        rows = Rows(tuple(moved), early, late, known, length, more)
        return _Nest(loop, parts, rows, goes_on, self.predicates.variable("left", loop.where), after)

    # --- The loop

    def paced(self, nest: _Nest, starts: Starts) -> Body:
        """The one loop of a nest, and what stands before it."""
        parts, trips = nest.parts, nest.rows.trips
        same, before = steady(parts.before, written((parts.inner,)), written(parts.after))
        if trips in computed_from(self.ahead.invariant, same):
            return self.even(replace(nest, parts=replace(parts, before=before)), same, starts)
        known = set(nest.rows.known)
        same, before = [tuple(s for s in body if known.isdisjoint(targets(s))) for body in (same, before)]
        nest, sums = self.with_sums(replace(nest, parts=replace(parts, before=before)), known)
        index = Counted(Variable("index", where=parts.inner.where), Const(0), 1)
        counted = self.counted(nest)
        made = paced(nest.rows, [index, *counted], self.length, starts, self.predicates)
        made = replace(made, start=(*made.start, *same))
        return self.code(nest, sums, made, Read(index.variable), counted)

    def even(self, nest: _Nest, same: Body, starts: Starts) -> Body:
        """The same if all rows are as long; what comes out the `same` all through a row stands first."""
        parts, rows = nest.parts, nest.rows
        stepped = {v for v in rows.moved if _is_stepped(nest.outer, v)}
        after, ahead = looked_ahead(rows, parts.after, stepped, self.length, starts, self.predicates)
        made = even_rows(rows.trips, rows.finite, self.length, self.predicates)
        start = (*same, *made.start, *ahead.start)
        made = replace(made, state=(*made.state, *ahead.state), start=start)
        nest = replace(nest, parts=replace(parts, after=after), rows=replace(rows, more=None))
        nest, sums = self.with_sums(nest, set())
        counted = self.counted(nest)
        return self.code(nest, sums, made, made.index, counted, counted_from(counted, made.index))

    def with_sums(self, nest: _Nest, held: set[Variable]) -> tuple[_Nest, tuple[Sum, ...]]:
        """A nest with sums that never start anew, and these."""
        split = row_sums(nest.parts, self.stepped(nest), held, Read(nest.left))
        return replace(nest, parts=split.parts), split.sums

    def code(
        self,
        nest: _Nest,
        sums: tuple[Sum, ...],
        made: Paced,
        index: Expr,
        counted: list[Counted],
        begun: Body = (),
    ) -> Body:
        """The loop with what is `made` around a row, and what stands before it."""
        parts, more, left = nest.parts, nest.goes_on.variable, Read(nest.left)
        dropped = {c.variable for c in counted}.union(v for s in sums for v in targets(s.body[0]))
        before = tuple(stmt for stmt in parts.before if dropped.isdisjoint(targets(stmt)))
        here = tuple(s.body[0] for s in sums)
        runs = self.predicates.variable("run", parts.inner.where)
        # The inner loop's body does not run in all iterations of a row, and rows for nothing come first.
        ends = live_at_body_end(nest.outer, nest.after) - {more}
        begins = ends if made.waits else frozenset()
        kept = live_in_loop(parts.inner, nest.finish) | nest.finish | begins
        totals = {v for s in sums for v in written(s.state)}
        within = Apply("ult", (index, Read(nest.rows.trips)))
        code: Body = (
            *made.start,
            *here,
            *self.guarded(before, made.first, kept),
            *begun,
            Assign(runs, either(made.endless, within)),
            *self.guarded(parts.inner.body, Read(runs), nest.finish | begins | totals),
            *here,
            Assign(nest.left, made.last, nest.outer.where),
            *self.guarded(parts.after, left, kept | ends),
            *(() if nest.rows.more else (nest.goes_on,)),
            *(stmt for s in sums for stmt in s.last),
            *made.end,
        )
        goes_on = either(negate(left), Read(more))
        state = (*made.state, *(stmt for s in sums for stmt in s.state))
        return (*state, replace(nest.outer, body=code, condition=goes_on))

    def stepped(self, nest: _Nest) -> set[Variable]:
        """What is no sum: what is known of rows ahead, and what counts the iterations of one."""
        body, rows = nest.parts.inner.body, nest.rows
        return {*rows.moved, *(v for v in written(body) if step_of(body, v) is not None)}

    def guarded(self, body: Body, predicate: Expr, keep: Live) -> Body:
        return guarded(body, predicate, keep, self.predicates)

    def counted(self, nest: _Nest) -> list[Counted]:
        """The variables that the inner loop only counts with, and that nobody needs after it."""
        parts, found = nest.parts, list[Counted]()
        around = written(parts.after) | nest.finish
        for stmt in parts.inner.body:
            if isinstance(stmt, Assign) and stmt.variable not in around:
                start, step = _start(parts, stmt.variable), step_of(parts.inner.body, stmt.variable)
                if start is not None and step is not None:
                    found.append(Counted(stmt.variable, start, step))
        return found


def _around(loop: DoWhile, starts: Starts) -> Iterator[Around]:
    """The loops around an innermost one, from the outermost on."""
    loop = replace(loop, body=unwrapped(loop.body))
    parts = parts_of(loop.body)
    if parts is not None:
        yield Around(loop, parts, starts)
        yield from _around(parts.inner, constants(parts.before))


def _is_always_entered(around: list[Around]) -> bool:
    """True if the inner loop runs in all rows in which its test holds, or at least once."""
    inner = around[-1].parts.inner
    return len(around) == 1 and {*conjuncts(inner.guard)} <= {inner.condition, ir.TRUE}


def _is_constant(around: Around) -> bool:
    """True if the inner loop runs equally often each time, which `counters` does better."""
    inner = around.parts.inner
    counter = find_counter(inner.body, inner.condition, constants(around.parts.before), frozenset())
    return counter is not None and counter.trips is not None


def _start(parts: Parts, variable: Variable) -> Expr | None:
    """What a variable is when the inner loop starts, if it is a constant or what that does not change.

    It is given that value once, before that loop.
    """
    match [stmt for stmt in parts.before if variable in targets(stmt)]:
        case [Assign(_, Const() as value)]:
            return value
        case [Assign(_, Read(other) as value)] if other not in written((parts.inner,)):
            return value
        case _:
            return None


def _is_stepped(loop: DoWhile, variable: Variable) -> bool:
    """True if a loop adds a constant to a variable, which takes no more than one operation each time."""
    return (
        find_counter(loop.body, Read(variable), {variable: Const(0, variable.bits)}, frozenset()) is not None
    )


def _assigning(body: Body, variables: Container[Variable]) -> Body:
    return tuple(stmt for stmt in body if isinstance(stmt, Assign) and stmt.variable in variables)
