"""Gives rare branches turns of their own: what they compute slowly need not be there in the next cycle.

    if (EXPECT(x > 9, 0.02)) x = x / 3;

becomes, with 2 more turns,

    if (x > 9) { 2 more turns;  w = x / 3;  x = late w; }

An iteration with a false condition takes one turn, as before. If it is true, `passes/bubbles.py` keeps the
iteration for three turns in which nothing changes; what is late is then the value of the first of them. So
the division is on a recurrence of three turns, and the turns of all others are shorter. `macah/rare.py`
decides which branches get how many turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from macah import ir
from macah.ir import Assign, Body, If, Read, Stmt, Variable
from macah.walk import Renaming, flat_map, fresh, statements


def take_turns(kernel: ir.Kernel) -> ir.Kernel:
    """Mark the rare branches that are to have them; see the module for an example."""
    turns = {branch.where: branch.turns for branch in kernel.rare if branch.turns}
    if not turns:
        return kernel

    def change(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, If) and stmt.where in turns and is_rare(stmt):
            return (_slowed(stmt, turns[stmt.where]),)
        return (stmt,)

    return replace(kernel, body=flat_map(kernel.body, change))


def is_rare(stmt: If) -> bool:
    """Whether a branch may have turns: it is expected to be rare, and all it gets is computed in it."""
    allowed = Assign | If | ir.Store | ir.Send | ir.Assert
    return (
        stmt.expect is not None
        and 0 < stmt.expect < 0.5
        and all(isinstance(s, allowed) and getattr(s, "worked", None) is None for s in statements(stmt.then))
    )


def _slowed(stmt: If, count: int) -> If:
    where = stmt.where
    copies = {v: fresh(v) for v in dict.fromkeys(_assigned(stmt.then))}
    start = tuple(Assign(copy, Read(v), where) for v, copy in copies.items())
    inside = flat_map(Renaming(variables=dict(copies)).body(stmt.then), lambda s: _late_values(s, stmt))
    end = tuple(ir.Late(v, Read(copy), where=where) for v, copy in copies.items())
    return replace(stmt, then=(ir.Turns(count, where=where), *start, *inside, *end))


def _assigned(body: Body) -> Iterator[Variable]:
    """The variables that are assigned, in the order of the text."""
    for stmt in statements(body):
        if isinstance(stmt, Assign):
            yield stmt.variable


def _late_values(stmt: Stmt, around: If) -> tuple[Stmt, ...]:
    """What is stored may be waited for by the next iteration's load."""
    if not isinstance(stmt, ir.Store):
        return (stmt,)
    value = Variable(stmt.array.name, stmt.value.bits, stmt.where)
    return ir.Late(value, stmt.value, where=around.where), replace(stmt, value=Read(value))
