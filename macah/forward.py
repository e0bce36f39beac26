"""Hands stored values on to later loads where their order is what keeps iterations apart."""

from __future__ import annotations

from collections.abc import Callable

from backend.bound import Delay, longest_paths
from backend.dfg import DFG
from macah import ir
from macah.balance import latency
from macah.dependence import Distances
from macah.ir import Array, DoWhile
from macah.passes.forward_stores import forward_stores
from macah.shorten import UNITS, least_interval
from macah.walk import arrays_written

DEPTHS = (1, 2, 3, 4, 6, 8)
MOST_NODES = 2000

Build = Callable[[ir.Kernel], DFG]


def forwarded(kernel: ir.Kernel, build: Build) -> DFG:
    """The graph of a kernel in its final form, or of one that does the same with loads that wait for less."""
    best = build(kernel)
    if not kernel.body or not isinstance(kernel.body[-1], DoWhile) or len(best.nodes) > MOST_NODES:
        return best
    distances = Distances()
    arrays = {array.name: array for array in sorted(arrays_written(kernel.body), key=lambda a: a.name)}
    while True:
        interval, name = binding_memory(best)
        found = _improved(kernel, arrays.pop(name, None), interval, build, distances) if name else None
        if found is None:
            return best
        kernel, best = found


def _improved(
    kernel: ir.Kernel, array: Array | None, interval: int, build: Build, distances: Distances
) -> tuple[ir.Kernel, DFG] | None:
    """The kernel and its graph with the least depth of those that make the interval as short as it gets."""
    best: tuple[ir.Kernel, DFG] | None = None
    for depth in DEPTHS if array else ():
        assert array is not None
        deeper = forward_stores(kernel, array, depth, distances)
        if deeper is None:
            break
        dfg = build(deeper)
        shorter, name = binding_memory(dfg)
        if shorter < interval:
            interval, best = shorter, (deeper, dfg)
        if name != array.name:
            break
    return best


def binding_memory(dfg: DFG) -> tuple[int, str | None]:
    """The least interval, and the array whose orders bind it, if any do."""
    nodes = dfg.nodes
    arcs = [Delay(use.node, node, use.distance, latency(nodes[use.node].op)) for node, _, use in dfg.uses()]
    arcs += [Delay(order.before, order.after, order.distance, order.delay) for order in dfg.orders]
    low, high, cycle = (
        least_interval(dfg, UNITS),
        max(1, sum(max(0, arc.cycles) for arc in arcs)),
        tuple[int, ...](),
    )
    while low < high:
        middle = (low + high) // 2
        found = longest_paths(len(nodes), arcs, middle)[1]
        if found:
            low, cycle = middle + 1, found
        else:
            high = middle
    waits = {(o.before, o.after) for o in dfg.orders if nodes[o.before].op == "store"}
    for a, b in zip(cycle, (*cycle[1:], *cycle[:1]), strict=True):
        memory = nodes[b].memory
        if (a, b) in waits and nodes[b].op == "load" and memory is not None:
            return low, dfg.memories[memory].name
    return low, None
