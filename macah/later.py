"""What comes behind operations of a graph in the same iteration, and so cannot be joined with them."""

from __future__ import annotations

from collections.abc import Sequence

from backend.dfg import DFG, Operand, Use
from macah.exclusion import GUARDS


class Later:
    """The order of one graph's operations."""

    def __init__(self, dfg: DFG) -> None:
        self.dfg = dfg
        self.next: list[set[int]] = [set() for _ in dfg.nodes]
        self.before: list[set[int]] = [set() for _ in dfg.nodes]  # by orders alone
        self.known: dict[int, frozenset[int]] = {}
        for consumer, _, use in dfg.uses():
            if use.distance == 0:
                self.next[use.node].add(consumer)
        for order in dfg.orders:
            if order.distance == 0:
                self.next[order.before].add(order.after)
                self.before[order.after].add(order.before)

    def forbids(self, firsts: Sequence[int], seconds: Sequence[int], test: Operand) -> bool:
        """Whether stores or sends that are joined, told apart by `test`, would need themselves for sure."""
        if self.dfg.nodes[firsts[0]].op not in ("store", "send"):
            return False
        alone = len(firsts) == 1  # orders among the joined may go
        return any(
            self._needs(a, b, test) or (alone and (self._between(a, b) or self._between(b, a)))
            for a, b in zip(firsts, seconds, strict=True)
        )

    def _needs(self, a: int, b: int, test: Operand) -> bool:
        """Whether what one of two reads comes behind one of them, or the test between what they read."""
        one, other = self.dfg.nodes[a], self.dfg.nodes[b]
        pairs = list(zip(one.operands, other.operands, strict=True))
        del pairs[GUARDS[one.op]]  # whether either happens may be known by itself
        needed = {operand for pair in pairs for operand in pair}
        if any(mine != yours for mine, yours in pairs):
            needed.add(test)
        behind = self._behind(a) | self._behind(b)
        return any(isinstance(use, Use) and use.distance == 0 and use.node in behind for use in needed)

    def _between(self, a: int, b: int) -> bool:
        """Whether something has to come behind one and before the other."""
        return not self._behind(a).isdisjoint(self.before[b])

    def _behind(self, node: int) -> frozenset[int]:
        if node not in self.known:
            found, pending = set[int](), [node]
            while pending:
                new = self.next[pending.pop()] - found
                found |= new
                pending += new
            self.known[node] = frozenset(found)
        return self.known[node]
