"""Streams that a kernel receives from in several places, and the iterations that each receive takes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TypeGuard

from macah import ir
from macah.ir import Body, Stmt, Stream
from macah.walk import bodies, is_constant, statements

MOST = 32
"""Kernels that receive in more places are not looked at."""

TRIPS = 6
"""So many iterations are expected of any loop."""


def often_received(body: Body) -> frozenset[Stream]:
    """The streams that are received from in several places, not all of which stand beside loops."""
    times = Counter(stmt.stream for stmt in statements(body) if waits(stmt))
    loops = (stmt for stmt in statements(body) if is_loop(stmt))
    repeated = {inner.stream for loop in loops for inner in statements((loop,)) if waits(inner)}
    found = {stream: count for stream, count in times.items() if count > 1 and stream in repeated}
    return frozenset(found if sum(found.values()) <= MOST else ())


def waits(stmt: Stmt) -> TypeGuard[ir.Receive]:
    """True of a receive that waits, and that happens in any case."""
    match stmt:
        case ir.Receive(index=(), worked=None, passed=None, guard=guard):
            return is_constant(guard, 1)
        case _:
            return False


def is_loop(stmt: Stmt) -> bool:
    """True of a loop; a FOR loop is none."""
    return isinstance(stmt, ir.While | ir.DoWhile)


def lengthened(body: Body) -> Fraction:
    """How many times the iterations of a flat kernel there are if each receives once at most.

    A branch is taken every other time, if it does not say how often.
    """
    once, flat = _iterations(body, often_received(body))
    return once / flat if flat else Fraction(1)


def _iterations(body: Body, streams: frozenset[Stream]) -> tuple[Fraction, Fraction]:
    """The iterations expected of a body with one receive each, and flattened: those of its loops."""
    once, flat = Fraction(0), Fraction(0)
    for stmt in body:
        if waits(stmt) and stmt.stream in streams:
            once += 1
        inside = [_iterations(part, streams) for part in bodies(stmt)]
        if is_loop(stmt):
            a = sum((one for one, _ in inside), Fraction(0))
            b = sum((other for _, other in inside), Fraction(0))
            inside = [(TRIPS * max(a, Fraction(1)), TRIPS * max(b, Fraction(1)))]
        for share, (a, b) in zip(_shares(stmt), inside, strict=False):
            once, flat = once + share * a, flat + share * b
    return once, flat


def _shares(stmt: Stmt) -> tuple[Fraction, ...]:
    """How often each body of a statement is entered."""
    match stmt:
        case ir.If(expect=expect):
            often = Fraction(1, 2) if expect is None else Fraction(expect)
            return often, 1 - often
        case _:
            return (Fraction(1),) * len(bodies(stmt))
