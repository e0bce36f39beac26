"""Which FOR loops had better be plain ones: those that are done once where another loop is done often.

    for (int i = 0; i < n; i++) {                         for (int i = 0; i < n; i++) {
      x <? s; h[x & 31]++;                                  x <? s; h[x & 31]++;
    }                                             ->      }
    FOR (int i = 0; i < 32; i++) out <! h[i];             for (int i = 0; i < 32; i++) out <! h[i];

A kernel becomes one loop, and whatever is beside a loop in the source is a part of each of its iterations,
done in few of them: the 32 sends above, of which one port does one in a cycle, would make all iterations 32
times as long. Nothing but the number of iterations changes: a FOR loop does what a
plain one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from backend.dfg import Place
from macah import ir
from macah.ir import Body
from macah.passes.inline_calls import inline_calls
from macah.walk import bodies, statements


def rollings(kernel: ir.Kernel, everywhere: bool = False) -> tuple[tuple[Place, ...], ...]:
    """The sets of FOR loops to be tried as plain ones, by their places.

    Of nests, all but the innermost loops, and all. `everywhere`: those in innermost plain loops, too.
    """
    nests = list(_nests(inline_calls(kernel).body, everywhere))
    outer = _places(loop for nest in nests for loop in _loops(nest) if loop is nest or any(_inside(loop)))
    every = _places(loop for nest in nests for loop in _loops(nest))
    return tuple(dict.fromkeys(places for places in (outer, every) if places))


def _nests(body: Body, everywhere: bool) -> Iterator[ir.UnrolledFor]:
    """The outermost FOR loops, or those of them that are beside plain ones, or around them."""
    if not everywhere and not any(isinstance(stmt, ir.While | ir.DoWhile) for stmt in statements(body)):
        return
    yield from _outermost(body, everywhere)


def _outermost(body: Body, everywhere: bool) -> Iterator[ir.UnrolledFor]:
    for stmt in body:
        match stmt:
            case ir.UnrolledFor():
                yield stmt
            case ir.While() | ir.DoWhile():
                for inner in bodies(stmt):
                    yield from _nests(inner, everywhere)
            case _:
                for inner in bodies(stmt):
                    yield from _outermost(inner, everywhere)


def _loops(nest: ir.UnrolledFor) -> Iterator[ir.UnrolledFor]:
    """A FOR loop and those in it."""
    yield nest
    yield from _inside(nest)


def _inside(loop: ir.UnrolledFor) -> Iterator[ir.UnrolledFor]:
    return (stmt for body in bodies(loop) for stmt in statements(body) if isinstance(stmt, ir.UnrolledFor))


def _places(loops: Iterable[ir.UnrolledFor]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(loop.where for loop in loops if loop.where is not None))
