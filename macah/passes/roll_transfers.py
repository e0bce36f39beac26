"""Makes loops of sends to one stream, and of receives from one, that stand beside loops.

    loop { x <? in; sum += x; … }            loop { x <? in; sum += x; … }
    out <! sum;                       ->     at = 0;
    out <! low;                              loop { out <! at == 0 ? sum : at == 1 ? low : high; at++; }
    out <! high;

One loop is made of all that a kernel does, and all of its iterations have room for what is beside loops: a
stream moves an element in a cycle, so that every iteration on the left takes three. Where it pays is decided
with the graph at hand (`macah/spread.py`), as the loop takes iterations whenever it is come to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from macah import ir
from macah.ir import Apply, Assign, Body, Const, DoWhile, Expr, Read, Receive, Send, Stmt, Variable
from macah.walk import has_loop, is_constant, map_bodies, read, written

MOST = 16
"""So many elements are moved by a loop, at most: each is chosen among so many."""


def roll_transfers(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with such loops, if it is to have them (`Kernel.by_turns`)."""
    if not kernel.by_turns:
        return kernel
    return replace(kernel, body=_rolled(kernel.body, beside=False), by_turns=False)


def rolls(kernel: ir.Kernel) -> bool:
    """Whether there is anything to make loops of in a kernel without calls and FOR loops."""
    return _rolled(kernel.body, beside=False) != kernel.body


@dataclass(slots=True)
class _Run:
    """Transfers through one port, one behind the other, with what else is done between them."""

    moves: list[Send | Receive] = field(default_factory=list)
    between: list[Body] = field(default_factory=list)  # in front of each

    def takes(self, stmt: Send | Receive, since: Body) -> bool:
        """Whether a transfer may join: nothing in the run, and `since`, may use what it writes."""
        if not self.moves:
            return True
        first = self.moves[0]
        if _port(first) != _port(stmt) or len(self.moves) == MOST:
            return False
        others = (*self.moves, *(inner for body in self.between[1:] for inner in body), *since)
        return isinstance(stmt, Send) or not {*stmt.targets} & (read(others) | written(others))


def _rolled(body: Body, beside: bool) -> Body:
    """A body; `beside`: there are loops beside it, in what it is in."""
    beside = beside or has_loop(body)
    made, run, since = list[Stmt](), _Run(), list[Stmt]()

    def flush() -> None:
        nonlocal run, since
        made.extend(_as_loop(run))
        made.extend(since)
        run, since = _Run(), []

    for stmt in body:
        match stmt:
            case Assign() | ir.Store():
                since.append(stmt)
            case Send() | Receive() if beside and _port(stmt) is not None:
                if not run.takes(stmt, tuple(since)):
                    flush()
                run.between.append(tuple(since))
                run.moves.append(stmt)
                since = []
            case ir.While() | ir.DoWhile():
                flush()
                made.append(map_bodies(stmt, lambda inner: _rolled(inner, beside=False)))
            case _:
                flush()
                made.append(map_bodies(stmt, lambda inner: _rolled(inner, beside=beside)))
    flush()
    return body if len(made) == len(body) and made == list(body) else tuple(made)


def _port(stmt: Send | Receive) -> object:
    """What a transfer goes through that waits, always happens, and is at a certain stream; else None."""
    waits = stmt.worked is None and not (isinstance(stmt, Receive) and stmt.passed)
    if waits and is_constant(stmt.guard, 1) and all(isinstance(k, Const) for k in stmt.index):
        return type(stmt), stmt.stream, stmt.index
    return None


def _as_loop(run: _Run) -> Iterator[Stmt]:
    """What does the same as a run, with a loop if it has several transfers."""
    sends = [move for move in run.moves if isinstance(move, Send)]
    receives = [move for move in run.moves if isinstance(move, Receive)]
    if len(run.moves) < 2:
        for before, move in zip(run.between, run.moves, strict=True):
            yield from (*before, move)
    elif sends:
        yield from _sent(run, sends)
    else:
        yield from _received(run, receives)


def _sent(run: _Run, sends: Sequence[Send]) -> Iterator[Stmt]:
    """All values first, and behind the last the loop that sends them."""
    values = list[list[Expr]]()
    for before, send in zip(run.between, sends, strict=True):
        yield from before
        kept = [Variable("sent", value.bits, send.where) for value in send.values]
        yield from (Assign(v, value, send.where) for v, value in zip(kept, send.values, strict=True))
        values.append([Read(v) for v in kept])
    at = Variable("at", where=sends[0].where)
    chosen = tuple(_chosen(at, among) for among in zip(*values, strict=True))
    yield from _loop(at, len(sends), [replace(sends[0], values=chosen)])


def _received(run: _Run, receives: Sequence[Receive]) -> Iterator[Stmt]:
    """The loop that receives, where the first did; then each target in its place gets what is its own.

    From a stream that has ended nothing is received, so that each target keeps what it was.
    """
    yield from run.between[0]
    first = receives[0]
    at = Variable("at", where=first.where)
    old, own = (_like(receives, name) for name in ("old", "own"))
    for move, before, kept in zip(receives, old, own, strict=True):
        for v, b, o in zip(move.targets, before, kept, strict=True):
            yield from (Assign(b, Read(v), move.where), Assign(o, Read(v), move.where))
    got = [Variable("got", v.bits, first.where) for v in first.targets]
    body: list[Stmt] = [
        Assign(g, _chosen(at, [Read(v) for v in among]), first.where)
        for g, among in zip(got, zip(*old, strict=True), strict=True)
    ]
    body.append(replace(first, targets=tuple(got)))
    for k, (move, kept) in enumerate(zip(receives, own, strict=True)):
        for g, o in zip(got, kept, strict=True):
            body.append(Assign(o, Apply("select", (_is(at, k), Read(g), Read(o)), o.bits), move.where))
    yield from _loop(at, len(receives), body)
    for move, kept, between in zip(receives, own, ((), *run.between[1:]), strict=True):
        yield from between
        yield from (Assign(v, Read(o), move.where) for o, v in zip(kept, move.targets, strict=True))


def _like(receives: Sequence[Receive], name: str) -> list[list[Variable]]:
    return [[Variable(name, v.bits, move.where) for v in move.targets] for move in receives]


def _loop(at: Variable, trips: int, body: Sequence[Stmt]) -> Iterator[Stmt]:
    step = Assign(at, Apply("add", (Read(at), Const(1))), at.where)
    yield Assign(at, Const(0), at.where)
    yield DoWhile((*body, step), Apply("slt", (Read(at), Const(trips))))


def _chosen(at: Variable, among: Sequence[Expr]) -> Expr:
    """The one of several values that a counter says."""
    value = among[-1]
    for k in reversed(range(len(among) - 1)):
        value = Apply("select", (_is(at, k), among[k], value), value.bits)
    return value


def _is(at: Variable, k: int) -> Expr:
    return Apply("eq", (Read(at), Const(k)))
