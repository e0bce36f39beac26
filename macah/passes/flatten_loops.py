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

from collections.abc import Set
from dataclasses import replace

from macah import ir
from macah.fold import fold
from macah.ir import Assign, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.optional import enabled
from macah.passes.ahead import Ahead, Parts, constants, parts_of
from macah.passes.counters import (
    AHEAD,
    Counter,
    Starts,
    count_inner,
    count_outer,
    counting_on,
    find_counter,
    runs_freely,
    split_sum,
    step_apart,
)
from macah.passes.early_tests import EarlyTests
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_before, step_back
from macah.passes.nest import Builder, Extra, Flat, Nest, unwrapped
from macah.passes.predicate import Predicates, negate
from macah.propagate import Propagator
from macah.walk import (
    arrays_written,
    is_constant,
    map_expr,
    read,
    replace_reads,
    targets,
    variables_in,
    written,
)

Facts = frozenset[Expr]
_NONE: Live = frozenset()


def flatten_loops(kernel: ir.Kernel) -> ir.Kernel:
    """Make the kernel some constants and one loop of straight-line code; see the module for an example."""
    whole = DoWhile(kernel.body, ir.FALSE, where=kernel.where)
    flattener = Flattener(kernel, Predicates(kernel))
    flat = flattener.flatten(whole, live_at_end(kernel), frozenset(), {}, whole=True)
    return replace(kernel, body=(*flat.state, flat.loop))


class Flattener:
    """Flattens loops of a kernel.

    `free` are statements at the start and the end of flat loops that look ahead, `over` says of the last loop
    that was told ahead when it ends that it does: where loops take turns, these may run in all turns. A loop
    that is to be `left` stays in the flat loop around it. While the loops run, no array but those in `stored`
    is stored to (the kernel's, if it is None).
    """

    def __init__(
        self,
        kernel: ir.Kernel,
        predicates: Predicates,
        left: DoWhile | None = None,
        stored: Set[ir.Array] | None = None,
    ) -> None:
        captured = frozenset(c.what for c in kernel.captured if c.into and isinstance(c.what, Variable))
        invariant = (captured - written(kernel.body)) | predicates.unspecified
        stored = arrays_written(kernel.body) if stored is None else stored
        tests = EarlyTests(Ahead(predicates, invariant, stored))
        self.builder = Builder(predicates, captured, invariant, tests.certain)
        self.left = left
        self.early_tests = tests if enabled(kernel, "run_ahead") and not left else None
        self.counts_ahead = enabled(kernel, "count_ahead") and not left
        self.free: list[tuple[Body, Body]] = []
        self.over: Variable | None = None
        self.predicates = predicates

    def flatten(self, loop: DoWhile, after: Live, facts: Facts, starts: Starts, whole: bool = False) -> Flat:
        """`facts` are predicates that hold wherever the loop runs, `starts` values when it is entered.

        The loop may see to it that variables of `starts` have their values again when it is left. The whole
        kernel is the one loop that is never entered again.
        """
        loop = replace(loop, body=unwrapped(loop.body))
        inside = [
            place
            for place, stmt in enumerate(loop.body)
            if isinstance(stmt, DoWhile) and stmt is not self.left
        ]
        if not inside:
            return self.innermost(loop, after, facts, starts)
        assert len(inside) == 1, "loops in sequence are fused before"
        before, inner, rest = loop.body[: inside[0]], loop.body[inside[0]], loop.body[inside[0] + 1 :]
        assert isinstance(inner, DoWhile)
        before, inner = self.early(before, inner)
        finish = live_before(rest, live_at_body_end(loop, after))
        kept = _NONE if whole else after
        initial, others = self.initial(before, loop, kept)
        entered = self.entered(inner, initial, others)
        runs = entered in facts or is_constant(entered, 1)
        inner_starts = _starts(initial, (*others, *rest), loop) if runs and not whole else {}
        inner_facts = facts | {entered} if self.builder.is_invariant(entered) else facts
        flat = self.flatten(inner, finish, inner_facts, inner_starts)
        restored = written(flat.state) & inner_starts.keys()
        before = tuple(stmt for stmt in before if restored.isdisjoint(targets(stmt)))
        around = (*before, *rest)
        touched = read(around).union(written(around), variables_in(loop.condition))
        local = tuple(stmt for stmt in flat.state if not touched.isdisjoint(targets(stmt)))
        state = tuple(stmt for stmt in flat.state if touched.isdisjoint(targets(stmt)))
        initial, before = self.initial((*before, *local), loop, kept)
        nest = Nest(loop, initial, before, state, flat.loop, rest, finish, ir.TRUE if runs else entered)
        if whole:
            return self.builder.whole(nest)
        if runs and self.counts_ahead:
            return self.ahead(nest, flat.least, after, facts, starts)
        return self.builder.inside(nest, Extra())

    def early(self, before: Body, inner: DoWhile) -> tuple[Body, DoWhile]:
        """The same with what can be computed before it is needed, if the inner loop is a nest."""
        inner = replace(inner, body=unwrapped(inner.body))
        parts = parts_of(inner.body)
        if parts is None or _counts(parts) or self.early_tests is None:
            return before, inner
        if parts_of(parts.inner.body) is None and not self.counts_alike(parts):
            parts = self.early_tests.made(parts)
            inner = replace(inner, body=parts.body)
        found = self.early_tests.ahead.run_ahead(inner)
        if found is None:
            return before, inner
        prologue, inner = found
        known = Propagator(self.predicates.holds)
        before = known.body(before)
        return (*before, *_last_assigns(known.body(prologue))), inner

    def counts_alike(self, parts: Parts) -> bool:
        """True if the inner loop always counts equally far, which `counters` does better."""
        inner = parts.inner
        return self.counter(inner.body, inner.condition, constants(parts.before), _NONE) is not None

    def innermost(self, loop: DoWhile, after: Live, facts: Facts, starts: Starts) -> Flat:
        """A loop of straight-line code; its counter is set back in time if that has to be done."""
        counter = self.counter(loop.body, loop.condition, starts, after) if self.counts_ahead else None
        if counter is None:
            return Flat((), loop, 1)
        told = count_inner(loop, counter, facts, self.predicates)
        if runs_freely(counter):
            self.free.append((told.first, told.last))
            self.over = told.over
        return Flat(told.state, told.loop, counter.trips or 1)

    def counter(self, body: Body, condition: Expr, starts: Starts, after: Live) -> Counter | None:
        """A loop's counter, if the loop's condition depends on nothing else that changes."""
        counter = find_counter(body, condition, starts, after)
        if counter is None:
            return None
        others = replace_reads(condition, {counter.variable: counter.start})
        return counter if self.builder.is_invariant(others) else None

    def initial(self, before: Body, loop: DoWhile, kept: Live) -> tuple[Body, Body]:
        """The constants that may be assigned before the loop and at the end of its body instead; the rest.

        Those in `kept` may not be assigned at its end.
        """
        touched = set(variables_in(loop.guard)) | kept
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
                return variable in self.builder.invariant
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
        return folded if self.builder.is_invariant(folded) else guard

    def ahead(self, nest: Nest, least: int, after: Live, facts: Facts, starts: Starts) -> Flat:
        """The flat loop of a nest whose inner loop surely runs: it is told ahead what comes after that."""
        again = self.predicates.variable("again", nest.inner.where)
        left = negate(Read(again))
        extra = Extra(again, least=least)
        body = (*nest.initial, *nest.before, nest.inner, *nest.after)
        counter = self.counter(body, nest.outer.condition, starts, after)
        steps = counter is not None and any(stmt is counter.write for stmt in nest.after)
        if counter is not None and steps:
            goes_on = counting_on(counter, nest.outer.condition, facts)
            found = count_outer(counter, goes_on, left, min(AHEAD, least - 1), self.predicates)
            outer = replace(nest.outer, condition=Read(found.more))
            nest = replace(nest, outer=outer, after=step_apart(nest.after, counter, self.predicates))
            extra = extra.plus(found.state, found.first, found.last, counter.trips or 1)
            self.free.append((found.first, found.last[1:]))
        if least > AHEAD:
            nest, extra = self.sums(nest, left, extra)
        return self.builder.inside(nest, extra)

    def sums(self, nest: Nest, left: Expr, extra: Extra) -> tuple[Nest, Extra]:
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


def _last_assigns(body: Body) -> Body:
    """Assignments without those that are overwritten before they are read."""
    live, needed = written(body), list[Stmt]()
    for stmt in reversed(body):
        if not live.isdisjoint(targets(stmt)):
            needed.append(stmt)
            step_back(stmt, live)
    return tuple(reversed(needed))


def _counts(parts: Parts) -> bool:
    """True if the inner loop's number of iterations is a constant."""
    counter = find_counter(parts.inner.body, parts.inner.condition, constants(parts.before), _NONE)
    return counter is not None and counter.trips is not None and is_constant(parts.inner.guard, 1)


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
