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

from dataclasses import dataclass, replace

from macah import ir
from macah.fold import fold
from macah.ir import Assign, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_before, live_in_loop
from macah.passes.predicate import Predicates, either, guarded, negate, select
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
    flat = flattener.flatten(once, live_at_end(kernel), frozenset())
    return replace(kernel, body=(*flat.state, flat.loop))


@dataclass(frozen=True, slots=True)
class _Flat:
    """A loop of straight-line code, and constants that must be assigned before it first starts.

    They may be assigned even if it does not run, and they are there again when it is left.
    """

    state: Body
    loop: DoWhile


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

    def flatten(self, loop: DoWhile, after: Live, facts: frozenset[Expr]) -> _Flat:
        """`facts` are predicates that hold wherever the loop runs."""
        inside = [place for place, stmt in enumerate(loop.body) if isinstance(stmt, DoWhile)]
        if not inside:
            return _Flat((), loop)
        assert len(inside) == 1, "loops in sequence are fused before"
        before, inner, rest = loop.body[: inside[0]], loop.body[inside[0]], loop.body[inside[0] + 1 :]
        assert isinstance(inner, DoWhile)
        finish = live_before(rest, live_at_body_end(loop, after))
        entered = self.entered(inner, *self.initial(before, loop, after))
        flat = self.flatten(inner, finish, facts | {entered})
        touched = (
            read(before) | written(before) | read(rest) | written(rest) | set(variables_in(loop.condition))
        )
        local = tuple(stmt for stmt in flat.state if not touched.isdisjoint(targets(stmt)))
        state = tuple(stmt for stmt in flat.state if touched.isdisjoint(targets(stmt)))
        initial, before = self.initial((*before, *local), loop, after)
        entered = ir.TRUE if entered in facts else entered
        nest = _Nest(loop, initial, before, state, flat.loop, rest, finish, entered)
        return self.whole(nest) if is_constant(loop.condition, 0) else self.inside(nest)

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

    # --- The flat loop of a nest

    def inside(self, nest: _Nest) -> _Flat:
        """The flat loop of a nest that may be repeated."""
        where = nest.inner.where
        again, more = (self.predicates.variable(name, where) for name in ("again", "more"))
        state, code, restart = self.start(nest, negate(Read(again)))
        body = (*nest.inner.body, Assign(more, self.predicates.truth(nest.inner.condition), where))
        if is_constant(nest.entered, 1):
            code += (*body, Assign(again, Read(more), where))
        else:
            setup, run, goes_on = self.enter(nest, again, Read(more))
            if again in variables_in(goes_on):
                state += (Assign(again, ir.FALSE, where),)
            keep = nest.finish.union(written(nest.state))
            code += (*setup, *guarded(body, run, keep), Assign(again, goes_on, where))
        last = self.predicates.variable("more", nest.outer.where)
        ends = Assign(last, self.predicates.truth(nest.outer.condition), nest.outer.where)
        code += guarded((*nest.after, ends, *nest.initial), negate(Read(again)), nest.resumes)
        loop = replace(nest.outer, body=(*code, *restart), condition=either(Read(again), Read(last)))
        return _Flat((*nest.initial, *nest.state, *state), loop)

    def start(self, nest: _Nest, next_one: Expr) -> tuple[Body, Body, Body]:
        """What stands before the inner loop: the state for it, the code, and the state for next time."""
        if not nest.before:
            return (), (), ()
        where = nest.outer.where
        start = self.predicates.variable("start", where)
        code = guarded(nest.before, Read(start), nest.resumes)
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
        state, code, restart = self.start(nest, ir.FALSE)
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
        code += (*setup, *guarded(body, run, ()), Assign(again, goes_on, where))
        last = ir.FALSE if top_tested else run
        code += tuple(Assign(v, select(last, Read(copies[v]), Read(old[v]))) for v in copies)
        return self.ending(nest, Read(again), (*first, *nest.initial, *nest.state, *state), (*code, *restart))

    def ending(self, nest: _Nest, again: Expr, state: Body, code: Body) -> _Flat:
        """What follows the last iteration."""
        code += guarded(nest.after, negate(again), nest.resumes)
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
