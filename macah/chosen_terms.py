"""Chooses an operand instead of a result, where there are too few units for all operations.

    x = c ? p + q : p + r;      ->      x = p + (c ? q : r);
    y = c ? p - q : p + q;      ->      y = p + q * (c ? -1 : 1);

are two operations instead of three, and a sign serves all choices by the same condition. Elsewhere it would
be no gain, as the operation then waits for `c`: so nothing on a recurrence is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from arch.fabric import Fabric
from arch.ops import OPS, word
from backend.bound import minimum_interval
from backend.cycles import dependences, on_cycles
from backend.dfg import DFG, Const, Node, Operand, Use
from backend.mapping import DoesNotFit
from macah import ir
from macah.compact import without_nodes
from macah.graph import WIDTH
from macah.optional import enabled

MOST_NODES = 4000
"""Larger graphs are left as they are."""


def with_chosen_terms(kernel: ir.Kernel, dfg: DFG, fabric: Fabric) -> DFG:
    """The graph with fewer operations, if that makes its lower bound less."""
    if not enabled(kernel, "chosen_terms") or not fabric.units_for("muladd") or len(dfg.nodes) > MOST_NODES:
        return dfg
    try:
        bound = minimum_interval(dfg, fabric)
        if bound.resource <= bound.recurrence:
            return dfg
        made = choose_terms(dfg)
        return made if minimum_interval(made, fabric).mii < bound.mii else dfg
    except DoesNotFit:
        return dfg


def choose_terms(dfg: DFG) -> DFG:
    """The graph with a chosen operand wherever there is a choice of two results."""
    return _Chooser(dfg).chosen()


@dataclass(frozen=True, slots=True)
class _Sum:
    """`base` plus `term`, or minus it."""

    base: Operand
    term: Operand
    minus: bool


class _Chooser:
    def __init__(self, dfg: DFG) -> None:
        self.dfg = dfg
        self.nodes = list(dfg.nodes)
        self.uses = Counter(use.node for _, _, use in dfg.uses())
        self.signs: dict[tuple[Operand, bool], int] = {}
        self.gone: set[int] = set()
        self.touched: set[int] = set()

    def chosen(self) -> DFG:
        repeated = on_cycles(dependences(self.dfg))
        for node in self.dfg.nodes:
            match node:
                case Node(op="select", operands=(_, Use(one, 0), Use(other, 0))) if one != other:
                    once = self.uses[one] == self.uses[other] == 1
                    if once and node.id not in repeated and self.touched.isdisjoint((node.id, one, other)):
                        self.join(node, self.dfg.nodes[one], self.dfg.nodes[other])
        return without_nodes(replace(self.dfg, nodes=tuple(self.nodes)), self.gone)

    def join(self, select: Node, one: Node, other: Node) -> None:
        """Make one operation of a choice of two that nothing else needs, if they have operands in common."""
        condition = select.operands[0]
        for left in _sums(one):
            for right in _sums(other):
                if left.base == right.base and left.term == right.term and left.minus != right.minus:
                    sign = self.sign(condition, left.minus, one)
                    self.become(select, "muladd", (sign, left.term, left.base), one, other)
                    self.gone |= {one.id, other.id} - {sign.node}
                    return
        if one.op != other.op or not OPS[one.op].pure:
            return
        for operands in _orders(other):
            apart = [k for k, (a, b) in enumerate(zip(one.operands, operands, strict=True)) if a != b]
            if len(apart) == 1:
                chosen = (condition, one.operands[apart[0]], operands[apart[0]])
                self.nodes[one.id] = replace(one, op="select", operands=chosen, variable=None)
                kept = tuple(Use(one.id) if k in apart else a for k, a in enumerate(one.operands))
                self.become(select, one.op, kept, one, other)
                self.gone.add(other.id)
                return

    def sign(self, condition: Operand, minus: bool, free: Node) -> Use:
        """-1 if the condition holds and 1 if not, or the other way round; `free` is no longer needed."""
        if (condition, minus) not in self.signs:
            ends = (Const(word(WIDTH, -1)), Const(1))
            operands = (condition, *(ends if minus else ends[::-1]))
            self.nodes[free.id] = replace(free, op="select", operands=operands, variable=None)
            self.signs[condition, minus] = free.id
        return Use(self.signs[condition, minus])

    def become(self, node: Node, op: str, operands: tuple[Operand, ...], one: Node, other: Node) -> None:
        """Make another operation of a choice of two."""
        self.nodes[node.id] = replace(node, op=op, operands=operands)
        self.touched |= {node.id, one.id, other.id}


def _sums(node: Node) -> Iterator[_Sum]:
    """All ways to see an operation as a sum or a difference; a constant is one of something positive."""
    if node.op == "sub":
        yield _Sum(node.operands[0], node.operands[1], True)
    if node.op == "add":
        for base, term in (node.operands, node.operands[::-1]):
            if isinstance(term, Const) and term.value >> WIDTH - 1:
                yield _Sum(base, Const(word(WIDTH, -term.value)), True)
            else:
                yield _Sum(base, term, False)


def _orders(node: Node) -> Iterator[tuple[Operand, ...]]:
    yield node.operands
    if OPS[node.op].commutative:
        yield node.operands[::-1]
