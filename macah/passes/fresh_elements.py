"""Elements that nothing has been stored to are not loaded.

    int a[16];                                    int a[16];
    for (int i = 0; i < n; i++) {                 for (int i = 0; i < n; i++) {
      t = a[i]; t <? in; a[i] = t;        ->        t = unspecified; t <? in; a[i] = t;
    }                                             }

That is what `a[i] <? in` is: an element keeps its value where the stream has ended. An array that has no
values where the kernel starts has none where its elements are first received: each iteration of the loops
around stores to another element, and nothing stores to the array before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from arch.ops import signed
from macah import ir
from macah.ir import Apply, Array, Assign, Body, Const, DoWhile, Expr, Load, Read, Stmt, Variable
from macah.walk import (
    arrays_written,
    bodies,
    is_constant,
    map_bodies,
    statements,
    targets,
    variables_in,
    written,
)

MOST_STEP = 16
"""A counter with a larger step may soon have a value again, by way of words that are no index."""


def fresh_elements(kernel: ir.Kernel) -> ir.Kernel:
    """Loads of such elements as unspecified values; see the module for an example."""
    given = {capture.what for capture in kernel.captured if capture.into}
    made = list[Stmt]()
    stored = {array for array in arrays_written(kernel.body) if array in given or array.initial}
    for stmt in kernel.body:
        mine = arrays_written((stmt,))
        counts = Counter(s.array for s in statements((stmt,)) if isinstance(s, ir.Store))
        fresh = {array for array in mine - stored if counts[array] == 1}
        made.append(_changed(stmt, fresh, ()) if fresh else stmt)
        stored |= mine
    return replace(kernel, body=tuple(made))


def _changed(stmt: Stmt, fresh: set[Array], around: tuple[DoWhile, ...]) -> Stmt:
    """A statement in some loops, which stores to each of the arrays once."""
    if isinstance(stmt, DoWhile) and not is_constant(stmt.condition, 0):
        around = (*around, stmt)
    return map_bodies(stmt, lambda body: _body(body, fresh, around)) if any(bodies(stmt)) else stmt


def _body(body: Body, fresh: set[Array], around: tuple[DoWhile, ...]) -> Body:
    made = [_changed(stmt, fresh, around) for stmt in body]
    for place, stmt in enumerate(body):
        if isinstance(stmt, ir.Store) and stmt.array in fresh and _always_another(stmt.index, around):
            for earlier in _loads(body[:place], stmt):
                (target,) = targets(body[earlier])
                made[earlier] = Assign(target, ir.unspecified(target.bits), body[earlier].where)
    return tuple(made)


def _loads(before: Body, store: ir.Store) -> Iterator[int]:
    """Where the element that is stored to is loaded, of the statements before that."""
    needed = {variable for at in store.index for variable in variables_in(at)}
    for place in reversed(range(len(before))):
        stmt = before[place]
        match stmt:
            case Assign(_, Load(array, index)) if array is store.array and index == store.index:
                yield place
            case _:
                pass
        if not needed.isdisjoint(written((stmt,))):
            return


def _always_another(index: tuple[Expr, ...], around: tuple[DoWhile, ...]) -> bool:
    """Whether no two iterations of these loops have the same index."""
    counters = {variable for at in index if (variable := _offset_of(at)) is not None}
    return all(any(_counts(loop, variable) for variable in counters) for loop in around)


def _offset_of(at: Expr) -> Variable | None:
    """The variable that an index is, but for a constant."""
    match at:
        case Read(variable) | Apply("add", (Read(variable), Const())):
            return variable
        case _:
            return None


def _counts(loop: DoWhile, variable: Variable) -> bool:
    """Whether each iteration of a loop adds the same to a variable, once, and nothing else changes it."""
    match [stmt for stmt in statements(loop.body) if variable in targets(stmt)]:
        case [Assign(_, Apply("add", (Read(read), Const(step, bits)))) as write] if read is variable:
            return 0 < abs(signed(bits, step)) <= MOST_STEP and any(stmt is write for stmt in loop.body)
        case _:
            return False
