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

from dataclasses import dataclass, replace

from arch.ops import signed
from macah import ir
from macah.fold import fold
from macah.ir import Apply, Assign, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.passes.counters import Counter, find_counter
from macah.passes.join_arrays import Counted, arrays_forbid
from macah.passes.liveness import Live, live_at_body_end, live_before, near, step_back
from macah.passes.predicate import Predicates
from macah.refusal import Refusal, Touch
from macah.walk import (
    Renaming,
    arrays_read,
    arrays_written,
    loads_in,
    map_expr,
    read,
    replace_reads,
    statements,
    targets,
    variables_in,
    written,
)

_Known = dict[Variable, Const]


def join_loops(body: Body, after: Live, predicates: Predicates, refused: list[Refusal] | None = None) -> Body:
    """A body in which neighbouring loops are joined where that is possible; see the module for an example.

    Of others `refused` is told why not.
    """
    return _Joiner(predicates, [] if refused is None else refused).body(body, after, {})


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop, and the constants that are known where it begins; `others` count as its counter does."""

    loop: DoWhile
    known: _Known
    others: tuple[Variable, ...] = ()


class _Joiner:
    def __init__(self, predicates: Predicates, refused: list[Refusal]) -> None:
        self.predicates = predicates
        self.refused = refused

    def body(self, body: Body, after: Live, known: _Known) -> Body:
        done: list[Stmt] = []
        between: list[Stmt] = []
        first: _Loop | None = None
        for stmt, live in zip(body, _live_after(body, after), strict=True):
            if not isinstance(stmt, DoWhile):
                between.append(stmt)
                _learn(known, stmt)
                continue
            second = _Loop(stmt, {v: known[v] for v in read((stmt,)) if v in known})
            joined = None if first is None else self.joined(first, tuple(between), second, live)
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
        self, first: _Loop, between: Body, second: _Loop, after: Live
    ) -> tuple[Body, _Loop, list[Stmt]] | Refusal:
        """The two loops as one, and what stands before and behind it, or what forbids that."""

        def refuse(why: str, *touches: Touch) -> Refusal:
            return Refusal("fusion", first.loop.where, why, "", second.loop.where, touches)

        a, b = _counter(first), _counter(second)
        if a is None or b is None or not _run_alike(first, a, second, b):
            return refuse(_unlike(a, b))
        if _uses_streams(first.loop) and _uses_streams(second.loop):
            return refuse("both use streams, which the host may serve one after the other")
        alike = (a.start, a.step) == (b.start, b.step)
        ours = Counted(first.loop, (*first.others, a.variable) if alike else ())
        theirs = Counted(second.loop, (b.variable,) if alike else ())
        touches = arrays_forbid(ours, theirs, signed(a.step.bits, a.step.value) > 0)
        if touches is not None:
            return refuse("", *touches)
        moved = _moved(between, first.loop, second.loop)
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
        counter = own.get(b.variable, b.variable)
        others = (*first.others, counter) if alike else first.others
        return (*moved[0], *setup), replace(first, loop=loop, others=others), [*back, *moved[1]]

    def both(self, first: DoWhile, second: DoWhile, after: Live) -> DoWhile | None:
        """A loop with both bodies; inner loops have to become one as well."""
        loop = replace(first, body=(*first.body, *second.body))
        inner = sum(isinstance(stmt, DoWhile) for stmt in loop.body)
        if any(isinstance(stmt, ir.If) and _has_loop(stmt) for stmt in loop.body):
            return None
        if inner == 0:
            return loop
        body = self.body(loop.body, live_at_body_end(loop, after), {})
        left = sum(isinstance(stmt, DoWhile) for stmt in body)
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


def _learn(known: _Known, stmt: Stmt) -> None:
    for variable in written((stmt,)):
        known.pop(variable, None)
    match stmt:
        case Assign(variable, value):
            value = map_expr(replace_reads(value, known), fold)
            if isinstance(value, Const):
                known[variable] = value
        case _:
            pass


# --- How often they run


def _counter(loop: _Loop) -> Counter | None:
    """The loop's counter, if nothing else decides how often it runs."""
    body, condition = loop.loop.body, loop.loop.condition
    found = find_counter(body, condition, loop.known, frozenset())
    if found is None or any(loads_in(condition)):
        return None
    changed = written(body) - {found.variable}
    return found if changed.isdisjoint(variables_in(condition)) else None


def _run_alike(first: _Loop, a: Counter, second: _Loop, b: Counter) -> bool:
    guard, other = (map_expr(replace_reads(one.loop.guard, one.known), fold) for one in (first, second))
    changed = written((first.loop, second.loop)) - {a.variable, b.variable}
    if guard != other or any(loads_in(guard)) or not changed.isdisjoint(variables_in(guard)):
        return False
    if a.trips is not None or b.trips is not None:
        return a.trips == b.trips
    # By ones, so that the end is not stepped over and no element comes twice.
    if abs(signed(a.step.bits, a.step.value)) != 1 or not _ends(first.loop.condition):
        return False
    condition = replace_reads(second.loop.condition, {b.variable: Read(a.variable)})
    return (a.start, a.step, first.loop.condition) == (b.start, b.step, condition) and changed.isdisjoint(
        variables_in(condition)
    )


def _unlike(a: Counter | None, b: Counter | None) -> str:
    """What `_run_alike` or `_counter` misses."""
    if a is None or b is None:
        which = "they run is" if a is b else f"the {'first' if a is None else 'second'} one runs is"
        return f"how often {which} not decided by a counter alone"
    if a.trips is not None and b.trips is not None and a.trips != b.trips:
        return f"the first one runs {a.trips} times, the second one {b.trips}"
    return "the compiler cannot tell that they run equally often"


def _ends(condition: Expr) -> bool:
    return isinstance(condition, Apply) and condition.op in ("slt", "sle", "ult")


# --- What forbids it


def _moved(between: Body, first: DoWhile, second: DoWhile) -> tuple[Body, Body] | Stmt:
    """What stands between the loops, moved before the first or behind the second one; or what cannot be."""
    early, late = list[Stmt](), list[Stmt]()
    for stmt in between:
        if isinstance(stmt, ir.Store) and _may_follow(stmt, second):
            late.append(stmt)
            continue
        if not isinstance(stmt, Assign) or any(loads_in(stmt.value)):
            return stmt
        if _commutes(stmt, (first, *late)):
            early.append(stmt)
        elif _commutes(stmt, (second,)):
            late.append(stmt)
        else:
            return stmt
    return tuple(early), tuple(late)


def _may_follow(stmt: ir.Store, loop: DoWhile) -> bool:
    """True if a store may as well stand behind a loop: that touches no array that the store touches."""
    touched = {stmt.array} | arrays_read((stmt,))
    return touched.isdisjoint(arrays_written((loop,)) | arrays_read((loop,))) and written((loop,)).isdisjoint(
        read((stmt,))
    )


def _commutes(stmt: Assign, body: Body) -> bool:
    """True if an assignment may as well stand on the other side of a body."""
    changed = written(body)
    return (
        changed.isdisjoint(variables_in(stmt.value))
        and stmt.variable not in changed
        and stmt.variable not in read(body)
    )


def _uses_streams(loop: DoWhile) -> bool:
    kinds = ir.Receive | ir.Send | ir.Close | ir.Ended
    return any(isinstance(stmt, kinds) for stmt in statements(loop.body))


def _has_loop(stmt: Stmt) -> bool:
    return any(isinstance(inner, DoWhile) for inner in statements((stmt,)))
