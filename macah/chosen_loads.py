"""Chooses an address instead of what is loaded, where the ports of a memory limit the interval.

    x = c ? a[i] : a[j];      ->      x = a[c ? i : j];

is one load instead of two. Elsewhere it would be no gain, as the load then waits for `c`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG, Node, Use
from backend.mapping import DoesNotFit
from macah import ir
from macah.compact import without_nodes
from macah.optional import enabled


def with_chosen_loads(kernel: ir.Kernel, dfg: DFG, fabric: Fabric) -> DFG:
    """The graph with as few loads as make its lower bound less."""
    if not enabled(kernel, "chosen_loads") or not fabric.memories:
        return dfg
    ports = max(len(bank.ports) for bank in fabric.memories)
    try:
        bound = minimum_interval(dfg, fabric)
    except DoesNotFit:
        return dfg
    best, least = dfg, bound.mii
    for interval in range(bound.mii - 1, max(bound.recurrence, 1) - 1, -1):
        made = _chosen(dfg, ports * interval)
        found = minimum_interval(made, fabric).mii
        if found < least:
            best, least = made, found
    return best


def _chosen(dfg: DFG, most: int) -> DFG:
    """The same, with pairs of loads joined in memories that more than `most` operations access."""
    accesses = Counter(node.memory for node in dfg.nodes if node.memory is not None)
    nodes, instead = list(dfg.nodes), dict[int, int]()
    for select, one, other in _pairs(dfg):
        memory = dfg.nodes[one].memory
        if memory is not None and accesses[memory] > most:
            accesses[memory] -= 1
            condition = dfg.nodes[select].operands[0]
            places = (dfg.nodes[one].operands[0], dfg.nodes[other].operands[0])
            nodes[one] = replace(dfg.nodes[select], id=one, operands=(condition, *places), variable=None)
            nodes[select] = replace(
                dfg.nodes[one], id=select, operands=(Use(one),), variable=dfg.nodes[select].variable
            )
            instead |= {one: select, other: select}
    return _without(dfg, nodes, instead) if instead else dfg


def _pairs(dfg: DFG) -> Iterator[tuple[int, int, int]]:
    """Selects of two loads from one memory that nothing else uses, and these loads."""
    uses = Counter(use.node for _, _, use in dfg.uses())
    first = {order.after for order in dfg.orders if order.distance == 0}
    last = {order.before for order in dfg.orders if order.distance == 0}
    for node in dfg.nodes:
        match node:
            case Node(id=select, op="select", operands=(_, Use(one, 0), Use(other, 0))) if one != other:
                pair = (dfg.nodes[one], dfg.nodes[other])
                if (
                    all(load.op == "load" and uses[load.id] == 1 for load in pair)
                    and pair[0].memory == pair[1].memory
                    # One load cannot follow a store that the other one precedes.
                    and (first.isdisjoint((one, other)) or last.isdisjoint((one, other)))
                ):
                    yield select, one, other


def _without(dfg: DFG, nodes: list[Node], instead: dict[int, int]) -> DFG:
    """The graph of these nodes without unused loads, whose orders are those of what is `instead`."""
    gone = {old for old in instead if nodes[old].op == "load"}
    orders = dict.fromkeys(
        replace(
            order,
            before=instead.get(order.before, order.before),
            after=instead.get(order.after, order.after),
        )
        for order in dfg.orders
    )
    return without_nodes(replace(dfg, nodes=tuple(nodes), orders=tuple(orders)), gone)
