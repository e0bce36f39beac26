"""Hands stored values on to later loads where their order is what keeps iterations apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from backend.cycles import Delay, tightest
from backend.dfg import DFG
from macah import ir
from macah.balance import latency
from macah.capacity import Capacity
from macah.dependence import Distances
from macah.ir import Array, DoWhile
from macah.passes.forward_stores import forward_stores
from macah.walk import arrays_written

DEPTHS = (1, 2, 3, 4, 6, 8)
MOST_NODES = 2000

Build = Callable[[ir.Kernel], DFG]


def forwarded(kernel: ir.Kernel, build: Build, capacity: Capacity) -> DFG:
    """The graph of a kernel in its final form, or of one that does the same with loads that wait for less.

    The array that binds is handed on from deeper and deeper, until another binds, which may be at the same
    interval: then it is that one's turn.
    """
    best = build(kernel)
    if not kernel.body or not isinstance(kernel.body[-1], DoWhile) or len(best.nodes) > MOST_NODES:
        return best
    arrays = {array.name: array for array in sorted(arrays_written(kernel.body), key=lambda a: a.name)}
    left = {name: list(DEPTHS) for name in arrays}
    depths: dict[Array, int] = {}
    distances = Distances()
    least, name = binding_memory(best, capacity)
    while name is not None and left.get(name):
        depths[arrays[name]] = left[name].pop(0)
        deeper = _deeper(kernel, depths, distances)
        if deeper is None:
            break
        dfg = build(deeper)
        interval, name = binding_memory(dfg, capacity)
        if interval < least:
            least, best = interval, dfg
    return best


def _deeper(kernel: ir.Kernel, depths: Mapping[Array, int], distances: Distances) -> ir.Kernel | None:
    """The kernel with values handed on from so many iterations; None if that is too much."""
    made: ir.Kernel | None = kernel
    for array, depth in depths.items():
        made = forward_stores(made, array, depth, distances) if made else None
    return made


def binding_memory(dfg: DFG, capacity: Capacity) -> tuple[int, str | None]:
    """The least interval, and the array whose orders bind it, if any do."""
    nodes = dfg.nodes
    arcs = [Delay(use.node, node, use.distance, latency(nodes[use.node].op)) for node, _, use in dfg.uses()]
    arcs += [Delay(order.before, order.after, order.distance, order.delay) for order in dfg.orders]
    least, cycle = tightest(arcs, capacity.least_interval(dfg))
    waits = {(o.before, o.after) for o in dfg.orders if nodes[o.before].op == "store"}
    for a, b in zip(cycle, (*cycle[1:], *cycle[:1]), strict=True):
        memory = nodes[b].memory
        if (a, b) in waits and nodes[b].op == "load" and memory is not None:
            return least, dfg.memories[memory].name
    return least, None
