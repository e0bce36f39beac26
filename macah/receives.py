"""Streams that a kernel receives from in several places, and the iterations that each receive takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeGuard

from macah import ir
from macah.ir import Body, Label, Stmt, Stream
from macah.loop_trips import SHORT
from macah.walk import bodies, is_constant, loads_in, read, statements, written

MOST = 32
"""Kernels that receive in more places are not looked at."""

Streams = tuple[Stream, ...]
"""Some streams, in the order in which a kernel first receives from them."""


def often_received(body: Body) -> Streams:
    """The streams that are received from in several places, not all of which stand beside loops."""
    times = Counter(stmt.stream for stmt in statements(body) if waits(stmt))
    loops = (stmt for stmt in statements(body) if is_loop(stmt))
    repeated = {inner.stream for loop in loops for inner in statements((loop,)) if waits(inner)}
    found = {stream: count for stream, count in times.items() if count > 1 and stream in repeated}
    return tuple(found) if sum(found.values()) <= MOST else ()


def waits(stmt: Stmt) -> TypeGuard[ir.Receive]:
    """True of a receive that waits, and that happens in any case."""
    match stmt:
        case ir.Receive(index=(), worked=None, passed=None, guard=guard):
            return is_constant(guard, 1)
        case _:
            return False


def goes_along(receive: ir.Receive, others: Sequence[ir.Receive], since: Body, streams: Streams) -> bool:
    """Whether an iteration may receive this with some others, and do only then what is done since these.

    That is nothing that others see, and nothing to do with what is received here. An order of the streams is
    kept: who sends to two of them may wait at one until that is received from.
    """
    if not others or streams.index(receive.stream) <= streams.index(others[-1].stream):
        return False
    changed = {variable for other in others for variable in other.targets}
    plain = all(isinstance(stmt, ir.Assign) and not loads_in(stmt.value) for stmt in since)
    return plain and (changed | written(since) | read(since)).isdisjoint(receive.targets)


def is_loop(stmt: Stmt) -> bool:
    """True of a loop; a FOR loop is none."""
    return isinstance(stmt, ir.While | ir.DoWhile)


def lengthened(body: Body) -> Fraction:
    """How many times the iterations of a flat kernel there are if each receives once at most.

    Loops are short; a branch is taken every other time, if it does not say how often, but seldom leaves one.
    """
    found = _expected(body, often_received(body), frozenset())
    return found.once / found.flat if found.flat else Fraction(1)


@dataclass(frozen=True, slots=True)
class _Expected:
    """The iterations expected of a body with one receive each, and flattened: those of its loops.

    Control comes to its end in so many cases, `through`; if it `leaves` the loop around it, in none.
    """

    once: Fraction = Fraction(0)
    flat: Fraction = Fraction(0)
    through: Fraction = Fraction(1)
    leaves: bool = False

    def times(self, share: Fraction) -> _Expected:
        """This, in some share of the cases."""
        return _Expected(share * self.once, share * self.flat, share * self.through, self.leaves)

    def plus(self, other: _Expected) -> _Expected:
        """What is expected of two together, of which there is one in each case."""
        once, flat, through = self.once + other.once, self.flat + other.flat, self.through + other.through
        return _Expected(once, flat, through, self.leaves or other.leaves)

    def then(self, other: _Expected) -> _Expected:
        """This, and another one behind it."""
        behind = other.times(self.through)
        return replace(replace(self, through=Fraction(0)).plus(behind), through=behind.through)


def _expected(body: Body, streams: Streams, labels: frozenset[Label]) -> _Expected:
    """What is expected of a body in blocks with some labels, which are in the loop around it."""
    found = _Expected()
    received, since = list[ir.Receive](), list[Stmt]()
    for stmt in body:
        if not waits(stmt) or stmt.stream not in streams:
            found = found.then(_of_statement(stmt, streams, labels))
            since.append(stmt)
        elif goes_along(stmt, received, tuple(since), streams):
            received.append(stmt)
        else:
            found = found.then(_Expected(once=Fraction(1)))
            received, since = [stmt], []
    return found


def _of_statement(stmt: Stmt, streams: Streams, labels: frozenset[Label]) -> _Expected:
    match stmt:
        case ir.While() | ir.DoWhile():
            found = _Expected()
            for part in bodies(stmt):
                found = found.then(_expected(part, streams, frozenset()))
            return _Expected(SHORT * max(found.once, Fraction(1)), SHORT * max(found.flat, Fraction(1)))
        case ir.Block(label, inside):
            found = _expected(inside, streams, labels | {label})
            return replace(found, through=Fraction(1), leaves=False)
        case ir.Leave(label):
            return _Expected(through=Fraction(0), leaves=label not in labels)
        case ir.If(expect=expect):
            one, other = (_expected(arm, streams, labels) for arm in bodies(stmt))
            share = Fraction(1, 2) if expect is None else Fraction(expect)
            if one.leaves != other.leaves:
                share = Fraction(int(other.leaves))
            both = one.times(share).plus(other.times(1 - share))
            return replace(both, leaves=one.leaves and other.leaves)
        case _:
            return _Expected()
