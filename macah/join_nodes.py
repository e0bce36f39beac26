"""Two operations of a finished graph become one."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import TypeGuard

from arch.ops import OPS
from backend.dfg import DFG, Node, Operand, Order, Use
from macah.compact import numbered, without_nodes
from macah.exclusion import GUARDS, Exclusion

Pairs = list[tuple[int, int]]


def joined(exclusion: Exclusion, pairs: Pairs, test: Operand, first: bool) -> DFG:
    """The graph in which each second operation stands for the first one, too: never do both act.

    `test` is not 0 where the first one acts and 0 where the second does; the other way round if not `first`.
    """
    return _Join(exclusion, pairs, test, first).result()


class _Join:
    def __init__(self, exclusion: Exclusion, pairs: Pairs, test: Operand, first: bool) -> None:
        self.exclusion, self.dfg = exclusion, exclusion.dfg
        self.pairs, self.test, self.first = pairs, test, first
        self.nodes = list(self.dfg.nodes)
        self.instead: dict[int, int] = {}  # what is read in the place of an operation
        self.kept: dict[int, Use] = {}  # what is received, by the choices between that and what was before
        self.made: dict[tuple[str, tuple[Operand, ...]], Use] = {}

    def result(self) -> DFG:
        for a, b in self.pairs:
            self._join(a, b)
        gone = dict(self.pairs)
        nodes = [self._read(node) for node in self.nodes]
        firsts, seconds = gone.keys(), set(gone.values())
        orders = [
            Order(gone.get(o.before, o.before), gone.get(o.after, o.after), o.distance, o.delay)
            if o.before in gone or o.after in gone
            else o
            for o in self.dfg.orders
            if not _excluded(o, firsts, seconds)
        ]
        orders = [o for o in orders if o.before != o.after or o.delay > o.distance]
        dfg = replace(self.dfg, nodes=tuple(nodes), orders=tuple(dict.fromkeys(orders)))
        return _without(_folded(dfg), set(gone))

    def _add(self, op: str, operands: tuple[Operand, ...], like: int) -> Use:
        key = op, operands
        if key not in self.made:
            self.made[key] = Use(len(self.nodes))
            self.nodes.append(Node(len(self.nodes), op, operands, where=self.dfg.nodes[like].where))
        return self.made[key]

    def _chosen(self, a: Operand, b: Operand, like: int) -> Operand:
        if a == b:
            return a
        return self._add("select", (self.test, a, b) if self.first else (self.test, b, a), like)

    def _join(self, a: int, b: int) -> None:
        one, other = self.dfg.nodes[a], self.dfg.nodes[b]
        guard = GUARDS.get(one.op)
        operands: list[Operand] = []
        ours, theirs = one.operands, other.operands
        if one.op == "recv" and theirs[0] == Use(a):
            theirs = (ours[0], theirs[1])  # where the second one receives, the first one does not
        if (
            OPS[one.op].commutative
            and ours[0] != theirs[0]
            and (ours[0] == theirs[1] or ours[1] == theirs[0])
        ):
            ours = (ours[1], ours[0])
        for position, (mine, yours) in enumerate(zip(ours, theirs, strict=True)):
            if position == guard:
                operands.append(self._either(mine, yours, b))
            else:
                operands.append(self._chosen(mine, yours, b))
        self.nodes[b] = replace(other, operands=tuple(operands))
        self.instead[a] = b
        if one.op == "recv":
            self._keep_old(a, b)

    def _either(self, mine: Operand, yours: Operand, like: int) -> Operand:
        """Whether one of two things happens: often that is known by itself."""
        both = self.exclusion.bdd.either(self.exclusion.function(mine), self.exclusion.function(yours))
        known = self.exclusion.equal(both)
        return self._add("or", (mine, yours), like) if known is None else known

    def _keep_old(self, a: int, b: int) -> None:
        """What is received is a variable's only where that is; elsewhere it stays what it was."""
        exclusion = self.exclusion
        (mine, ours), (yours, theirs) = self.dfg.nodes[a].operands, self.dfg.nodes[b].operands
        chained = yours == Use(a)
        for number, old, guard, other in ((a, mine, ours, theirs), (b, yours, theirs, ours)):
            if number == b and chained:
                continue
            right = exclusion.function(guard)
            if chained or mine == yours:  # then that is what stands there if nothing is received
                right = exclusion.bdd.opposite(exclusion.function(other))
            if not exclusion.implies(exclusion.seen(number, b), right):
                kept = Node(len(self.nodes), "select", (guard, old, old), where=self.dfg.nodes[number].where)
                self.instead[number] = kept.id
                self.kept[kept.id] = Use(b)
                self.nodes.append(kept)

    def _read(self, node: Node) -> Node:
        """A node that reads what stands for others now."""
        operands = [_redirected(operand, self.instead) for operand in node.operands]
        if node.id in self.kept:
            operands[1] = self.kept[node.id]
        return numbered(node, node.id, tuple(operands))


def _excluded(order: Order, firsts: Set[int], seconds: Set[int]) -> bool:
    """True of an order between two operations that never both act in an iteration."""
    return order.distance == 0 and (
        (order.before in firsts and order.after in seconds)
        or (order.before in seconds and order.after in firsts)
    )


def _redirected(operand: Operand, instead: Mapping[int, int]) -> Operand:
    if isinstance(operand, Use) and operand.node in instead:
        return replace(operand, node=instead[operand.node])
    return operand


def _folded(dfg: DFG) -> DFG:
    """Without choices between a value and itself."""
    nodes, again = list(dfg.nodes), True
    while again:
        again = False
        same = {
            node.id: node.operands[1].node
            for node in nodes
            if node.op == "select" and node.operands[1] == node.operands[2] and _is_plain(node.operands[1])
        }
        for place, node in enumerate(nodes) if same else ():
            if any(isinstance(operand, Use) and operand.node in same for operand in node.operands):
                operands = tuple([_redirected(operand, same) for operand in node.operands])
                nodes[place], again = replace(node, operands=operands), True
    return replace(dfg, nodes=tuple(nodes))


def _is_plain(operand: Operand) -> TypeGuard[Use]:
    return isinstance(operand, Use) and operand.distance == 0 and operand.output == 0


def _without(dfg: DFG, gone: set[int]) -> DFG:
    """Without some operations, and those that nothing needs any more."""
    pending = [n.id for n in dfg.nodes if not (OPS[n.op].pure or n.op == "load" or n.id in gone)]
    needed = set(pending)
    while pending:
        for operand in dfg.nodes[pending.pop()].operands:
            if isinstance(operand, Use) and operand.node not in needed:
                needed.add(operand.node)
                pending.append(operand.node)
    orders = tuple(order for order in dfg.orders if order.before in needed and order.after in needed)
    unused = {node.id for node in dfg.nodes} - needed
    return without_nodes(replace(dfg, orders=orders), unused)
