"""Sums in the rows of a nest, made of sums that never start anew (`pace_rows`).

    s = b[r];                                          s_start = b[r];
    do { s = s + a[k]; … } while (…);        ->        do { s_total = s_total + a[k]; … } while (…);
    y[r] = s >> 6;                                     s = s_total - s_base + s_start;  s_base = s_total;
                                                       y[r] = s >> 6;

What a row starts with is added to what the sum has grown by, so it may be anything that is known before the
row's loop, and code behind that may change the sum.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from macah.ir import Apply, Assign, Body, Const, Expr, Read, Variable
from macah.passes.ahead import Parts
from macah.passes.counters import Sum, split_sum, summed
from macah.passes.liveness import live_before
from macah.walk import Renaming, read, targets, variables_in, written


@dataclass(frozen=True, slots=True)
class RowSums:
    """A nest's parts with sums that never start anew, and these."""

    parts: Parts
    sums: tuple[Sum, ...]


def row_sums(parts: Parts, excluded: Set[Variable], held: Set[Variable], left: Expr) -> RowSums:
    """Split the sums of rows that end where `left` holds, but those that are `excluded`.

    What is `held` is given its value in each iteration anew, the same all through a row.
    """
    found: list[Sum] = []
    for variable in dict.fromkeys(v for stmt in parts.before for v in targets(stmt)):
        if variable in excluded:
            continue
        total, split = variable, parts
        start = _constant(parts, variable)
        if start is None:
            total = Variable(f"{variable.name}_part", variable.bits, variable.where)
            start = Const(0, variable.bits)
            split = _from_zero(parts, variable, total, held) or parts
        made = split_sum(split.inner.body, total, start, left)
        if made is not None:
            parts = replace(split, inner=replace(split.inner, body=made.body[1:]))
            found.append(made)
    return RowSums(parts, tuple(found))


def _constant(parts: Parts, variable: Variable) -> Const | None:
    """What a variable starts with, if that is a constant, and it does not change outside the inner loop."""
    if variable in read(parts.before) | written(parts.after):
        return None
    match [stmt for stmt in parts.before if variable in targets(stmt)]:
        case [Assign(_, Const() as start)]:
            return start
        case _:
            return None


def _from_zero(parts: Parts, variable: Variable, part: Variable, held: Set[Variable]) -> Parts | None:
    """The same with a sum as its start and a part that starts with 0; None if it is no such sum."""
    if not _is_known_before(parts, variable):
        return None
    before, start = _started(parts.before, variable, held)
    whole = Apply("add", (Read(start), Read(part)), variable.bits)
    here = Assign(variable, whole, variable.where)
    body = summed(parts.inner.body, part, here)
    return None if body is None else Parts(before, replace(parts.inner, body=body), (here, *parts.after))


def _started(before: Body, variable: Variable, held: Set[Variable]) -> tuple[Body, Variable]:
    """The body with what a variable is behind it in another one, and that."""
    match [stmt for stmt in before if variable in read((stmt,)) | written((stmt,))]:
        case [Assign(_, Read(other)) as only] if other in held:
            return tuple(stmt for stmt in before if stmt is not only), other
        case _:
            start = Variable(f"{variable.name}_start", variable.bits, variable.where)
            return Renaming({variable: start}).body(before), start


def _is_known_before(parts: Parts, variable: Variable) -> bool:
    """True if a variable is given its value anew before the inner loop, which no test of that reads."""
    if variable in variables_in(parts.inner.guard) or variable in variables_in(parts.inner.condition):
        return False
    only = all(isinstance(stmt, Assign) for stmt in parts.before if variable in targets(stmt))
    return only and variable not in live_before(parts.before, frozenset({variable}))
