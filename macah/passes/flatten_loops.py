"""Makes one loop of a nest, and of the whole kernel.

    do { S0; do B while (b) if g; S1; } while (d);

becomes

    start = 1; again = 0;
    do {
        [start] S0;  run = again | g;
        [run] B;     again = run & b;  left = !again;
        [left] S1;   start = left;
    } while (again | d);

where `[p] X` is X under the predicate p. An inner loop that runs at least once costs no iterations of its
own, one that does not run costs one. Constants at the start of S0 are assigned before the loop and after S1:
then they need no `start`. All this state is again what it was at first when the loop is left.

    i = 0; do { j = 0; do { B; j = j + 1; } while (j < 8); i = i + 1; } while (i < 8);

    i = 0; j = 0; do { B; j' = j + 1; left = j' >= 8; i' = i + 1;
                       i = left ? i' : i; j = left ? 0 : j'; } while (!left | i' < 8);

The kernel as a whole is treated as the body of a loop that runs once: what stands before its loop runs in
the first iteration, and what follows in the last one. If its loop is `while (c) B`, there is one iteration
more, in which `c` is 0: that is cheaper than to evaluate `c` in two places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from macah import ir
from macah.fold import fold
from macah.ir import Assign, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.passes.counters import (
    AHEAD,
    Counter,
    Starts,
    count_inner,
    count_outer,
    counting_on,
    find_counter,
    split_sum,
    step_apart,
)
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_before, live_in_loop
from macah.passes.merge import guarded
from macah.passes.predicate import Predicates, either, negate, select
from macah.walk import (
    Renaming,
    both,
    is_constant,
    loads_in,
    map_expr,
    read,
    replace_reads,
    statements,
    targets,
    variables_in,
    written,
)


def flatten_loops(kernel: ir.Kernel) -> ir.Kernel:
    """Make the kernel some constants and one loop of straight-line code; see the module for an example."""
    captured = frozenset(c.what for c in kernel.captured if c.into and isinstance(c.what, Variable))
    flattener = _Flattener(Predicates(kernel), captured, captured - written(kernel.body))
    once = DoWhile(kernel.body, ir.FALSE, where=kernel.where)
    flat = flattener.flatten(once, live_at_end(kernel), frozenset(), {})
    return replace(kernel, body=(*flat.state, flat.loop))


Facts = frozenset[Expr]
_NONE: Live = frozenset()


@dataclass(frozen=True, slots=True)
class _Flat:
    """A loop of straight-line code, and constants that must be assigned before it first starts.

    They may be assigned even if it does not run, and they are there again when it is left. It makes at least
    `least` iterations.
    """

    state: Body
    loop: DoWhile
    least: int = 1


@dataclass(frozen=True, slots=True)
class _Extra:
    """What counters and sums add to a flat loop: state, and code at the start and the end of an iteration.

    `again` is the variable that says whether the inner loop goes on, `least` as in `_Flat`.
    """

    again: Variable | None = None
    state: Body = ()
    first: Body = ()
    last: Body = ()
    least: int = 1

    def plus(self, state: Body, first: Body, last: Body, trips: int = 1) -> _Extra:
        """This and more."""
        return replace(
            self,
            state=(*self.state, *state),
            first=(*self.first, *first),
            last=(*self.last, *last),
            least=self.least * trips,
        )


@dataclass(frozen=True, slots=True)
class _Nest:
    """A loop and the one in it: `outer` is `do { initial; before; inner; after } while (outer.condition)`.

    `state` belongs to the inner loop. `finish` is live after the inner loop, `entered` says whether it runs.
    """

    outer: DoWhile
    initial: Body
    before: Body
    state: Body
    inner: DoWhile
    after: Body
    finish: Live
    entered: Expr

    @property
    def resumes(self) -> Live:
        """What is live where another iteration of the inner loop starts."""
        return live_in_loop(self.inner, self.finish)


class _Flattener:
    def __init__(self, predicates: Predicates, captured: Live, invariant: Live) -> None:
        self.predicates = predicates
        self.captured = captured
        self.invariant = invariant

    def flatten(self, loop: DoWhile, after: Live, facts: Facts, starts: Starts) -> _Flat:
        """`facts` are predicates that hold wherever the loop runs, `starts` values when it is entered.

        The loop may see to it that variables of `starts` have their values again when it is left.
        """
        inside = [place for place, stmt in enumerate(loop.body) if isinstance(stmt, DoWhile)]
        if not inside:
            return self.innermost(loop, after, facts, starts)
        assert len(inside) == 1, "loops in sequence are fused before"
        before, inner, rest = loop.body[: inside[0]], loop.body[inside[0]], loop.body[inside[0] + 1 :]
        assert isinstance(inner, DoWhile)
        once = is_constant(loop.condition, 0)
        finish = live_before(rest, live_at_body_end(loop, after))
        initial, others = self.initial(before, loop, after)
        entered = self.entered(inner, initial, others)
        runs = entered in facts or is_constant(entered, 1)
        inner_starts = _starts(initial, (*others, *rest), loop) if runs and not once else {}
        inner_facts = facts | {entered} if self.is_invariant(entered) else facts
        flat = self.flatten(inner, finish, inner_facts, inner_starts)
        before = tuple(
            s for s in before if inner_starts.keys().isdisjoint(written(flat.state) & written((s,)))
        )
        around = (*before, *rest)
        touched = read(around).union(written(around), variables_in(loop.condition))
        local = tuple(stmt for stmt in flat.state if not touched.isdisjoint(targets(stmt)))
        state = tuple(stmt for stmt in flat.state if touched.isdisjoint(targets(stmt)))
        initial, before = self.initial((*before, *local), loop, after)
        nest = _Nest(loop, initial, before, state, flat.loop, rest, finish, ir.TRUE if runs else entered)
        if once:
            return self.whole(nest)
        return self.ahead(nest, flat.least, after, facts, starts) if runs else self.inside(nest, _Extra())

    def innermost(self, loop: DoWhile, after: Live, facts: Facts, starts: Starts) -> _Flat:
        """A loop of straight-line code; its counter is set back in time if that has to be done."""
        counter = self.counter(loop.body, loop.condition, starts, after)
        if counter is None:
            return _Flat((), loop, 1)
        state, loop = count_inner(loop, counter, facts, self.predicates)
        return _Flat(state, loop, counter.trips or 1)

    def counter(self, body: Body, condition: Expr, starts: Starts, after: Live) -> Counter | None:
        """A loop's counter, if the loop's condition depends on nothing else that changes."""
        counter = find_counter(body, condition, starts, after)
        if counter is None or not self.is_invariant(
            replace_reads(condition, {counter.variable: counter.start})
        ):
            return None
        return counter

    def initial(self, before: Body, loop: DoWhile, after: Live) -> tuple[Body, Body]:
        """The constants that may be assigned before the loop and at the end of its body instead; the rest."""
        touched = set(variables_in(loop.guard))
        if not is_constant(loop.condition, 0):
            touched |= after
        initial, rest = list[Stmt](), list[Stmt]()
        for stmt in before:
            match stmt:
                case Assign(variable, value) if variable not in touched and self.is_initial(value):
                    initial.append(stmt)
                case _:
                    rest.append(stmt)
                    touched |= read((stmt,))
            touched |= written((stmt,))
        return tuple(initial), tuple(rest)

    def is_initial(self, value: Expr) -> bool:
        match value:
            case Const():
                return True
            case Read(variable):
                return variable in self.invariant
            case _:
                return False

    def entered(self, inner: DoWhile, initial: Body, before: Body) -> Expr:
        """The guard of an inner loop; with constants put in, if it never changes then."""
        overwritten = written(before)
        known = {
            stmt.variable: stmt.value
            for stmt in initial
            if isinstance(stmt, Assign) and stmt.variable not in overwritten
        }
        guard = self.predicates.truth(inner.guard)
        folded = self.predicates.truth(map_expr(replace_reads(guard, known), fold))
        return folded if self.is_invariant(folded) else guard

    def is_invariant(self, expr: Expr) -> bool:
        return self.invariant.issuperset(variables_in(expr)) and not any(loads_in(expr))

    def guarded(self, body: Body, predicate: Expr, keep: Iterable[Variable]) -> Body:
        return guarded(body, predicate, keep, self.predicates)

    # --- The flat loop of a nest

    def inside(self, nest: _Nest, extra: _Extra) -> _Flat:
        """The flat loop of a nest that may be repeated."""
        where = nest.inner.where
        again = extra.again or self.predicates.variable("again", where)
        more = self.predicates.variable("more", where)
        state, code, restart = self.start(nest, negate(Read(again)))
        code = (*extra.first, *code)
        body = (*nest.inner.body, Assign(more, self.predicates.truth(nest.inner.condition), where))
        if is_constant(nest.entered, 1):
            code += (*body, Assign(again, Read(more), where))
        else:
            setup, run, goes_on = self.enter(nest, again, Read(more))
            if again in variables_in(goes_on):
                state += (Assign(again, ir.FALSE, where),)
            keep = nest.finish.union(written(nest.state))
            code += (*setup, *self.guarded(body, run, keep), Assign(again, goes_on, where))
        last = self.predicates.variable("more", nest.outer.where)
        ends = Assign(last, self.predicates.truth(nest.outer.condition), nest.outer.where)
        code += self.guarded((*nest.after, ends, *nest.initial), negate(Read(again)), nest.resumes)
        code += (*extra.last, *restart)
        loop = replace(nest.outer, body=code, condition=either(Read(again), Read(last)))
        return _Flat((*nest.initial, *nest.state, *extra.state, *state), loop, extra.least)

    def ahead(self, nest: _Nest, least: int, after: Live, facts: Facts, starts: Starts) -> _Flat:
        """The same for a nest whose inner loop surely runs: its counter and sums are kept short."""
        again = self.predicates.variable("again", nest.inner.where)
        left = negate(Read(again))
        extra = _Extra(again, least=least)
        body = (*nest.initial, *nest.before, nest.inner, *nest.after)
        counter = self.counter(body, nest.outer.condition, starts, after)
        steps = counter is not None and any(stmt is counter.write for stmt in nest.after)
        if counter is not None and steps:
            goes_on = counting_on(counter, nest.outer.condition, facts)
            found = count_outer(counter, goes_on, left, min(AHEAD, least - 1), self.predicates)
            rest, stepped = step_apart(nest.after, counter, self.predicates)
            condition = replace_reads(nest.outer.condition, {counter.variable: Read(stepped)})
            nest = replace(nest, outer=replace(nest.outer, condition=condition), after=rest)
            extra = extra.plus(found.state, found.first, found.last, counter.trips or 1)
        if least > AHEAD:
            nest, extra = self.sums(nest, left, extra)
        return self.inside(nest, extra)

    def sums(self, nest: _Nest, left: Expr, extra: _Extra) -> tuple[_Nest, _Extra]:
        """Sums that start anew with the inner loop need not wait for its end."""
        excluded = read(nest.before) | written(nest.before) | written(nest.after)
        for stmt in nest.initial:
            match stmt:
                case Assign(variable, Const() as start) if variable not in excluded:
                    found = split_sum(nest.inner.body, variable, start, left)
                    if found is not None:
                        initial = tuple(other for other in nest.initial if other is not stmt)
                        inner = replace(nest.inner, body=found.body)
                        nest = replace(nest, initial=initial, inner=inner)
                        extra = extra.plus(found.state, (), found.last)
                case _:
                    pass
        return nest, extra

    def start(self, nest: _Nest, next_one: Expr, keep: Live = _NONE) -> tuple[Body, Body, Body]:
        """What stands before the inner loop: the state for it, the code, and the state for next time."""
        if not nest.before:
            return (), (), ()
        where = nest.outer.where
        start = self.predicates.variable("start", where)
        code = self.guarded(nest.before, Read(start), nest.resumes | keep)
        return (Assign(start, ir.TRUE, where),), code, (Assign(start, next_one, where),)

    def enter(self, nest: _Nest, again: Variable, more: Expr) -> tuple[Body, Expr, Expr]:
        """Whether an iteration of the inner loop runs, and whether another one will."""
        where = nest.inner.where
        setup, entered = self.predicates.named(nest.entered, "entered", where)
        if self.is_invariant(nest.entered):
            return setup, entered, both(entered, more)
        run = self.predicates.variable("run", where)
        setup += (Assign(run, either(Read(again), entered), where),)
        return setup, Read(run), select(Read(again), more, both(entered, more))

    # --- The flat loop of a kernel

    def whole(self, nest: _Nest) -> _Flat:
        """The flat loop of a nest that is not repeated."""
        if is_constant(nest.entered, 1):
            again = self.predicates.variable("again", nest.inner.where)
            state, code, restart = self.start(nest, ir.FALSE)
            goes_on = Assign(again, self.predicates.truth(nest.inner.condition), nest.inner.where)
            code += (*nest.inner.body, goes_on)
            return self.ending(nest, Read(again), (*nest.initial, *nest.state, *state), (*code, *restart))
        return self.perhaps(nest)

    def perhaps(self, nest: _Nest) -> _Flat:
        """The same where the loop may run zero times.

        Where it does not run, the kernel ends: so its body is free to write what it wants if it works on
        copies of the variables that are needed at the end.
        """
        where = nest.inner.where
        assigned = dict.fromkeys(v for stmt in statements(nest.inner.body) for v in targets(stmt))
        copies = {v: self.predicates.like(v) for v in assigned if v in nest.finish}
        old = {v: self.predicates.like(v) for v in copies}
        first = [Assign(copies[v], Read(v)) for v in copies if v in self.captured - written(nest.initial)]
        nest = _renamed(nest, copies)
        # where the test is at the top, what follows the loop may come right after another start of an iteration
        state, code, restart = self.start(nest, ir.FALSE, nest.finish)
        code += tuple(Assign(old[v], Read(copies[v])) for v in copies)
        again, more = (self.predicates.variable(name, where) for name in ("again", "more"))
        condition = self.predicates.truth(nest.inner.condition)
        top_tested = condition == self.predicates.truth(nest.inner.guard)
        if top_tested:
            setup, run = self.predicates.named(condition, "run", where)
            goes_on = run
        else:
            setup, run, goes_on = self.enter(nest, again, Read(more))
        if again in variables_in(goes_on):
            state += (Assign(again, ir.FALSE, where),)
        body = (*nest.inner.body, Assign(more, condition, where))
        code += (*setup, *self.guarded(body, run, ()), Assign(again, goes_on, where))
        last = ir.FALSE if top_tested else run
        code += tuple(Assign(v, select(last, Read(copies[v]), Read(old[v]))) for v in copies)
        return self.ending(nest, Read(again), (*first, *nest.initial, *nest.state, *state), (*code, *restart))

    def ending(self, nest: _Nest, again: Expr, state: Body, code: Body) -> _Flat:
        """What follows the last iteration."""
        code += self.guarded(nest.after, negate(again), nest.resumes)
        return _Flat(state, replace(nest.outer, body=code, condition=again))


def _renamed(nest: _Nest, names: dict[Variable, Variable]) -> _Nest:
    """The same nest with other names for some variables, but for what stands after the inner loop."""
    renaming = Renaming(names)
    inner = renaming.body((nest.inner,))[0]
    assert isinstance(inner, DoWhile)
    return replace(
        nest,
        initial=renaming.body(nest.initial),
        before=renaming.body(nest.before),
        inner=inner,
        finish=frozenset(names.get(v, v) for v in nest.finish),
        entered=renaming.expr(nest.entered),
    )


def _starts(initial: Body, others: Body, loop: DoWhile) -> dict[Variable, Const]:
    """The constants before an inner loop for variables that nothing else around it touches."""
    touched = read(others).union(written(others), variables_in(loop.condition), variables_in(loop.guard))
    starts: dict[Variable, Const] = {}
    for stmt in initial:
        match stmt:
            case Assign(variable, Const() as value) if variable not in touched:
                starts[variable] = value
            case _:
                pass
    return starts
