"""Loops whose counters alone keep an array in a memory, or several of its parts in one.

    int line[2][64];
    for (int r = 0; r < 2; r++)                                   line[r] would be one of two arrays
        for (int x = 0; x < 64; x++) line[r][x] = 0;              if the loop over r were unrolled
    for (...) { ... line[0][x] = line[1][x]; line[1][x] = v; }

So are the loops that set a window to zero before one that shifts it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from backend.dfg import Place
from macah import ir
from macah.loop_trips import LoopTrips, Streams
from macah.walk import loads_in, operands, statements, variables_in
from macah.whole import all_loops


def shaping(kernel: ir.Kernel, loops: Sequence[LoopTrips]) -> Iterator[tuple[Place, ...]]:
    """For each array's dimension, the loops without whose counters it would only have constant indices.

    These are of known trips and use no streams; they are loops of `kernel`, which has no calls and FOR loops.
    """
    places = {
        loop.counter: loop.where
        for loop in all_loops(loops)
        if loop.counter and loop.where and loop.trips and loop.streams is Streams.NONE
    }
    indices = defaultdict[tuple[ir.Array, int], list[ir.Expr]](list)
    for array, index in _accesses(kernel.body):
        for dimension, expr in enumerate(index):
            indices[array, dimension].append(expr)
    for exprs in indices.values():
        used = dict.fromkeys(variable for expr in exprs for variable in variables_in(expr))
        constant = any(isinstance(expr, ir.Const) for expr in exprs)
        if used and constant and used.keys() <= places.keys() and not any(map(loads_in, exprs)):
            yield tuple(places[counter] for counter in used)


def _accesses(body: ir.Body) -> Iterator[tuple[ir.Array, tuple[ir.Expr, ...]]]:
    """The arrays that are loaded from, stored to and shifted, and where."""
    for stmt in statements(body):
        if isinstance(stmt, ir.Store | ir.Shift):
            yield stmt.array, stmt.index
        for operand in operands(stmt):
            yield from ((load.array, load.index) for load in loads_in(operand))
