"""Copies of loops around others, whose copies are joined: unroll and jam.

    for (b = 0; b < 16; b++) {                 for (b = 0; b < 16; b += 2) {
        x = a[b];                                  x = a[b]; y = a[b + 1];
        for (i = 0; i < 32; i++) x = f(x);  ->     for (i = 0; i < 32; i++) { x = f(x); y = f(y); }
        a[b] = x;                                  a[b] = x; a[b + 1] = y;
    }                                          }

Where a recurrence of the inner loop holds iterations up, copies of its body do not help, as each waits for
the one before; those of the loop around it do not wait for each other. `passes/join_loops.py` joins their
loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from backend.dfg import Place
from macah import ir
from macah.loop_trips import LoopTrips
from macah.walk import statements
from macah.whole import all_loops


def around_one(loops: Sequence[LoopTrips]) -> Iterator[LoopTrips]:
    """The loops whose copies' loops might be joined, from the inside out: around one loop that runs equally
    often each time, and that one around one at most.
    """
    for loop in loops:
        yield from around_one(loop.loops)
        if loop.loops and _is_chain(loop):
            yield loop


def _is_chain(loop: LoopTrips) -> bool:
    match loop.loops:
        case ():
            return True
        case (inner,):
            steady = inner.trips is not None or (inner.counted and not inner.triangular)
            return steady and _is_chain(inner)
        case _:
            return False


def joined_copies(loops: Sequence[LoopTrips], joined: ir.Kernel) -> Iterator[Place]:
    """The loops around others of which there is one at most, however many copies there were of these."""
    left = Counter(stmt.where for stmt in statements(joined.body) if isinstance(stmt, ir.DoWhile))
    for loop in all_loops(loops):
        if loop.where and loop.loops and all(left[inner.where] <= 1 for inner in all_loops(loop.loops)):
            yield loop.where
