"""In which iterations the values of nodes decide anything, as far as known values tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from arch.ops import OPS
from backend.dfg import DFG, Node, Operand

Bits = int
"""One for each iteration, the first one the lowest."""


class Matters:
    """In which of so many iterations nodes may decide what is sent, stored or whatever else has an effect.

    `may` tells in which ones a value may be another one than 0, `surely` in which ones it certainly is. What
    values decide later than in these iterations counts.
    """

    def __init__(
        self, dfg: DFG, may: Callable[[Operand], Bits], surely: Callable[[Operand], Bits], count: int
    ) -> None:
        self.may, self.surely, self.count = may, surely, count
        self.all = (1 << count) - 1
        self.consumers: list[list[tuple[Node, int, int]]] = [[] for _ in dfg.nodes]
        for consumer, position, use in dfg.uses():
            self.consumers[use.node].append((dfg.nodes[consumer], position, use.distance))

    def of(self, nodes: Sequence[int]) -> dict[int, Bits]:
        """The iterations in which each of some nodes counts: on cycles, what is needed behind them."""
        found = dict.fromkeys(self.reached(nodes), 0)
        changed = True
        while changed:
            changed = False
            for number in found:
                bits = 0
                for consumer, position, distance in self.consumers[number]:
                    bits |= self.later(self.through(consumer, position, found), distance)
                changed |= bits != found[number]
                found[number] = bits
        return {number: found[number] for number in nodes}

    def reached(self, nodes: Sequence[int]) -> list[int]:
        """Nodes and what is computed from them, the last first."""
        found, pending = dict[int, None](), list(nodes)
        while pending:
            number = pending.pop()
            if number not in found:
                found[number] = None
                pending += [consumer.id for consumer, _, _ in self.consumers[number] if _is_value(consumer)]
        return sorted(found, reverse=True)

    def later(self, bits: Bits, distance: int) -> Bits:
        """What counts so many iterations later."""
        return (bits | self.all << self.count) >> distance & self.all

    def through(self, node: Node, position: int, found: Mapping[int, Bits]) -> Bits:
        """In which iterations an operand of a node counts."""
        if not _is_value(node):
            guarded = node.op in ("store", "send") and position < len(node.operands) - 1
            return self.may(node.operands[-1]) if guarded else self.all
        bits = found.get(node.id, self.all)
        match node.op:
            case "select" if position == 1:
                return bits & self.may(node.operands[0])
            case "select" if position == 2:
                return bits & ~self.surely(node.operands[0])
            case "and":
                return bits & self.may(node.operands[1 - position])
            case _:
                return bits


def _is_value(node: Node) -> bool:
    """True if nothing comes of a node but its value."""
    return OPS[node.op].pure or node.op == "load"
