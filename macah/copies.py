"""Puts arrays into several memories, where the ports of one limit the interval.

    s0 = sbox[a]; s1 = sbox[b]; s2 = sbox[c]; s3 = sbox[d];

are 4 loads of a memory with 2 ports, so an iteration takes 2 cycles; with half of them from a copy it takes
one. The copies have the name of the array: they are filled with the same words. An array that is stored to
is stored to in all of its copies, each time at once, so that each has room for fewer loads:

    a[i][j] = a[i][j] * p - a[k][j] * f;     ->      a[i][j] = a'[i][j] = a[i][j] * p - a'[k][j] * f;
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache

from arch.fabric import Fabric
from backend.bound import minimum_interval, pack_memories
from backend.dfg import DFG, Node, Order
from backend.flat import Problem
from backend.mapping import DoesNotFit
from macah import ir
from macah.optional import enabled

MOST_NODES = 2000
"""Graphs with more operations get no copies of arrays that are stored to."""

LONG, FULL, SPARE = 4, 0.75, 4
"""From that interval on, tables whose ports are fuller than that get so many times the ports they need."""


def with_copies(kernel: ir.Kernel, dfg: DFG, fabric: Fabric, stored: bool = False) -> DFG:
    """The graph with as many copies of arrays as make the interval shorter, one array in each memory.

    They are copies of tables, which are only read, and if `stored` of arrays that are stored to as well.
    """
    if not enabled(kernel, "copies") or not fabric.memories or not _loaded(dfg, stored):
        return dfg
    if stored and len(dfg.nodes) > MOST_NODES:
        return dfg
    ports = max(len(bank.ports) for bank in fabric.memories)
    try:
        bound = minimum_interval(dfg, fabric)
    except DoesNotFit:
        return dfg

    @cache
    def copied(interval: int) -> DFG | None:
        made = _copied(dfg, ports * interval, stored)
        return made if len(made.memories) > len(dfg.memories) and _fits(made, fabric, interval) else None

    shorter = range(max(1, bound.recurrence), bound.mii)
    least = bisect_left(shorter, True, key=lambda interval: copied(interval) is not None)
    made = copied(shorter[least]) if least < len(shorter) else None
    return dfg if made is None else made


def with_spare_copies(kernel: ir.Kernel, dfg: DFG, fabric: Fabric) -> DFG:
    """The graph with more copies of tables where a recurrence binds that has no time to wait for their ports.

    Recurrences through a table leave no choice of when it is loaded, so its ports must not be nearly full.
    """
    if not enabled(kernel, "copies") or not fabric.memories or not _loaded(dfg, stored=False):
        return dfg
    with suppress(DoesNotFit):
        bound = minimum_interval(dfg, fabric)
        room = max(len(bank.ports) for bank in fabric.memories) * bound.mii
        if bound.recurrence == bound.mii >= LONG and _fullest(dfg) > FULL * room:
            made = _copied(dfg, room // SPARE, stored=False)
            if minimum_interval(made, fabric).mii == bound.mii:
                return made
    return dfg


def _fullest(dfg: DFG) -> int:
    """The most loads of a table."""
    stored = {node.memory for node in dfg.nodes if node.op == "store"}
    loads = Counter(node.memory for node in dfg.nodes if node.op == "load" and node.memory not in stored)
    return max(loads.values())


def _loaded(dfg: DFG, stored: bool) -> bool:
    """Whether a memory may have copies."""
    loaded = {node.memory for node in dfg.nodes if node.op == "load"}
    return bool(loaded if stored else loaded - {node.memory for node in dfg.nodes if node.op == "store"})


def _copied(dfg: DFG, most: int, stored: bool) -> DFG:
    """The same, with at most so many accesses to each array, as far as stores leave room for loads."""
    made = _Copies(dfg, list(dfg.nodes), list(dfg.orders))
    for memory in range(len(dfg.memories)):
        accesses = [node for node in dfg.nodes if node.memory == memory]
        stores = [node for node in accesses if node.op == "store"]
        loads = [node for node in accesses if node.op == "load"]
        room = most - len(stores)
        if len(loads) <= room or room <= 0 or (stores and not stored):
            continue
        for start in range(room, len(loads), room):
            made.add(memory, stores, loads[start : start + room])
    return made.graph()


@dataclass(slots=True)
class _Copies:
    """A graph that gets copies of memories."""

    dfg: DFG
    nodes: list[Node]
    orders: list[Order]
    more: list[int] = field(default_factory=list)  # the memories that the new ones are copies of

    def add(self, memory: int, stores: list[Node], loads: list[Node]) -> None:
        """Another copy, from which these loads take what they load.

        A store to it keeps the orders of the store that it repeats, to loads of all copies: fewer would do,
        but as the two may happen at once, these cost nothing.
        """
        place = len(self.dfg.memories) + len(self.more)
        self.more.append(memory)
        for load in loads:
            self.nodes[load.id] = replace(load, memory=place)
        twins = {store.id: len(self.nodes) + n for n, store in enumerate(stores)}
        self.nodes += [replace(store, id=twins[store.id], memory=place) for store in stores]
        for order in self.dfg.orders:
            if order.before in twins or order.after in twins:
                before, after = twins.get(order.before, order.before), twins.get(order.after, order.after)
                self.orders.append(replace(order, before=before, after=after))

    def graph(self) -> DFG:
        """With one of the copies of an array handed back to the host."""
        new = [replace(self.dfg.memories[memory], captured_out=False) for memory in self.more]
        memories = (*self.dfg.memories, *new)
        return replace(self.dfg, nodes=tuple(self.nodes), orders=tuple(self.orders), memories=memories)


def _fits(dfg: DFG, fabric: Fabric, interval: int) -> bool:
    """Whether the interval is no less than the lower bound, and each array has a memory to itself."""
    try:
        bound = minimum_interval(dfg, fabric)
        shared = Counter(pack_memories(Problem(dfg, fabric)))
    except DoesNotFit:
        return False
    return bound.mii <= interval and max(shared.values()) == 1
