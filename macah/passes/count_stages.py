"""Flattens nests that run equally often each time, before they are fused with what stands before or behind.

    do { do A while (x < 16); } while (y < 16);   do { do B while (v < 30); } while (u < 30);

Fused level by level, the counters of both nests would wait for each other: which loop's turn it is decides
what steps. As one flat loop, each counts by itself and knows some iterations ahead when it ends (`counters`).

What tells this (`first`, `last`) goes on in the turns of other loops: the counters rest at their starts then,
and nothing ends. So `over` says in each iteration whether it is the last one of the loop, in whoever's turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from macah import ir
from macah.ir import Apply, Assign, Body, DoWhile, If, Read, Stmt, Variable
from macah.passes.ahead import constants, parts_of
from macah.passes.convert_ifs import converted
from macah.passes.counters import AHEAD, Counter, Starts, count_inner, find_counter
from macah.passes.flatten_loops import Flattener
from macah.passes.liveness import Live, live_before
from macah.passes.nest import Flat
from macah.passes.predicate import Predicates
from macah.walk import Renaming, is_constant, read, statements, targets, written

FAR = 8
"""So many iterations ahead it is told that a nest ends, if it has more: the next turn waits for that."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A flat loop, and what stands at the start and at the end of an iteration whoever's turn it is."""

    loop: DoWhile
    first: Body
    last: Body
    over: Variable


class CountStages:
    """Flattens loops of a kernel; `state` are constants to assign where the kernel starts."""

    def __init__(self, kernel: ir.Kernel, predicates: Predicates) -> None:
        self.predicates = predicates
        self.flattener = Flattener(kernel, predicates)
        self.rare = {branch.where for branch in kernel.rare}
        self.state: list[Assign] = []
        self.live: set[Variable] = set()

    def keep(self, state: Sequence[Assign]) -> None:
        """These must keep their values between loops, as they are assigned before all of them only."""
        self.state += state
        self.live |= {stmt.variable for stmt in state}

    def flat(self, known: Starts, loop: DoWhile, after: Live) -> Counted | None:
        """A loop, as a flat one if it runs a constant number of times; `known` are constants before it."""
        counter = _counter(known, loop)
        if counter is None or counter.variable in after or not self.is_simple(loop):
            return None
        trips = _trips(counter, loop)
        if trips <= AHEAD + 1:
            return None
        own = self.own(loop, counter.variable, after)
        (straight,) = converted(Renaming(own).body((loop,)), after, self.predicates)
        assert isinstance(straight, DoWhile)
        self.flattener.free.clear()
        starts = {own[counter.variable]: counter.start}
        flat = self.flattener.flatten(straight, after, frozenset(), starts)
        if parts_of(loop.body) is not None:
            flat = self.counted(flat, trips)
        made, state = self.apart(flat.loop), [stmt for stmt in flat.state if isinstance(stmt, Assign)]
        assert {stmt.variable for stmt in state}.isdisjoint(read((loop,)) | after)
        self.keep(state if made else ())
        return made

    def own(self, loop: DoWhile, counter: Variable, after: Live) -> dict[Variable, Variable]:
        """New variables for what the loop writes and nobody else needs, so that they may keep a state."""
        kept = live_before((loop,), after) - {counter} | after
        changed = (v for stmt in statements((loop,)) for v in targets(stmt) if v not in kept)
        return {variable: self.predicates.like(variable) for variable in dict.fromkeys(changed)}

    def counted(self, flat: Flat, trips: int) -> Flat:
        """A flat loop that is told how often it runs by a counter of its own."""
        variable, where = Variable("turns", where=flat.loop.where), flat.loop.where
        step = Assign(variable, Apply("add", (Read(variable), ir.TRUE)), where)
        loop = DoWhile((*flat.loop.body, step), Read(variable), where=where)
        counter = Counter(variable, ir.FALSE, ir.TRUE, step, trips)
        told = count_inner(loop, counter, frozenset(), self.predicates, min(FAR, trips - 2))
        self.flattener.free.append((told.first, told.last))
        self.flattener.over = told.over
        return Flat((*flat.state, *told.state), told.loop, trips)

    def apart(self, loop: DoWhile) -> Counted | None:
        """The loop with what runs freely apart from it; None if that cannot be moved."""
        first = [stmt for heads, _ in self.flattener.free for stmt in heads]
        last = [stmt for _, tails in self.flattener.free for stmt in tails]
        free = {id(stmt) for stmt in (*first, *last)}
        rest = tuple(stmt for stmt in loop.body if id(stmt) not in free)
        over = self.flattener.over
        if over is None or len(rest) + len(free) != len(loop.body):
            return None
        moved = _moved(loop.body, first) and _moved(loop.body[::-1], last)
        return Counted(replace(loop, body=rest), tuple(first), tuple(last), over) if moved else None

    def is_simple(self, loop: DoWhile) -> bool:
        """True if there is no branch in it that may take turns of its own."""
        return not any(isinstance(stmt, If) and stmt.where in self.rare for stmt in statements((loop,)))


def _moved(body: Body, some: Sequence[Stmt]) -> bool:
    """True if some statements of a body may stand before all others, or behind if `body` is backwards."""
    moved = {id(stmt) for stmt in some}
    touched, changed = set[Variable](), set[Variable]()
    for stmt in body:
        if id(stmt) in moved:
            if not touched.isdisjoint(targets(stmt)) or not changed.isdisjoint(read((stmt,))):
                return False
        else:
            changed |= written((stmt,))
            touched |= read((stmt,)) | written((stmt,))
    return True


def _counter(before: Starts, loop: DoWhile) -> Counter | None:
    """What counts a loop whose number of iterations is a constant, as are those of the loops in it."""
    counter = find_counter(loop.body, loop.condition, before, frozenset())
    if counter is None or counter.trips is None or not is_constant(loop.guard, 1):
        return None
    parts = parts_of(loop.body)
    return counter if parts is None or _counter(constants(parts.before), parts.inner) else None


def _trips(counter: Counter, loop: DoWhile) -> int:
    """How many iterations the innermost loop makes."""
    parts, trips = parts_of(loop.body), counter.trips or 1
    inner = None if parts is None else _counter(constants(parts.before), parts.inner)
    return trips if parts is None or inner is None else trips * _trips(inner, parts.inner)
