"""Which variables decide whether a flat loop goes on."""

from __future__ import annotations

from macah import ir
from macah.walk import read, targets, variables_in


def deciding(loop: ir.DoWhile) -> frozenset[ir.Variable]:
    """Those that its condition depends on, in the same iteration or in one before."""
    found = set(variables_in(loop.condition))
    more = True
    while more:
        before = len(found)
        for stmt in reversed(loop.body):
            if not found.isdisjoint(targets(stmt)):
                found |= read((stmt,))
        more = len(found) > before
    return frozenset(found)
