"""Whether two loops that run equally often touch elements of arrays in an order that allows to join them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from arch.ops import signed
from macah import ir
from macah.ir import Apply, Array, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.refusal import Touch
from macah.walk import arrays_read, arrays_written, loads_in, operands, statements, written

_LARGEST = 1 << 30  # offsets that cannot wrap around


@dataclass(frozen=True, slots=True)
class _Access:
    """An access; for each index its distance from the counters, where that is a constant."""

    touch: Touch
    offsets: tuple[int | None, ...]


_Accesses = list[_Access]


@dataclass(frozen=True, slots=True)
class Counted:
    """A loop, and variables of its own that have the same value as the other's when an iteration starts."""

    loop: DoWhile
    counters: tuple[Variable, ...]


def arrays_forbid(first: Counted, second: Counted, up: bool) -> tuple[Touch, Touch] | None:
    """An access in each loop that may forbid to join them; None if nothing does.

    It does if an iteration of the second loop may touch what a later one of the first changes, or vice versa.
    `up`: the counters grow.
    """
    bodies = first.loop.body, second.loop.body
    stores = arrays_written(bodies[0]), arrays_written(bodies[1])
    touched = [arrays_read(body) | changed for body, changed in zip(bodies, stores, strict=True)]
    shared = (stores[0] & touched[1]) | (stores[1] & touched[0])
    here, there = (_accesses_in(one.loop.body, one.counters, shared) for one in (first, second))
    found = [_ahead(here[array], there[array], up) for array in sorted(shared, key=lambda array: array.name)]
    return next((pair for pair in found if pair is not None), None)


def _accesses_in(
    body: Body, counters: tuple[Variable, ...], arrays: Iterable[Array]
) -> dict[Array, _Accesses]:
    found: dict[Array, _Accesses] = {array: [] for array in arrays}
    current = set(counters)
    for stmt in body:
        for array, index, touch in _touches(stmt):
            if array in found:
                found[array].append(_Access(touch, tuple([_offset(expr, current) for expr in index])))
        current -= written((stmt,))
    return found


def _touches(stmt: Stmt) -> Iterator[tuple[Array, tuple[Expr, ...], Touch]]:
    for inner in statements((stmt,)):
        for expr in operands(inner):
            for load in loads_in(expr):
                yield load.array, load.index, Touch(load.array.name, False, inner.where)
        if isinstance(inner, ir.Store):
            yield inner.array, inner.index, Touch(inner.array.name, True, inner.where)


def _offset(expr: Expr, counters: Container[Variable]) -> int | None:
    match expr:
        case Read(variable) if variable in counters:
            return 0
        case Apply("add", (Read(variable), Const(value, bits))) if variable in counters:
            offset = signed(bits, value)
        case Apply("sub", (Read(variable), Const(value, bits))) if variable in counters:
            offset = -signed(bits, value)
        case _:
            return None
    return offset if abs(offset) < _LARGEST else None


def _ahead(first: _Accesses, second: _Accesses, up: bool) -> tuple[Touch, Touch] | None:
    """None if one of the indices of all accesses in the second loop is never ahead of those in the first.

    Else two that may be, or of which nothing is known.
    """
    worst: tuple[_Access, _Access] | None = None
    for dimension in range(len(first[0].offsets)):
        ours = [(offset, a) for a in first if (offset := a.offsets[dimension]) is not None]
        theirs = [(offset, a) for a in second if (offset := a.offsets[dimension]) is not None]
        if len(ours) == len(first) and len(theirs) == len(second):
            sign = 1 if up else -1
            behind, other = min(ours, key=lambda o: sign * o[0]), max(theirs, key=lambda o: sign * o[0])
            if sign * behind[0] >= sign * other[0]:
                return None
            worst = worst or (behind[1], other[1])
    a, b = worst or next((a, b) for a in first for b in second if a.touch.stores or b.touch.stores)
    return a.touch, b.touch
