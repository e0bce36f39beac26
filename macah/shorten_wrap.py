"""What wraps around need not do so on its recurrence: masked values get ways to be made of unmasked ones.

    p = (p@1 + d) & 7                  q = q@1 + d,  p = q & 7
                          ->
    c = zext8(c@1 * 5 + d)             b = b@1 * 5 + d,  c = zext8(b)

The low bits of sums, differences, products, shifts to the left, bitwise operations and choices depend on the
low bits of what they are made of only. So a value of which k low bits are kept may be made of copies that
are right in these, and copies can do without what keeps the k low bits, or more, of what they are made of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from backend.dfg import DFG, Const, Node, Operand, Use
from macah.fold import NARROWING
from macah.graph import WIDTH

_LOW = {
    "add": (0, 1),
    "sub": (0, 1),
    "mul": (0, 1),
    "and": (0, 1),
    "or": (0, 1),
    "xor": (0, 1),
    "muladd": (0, 1, 2),
    "select": (1, 2),
    "shl": (0,),
    "neg": (0,),
    "not": (0,),
}
"""Operations whose low bits depend on the low bits of these operands only, and on all bits of the others."""


def unmasked(dfg: DFG, members: Iterable[int]) -> tuple[DFG, dict[int, int]]:
    """The graph with further nodes behind its own: copies of `members` without masks.

    Also which of the further nodes always have the value of which old ones.
    """
    inside = frozenset(members)
    kept = {number: bits for number in sorted(inside) if (bits := _kept(dfg.nodes[number])) < WIDTH}
    equal: dict[int, int] = {}
    for bits in sorted(set(kept.values())):
        copies = _Copies(dfg, inside, bits)
        copies.find()
        for number in kept:
            if kept[number] == bits and copies.change(dfg.nodes[number]):
                equal[number] = copies.copy(number)
        dfg = copies.result()
    return dfg, equal


def _kept(node: Node) -> int:
    """Of how many low bits of its first operand a value is made, if of no others."""
    match node.op, node.operands:
        case "and", (Use(), Const(mask)):
            return mask.bit_length()
        case op, (Use(),):
            return NARROWING.get(op, WIDTH)
    return WIDTH


class _Copies:
    """Nodes right in their `bits` low bits, each for one of `inside`."""

    def __init__(self, dfg: DFG, inside: frozenset[int], bits: int) -> None:
        self.dfg, self.inside, self.bits = dfg, inside, bits
        self.wanted: list[int] = []
        self.numbers: dict[int, int] = {}
        self.changed: set[int] = set()

    def result(self) -> DFG:
        """The graph with all copies that were asked for, and what they need."""
        made: list[Node] = []
        while len(made) < len(self.wanted):
            node = self.dfg.nodes[self.wanted[len(made)]]
            low = self._positions(node)
            operands = [self._copied(old) if at in low else old for at, old in enumerate(node.operands)]
            made.append(replace(node, id=self.copy(node.id), operands=tuple(operands), variable=None))
        return replace(self.dfg, nodes=(*self.dfg.nodes, *made)) if made else self.dfg

    def copy(self, number: int) -> int:
        """The copy of a node."""
        if number not in self.numbers:
            self.numbers[number] = len(self.dfg.nodes) + len(self.wanted)
            self.wanted.append(number)
        return self.numbers[number]

    def change(self, node: Node) -> bool:
        """Whether a copy of a node would be made of something else than the node is."""
        return any(self._differs(node.operands[at]) for at in self._positions(node))

    def find(self) -> None:
        """Note the nodes that have copies: masks vanish on the way to them."""
        own = [self.dfg.nodes[number] for number in sorted(self.inside)]
        pending = [node for node in own if node.op in _LOW]
        while found := {node.id for node in pending if self.change(node)}:
            self.changed |= found
            pending = [node for node in pending if node.id not in found]

    def _differs(self, old: Operand) -> bool:
        low = self._bare(old)
        return low != old or (isinstance(low, Use) and low.node in self.changed)

    def _copied(self, old: Operand) -> Operand:
        """What has the same low bits as an operand: a copy, if there is one, and not what masks it."""
        low = self._bare(old)
        if isinstance(low, Use) and low.node in self.changed:
            return replace(low, node=self.copy(low.node))
        return low

    def _positions(self, node: Node) -> tuple[int, ...]:
        return _LOW.get(node.op, (0,) if node.op in NARROWING else ())

    def _bare(self, old: Operand) -> Operand:
        """What an operand is without the masks that keep all bits that matter."""
        while isinstance(old, Use) and (inner := self._masked(old)) is not None:
            old = inner
        return old

    def _masked(self, old: Use) -> Operand | None:
        """What an operand is where it is masked, if no bit is lost that matters."""
        node = self.dfg.nodes[old.node]
        if old.node not in self.inside:
            return None
        match node.op, node.operands:
            case "and", (Use() as inner, Const(mask)):
                keeps = ~mask & ((1 << self.bits) - 1) == 0
            case op, (Use() as inner,) if op in NARROWING:
                keeps = self.bits <= NARROWING[op]
            case _:
                return None
        if not keeps:
            return None
        if old.distance == 0:
            return inner
        return replace(old, node=inner.node, output=inner.output) if inner.distance == 0 else None
