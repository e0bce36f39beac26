"""Makes one loop of a nest, and of the whole kernel.

    do { S0; do B while (b) if g; S1; } while (d);

becomes

    start = 1; again = 0;
    do {
        [start] S0;  run = again | g;
        [run] B;     again = run & b;  left = !again;
        [left] S1;   start = left;
    } while (again | d);

where `[p] X` is X under the predicate p. `start` and `again` are again what they were when the loop is left.
An inner loop that runs at least once costs no iterations of its own, one that does not run costs one.

Constants at the start of S0 are assigned before the loop and after S1, so that they need no `start`:

    i = 0; do { j = 0; do { B; j = j + 1; } while (j < 8); i = i + 1; } while (i < 8);

    i = 0; j = 0; do { B; j' = j + 1; left = j' >= 8; i' = i + 1;
                       i = left ? i' : i; j = left ? 0 : j'; } while (!left | i' < 8);

The kernel as a whole is treated as the body of a loop that runs once: what stands before its loop runs in the
first iteration, and what follows in the last one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from macah import ir
from macah.ir import Assign, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_before, live_in_loop
from macah.passes.predicate import Predicates, either, guarded, negate
from macah.walk import both, is_constant, read, variables_in, written


def flatten_loops(kernel: ir.Kernel) -> ir.Kernel:
    """Make the kernel some constants and one loop of straight-line code; see the module for an example."""
    captured = {c.what for c in kernel.captured if c.into and isinstance(c.what, Variable)}
    invariant = frozenset(captured - written(kernel.body))
    flattener = _Flattener(Predicates(kernel), invariant)
    setup, loop = flattener.flatten(DoWhile(kernel.body, ir.FALSE, where=kernel.where), live_at_end(kernel))
    return replace(kernel, body=(*setup, *flattener.state, loop))


@dataclass(frozen=True, slots=True)
class _Nest:
    """A loop and the one in it: `outer` is `do { before; inner; after } while (outer.condition)`.

    `initial` are the constants from the start of its body. `finish` is live after the inner loop, `resumes`
    where another of its iterations starts.
    """

    outer: DoWhile
    initial: Body
    before: Body
    inner: DoWhile
    after: Body
    finish: Live
    resumes: Live

    @property
    def once(self) -> bool:
        """True if the outer loop runs once."""
        return is_constant(self.outer.condition, 0)


class _Flattener:
    def __init__(self, predicates: Predicates, invariant: Live) -> None:
        self.predicates = predicates
        self.invariant = invariant
        self.state: list[Assign] = []

    def flatten(self, loop: DoWhile, after: Live) -> tuple[Body, DoWhile]:
        """A loop of straight-line code, and constants to be assigned before it, whether it runs or not."""
        inside = [place for place, stmt in enumerate(loop.body) if isinstance(stmt, DoWhile)]
        if not inside:
            return (), loop
        assert len(inside) == 1, "loops in sequence are fused before"
        before, inner, rest = loop.body[: inside[0]], loop.body[inside[0]], loop.body[inside[0] + 1 :]
        assert isinstance(inner, DoWhile)
        finish = live_before(rest, live_at_body_end(loop, after))
        setup, inner = self.flatten(inner, finish)
        initial, before = self.initial((*before, *setup), loop, after)
        nest = _Nest(loop, initial, before, inner, rest, finish, live_in_loop(inner, finish))
        return self.flat(nest)

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

    def flat(self, nest: _Nest) -> tuple[Body, DoWhile]:
        """The flat loop of a nest."""
        where = nest.inner.where
        again, left = (self.predicates.variable(name, where) for name in ("again", "left"))
        keep = nest.finish | {stmt.variable for stmt in self.state}
        enter, run, restart = self.enter(nest, again, left)
        more = self.predicates.variable("while", where)
        body = (*nest.inner.body, Assign(more, self.predicates.truth(nest.inner.condition), where))
        made = (
            *enter,
            *guarded(body, run, keep),
            Assign(again, both(run, Read(more)), where),
            Assign(left, negate(Read(again)), where),
        )
        finish, condition = self.finish(nest, Read(again), Read(left))
        loop = replace(nest.outer, body=(*made, *finish, *restart), condition=condition)
        return nest.initial, loop

    def enter(self, nest: _Nest, again: Variable, left: Variable) -> tuple[Body, Expr, Body]:
        """How an iteration starts, whether `B` runs in it, and what to do at the end for the next one."""
        where = nest.outer.where
        code, restart = list[Stmt](), list[Stmt]()
        if nest.before:
            start = self.predicates.variable("start", where)
            self.state.append(Assign(start, ir.TRUE, where))
            code += guarded(nest.before, Read(start), nest.resumes)
            restart.append(Assign(start, ir.FALSE if nest.once else Read(left), where))
        entered = self.predicates.truth(nest.inner.guard)
        if is_constant(entered, 1):
            return tuple(code), ir.TRUE, tuple(restart)
        run = self.predicates.variable("run", where)
        self.state.append(Assign(again, ir.FALSE, where))
        code.append(Assign(run, either(Read(again), entered), where))
        return tuple(code), Read(run), tuple(restart)

    def finish(self, nest: _Nest, again: Expr, left: Expr) -> tuple[Body, Expr]:
        """What follows the inner loop, and the condition of the flat loop."""
        where = nest.outer.where
        if nest.once:
            return guarded(nest.after, left, nest.resumes), again
        more = self.predicates.variable("while", where)
        last = Assign(more, self.predicates.truth(nest.outer.condition), where)
        code = guarded((*nest.after, last, *nest.initial), left, nest.resumes)
        return code, either(again, Read(more))
