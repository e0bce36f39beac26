"""Which conditions never hold in an iteration because control comes to it whatever the data are."""

from __future__ import annotations

from collections.abc import Mapping

from arch.ops import signed
from backend.dfg import DFG, Const, Operand
from macah.atoms import Atom, Conditions
from macah.bdd import FALSE, TRUE
from macah.graph import WIDTH, Value
from macah.known import Known

MOST_ITERATIONS = 2048
WINDOW = 16
MOST_NODES = 600
"""Larger graphs are not looked at."""


def turns_of(dfg: DFG, conditions: Conditions, operands: Mapping[Value, Operand]) -> Turns | None:
    """What is known of conditions about a graph, whose values are these operands of it; None if nothing."""
    if len(dfg.nodes) > MOST_NODES:
        return None
    known = Known(dfg)
    compared = [operands.get(value) for atom in conditions.atoms for value in (atom.x, atom.y)]
    nodes = sorted({operand.node for operand in compared if operand is not None and known.tells(operand)})
    if not nodes or not known.follow(nodes, MOST_ITERATIONS, WINDOW, ends=False):
        return None
    return Turns(known, conditions, operands)


class Turns:
    """The iterations in which conditions may hold, as bits of numbers."""

    def __init__(self, known: Known, conditions: Conditions, operands: Mapping[Value, Operand]) -> None:
        self.known, self.conditions, self.operands = known, conditions, operands
        self.all = (1 << len(known.places)) - 1
        self.found = {FALSE: 0, TRUE: self.all}
        self.atoms: dict[int, int | None] = {}

    def may_hold(self, function: int) -> int:
        """A bit for each iteration in which a function may hold, whatever is not known."""
        if function not in self.found:
            bdd = self.conditions.bdd
            low, high = self.may_hold(bdd.lows[function]), self.may_hold(bdd.highs[function])
            level = bdd.levels[function]
            if level not in self.atoms:
                self.atoms[level] = self.holds(self.conditions.atoms[level])
            bits = self.atoms[level]
            self.found[function] = low | high if bits is None else (bits & high) | (self.all & ~bits & low)
        return self.found[function]

    def holds(self, atom: Atom) -> int | None:
        """A bit for each iteration in which an atom holds; None if that is not known."""
        x, y = self.values(atom.x), self.values(atom.y)
        if x is None or y is None:
            return None
        if atom.op == "eq":
            return sum([1 << n for n, (a, b) in enumerate(zip(x, y, strict=True)) if a == b])
        if atom.is_signed:
            x, y = ([signed(WIDTH, word) for word in words] for words in (x, y))
        return sum([1 << n for n, (a, b) in enumerate(zip(x, y, strict=True)) if a < b])

    def values(self, value: Value) -> list[int] | None:
        """A value in each iteration, if it is known."""
        operand = value if isinstance(value, Const) else self.operands.get(value)
        if operand is None or not (isinstance(operand, Const) or self.known.follows(operand)):
            return None
        return self.known.values(operand)
