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
from contextlib import suppress
from dataclasses import replace

from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.mapping import DoesNotFit
from macah import ir
from macah.capacity import Capacity
from macah.course import independent
from macah.forward import forwarded_in_graph
from macah.optional import enabled
from macah.share_units import relieved_ports
from macah.short_recurrences import with_short_recurrences
from macah.shorten import bound

MOST_NODES = 300
"""Larger graphs are left as they are."""

Finish = Callable[[DFG], DFG]


def with_shared_ports(
    kernel: ir.Kernel, dfg: DFG, fabric: Fabric, capacity: Capacity, plain: Callable[[], DFG], finish: Finish
) -> DFG:
    """The graph with fewer operations on streams, and on arrays stored to, if its bound is lower then.

    `plain` makes the graph before recurrences are shortened, without values handed on: these have other ways
    to go then, and are compared with fewer stores. `finish` does what comes after recurrences are shortened.
    """
    ports = max((len(bank.ports) for bank in fabric.memories), default=1)
    crowded = most_moved(dfg, ports)
    if crowded == 1 or len(dfg.nodes) > MOST_NODES:
        return dfg
    if not (enabled(kernel, "share_units") and enabled(kernel, "shorten")):
        return dfg

    def shorter(made: DFG) -> DFG:
        return with_short_recurrences(kernel, made, capacity)

    def made(joined: DFG) -> DFG:
        handing = enabled(kernel, "forward")
        return finish(forwarded_in_graph(joined, shorter, capacity) if handing else shorter(joined))

    with suppress(DoesNotFit):
        bounds, apart = minimum_interval(dfg, fabric), plain()
        # What flags tell apart waits for them: it is joined only where ports bind, and nothing else helps.
        for flags in (False, True) if bounds.resource == bounds.mii else (False,):
            joined = relieved_ports(apart, ports, flags)
            moved = most_moved(joined, ports)
            if moved >= crowded or _least_interval(joined, capacity) >= bounds.mii:
                continue
            # Where recurrences bind, what is joined must not wait for more than before.
            if bounds.resource < bounds.mii and bound(joined, capacity) > bound(apart, capacity):
                continue
            crowded = moved  # only what is joined further is worth another try
            if minimum_interval(better := made(joined), fabric).mii < bounds.mii:
                return better
    return dfg


def _least_interval(dfg: DFG, capacity: Capacity) -> int:
    """What units, streams and memories allow, as if control were in tables that depends on nothing else."""
    own = independent(dfg)
    return capacity.least_interval(replace(dfg, nodes=tuple([n for n in dfg.nodes if n.id not in own])))


def most_moved(dfg: DFG, ports: int) -> int:
    """The interval that the stream with most operations needs, or the array, if it is stored to."""
    moved = Counter(n.stream for n in dfg.nodes if n.stream is not None)
    stored = {n.memory for n in dfg.nodes if n.op == "store"}
    accesses = Counter(n.memory for n in dfg.nodes if n.memory in stored)
    return max(max(moved.values(), default=1), -(-max(accesses.values(), default=1) // ports))
