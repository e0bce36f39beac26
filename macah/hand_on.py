"""Hands stored values on to later loads, as `passes/forward_stores.py` does, in a graph.

    %5 = load h %1;  %6: store h %1, %4, %3;  order %6 -> %5 distance 1

becomes, for a depth of 1,

    %7 = eq %1, %1@1[nowhere];  %8 = and %7, %3@1[0]
    %9 = select %8, %4@1, %5;  order %6 -> %5 distance 2

where whatever was %5 is %9. That is for graphs whose accesses have become fewer (`share_ports.py`), so that
there is less to compare. How soon a store and a load may meet, the orders tell, those that others imply
included; what was stored last in an iteration is what no other store is ordered behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce

from backend.dfg import DFG, Const, Node, Operand, Order, Use, evaluation_order
from macah.site import WORD

NOWHERE = Const(WORD - 1)
MOST_COMPARED = 32
"""So many addresses are compared at most in an iteration."""

MOST_ACCESSES = 24


def handed_on(dfg: DFG, memory: int, depth: int) -> DFG | None:
    """The graph with what is stored to a memory handed on so many iterations; None if that is too much."""
    accesses = [node.id for node in dfg.nodes if node.memory == memory]
    if len(accesses) > MOST_ACCESSES:
        return None
    return _HandOn(dfg, accesses, depth).result()


class Meetings:
    """How many iterations later an access comes at least behind another one that it must come behind."""

    def __init__(self, dfg: DFG, accesses: list[int]) -> None:
        self.stores = {number for number in accesses if dfg.nodes[number].op == "store"}
        self.accesses = accesses
        self.least: dict[tuple[int, int], int] = {}
        own = {*accesses}
        for order in dfg.orders:
            if order.before in own and order.after in own:
                self._note(order.before, order.after, order.distance)
        for via in accesses:
            for before in accesses:
                for after in accesses:
                    if (before, via) in self.least and (via, after) in self.least:
                        self._note(before, after, self.least[before, via] + self.least[via, after])

    def _note(self, before: int, after: int, distance: int) -> None:
        known = self.least.get((before, after))
        self.least[before, after] = distance if known is None else min(known, distance)

    def orders(self) -> Iterator[Order]:
        """Orders that keep them, without those that others imply."""
        left = {
            pair: distance
            for pair, distance in self.least.items()
            if pair[0] != pair[1] and not self.stores.isdisjoint(pair)
        }
        for pair, distance in sorted(left.items(), key=lambda item: (-item[1], item[0])):
            if any(
                (pair[0], via) in left
                and (via, pair[1]) in left
                and left[pair[0], via] + left[via, pair[1]] <= distance
                for via in self.accesses
            ):
                del left[pair]
        for (before, after), distance in sorted(left.items()):
            yield Order(before, after, distance, delay=int(before in self.stores))


@dataclass(slots=True)
class _Nodes:
    """Nodes that are added to a graph."""

    nodes: list[Node]
    known: dict[tuple[str, tuple[Operand, ...]], Use]

    def add(self, op: str, operands: tuple[Operand, ...], like: Node) -> Use:
        key = op, operands
        if key not in self.known:
            self.known[key] = Use(len(self.nodes))
            self.nodes.append(Node(len(self.nodes), op, operands, where=like.where, variable=like.variable))
        return self.known[key]


class _HandOn:
    def __init__(self, dfg: DFG, accesses: list[int], depth: int) -> None:
        self.dfg, self.depth = dfg, depth
        self.meetings = Meetings(dfg, accesses)
        self.made = _Nodes(list(dfg.nodes), {})
        self.loads = [number for number in accesses if dfg.nodes[number].op == "load"]
        places = {number: place for place, number in enumerate(evaluation_order(dfg))}
        self.last_first = sorted(self.meetings.stores, key=places.__getitem__, reverse=True)
        self.compared = 0

    def result(self) -> DFG | None:
        least = self.meetings.least
        instead = {load: self._load(self.dfg.nodes[load]) for load in self.loads}
        if self.compared > MOST_COMPARED:
            return None
        for store in self.meetings.stores:
            for load in self.loads:
                if (store, load) in least:
                    least[store, load] = max(least[store, load], self.depth + 1)
        nodes = [_reading(node, instead, node.id >= len(self.dfg.nodes)) for node in self.made.nodes]
        return replace(self.dfg, nodes=tuple(nodes), orders=self.orders())

    def orders(self) -> tuple[Order, ...]:
        own = self.meetings.stores.union(self.loads)
        others = [order for order in self.dfg.orders if not {order.before, order.after} <= own]
        return (*others, *self.meetings.orders())

    def _load(self, load: Node) -> Use:
        """What the load is, of what was stored."""
        near, far = list[tuple[Use, Operand]](), list[tuple[Use, Operand]]()
        for age in range(self.depth + 1):
            for store in self.last_first:
                least = self.meetings.least.get((store, load.id))
                if least is not None and least <= age:
                    choice = self._same(load, self.dfg.nodes[store], age)
                    (near if age < 2 else far).append(choice)
        self.compared += len(near) + len(far)
        old = Use(load.id)
        if far:
            # which one of them is chosen besides, so that the load waits for one choice only
            met = reduce(lambda a, b: self.made.add("or", (a, b), load), [same for same, _ in far])
            value = self._first(far[:-1], far[-1][1], load)
            old = self.made.add("select", (met, value, old), load)
        found = self._first(near, old, load)
        assert isinstance(found, Use)
        return found

    def _first(self, choices: list[tuple[Use, Operand]], other: Operand, like: Node) -> Operand:
        for same, new in reversed(choices):
            other = self.made.add("select", (same, new, other), like)
        return other

    def _same(self, load: Node, store: Node, age: int) -> tuple[Use, Operand]:
        """Whether the load is of what the store stored so many iterations ago, and that."""
        at, new, did = store.operands
        did = self._plain(did)
        same = self.made.add("eq", (load.operands[0], self._before(at, age, NOWHERE, store)), load)
        if not self._is_always(did):
            same = self.made.add("and", (same, self._before(did, age, Const(0), store)), load)
        return same, self._before(new, age, Const(0), store)

    def _before(self, value: Operand, age: int, initial: Const, like: Node) -> Operand:
        """What a value was some iterations ago, and `initial` where there was none."""
        if age == 0:
            return value
        if not isinstance(value, Use) or value.distance and value.initial != initial:
            value = self.made.add("mov", (value,), like)
        return Use(value.node, value.distance + age, initial, value.output)

    def _plain(self, guard: Operand) -> Operand:
        """A guard without the condition that the iteration is alive: those before one that is alive were."""
        if isinstance(guard, Use) and guard.distance == 0 and self.dfg.nodes[guard.node].op == "and":
            one, other = self.dfg.nodes[guard.node].operands
            if self._is_always(other):
                return one
            if self._is_always(one):
                return other
        return guard

    def _is_always(self, guard: Operand) -> bool:
        """True if a guard holds in all iterations before one of any effect."""
        return guard in (Const(1), self._alive)

    @cached_property
    def _alive(self) -> Operand | None:
        """The condition that an iteration is one of the loop's; None if the `stop` does not show it."""
        (stop,) = (node for node in self.dfg.nodes if node.op == "stop")
        leaves = self._node(stop.operands[0])
        if leaves is None or leaves.op != "xor":
            return None
        for alive, goes_on in (leaves.operands, leaves.operands[::-1]):
            made = self._node(goes_on)
            if made and made.op == "and" and alive == Use(made.id, 1, Const(1)) and alive in made.operands:
                return alive
        return None

    def _node(self, operand: Operand) -> Node | None:
        """The operation of the same iteration that an operand is the result of."""
        return self.dfg.nodes[operand.node] if isinstance(operand, Use) and not operand.distance else None


def _reading(node: Node, instead: dict[int, Use], is_new: bool) -> Node:
    """A node that reads what stands for loads now; what that is otherwise is what was loaded."""
    operands = tuple(
        replace(operand, node=instead[operand.node].node)
        if isinstance(operand, Use)
        and operand.node in instead
        and not (is_new and node.op == "select" and place == 2 and operand.distance == 0)
        else operand
        for place, operand in enumerate(node.operands)
    )
    return node if operands == node.operands else replace(node, operands=operands)
