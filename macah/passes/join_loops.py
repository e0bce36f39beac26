"""Joins loops in sequence that run equally often where nothing forbids it: an iteration does both' work.

    i = 0; j = 0;
    do { a[i] = x; i = i + 1; } while (i < n) if 0 < n;
    do { s = s + a[j]; j = j + 1; } while (j < n) if 0 < n;

becomes

    i = 0; j = 0;
    do { a[i] = x; i = i + 1; s = s + a[j]; j = j + 1; } while (i < n) if 0 < n;

The second loop must need nothing that the first one does in a later iteration. Loops that both use streams
stay apart: the host may serve one stream after the other. Nests are joined if their inner loops can be, too.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from arch.ops import signed
from macah import ir
from macah.fold import fold
from macah.ir import Assign, Body, Const, DoWhile, Read, Stmt, Variable
from macah.passes.elements import Elements
from macah.passes.independent import independent
from macah.passes.join_arrays import Counted, arrays_forbid
from macah.passes.liveness import Live, live_at_body_end, live_at_end, live_before, near, step_back
from macah.passes.predicate import Predicates
from macah.passes.run_alike import Candidate, Known, counter_of, run_alike, unlike
from macah.refusal import Refusal, Touch
from macah.walk import (
    Renaming,
    bodies,
    has_loop,
    map_expr,
    own_loops,
    parted,
    read,
    replace_reads,
    statements,
    targets,
    variables_in,
    written,
)


def join_loops(kernel: ir.Kernel) -> ir.Kernel:
    """Join neighbouring loops in all bodies where that is possible; see the module for an example."""
    if not _has_neighbours(kernel.body):
        return kernel
    return replace(kernel, body=_Joiner(Predicates(kernel), []).everywhere(kernel.body, live_at_end(kernel)))


def _has_neighbours(body: Body) -> bool:
    """True if there is more than one loop directly in a body, or in one inside it."""
    inside = [inner for stmt in parted(body)[1] for inner in bodies(stmt)]
    return any(own_loops(inner) > 1 for inner in (body, *inside))


def not_joined(kernel: ir.Kernel) -> list[Refusal]:
    """The loops in sequence that `join_loops` leaves, and why."""
    refused: list[Refusal] = []
    _Joiner(Predicates(kernel), refused).everywhere(kernel.body, live_at_end(kernel))
    return refused


class _Joiner:
    def __init__(self, predicates: Predicates, refused: list[Refusal]) -> None:
        self.predicates = predicates
        self.refused = refused

    def everywhere(self, body: Body, after: Live) -> Body:
        """The body with loops joined in it, and in the bodies in it."""
        if not has_loop(body):
            return body
        if own_loops(body) > 1:
            joined = self.body(independent(body, after, self.predicates, values=True), after, {})
            body = joined if own_loops(joined) < own_loops(body) else body
        live, made = set(after), list[Stmt]()
        for stmt in reversed(body):
            made.append(self.inside(stmt, near(stmt, live)) if has_loop((stmt,)) else stmt)
            step_back(stmt, live)
        return tuple(reversed(made))

    def inside(self, stmt: Stmt, after: Live) -> Stmt:
        match stmt:
            case DoWhile():
                return replace(stmt, body=self.everywhere(stmt.body, live_at_body_end(stmt, after)))
            case ir.If():
                then, orelse = self.everywhere(stmt.then, after), self.everywhere(stmt.orelse, after)
                return replace(stmt, then=then, orelse=orelse)
            case _:
                raise AssertionError(stmt)

    def body(self, body: Body, after: Live, known: Known) -> Body:
        """The body with its own loops joined."""
        done: list[Stmt] = []
        between: list[Stmt] = []
        first: Candidate | None = None
        elements = Elements(body)
        for stmt, live in zip(body, _live_after(body, after), strict=True):
            if not isinstance(stmt, DoWhile):
                between.append(stmt)
                _learn(known, stmt)
                continue
            second = Candidate(stmt, {v: known[v] for v in read((stmt,)) if v in known})
            joined = None if first is None else self.joined(first, tuple(between), second, live, elements)
            if isinstance(joined, Refusal):
                self.refused.append(joined)
            if not isinstance(joined, tuple) or first is None:
                done += [*between, stmt]
                first = second
                between = []
            else:
                before, first, between = joined
                done[-1:] = [*before, first.loop]
            for variable in written((stmt,)):
                known.pop(variable, None)
        return (*done, *between)

    def joined(
        self, first: Candidate, between: Body, second: Candidate, after: Live, elements: Elements
    ) -> tuple[Body, Candidate, list[Stmt]] | Refusal:
        """The two loops as one, and what stands before and behind it, or what forbids that."""

        def refuse(why: str, *touches: Touch) -> Refusal:
            return Refusal("fusion", first.loop.where, why, "", second.loop.where, touches)

        a, b = counter_of(first), counter_of(second)
        if a is None or b is None or not run_alike(first, a, second, b):
            return refuse(unlike(a, b))
        if _uses_streams(first.loop) and _uses_streams(second.loop):
            return refuse("both use streams, which the host may serve one after the other")
        alike = (a.start, a.step) == (b.start, b.step)
        ours = Counted(first.loop, (*first.others, a.variable) if alike else ())
        theirs = Counted(second.loop, (b.variable,) if alike else ())
        step = signed(a.step.bits, a.step.value)
        touches = arrays_forbid(ours, theirs, elements, step, a.trips)
        if touches is not None:
            return refuse("", *touches)
        moved = _moved(between, first.loop, second.loop, elements)
        if not isinstance(moved, tuple):
            line = f" (line {moved.where.line})" if moved.where else ""
            return refuse(f"what stands between them{line} can be done neither before nor behind both")
        exposed = _exposed(second.loop, after)
        if given := sorted(v.name for v in exposed & written(first.loop.body)):
            return refuse(f"the second one needs '{given[0]}' as the first one leaves it")
        setup, renamed, back, own = self.apart(first.loop, second.loop, after, exposed)
        needed = after | read((*back, *moved[1]))
        loop = self.both(first.loop, renamed, needed)
        if loop is None:
            return refuse("the loops in them cannot be joined")
        elements.joined(loop, first.loop, second.loop, own, back)
        counter = own.get(b.variable, b.variable)
        others = (*first.others, counter) if alike else first.others
        return (*moved[0], *setup), replace(first, loop=loop, others=others), [*back, *moved[1]]

    def both(self, first: DoWhile, second: DoWhile, after: Live) -> DoWhile | None:
        """A loop with both bodies; inner loops have to become one as well."""
        loop = replace(first, body=(*first.body, *second.body))
        inner = own_loops(loop.body)
        if any(isinstance(stmt, ir.If) and has_loop((stmt,)) for stmt in loop.body):
            return None
        if inner == 0:
            return loop
        body = self.body(loop.body, live_at_body_end(loop, after), {})
        left = own_loops(body)
        return replace(loop, body=body) if (inner, left) == (2, 1) else None

    def apart(
        self, first: DoWhile, second: DoWhile, after: Live, exposed: Live
    ) -> tuple[Body, DoWhile, Body, dict[Variable, Variable]]:
        """The second loop with variables of its own.

        Before and behind it stands what gives them their values, and these back; the last result says which
        variable became which.
        """
        shared = read((first,)) | written(first.body)
        changed = [v for stmt in statements(second.body) for v in targets(stmt) if v in shared]
        own = {v: self.predicates.like(v) for v in dict.fromkeys(changed)}
        needed = [v for v in own if v in exposed or v in after]
        setup = tuple(Assign(own[v], Read(v), v.where) for v in needed)
        back = tuple(Assign(v, Read(own[v]), v.where) for v in own if v in after)
        renamed = Renaming(own).body((second,))[0]
        assert isinstance(renamed, DoWhile)
        return setup, renamed, back, own


def _exposed(loop: DoWhile, after: Live) -> Live:
    """The variables whose values at its start a loop needs."""
    wanted = (after & written(loop.body)).union(variables_in(loop.condition))
    return live_before(loop.body, wanted)


def _live_after(body: Body, after: Live) -> list[Live]:
    """What each loop of a body touches and is live after it; after other statements it does not matter."""
    live, found = set(after), list[Live]()
    for stmt in reversed(body):
        found.append(near(stmt, live) if isinstance(stmt, DoWhile) else frozenset())
        step_back(stmt, live)
    return found[::-1]


def _learn(known: Known, stmt: Stmt) -> None:
    for variable in written((stmt,)):
        known.pop(variable, None)
    match stmt:
        case Assign(variable, value):
            value = map_expr(replace_reads(value, known), fold)
            if isinstance(value, Const):
                known[variable] = value
        case _:
            pass


# --- What forbids it


def _moved(between: Body, first: DoWhile, second: DoWhile, elements: Elements) -> tuple[Body, Body] | Stmt:
    """What stands between the loops, moved before the first or behind the second one; or what cannot be."""
    early, late = list[Stmt](), list[Stmt]()
    for stmt in between:
        if not isinstance(stmt, Assign | ir.Store):
            return stmt
        sides = ((early, (first, *late)), (late, (second,)))
        for side, others in sides if isinstance(stmt, Assign) else sides[::-1]:
            if all(_commutes(stmt, other, elements) for other in others):
                side.append(stmt)
                break
        else:
            return stmt
    return tuple(early), tuple(late)


def _commutes(stmt: Stmt, other: Stmt, elements: Elements) -> bool:
    """True if a statement may as well stand on the other side of another one."""
    ours, theirs = ((written((one,)), read((one,))) for one in (stmt, other))
    if not (ours[0].isdisjoint(theirs[0] | theirs[1]) and theirs[0].isdisjoint(ours[1])):
        return False
    touched = elements.of(stmt)
    return not touched or all(a.apart(b) for a, b in product(touched, elements.of(other)))


def _uses_streams(loop: DoWhile) -> bool:
    return any(isinstance(stmt, ir.Move) for stmt in statements(loop.body))
