"""Makes loops of many stores of one constant, as an array's initialiser has them.

    bin[0] = 0; … bin[31] = 0;                     at = 0;
    do {                                           do { bin[at] = 0; at = at + 1; } while (at < 32)
        …                                   ->     do {
        bin[x] = bin[x] + 1;                           …
    } while (more)                                     bin[x] = bin[x] + 1;
                                                   } while (more)

One loop is made of all that a kernel does, and all of its iterations have room for what stands beside loops:
the stores on the left would take the ports of an array's memory for 16 cycles of every iteration. Nothing is
gained where no loop is beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby, product
from math import prod

from backend import dfg
from macah import ir
from macah.ir import Apply, Array, Assign, Body, Const, DoWhile, Expr, Read, Stmt, Store, Variable
from macah.walk import has_loop, is_constant, map_bodies, own_loops

LEAST = 3
"""So many stores to an array become a loop that is run once."""

LEAST_INSIDE = 16
"""And so many in another loop, which takes their iterations every time."""

MOST_OTHERS = 2
"""So many elements of an array may have other values: the loop compares its counters with their places."""

Box = tuple[range, ...]
Place = tuple[int, ...]


def roll_stores(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with such stores in loops; see the module for an example."""
    return replace(kernel, body=_rolled(kernel.body, LEAST))


def _rolled(body: Body, least: int) -> Body:
    if not has_loop(body):
        return body
    made = list[Stmt]()
    for constant, group in groupby(body, _is_constant):
        run = list(group)
        if constant and own_loops(body):
            made += _as_loops([stmt for stmt in run if isinstance(stmt, Store)], least)
        else:
            made += [map_bodies(stmt, lambda inner: _rolled(inner, LEAST_INSIDE)) for stmt in run]
    return tuple(made)


def _is_constant(stmt: Stmt) -> bool:
    """Whether a statement stores a constant to a certain element, always."""
    return (
        isinstance(stmt, Store)
        and is_constant(stmt.guard, 1)
        and isinstance(stmt.value, Const)
        and all(
            isinstance(index, Const) and index.value < extent
            for index, extent in zip(stmt.index, stmt.array.shape, strict=True)
        )
    )


@dataclass(frozen=True, slots=True)
class _Fill:
    """All elements of a box in an array get one value, but for a few others."""

    array: Array
    box: Box
    value: Expr
    others: dict[Place, Expr]
    where: dfg.Place | None


def _as_loops(stores: Sequence[Store], least: int) -> Iterator[Stmt]:
    """What does the same as stores of constants."""
    fills, left = list[_Fill](), list[Store]()
    arrays: dict[Array, dict[Place, Store]] = {}
    for store in stores:
        arrays.setdefault(store.array, {})[_place(store)] = store
    for last in arrays.values():
        fill = _fill(last, least)
        if fill is None:
            left += last.values()
        else:
            fills.append(fill)
    for box in dict.fromkeys(fill.box for fill in fills):
        yield from _loop([fill for fill in fills if fill.box == box], box)
    yield from left


def _place(store: Store) -> Place:
    return tuple([index.value for index in store.index if isinstance(index, Const)])


def _fill(stores: dict[Place, Store], least: int) -> _Fill | None:
    """What stores to one array fill, but for a few elements; None if they are too few, or far between."""
    box = tuple([range(min(along), max(along) + 1) for along in zip(*stores, strict=True)])
    values = Counter(store.value for store in stores.values())
    value, often = values.most_common(1)[0]
    if prod(map(len, box)) != len(stores) or often < least or len(stores) - often > MOST_OTHERS:
        return None
    first = stores[next(iter(product(*box)))]
    others = {place: store.value for place, store in stores.items() if store.value != value}
    return _Fill(first.array, box, value, others, first.where)


def _loop(fills: Sequence[_Fill], box: Box) -> list[Stmt]:
    """Loops that fill the same box of several arrays."""
    where = fills[0].where
    index = list[Expr]()
    counters = list[tuple[Variable, range]]()
    for along in box:
        if len(along) == 1:
            index.append(Const(along.start))
        else:
            counters.append((Variable("at", where=where), along))
            index.append(Read(counters[-1][0]))
    body: list[Stmt] = [Store(f.array, tuple(index), _value(f, index), where=f.where) for f in fills]
    for counter, along in reversed(counters):
        step = Assign(counter, Apply("add", (Read(counter), Const(1))), where)
        again = Apply("slt", (Read(counter), Const(along.stop)))
        loop = DoWhile((*body, step), again, where=where)
        body = [Assign(counter, Const(along.start), where), loop]
    return body


def _value(fill: _Fill, index: Sequence[Expr]) -> Expr:
    """What is stored at a place that counters say."""
    value = fill.value
    for place, other in fill.others.items():
        found = [Apply("eq", (at, Const(k))) for at, k in zip(index, place, strict=True)]
        here = reduce(lambda a, b: Apply("and", (a, b)), found)
        value = Apply("select", (here, other, value))
    return value
