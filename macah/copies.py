"""Puts tables that are only read into several memories, where the ports of one limit the interval.

    s0 = sbox[a]; s1 = sbox[b]; s2 = sbox[c]; s3 = sbox[d];

are 4 loads of a memory with 2 ports, so an iteration takes 2 cycles; with half of them from a copy it takes
one. The copies have the name of the table: they are filled with the same words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from arch.fabric import Fabric
from backend.bound import minimum_interval, pack_memories
from backend.dfg import DFG
from backend.flat import Problem
from backend.mapping import DoesNotFit
from macah import ir
from macah.optional import enabled


def with_copies(kernel: ir.Kernel, dfg: DFG, fabric: Fabric) -> DFG:
    """The graph with as many copies of tables as make the interval shorter, one array in each memory."""
    if not enabled(kernel, "copies") or not fabric.memories or not _has_tables(dfg):
        return dfg
    ports = max(len(bank.ports) for bank in fabric.memories)
    try:
        bound = minimum_interval(dfg, fabric)
    except DoesNotFit:
        return dfg
    best = dfg
    for interval in range(bound.mii - 1, bound.recurrence - 1, -1):
        made = _copied(dfg, ports * max(1, interval))
        if len(made.memories) == len(dfg.memories) or not _fits(made, fabric, interval):
            break
        best = made
    return best


def _has_tables(dfg: DFG) -> bool:
    """Whether a memory is only read."""
    loaded = {node.memory for node in dfg.nodes if node.op == "load"}
    return not loaded <= {node.memory for node in dfg.nodes if node.op == "store"}


def _copied(dfg: DFG, most: int) -> DFG:
    """The same, with at most so many loads of each table that is only read."""
    stored = {node.memory for node in dfg.nodes if node.op == "store"}
    memories, nodes = list(dfg.memories), list(dfg.nodes)
    for table in range(len(dfg.memories)):
        loads = [node for node in dfg.nodes if node.memory == table]
        if table in stored or len(loads) <= most:
            continue
        for place, load in enumerate(loads):
            if place >= most and place % most == 0:
                memories.append(dfg.memories[table])
            if place >= most:
                nodes[load.id] = replace(load, memory=len(memories) - 1)
    return replace(dfg, nodes=tuple(nodes), memories=tuple(memories))


def _fits(dfg: DFG, fabric: Fabric, interval: int) -> bool:
    """Whether the interval is no less than the lower bound, and each array has a memory to itself."""
    try:
        bound = minimum_interval(dfg, fabric)
        shared = Counter(pack_memories(Problem(dfg, fabric)))
    except DoesNotFit:
        return False
    return bound.mii <= interval and max(shared.values()) == 1
