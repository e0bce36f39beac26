"""What knows rows ahead (`pace_rows`): state for a nest's loop, code at the start and the end of its body.

A stage holds what is known of a row: stage 0 of the row at work, stage 1 of the next one, and so on. When a
row ends, each stage takes over from the next one, and the last one from `source`, the variables of the outer
loop some rows further. All is taken from the values of `length - 1` iterations before, which are the same as
in the row's last one; so it may take as long to make them.

Where constants tell how all stages start, the first row starts at once. Else it is preceded by rows for
nothing, as many as there are stages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from arch.ops import word
from macah import ir
from macah.balance import latency
from macah.ir import Apply, Assign, Body, Const, Expr, Load, Read, Stmt, Variable
from macah.passes.counters import Starts, shift
from macah.passes.liveness import Live, live_before
from macah.passes.predicate import Predicates, either, negate, select
from macah.propagate import Propagator
from macah.walk import Renaming, both, children, replace_reads


@dataclass(frozen=True, slots=True)
class Rows:
    """How an outer loop goes on without its inner one: `early` before that one, `late` after it.

    They assign the variables `moved`. `known` are those of them that a row needs, as they are after `early`;
    `trips` is one of them: how often the inner loop runs. `more` says after `late` whether there is another
    row, if that is known. `finite` says that rows have an end; it is the same in all iterations.
    """

    moved: tuple[Variable, ...]
    early: Body
    late: Body
    known: tuple[Variable, ...]
    trips: Variable
    more: Variable | None
    finite: Expr = ir.TRUE


@dataclass(frozen=True, slots=True)
class Counted:
    """A variable that starts with a value in each row and is stepped by 1 or -1 in each iteration of it."""

    variable: Variable
    start: Expr
    step: int

    def at(self, base: Expr, now: Variable) -> Expr:
        """The value in an iteration."""
        return Apply("add" if self.step > 0 else "sub", (base, Read(now)))

    def base(self, start: Expr, now: Expr) -> Expr:
        """What `at` needs if a row starts in an iteration."""
        return Apply("sub" if self.step > 0 else "add", (start, now))


@dataclass(frozen=True, slots=True)
class Paced:
    """`state` is assigned before the loop, `start` and `end` are code of its body.

    In between, `first` and `last` say whether this is the first or last iteration of a row. Rows for nothing
    come before if it `waits`; `endless` says that they are over, and rows have no end.
    """

    state: Body
    start: Body
    end: Body
    first: Expr
    last: Expr
    waits: bool
    endless: Expr


def paced(rows: Rows, counted: list[Counted], length: int, starts: Starts, predicates: Predicates) -> Paced:
    """The code for rows of `length` iterations or more; `starts` are constants before the loop."""
    return _Maker(rows, counted, length, predicates).made(starts)


@dataclass(slots=True)
class _State:
    """Variables that are carried, their initial values, what they become, and what they were before."""

    length: int
    initial: dict[Variable, Expr] = field(default_factory=dict)
    updates: dict[Variable, Expr] = field(default_factory=dict)
    delayed: dict[Variable, list[Variable]] = field(default_factory=dict)

    def before(self, variable: Variable) -> Expr:
        """What it was `length - 1` iterations ago."""
        if variable not in self.delayed:
            made = [Variable(variable.name, variable.bits) for _ in range(self.length - 1)]
            self.delayed[variable] = made
        return Read(self.delayed[variable][0])

    def assigns(self) -> Body:
        """Before the loop."""
        delays = [Assign(v, self.initial[old]) for old, made in self.delayed.items() for v in made]
        return (*(Assign(v, value) for v, value in self.initial.items()), *delays)

    def steps(self) -> Body:
        """At the end of an iteration."""
        new = {variable: Variable(variable.name, variable.bits) for variable in self.updates}
        return (
            *(Assign(new[v], value) for v, value in self.updates.items()),
            *(stmt for old, made in self.delayed.items() for stmt in shift([*made, old])),
            *(Assign(v, Read(made)) for v, made in new.items()),
        )


class _Maker:
    def __init__(self, rows: Rows, counted: list[Counted], length: int, predicates: Predicates) -> None:
        self.rows = rows
        self.counted = counted
        self.length = length
        self.predicates = predicates
        self.kept = (*rows.known, *((rows.more,) if rows.more else ()))
        own, source, *stages = (self.copies() for _ in range(3 + self.ahead()))
        self.own = Renaming(own)
        self.source = source
        self.stages = stages
        self.bases = [Variable("base") for _ in counted]
        self.now, self.end = Variable("t"), Variable("end")
        self.ends = [predicates.variable("last") for _ in range(length)]
        self.first, self.begun = predicates.variable("first"), predicates.variable("begun")
        self.state = _State(length)

    def copies(self) -> dict[Variable, Variable]:
        """Variables of a row's own."""
        return {v: self.predicates.like(v) for v in self.rows.moved}

    def made(self, starts: Starts) -> Paced:
        known = self.known(starts)
        begun: Expr = ir.TRUE if known else Read(self.begun)
        self.initialize(known, starts)
        step = self.update(begun)
        endless = both(negate(self.rows.finite), begun)  # rows for nothing do end
        ends = both(Apply("eq", (Read(self.now), Read(self.end))), negate(endless))
        start = (
            Assign(self.ends[-1], ends),
            *(Assign(v, Read(self.stages[0][v])) for v in self.kept),
            *(Assign(c.variable, c.at(Read(base), self.now)) for c, base in self.based()),
        )
        end = (*step, *self.state.steps(), Assign(self.first, Read(self.ends[0])), *shift(self.ends))
        first, last = (both(Read(v), begun) for v in (self.first, self.ends[0]))
        return Paced(self.state.assigns(), start, end, first, last, not known, endless)

    def based(self) -> Iterable[tuple[Counted, Variable]]:
        return zip(self.counted, self.bases, strict=True)

    # --- How it starts

    def known(self, starts: Starts) -> dict[Variable, Const]:
        """What stages and sources start with if constants tell; else nothing."""
        needed = self.needed()
        body: list[Stmt] = [Assign(self.own.variables[v], Read(v)) for v in needed]
        for stage in self.stages:
            body += [*self.own.body(self.rows.early), *self.copied(stage, self.rows.known)]
            body += self.own.body(self.rows.late)
            body += self.copied(stage, self.kept[len(self.rows.known) :])
        body += self.copied(self.source, tuple(needed))
        propagator = Propagator(self.predicates.holds)
        propagator.known = dict(starts)
        propagator.body(tuple(body))
        wanted = [*(stage[v] for stage in self.stages for v in self.kept), *(self.source[v] for v in needed)]
        values = propagator.known or {}
        found = {v: value for v in wanted if isinstance(value := values.get(v), Const)}
        return found if len(found) == len(wanted) else {}

    def needed(self) -> list[Variable]:
        """The variables of the outer loop whose values a row starts with."""
        rows = self.rows
        live: Live = frozenset()
        while (more := live_before(rows.early, live_before(rows.late, live).union(rows.known))) != live:
            live = more
        return [v for v in rows.moved if v in live]

    def copied(self, stage: Mapping[Variable, Variable], variables: Iterable[Variable]) -> list[Assign]:
        return [Assign(stage[v], Read(self.own.variables[v]), v.where) for v in variables]

    def initialize(self, known: Mapping[Variable, Const], starts: Starts) -> None:
        """How everything starts: with the first row, or with rows for nothing."""
        initial, needed = self.state.initial, set(self.needed())
        for v in self.rows.moved:
            begin: Expr = starts.get(v, Read(v)) if v in needed else Const(0, v.bits)
            initial[self.source[v]] = known.get(self.source[v], begin)
        for stage in self.stages:
            for v in self.kept:
                initial[stage[v]] = known.get(stage[v], Const(int(v is self.rows.more), v.bits))
        trips = known[self.stages[0][self.rows.trips]].value if known else 0
        whole = trips if 0 < trips < self.length else max(trips, self.length)
        initial[self.now] = Const(0)
        initial[self.end] = Const(word(32, whole - self.length))
        for i, v in enumerate(self.ends[:-1]):
            initial[v] = Const(int(i == whole - 1))
        initial[self.first] = Const(int(bool(known)))
        for counted, base in self.based():
            values = {v: known[self.stages[0][v]] for v in self.kept} if known else {}
            initial[base] = replace_reads(counted.start, values) if known else Const(0)
        if not known:
            initial[self.begun] = ir.FALSE

    # --- How it goes on

    def update(self, begun: Expr) -> Body:
        """Note what becomes of everything; the code that computes what comes after the last stage."""
        state, rows, updates = self.state, self.rows, self.state.updates
        last = Read(self.ends[0])
        stepped = Apply("add", (Read(self.now), Const(1)))
        following = {v: state.before(self.stages[1][v]) for v in self.kept}
        whole = Apply("umax", (following[rows.trips], Const(self.length)))
        ends = Apply("add", (state.before(self.end), whole))
        updates[self.end] = select(last, ends, Read(self.end))
        for counted, base in self.based():
            start = replace_reads(counted.start, following)
            updates[base] = select(last, counted.base(start, stepped), Read(base))
        for stage, source in zip(self.stages, self.stages[1:], strict=False):
            for v in self.kept:
                updates[stage[v]] = select(last, state.before(source[v]), Read(stage[v]))
        made = self.copies()
        code = (
            *(Assign(self.own.variables[v], state.before(self.source[v])) for v in self.needed()),
            *self.own.body(rows.early),
            *self.copied(made, rows.known),
            *self.own.body(rows.late),
            *self.copied(made, self.kept[len(rows.known) :]),
        )
        for v in self.kept:
            updates[self.stages[-1][v]] = select(last, Read(made[v]), Read(self.stages[-1][v]))
        for v in self.needed():
            updates[self.source[v]] = select(last, Read(self.own.variables[v]), Read(self.source[v]))
        updates[self.now] = stepped
        if isinstance(begun, Read):
            rows_before = Const(len(self.stages) * self.length - 1)
            updates[self.begun] = either(begun, Apply("eq", (Read(self.now), rows_before)))
        return code

    # --- How far ahead

    def ahead(self) -> int:
        """How many rows further than the row at work it must be known what comes.

        From the end of a row to the one that the source makes then takes a choice, the trips, a choice for
        each stage but the first, a sum, a choice and a comparison, in `length` iterations for each choice.
        """
        depths: dict[Variable, int] = {}
        for stmt in self.rows.early:
            assert isinstance(stmt, Assign)
            depths[stmt.variable] = _depth(stmt.value, depths)
        operations = depths.get(self.rows.trips, 0) + latency("umax") + 4
        return max(1, -(-(operations - 2 * self.length) // (self.length - 1)))


def _depth(expr: Expr, depths: Mapping[Variable, int]) -> int:
    """After how many cycles a value is there, if variables are after so many."""
    if isinstance(expr, Read):
        return depths.get(expr.variable, 0)
    longest = max((_depth(inner, depths) for inner in children(expr)), default=0)
    match expr:
        case Apply(op):
            return longest + latency(op)
        case Load():
            return longest + latency("load")
        case _:
            return 0
