"""What never uses a stream or an array in the same iteration becomes one, before recurrences are shortened.

    for (c = 0; c < 16; c++) v[c] <? in;
    for (i = 0; i < n; i++) { x <? in; … }            ->          one receive, for either loop in its turn

    for (k = 0; k < 8; k++) ring[k] = 0;
    for (i = 0; i < n; i++) { … ring[j] = x; … }      ->          one store

`share_units` does that with graphs whose recurrences are short. That may be too late: recurrences are made no
shorter than ports allow, and conditions that are known iterations ahead do not tell what excludes what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.mapping import DoesNotFit
from macah import ir
from macah.optional import enabled
from macah.share_units import relieved_ports

MOST_NODES = 300
"""Larger graphs are left as they are."""

Finish = Callable[[DFG], DFG]


def with_shared_ports(
    kernel: ir.Kernel, dfg: DFG, fabric: Fabric, plain: Callable[[], DFG], finish: Finish
) -> DFG:
    """The graph with fewer operations on streams, and on arrays stored to, if its bound is lower then.

    `plain` makes the graph before recurrences are shortened; `finish` does that, and what comes after it.
    """
    ports = max((len(bank.ports) for bank in fabric.memories), default=1)
    crowded = most_moved(dfg, ports)
    if crowded == 1 or len(dfg.nodes) > MOST_NODES:
        return dfg
    if not (enabled(kernel, "share_units") and enabled(kernel, "shorten")):
        return dfg
    try:
        bound = minimum_interval(dfg, fabric).mii
        made = relieved_ports(plain(), ports)
        if most_moved(made, ports) >= crowded:
            return dfg
        made = finish(made)
        return made if minimum_interval(made, fabric).mii < bound else dfg
    except DoesNotFit:
        return dfg


def most_moved(dfg: DFG, ports: int) -> int:
    """The interval that the stream with most operations needs, or the array, if it is stored to."""
    moved = Counter(n.stream for n in dfg.nodes if n.stream is not None)
    stored = {n.memory for n in dfg.nodes if n.op == "store"}
    accesses = Counter(n.memory for n in dfg.nodes if n.memory in stored)
    return max(max(moved.values(), default=1), -(-max(accesses.values(), default=1) // ports))
