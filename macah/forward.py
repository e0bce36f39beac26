"""Hands stored values on to later loads where their order is what keeps iterations apart."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

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
    interval: then it is that one's turn. Those that bind alike, as banks do, have their first turns together.
    """
    best = dfg = build(kernel)
    if not kernel.body or not isinstance(kernel.body[-1], DoWhile) or len(best.nodes) > MOST_NODES:
        return best
    arrays = {array.name: array for array in sorted(arrays_written(kernel.body), key=lambda a: a.name)}
    left = {name: list(DEPTHS) for name in arrays}
    depths: dict[Array, int] = {}
    distances = Distances()
    least, name = binding_memory(best, capacity)
    while name is not None and left.get(name):
        names = _alike(dfg, capacity, name, {other for other in arrays if arrays[other] not in depths})
        deeper = _deeper(kernel, depths | {arrays[one]: left[one][0] for one in names}, distances)
        if deeper is None and len(names) > 1:
            names = [name]
            deeper = _deeper(kernel, depths | {arrays[name]: left[name][0]}, distances)
        if deeper is None:
            break
        depths |= {arrays[one]: left[one].pop(0) for one in names}
        dfg = build(deeper)
        interval, name = binding_memory(dfg, capacity)
        if interval < least:
            least, best = interval, dfg
    return best


def _alike(dfg: DFG, capacity: Capacity, name: str, fresh: Container[str]) -> list[str]:
    """The array that binds and, if it is a fresh one, those that still bind as much without it.

    One by one they would have their turns before the interval gets shorter: a graph for each tells no more.
    """
    names = [name]
    least, _ = binding_memory(dfg, capacity)
    while names[-1] in fresh:
        interval, found = binding_memory(dfg, capacity, names)
        if found is None or found not in fresh or interval < least:
            break
        names.append(found)
    return names


def _deeper(kernel: ir.Kernel, depths: Mapping[Array, int], distances: Distances) -> ir.Kernel | None:
    """The kernel with values handed on from so many iterations; None if that is too much."""
    made: ir.Kernel | None = kernel
    for array, depth in depths.items():
        made = forward_stores(made, array, depth, distances) if made else None
    return made


def binding_memory(dfg: DFG, capacity: Capacity, without: Container[str] = ()) -> tuple[int, str | None]:
    """The least interval, and the array whose orders bind it, if any do.

    Loads of the arrays `without` need not wait for stores.
    """
    nodes, names = dfg.nodes, [memory.name for memory in dfg.memories]
    waits: dict[tuple[int, int], str] = {}
    arcs = [Delay(use.node, node, use.distance, latency(nodes[use.node].op)) for node, _, use in dfg.uses()]
    for order in dfg.orders:
        memory = nodes[order.after].memory
        if memory is not None and nodes[order.before].op == "store" and nodes[order.after].op == "load":
            if names[memory] in without:
                continue
            waits[order.before, order.after] = names[memory]
        arcs.append(Delay(order.before, order.after, order.distance, order.delay))
    least, cycle = tightest(arcs, capacity.least_interval(dfg))
    ways = zip(cycle, (*cycle[1:], *cycle[:1]), strict=True)
    return least, next((waits[way] for way in ways if way in waits), None)
