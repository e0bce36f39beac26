"""Hands stored values on to later loads where their order is what keeps iterations apart."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from backend.cycles import Delay, tightest
from backend.dfg import DFG
from macah import ir
from macah.capacity import Capacity
from macah.dependence import Distances
from macah.hand_on import handed_on
from macah.ir import DoWhile
from macah.passes.forward_stores import forward_stores
from macah.walk import arrays_written

DEPTHS = (1, 2, 3, 4, 6, 8)
MOST_NODES = 2000

PATIENCE = 2
"""So often values are handed on from deeper in vain where orders do not bind yet."""

Build = Callable[[ir.Kernel], DFG]
Deeper = Callable[[Mapping[str, int]], DFG | None]


def forwarded(kernel: ir.Kernel, build: Build, capacity: Capacity) -> DFG:
    """The graph of a kernel in its final form, or of one that does the same with loads that wait for less."""
    dfg = build(kernel)
    if not kernel.body or not isinstance(kernel.body[-1], DoWhile) or len(dfg.nodes) > MOST_NODES:
        return dfg
    arrays = {array.name: array for array in sorted(arrays_written(kernel.body), key=lambda a: a.name)}
    distances = Distances()

    def deeper(depths: Mapping[str, int]) -> DFG | None:
        made: ir.Kernel | None = kernel
        for name, depth in depths.items():
            made = forward_stores(made, arrays[name], depth, distances) if made else None
        return build(made) if made else None

    return _deepened(dfg, arrays, deeper, capacity)


def forwarded_in_graph(dfg: DFG, finish: Callable[[DFG], DFG], capacity: Capacity) -> DFG:
    """The same of a finished graph whose recurrences `finish` makes shorter."""
    stored = sorted({node.memory for node in dfg.nodes if node.op == "store" and node.memory is not None})
    numbers = {dfg.memories[memory].name: memory for memory in stored}

    def deeper(depths: Mapping[str, int]) -> DFG | None:
        made: DFG | None = dfg
        for name, depth in depths.items():
            made = handed_on(made, numbers[name], depth) if made else None
        return finish(made) if made else None

    return _deepened(finish(dfg), numbers, deeper, capacity)


def _deepened(dfg: DFG, arrays: Iterable[str], deeper: Deeper, capacity: Capacity) -> DFG:
    """A graph, or what `deeper` makes of it with values of some arrays handed on.

    The array that binds is handed on from deeper and deeper, until another binds, which may be at the same
    interval: then it is that one's turn. Those that bind alike, as banks do, have their first turns together.
    """
    best, left, depths = dfg, {name: list(DEPTHS) for name in arrays}, dict[str, int]()
    least, name = binding_memory(best, capacity)
    idle = 0
    while True:
        if name is None and idle < PATIENCE:
            name, idle = hindering_memory(dfg, capacity), idle + 1
        if name is None or not left.get(name):
            return best
        names = _alike(dfg, capacity, name, {one for one in left if left[one] == left[name]})
        made = deeper(depths | {one: left[one][0] for one in names})
        if made is None and len(names) > 1:
            names = [name]
            made = deeper(depths | {name: left[name][0]})
        if made is None:
            return best
        dfg = made
        depths |= {one: left[one].pop(0) for one in names}
        interval, name = binding_memory(dfg, capacity)
        if interval < least:
            least, best, idle = interval, dfg, 0


def _alike(dfg: DFG, capacity: Capacity, name: str, equal: Container[str]) -> list[str]:
    """An array that binds or hinders, and those of `equal` depth that do so without it.

    One by one they would have their turns before the interval gets shorter: a graph for each tells no more.
    """
    names = [name]
    least, _ = binding_memory(dfg, capacity)
    while True:
        interval, found = binding_memory(dfg, capacity, names)
        if found is None or interval < least:
            found = hindering_memory(dfg, capacity, names)
        if found is None or found not in equal:
            return names
        names.append(found)


def binding_memory(dfg: DFG, capacity: Capacity, without: Container[str] = ()) -> tuple[int, str | None]:
    """The least interval, and the array whose orders bind it, if any do.

    Loads of the arrays `without` need not wait for stores.
    """
    arcs, waits = _uses(dfg, capacity), _waits(dfg)
    for order in dfg.orders:
        if waits.get((order.before, order.after)) not in without:
            arcs.append(Delay(order.before, order.after, order.distance, order.delay))
    least, cycle = tightest(arcs, capacity.least_interval(dfg))
    return least, _on(cycle, waits)


def hindering_memory(dfg: DFG, capacity: Capacity, without: Container[str] = ()) -> str | None:
    """The array whose orders would bind as soon as nothing else does; None if resources allow no less.

    Recurrences of values are made shorter all at once: they get no shorter as long as orders are in the way.
    Only orders on cycles of one iteration's values are looked at, and none of the arrays `without`.
    """
    least, _ = binding_memory(dfg, capacity)
    if least <= capacity.least_interval(dfg):
        return None
    waits = _waits(dfg)
    arcs = [use for use in _uses(dfg, capacity) if use.distance == 0]
    for order in dfg.orders:
        array = waits.get((order.before, order.after))
        if array is not None and array not in without:
            arcs.append(Delay(order.before, order.after, order.distance, order.delay))
    return _on(tightest(arcs, least - 1)[1], waits)


def _uses(dfg: DFG, capacity: Capacity) -> list[Delay]:
    cycles, nodes = capacity.latencies(dfg), dfg.nodes
    return [Delay(use.node, node, use.distance, cycles[nodes[use.node].op]) for node, _, use in dfg.uses()]


def _waits(dfg: DFG) -> dict[tuple[int, int], str]:
    """The arrays of loads that wait for stores, by both."""
    found: dict[tuple[int, int], str] = {}
    for order in dfg.orders:
        store, load = dfg.nodes[order.before], dfg.nodes[order.after]
        if load.memory is not None and store.op == "store" and load.op == "load":
            found[store.id, load.id] = dfg.memories[load.memory].name
    return found


def _on(cycle: Sequence[int], waits: Mapping[tuple[int, int], str]) -> str | None:
    """The array of the first order on a cycle."""
    ways = zip(cycle, (*cycle[1:], *cycle[:1]), strict=True)
    return next((waits[way] for way in ways if way in waits), None)
