"""Makes blocking receives of the flat loop safe to pipeline: an iteration that would wait becomes a bubble.

    do { out <! a; x <? in; a = a + x; } while (a < 9);

becomes

    fresh = 1;
    do {
        old = a;
        out <! a if fresh;
        go or wait :: x <? in;         // go: 0 where the receive would have to wait
        a = a + x;
        a = go ? a : old;
        fresh = go;
    } while (!go | a < 9);

A bubble has no effect and changes nothing, so the next iteration tries the same again, while what earlier
ones have computed leaves the pipeline. What comes before the receive has happened in the first attempt and is
not done again.

The blocking receives r1, r2, … cut the body into segments 0, 1, …. Segment k runs once r1 … rk have passed;
it is `fresh` if it has not run in an attempt before. What it got when it ran, from streams, or from memory
that is overwritten before the last receive, is held. A receive is tried as soon as it is known that it takes
place, whether or not those before it have passed; it is `open` if it has not passed in an attempt before.

Blocking sends still hold up everything. So the graph of such a kernel keeps the order of all of them; each
depends on the receives before it, so whatever the program did before a send has happened when that waits, and
what is held up would come later in the program, too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from backend.dfg import Place
from macah import ir
from macah.ir import Apply, Array, Assign, Body, Const, Expr, Load, Read, Stmt, Variable
from macah.passes.liveness import live_at_end, live_in_loop
from macah.passes.past import past
from macah.passes.predicate import negate
from macah.walk import (
    arrays_written,
    both,
    fresh,
    is_constant,
    loads_in,
    map_expr,
    map_operands,
    map_targets,
    operands,
    parted,
    targets,
    truth,
    variables_in,
    with_guard,
)


def bubbles(kernel: ir.Kernel) -> ir.Kernel:
    """Make blocking receives bubbles in a kernel that asks for it; see the module for an example."""
    rare = any(isinstance(stmt, ir.Turns | ir.Late) for stmt in parted(kernel.body)[1])
    if not rare and (not kernel.bubbles or kernel.ordered):
        return kernel
    *leading, loop = kernel.body or (ir.DoWhile((), ir.FALSE),)
    if not isinstance(loop, ir.DoWhile):
        leading, loop = [], ir.DoWhile(kernel.body, ir.FALSE, where=kernel.where)
    safe = kernel.bubbles and not kernel.ordered
    waiting = [place for place, stmt in enumerate(loop.body) if _waits(stmt, safe)]
    if not waiting and not rare:
        return replace(kernel, bubbles=False)
    bubbler = _Bubbler(kernel, loop, waiting)
    loop = bubbler.loop()
    return replace(kernel, body=(*leading, *bubbler.start, loop))


def _waits(stmt: Stmt, receives: bool) -> bool:
    match stmt:
        case ir.Receive(worked=None, guard=guard):
            return receives and not is_constant(guard, 0)
        case ir.Turns(guard=guard):
            return not is_constant(guard, 0)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Gate:
    """A blocking receive or a rare branch.

    `open` says that it has not passed in an attempt before, `done` that it has by now. `open` is None if the
    iteration goes on as soon as it has passed. `over` says of a rare branch that its last turn has come.
    """

    open: Variable | None
    done: Expr
    over: Variable | None = None


@dataclass(slots=True)
class _Bubbler:
    kernel: ir.Kernel
    old: ir.DoWhile
    waiting: list[int]  # the places of blocking receives
    start: list[Stmt] = field(default_factory=list)
    out: list[Stmt] = field(default_factory=list)
    gates: list[_Gate] = field(default_factory=list)
    passed: list[Expr] = field(default_factory=lambda: [ir.TRUE])  # by segment
    fresh: dict[int, Variable] = field(default_factory=dict)  # by segment
    level: dict[Variable, int] = field(default_factory=dict)  # the segment that a value comes from
    streams: dict[ir.Stream, int] = field(default_factory=dict)  # the last segment that used it
    kept: set[Variable] = field(default_factory=set)  # these are not changed by a bubble anyway
    writes: Counter[Variable] = field(default_factory=Counter)
    first_read: dict[Variable, int] = field(default_factory=dict)
    over: dict[Place | None, tuple[Variable, int]] = field(default_factory=dict)
    shifts: list[Stmt] = field(default_factory=list)
    changes: dict[Array, int] = field(default_factory=dict)  # the last store before the last receive

    def loop(self) -> ir.DoWhile:
        """The loop with bubbles; `start` is what has to be assigned before it."""
        body = self.old.body
        self.survey(body)
        stored = arrays_written(body)
        for place, stmt in enumerate(body):
            stmt = self.with_loads_held(stmt, place)
            level = max((self.level_of(expr, stored) for expr in operands(stmt)), default=0)
            if place in self.waiting:
                if isinstance(stmt, ir.Turns):
                    self.turns(stmt)
                else:
                    assert isinstance(stmt, ir.Receive)
                    self.receive(stmt, place, level)
            elif isinstance(stmt, ir.Late):
                self.late(stmt)
            elif isinstance(stmt, ir.Turns):
                pass  # its condition is never true
            elif isinstance(stmt, Assign):
                self.level[stmt.variable] = level
                self.out.append(stmt)
            else:
                self.effect(stmt, place)
        return self.finished()

    def survey(self, body: Body) -> None:
        for place, stmt in enumerate(body):
            self.writes.update(targets(stmt))
            for expr in operands(stmt):
                for variable in variables_in(expr):
                    self.first_read.setdefault(variable, place)
            if isinstance(stmt, ir.Store) and place < self.last:
                self.changes[stmt.array] = place

    @property
    def segment(self) -> int:
        return len(self.gates)

    @property
    def is_last(self) -> bool:
        """True in the last segment: what happens there need not be held."""
        return self.segment == len(self.waiting)

    @property
    def last(self) -> int:
        """The place of the last gate."""
        return self.waiting[-1] if self.waiting else -1

    def level_of(self, expr: Expr, stored: set[Array]) -> int:
        """The first segment in which the value is right: what it is made of comes from it or earlier ones."""
        if any(load.array in stored for load in loads_in(expr)):
            return self.segment
        return max((self.level.get(variable, 0) for variable in variables_in(expr)), default=0)

    # --- What is in the body

    def receive(self, stmt: ir.Receive, place: int, level: int) -> None:
        # Where the stream has ended, the targets keep what they had.
        needed = max(level, self.streams.get(stmt.stream, 0), *(self.level.get(v, 0) for v in stmt.targets))
        ready = self.passed[needed]
        sequential = needed == self.segment
        passed = Variable("go" if len(self.waiting) == 1 else "passed", where=stmt.where)
        open_ = None
        waiting = replace(stmt, guard=both(ready, stmt.guard), passed=passed)
        if sequential and self.segment + 1 == len(self.waiting):
            self.out.append(waiting)
            self.kept |= {v for v in stmt.targets if self.writes[v] == 1}
        else:
            open_ = Variable("open", where=stmt.where)
            self.start.append(Assign(open_, ir.TRUE))
            self.held(waiting, place, open_)
        after = self.named(both(self.passed[-1], Read(passed)))
        self.gates.append(_Gate(open_, after if sequential else both(ready, Read(passed))))
        self.passed.append(after)
        self.streams[stmt.stream] = self.segment
        self.level |= dict.fromkeys(stmt.targets, self.segment)

    def turns(self, stmt: ir.Turns) -> None:
        """A gate that passes when it has been tried `count` times in vain, if its guard is true at all."""
        asked: Expr = both(self.passed[-1], stmt.guard)
        open_ = None
        if self.segment + 1 < len(self.waiting):
            open_ = Variable("open", where=stmt.where)
            self.start.append(Assign(open_, ir.TRUE))
            asked = both(Read(open_), asked)
        waits, over = Variable("waits", where=stmt.where), Variable("over", where=stmt.where)
        before = self.past(waits, stmt.count)
        all_: Expr = ir.TRUE
        for turn in before:
            all_ = both(all_, Read(turn))
        self.out.append(Assign(over, all_, stmt.where))
        self.out.append(Assign(waits, both(asked, negate(Read(over))), stmt.where))
        after = self.named(both(self.passed[-1], negate(Read(waits))))
        self.over[stmt.where] = (over, stmt.count)
        self.gates.append(_Gate(open_, after, over))
        self.passed.append(after)

    def past(self, variable: Variable, count: int) -> tuple[Variable, ...]:
        """What a variable was one, two, … turns ago; 0 before the loop."""
        before = past(variable, count)
        self.start += before.start
        self.shifts += before.steps
        return before.values

    def late(self, stmt: ir.Late) -> None:
        """The value of some turns ago, in the turn in which that is the iteration's first."""
        guard, value = stmt.guard, stmt.value
        if stmt.where in self.over:
            over, count = self.over[stmt.where]
            new = Variable(stmt.target.name, value.bits, stmt.where)
            self.out.append(Assign(new, value, stmt.where))
            value = Read(self.past(new, count)[-1])
            if self.is_last and self.gates[-1].over == over:
                guard = both(Read(over), guard)
                self.kept |= {stmt.target} if self.writes[stmt.target] == 1 else set()
            else:
                held = fresh(new)
                self.out.append(Assign(held, Apply("select", (Read(over), value, Read(held)))))
                value = Read(held)
        self.level[stmt.target] = self.segment
        self.out.append(Assign(stmt.target, Apply("select", (guard, value, Read(stmt.target))), stmt.where))

    def effect(self, stmt: Stmt, place: int) -> None:
        if isinstance(stmt, ir.Move):
            self.streams[stmt.stream] = self.segment
        self.level |= dict.fromkeys(targets(stmt), self.segment)
        if self.is_last:
            self.out.append(with_guard(stmt, self.passed[-1]))
            self.kept |= {v for v in targets(stmt) if self.writes[v] == 1}
            return
        self.held(with_guard(stmt, self.passed[-1]), place, self.is_fresh())

    def held(self, stmt: Stmt, place: int, first: Variable) -> None:
        """A statement that happens only if `first`; if not, its targets are what it made of them before."""
        copies = {v: fresh(v) for v in targets(stmt) if not self.is_own(v, place)}
        if isinstance(stmt, ir.Receive) and stmt.passed is not None:
            copies.pop(stmt.passed, None)
        self.kept |= set(targets(stmt)) - copies.keys()
        for variable, copy in copies.items():
            self.out.append(Assign(copy, Apply("select", (Read(first), Read(variable), Read(copy)))))
        guarded = with_guard(stmt, Read(first))
        self.out.append(map_targets(guarded, lambda variable: copies.get(variable, variable)))
        self.out += [Assign(variable, Read(copy)) for variable, copy in copies.items()]

    def is_own(self, variable: Variable, place: int) -> bool:
        """True if a variable is written here only, and not read before: it may keep its value in a bubble."""
        return self.writes[variable] == 1 and self.first_read.get(variable, place + 1) > place

    def with_loads_held(self, stmt: Stmt, place: int) -> Stmt:
        """The statement, in which what a later store may overwrite before the last receive is held."""

        def hold(expr: Expr) -> Expr:
            if not isinstance(expr, Load) or self.changes.get(expr.array, -1) <= place or self.is_last:
                return expr
            copy = Variable(expr.array.name, expr.bits, stmt.where)
            self.out.append(Assign(copy, Apply("select", (Read(self.is_fresh()), expr, Read(copy)))))
            self.level[copy] = self.segment
            return Read(copy)

        return map_operands(stmt, lambda expr: map_expr(expr, hold))

    def is_fresh(self) -> Variable:
        """Whether the segment has not run in an attempt before."""
        if self.segment not in self.fresh:
            variable = self.fresh[self.segment] = Variable("fresh", where=self.old.where)
            if self.segment == 0:
                self.start.append(Assign(variable, ir.TRUE))
            else:
                self.out.append(Assign(variable, self.any_open()))
        return self.fresh[self.segment]

    def any_open(self) -> Expr:
        """Whether one of the receives so far had not passed when the iteration began."""
        found: Expr = ir.FALSE
        for k, gate in enumerate(self.gates):
            assert gate.open is not None
            one = Read(gate.open)
            # If a receive waits for all before it, they have passed if it has.
            found = one if gate.done == self.passed[k + 1] else Apply("or", (found, one))
        return found

    def named(self, value: Expr) -> Expr:
        """A predicate that stays what it is now."""
        if isinstance(value, Const | Read):
            return value
        variable = Variable("go" if self.segment + 1 == len(self.waiting) else "passed")
        self.out.append(Assign(variable, value, self.old.where))
        return Read(variable)

    # --- The whole

    def finished(self) -> ir.DoWhile:
        go, where = self.passed[-1], self.old.where
        waits = negate(go)
        live = live_in_loop(self.old, live_at_end(self.kernel))
        state = [v for v in dict.fromkeys(v for s in self.old.body for v in targets(s)) if v in live]
        before = {v: fresh(v) for v in state if v not in self.kept}
        saved = [Assign(copy, Read(v)) for v, copy in before.items()]
        for v, copy in before.items():
            self.out.append(Assign(v, Apply("select", (go, Read(v), Read(copy))), where))
        for gate in self.gates:
            if gate.open is not None:
                self.out.append(Assign(gate.open, Apply("eq", (gate.done, go)), where))
        if 0 in self.fresh:
            self.out.append(Assign(self.fresh[0], go, where))
        self.out += self.shifts
        condition = Apply("or", (waits, truth(self.old.condition)))
        return ir.DoWhile((*saved, *self.out), condition, self.old.guard, where)
