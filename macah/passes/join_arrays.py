"""Whether two loops that run equally often touch elements of arrays in an order that allows to join them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from arch.ops import signed
from macah import ir
from macah.ir import Apply, Array, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.walk import arrays_read, arrays_written, loads_in, operands, statements, written

_LARGEST = 1 << 30  # offsets that cannot wrap around
_Offsets = list[tuple[int | None, ...]]


@dataclass(frozen=True, slots=True)
class Counted:
    """A loop, and variables of its own that have the same value as the other's when an iteration starts."""

    loop: DoWhile
    counters: tuple[Variable, ...]


def arrays_allow(first: Counted, second: Counted, up: bool) -> bool:
    """True if no iteration of the second loop touches what a later one of the first changes, and vice versa.

    `up`: the counters grow.
    """
    bodies = first.loop.body, second.loop.body
    stores = arrays_written(bodies[0]), arrays_written(bodies[1])
    touched = [arrays_read(body) | changed for body, changed in zip(bodies, stores, strict=True)]
    shared = (stores[0] & touched[1]) | (stores[1] & touched[0])
    places = [_places(one.loop.body, one.counters, shared) for one in (first, second)]
    return all(_is_behind(places[0][array], places[1][array], up) for array in shared)


def _places(body: Body, counters: tuple[Variable, ...], arrays: Iterable[Array]) -> dict[Array, _Offsets]:
    """For each access the distance of each index from the counters, where that is a constant."""
    found: dict[Array, _Offsets] = {array: [] for array in arrays}
    current = set(counters)
    for stmt in body:
        for array, index in _accesses(stmt):
            if array in found:
                found[array].append(tuple([_offset(expr, current) for expr in index]))
        current -= written((stmt,))
    return found


def _accesses(stmt: Stmt) -> Iterator[tuple[Array, tuple[Expr, ...]]]:
    for inner in statements((stmt,)):
        for expr in operands(inner):
            for load in loads_in(expr):
                yield load.array, load.index
        if isinstance(inner, ir.Store):
            yield inner.array, inner.index


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


def _is_behind(first: _Offsets, second: _Offsets, up: bool) -> bool:
    """True if one of the indices of all accesses in the second loop is never ahead of those in the first."""
    for dimension in range(len(first[0])):
        here = [place[dimension] for place in first]
        there = [place[dimension] for place in second]
        known = [offset for offset in (*here, *there) if offset is not None]
        if len(known) == len(here) + len(there):
            ours, theirs = known[: len(here)], known[len(here) :]
            if min(ours) >= max(theirs) if up else max(ours) <= min(theirs):
                return True
    return False
