"""Which FOR loops had better be plain ones: those that are done once where another loop is done often.

    for (int i = 0; i < n; i++) {                         for (int i = 0; i < n; i++) {
      x <? s; h[x & 31]++;                                  x <? s; h[x & 31]++;
    }                                             ->      }
    FOR (int i = 0; i < 32; i++) out <! h[i];             for (int i = 0; i < 32; i++) out <! h[i];

A kernel becomes one loop, and whatever is beside a loop in the source is a part of each of its iterations,
done in few of them: the 32 sends above, of which one port does one in a cycle, would make all iterations 32
times as long. So would what another innermost loop moves: `for (r < 8) FOR (k < 8) t[r][k] <? in;`. Nothing
but the number of iterations changes: a FOR loop does what a plain one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from backend.dfg import Place
from macah import ir
from macah.ir import Body
from macah.passes.inline_calls import inline_calls
from macah.walk import bodies, statements

_PLAIN = ir.While | ir.DoWhile
_TRANSFERS = ir.Receive | ir.Send


def rollings(kernel: ir.Kernel, everywhere: bool = False) -> tuple[tuple[Place, ...], ...]:
    """The sets of FOR loops to be tried as plain ones, by their places.

    Of nests, all but the innermost loops, and all; with and without them those that use streams in one of
    several innermost plain loops. `everywhere`: those in innermost plain loops, too.
    """
    body = inline_calls(kernel).body
    nests = list(_nests(body, everywhere))
    outer = _places(loop for nest in nests for loop in _loops(nest) if loop is nest or any(_inside(loop)))
    every = _places(loop for nest in nests for loop in _loops(nest))
    moving = _places(_moving(body))
    both = tuple(dict.fromkeys((*every, *moving)))
    return tuple(dict.fromkeys(places for places in (outer, every, moving, both) if places))


def _moving(body: Body) -> Iterator[ir.UnrolledFor]:
    """The FOR loops that use streams in one of several innermost plain loops."""
    plain = [stmt for stmt in statements(body) if isinstance(stmt, _PLAIN)]
    innermost = [loop for loop in plain if not any(isinstance(stmt, _PLAIN) for stmt in _within(loop))]
    for loop in innermost if len(innermost) > 1 else ():
        for stmt in _within(loop):
            if isinstance(stmt, ir.UnrolledFor) and any(isinstance(s, _TRANSFERS) for s in _within(stmt)):
                yield stmt


def _nests(body: Body, everywhere: bool) -> Iterator[ir.UnrolledFor]:
    """The outermost FOR loops, or those of them that are beside plain ones, or around them."""
    if not everywhere and not any(isinstance(stmt, _PLAIN) for stmt in statements(body)):
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
    return (stmt for stmt in _within(loop) if isinstance(stmt, ir.UnrolledFor))


def _within(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
    return (inner for body in bodies(stmt) for inner in statements(body))


def _places(loops: Iterable[ir.UnrolledFor]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(loop.where for loop in loops if loop.where is not None))
