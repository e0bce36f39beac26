"""The code of a flat loop: what `flatten_loops` makes of a loop and the one in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, replace

from macah import ir
from macah.ir import Assign, Body, DoWhile, Expr, Read, Stmt, Variable
from macah.passes.liveness import Live, live_before, live_in_loop
from macah.passes.merge import guarded
from macah.passes.predicate import Predicates, either, negate, select
from macah.passes.steady import steady
from macah.walk import Renaming, both, is_constant, loads_in, read, statements, targets, variables_in, written

_NONE: Live = frozenset()


@dataclass(frozen=True, slots=True)
class Flat:
    """A loop of straight-line code, and constants that must be assigned before it first starts.

    They may be assigned even if it does not run, and they are there again when it is left. It makes at least
    `least` iterations.
    """

    state: Body
    loop: DoWhile
    least: int = 1


@dataclass(frozen=True, slots=True)
class Extra:
    """What counters and sums add to a flat loop: state, and code at the start and the end of an iteration.

    `again` is the variable that says whether the inner loop goes on, `least` as in `Flat`.
    """

    again: Variable | None = None
    state: Body = ()
    first: Body = ()
    last: Body = ()
    least: int = 1

    def plus(self, state: Body, first: Body, last: Body, trips: int = 1) -> Extra:
        """This and more."""
        return replace(
            self,
            state=(*self.state, *state),
            first=(*self.first, *first),
            last=(*self.last, *last),
            least=self.least * trips,
        )


@dataclass(frozen=True, slots=True)
class Nest:
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


class Builder:
    """Makes flat loops. `captured` have a value when the kernel starts, `invariant` keep it.

    `certain` are conditions that are 0 where their loop was not entered.
    """

    def __init__(
        self, predicates: Predicates, captured: Live, invariant: Live, certain: Set[Variable]
    ) -> None:
        self.certain = certain
        self.predicates = predicates
        self.captured = captured
        self.invariant = invariant

    def is_invariant(self, expr: Expr) -> bool:
        """True if the value is the same all through the kernel."""
        return self.invariant.issuperset(variables_in(expr)) and not any(loads_in(expr))

    def guarded(self, body: Body, predicate: Expr, keep: Iterable[Variable]) -> Body:
        return guarded(body, predicate, keep, self.predicates)

    # --- The flat loop of a nest

    def inside(self, nest: Nest, extra: Extra) -> Flat:
        """The flat loop of a nest that may be repeated."""
        where = nest.inner.where
        again = extra.again or self.predicates.variable("again", where)
        more = self.predicates.variable("more", where)
        # The inner loop is over where this one starts.
        inside = written((nest.inner, *nest.state))
        same, before = steady(nest.before, inside, written((*nest.after, *nest.initial)))
        code = (*extra.first, *same, *self.guarded(before, negate(Read(again)), nest.resumes))
        state: Body = (Assign(again, ir.FALSE, where),) if before else ()
        body = (*nest.inner.body, Assign(more, self.predicates.truth(nest.inner.condition), where))
        if is_constant(nest.entered, 1):
            code += (*body, Assign(again, Read(more), where))
        else:
            setup, run, goes_on = self.enter(nest, again, Read(more))
            state = (Assign(again, ir.FALSE, where),)
            lasting = nest.finish.union(written(nest.state))
            code += (*setup, *self.guarded(body, run, lasting), Assign(again, goes_on, where))
        last = self.predicates.variable("more", nest.outer.where)
        ends = Assign(last, self.predicates.truth(nest.outer.condition), nest.outer.where)
        keep = nest.resumes | read(same)
        code += self.guarded((*nest.after, ends, *nest.initial), negate(Read(again)), keep)
        code += extra.last
        loop = replace(nest.outer, body=code, condition=either(Read(again), Read(last)))
        return Flat((*nest.initial, *nest.state, *extra.state, *state), loop, extra.least)

    def start(self, nest: Nest, keep: Live = _NONE) -> tuple[Body, Body, Body]:
        """What stands before the loop: the state for it, the code, and the state for what follows."""
        # What follows the loop may be computed in all iterations, too.
        same, before = steady(nest.before, written((nest.inner, *nest.state, *nest.after)), _NONE)
        if not before:
            return (), same, ()
        where = nest.outer.where
        start = self.predicates.variable("start", where)
        code = (*same, *self.guarded(before, Read(start), nest.resumes | keep))
        return (Assign(start, ir.TRUE, where),), code, (Assign(start, ir.FALSE, where),)

    def enter(self, nest: Nest, again: Variable, more: Expr) -> tuple[Body, Expr, Expr]:
        """Whether an iteration of the inner loop runs, and whether another one will."""
        where = nest.inner.where
        setup, entered = self.predicates.named(nest.entered, "entered", where)
        if self.is_invariant(nest.entered):
            return setup, entered, both(entered, more)
        run = self.predicates.variable("run", where)
        setup += (Assign(run, either(Read(again), entered), where),)
        if not self.certain.isdisjoint(variables_in(nest.inner.condition)):
            return setup, Read(run), more
        return setup, Read(run), both(Read(run), more)

    # --- The flat loop of a kernel

    def whole(self, nest: Nest) -> Flat:
        """The flat loop of a nest that is not repeated."""
        if is_constant(nest.entered, 1):
            again = self.predicates.variable("again", nest.inner.where)
            state, code, restart = self.start(nest)
            goes_on = Assign(again, self.predicates.truth(nest.inner.condition), nest.inner.where)
            code += (*nest.inner.body, goes_on)
            return self.ending(nest, Read(again), (*nest.initial, *nest.state, *state), (*code, *restart))
        return self.perhaps(nest)

    def perhaps(self, nest: Nest) -> Flat:
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
        condition = self.predicates.truth(nest.inner.condition)
        top_tested = condition == self.predicates.truth(nest.inner.guard)
        # With the test at the top, what follows the loop may come without another iteration of it, and each
        # iteration starts with the condition that the one before left.
        tested = frozenset(variables_in(condition)) if top_tested else _NONE
        state, code, restart = self.start(nest, nest.finish | tested)
        code += tuple(Assign(old[v], Read(copies[v])) for v in copies)
        again, more = (self.predicates.variable(name, where) for name in ("again", "more"))
        if top_tested:
            setup, run = self.predicates.named(condition, "run", where)
            goes_on = run
        else:
            setup, run, goes_on = self.enter(nest, again, Read(more))
        if again in read(setup):
            state += (Assign(again, ir.FALSE, where),)
        body = (*nest.inner.body, Assign(more, condition, where))
        code += (*setup, *self.guarded(body, run, ()), Assign(again, goes_on, where))
        last = ir.FALSE if top_tested else run
        code += tuple(Assign(v, select(last, Read(copies[v]), Read(old[v]))) for v in copies)
        state = (*first, *nest.initial, *nest.state, *state)
        return self.ending(nest, Read(again), state, (*code, *restart), tested)

    def ending(self, nest: Nest, again: Expr, state: Body, code: Body, keep: Live = _NONE) -> Flat:
        """What follows the last iteration."""
        code += self.guarded(nest.after, negate(again), nest.resumes | keep)
        return Flat(state, replace(nest.outer, body=code, condition=again))


def _renamed(nest: Nest, names: dict[Variable, Variable]) -> Nest:
    """The same nest with other names for some variables, but for what stands after the inner loop."""
    if not names:
        return nest
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


def with_loop(body: Body, after: Live, change: Callable[[DoWhile, Live, Body], Body | None]) -> Body:
    """A body with what its first loop is changed into, given what is live after it and stands before it.

    The body itself if there is none, or `change` gives None.
    """
    plain = unwrapped(body)
    for place, stmt in enumerate(plain):
        if isinstance(stmt, DoWhile):
            made = change(stmt, live_before(plain[place + 1 :], after), plain[:place])
            return body if made is None else (*plain[:place], *made, *plain[place + 1 :])
    return body


def unwrapped(body: Body) -> Body:
    """A body without `do { ... } while (0)` around parts of it."""
    made: list[Stmt] = []
    for stmt in body:
        match stmt:
            case DoWhile(inner, condition, guard) if is_constant(condition, 0) and is_constant(guard, 1):
                made += unwrapped(inner)
            case _:
                made.append(stmt)
    return tuple(made)
