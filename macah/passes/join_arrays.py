"""Whether two loops that run equally often touch elements of arrays in an order that allows to join them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from arch.ops import signed
from macah import ir
from macah.ir import Apply, Array, Body, Const, DoWhile, Expr, Read, Stmt, Variable
from macah.passes.counters import Counter
from macah.walk import arrays_read, arrays_written, loads_in, operands, statements

_LARGEST = 1 << 30  # offsets that cannot wrap around
_Offsets = list[tuple[int | None, ...]]


def arrays_allow(first: DoWhile, a: Counter, second: DoWhile, b: Counter) -> bool:
    """True if no iteration of the second loop touches what a later one of the first changes, and vice versa.

    `a` and `b` are the counters of the loops.
    """
    stores = arrays_written(first.body), arrays_written(second.body)
    touched = [
        arrays_read(loop.body) | changed for loop, changed in zip((first, second), stores, strict=True)
    ]
    shared = (stores[0] & touched[1]) | (stores[1] & touched[0])
    if not shared:
        return True
    if (a.start, a.step) != (b.start, b.step):
        return False
    places = _places(first.body, a, shared), _places(second.body, b, shared)
    up = signed(a.step.bits, a.step.value) > 0
    return all(_is_behind(places[0][array], places[1][array], up) for array in shared)


def _places(body: Body, counter: Counter, arrays: Iterable[Array]) -> dict[Array, _Offsets]:
    """For each access the distance of each index from the counter, where that is a constant."""
    found: dict[Array, _Offsets] = {array: [] for array in arrays}
    stepped = False
    for stmt in body:
        for array, index in _accesses(stmt):
            if array in found:
                offsets = [None if stepped else _offset(expr, counter.variable) for expr in index]
                found[array].append(tuple(offsets))
        stepped = stepped or stmt is counter.write
    return found


def _accesses(stmt: Stmt) -> Iterator[tuple[Array, tuple[Expr, ...]]]:
    for inner in statements((stmt,)):
        for expr in operands(inner):
            for load in loads_in(expr):
                yield load.array, load.index
        if isinstance(inner, ir.Store):
            yield inner.array, inner.index


def _offset(expr: Expr, counter: Variable) -> int | None:
    match expr:
        case Read(variable) if variable is counter:
            return 0
        case Apply("add", (Read(variable), Const(value, bits))) if variable is counter:
            offset = signed(bits, value)
        case Apply("sub", (Read(variable), Const(value, bits))) if variable is counter:
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
