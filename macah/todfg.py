"""From the final form of a kernel, one flat loop, to its dataflow graph.

The loop's body is executed on symbols (symbolic.py), again if that shows variables that never change or that
are always equal. What comes out is improved as a whole, and gets the orders that its effects have to keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from arch.fabric import Fabric
from backend.dfg import DFG, Const, LiveIn, Memory, Node, Order, StreamPort, check_dfg
from macah import ir
from macah.balance import balance
from macah.capacity import GRID, Capacity, capacity_of
from macah.chosen_terms import with_chosen_terms
from macah.compact import compacted, live_ins_of, positions
from macah.copies import with_copies, with_spare_copies
from macah.fold import predicates
from macah.forward import forwarded
from macah.fuse import fuse
from macah.graph import Before, Recurrences, finish
from macah.improve import Effects, improved, shared
from macah.ir import Array, Body, Read, Stream, Variable
from macah.meanwhile import aside
from macah.memory_orders import memory_orders
from macah.names import unused_name
from macah.optional import enabled
from macah.orders import lead_orders, stream_orders
from macah.pack_words import moved
from macah.receive_packing import receive_packing
from macah.rewrite import Loop
from macah.share_ports import with_shared_ports
from macah.share_units import with_shared_units
from macah.short_recurrences import with_short_recurrences
from macah.shorten import bound
from macah.stored_copies import with_stored_copies
from macah.symbolic import Symbolic


def build_dfg(
    kernel: ir.Kernel,
    fabric: Fabric | None = None,
    *,
    slowest: int | None = None,
    most: int | None = None,
    least: int = 1,
) -> DFG:
    """The dataflow graph of a kernel in its final form, made for an architecture if that is known.

    `slowest`, `most` and `least`: as in `Capacity`.
    """
    capacity = capacity_of(fabric)
    capacity = replace(capacity, slowest=slowest, most=most, least=least, patient=kernel.patient)
    if not enabled(kernel, "copies"):
        capacity = replace(capacity, memories=0)
    if fabric is None:
        return _forwarded(kernel, capacity)

    def finish(dfg: DFG) -> DFG:
        return with_shared_units(kernel, with_copies(kernel, dfg, fabric), fabric)

    apart = _forwarded(kernel, capacity)
    dfg = finish(apart)
    plain = replace(kernel, without=kernel.without | {"shorten"})
    dfg = with_shared_ports(kernel, dfg, fabric, capacity, lambda: graph_of(plain, capacity), finish)
    dfg = with_stored_copies(kernel, with_copies(kernel, dfg, fabric, stored=True), apart, fabric)
    dfg = with_chosen_terms(kernel, dfg, fabric)
    return with_spare_copies(kernel, dfg, fabric)


def _forwarded(kernel: ir.Kernel, capacity: Capacity) -> DFG:
    build = partial(graph_of, capacity=capacity)
    return forwarded(kernel, build, capacity) if enabled(kernel, "forward") else build(kernel)


def graph_of(kernel: ir.Kernel, capacity: Capacity = GRID) -> DFG:
    """The graph of exactly this kernel."""
    dfg, apart = _held(kernel, capacity, again=False)
    if not apart:
        return dfg
    other, _ = _held(kernel, capacity, again=True)
    return min(dfg, other, key=lambda graph: (bound(graph, capacity), len(graph.nodes)))


def _held(kernel: ir.Kernel, capacity: Capacity, again: bool) -> tuple[DFG, bool]:
    """The better one of the graphs with and without `hold`, and whether `again` makes another one."""
    if not enabled(kernel, "held"):
        plain, _, apart = _graph_of(kernel, capacity, hold=False, again=again)
        return plain, apart
    held, holds, apart = _graph_of(kernel, capacity, hold=True, again=again)
    if not holds:
        return held, apart
    plain, _, _ = _graph_of(kernel, capacity, hold=False, again=again)
    return (held if bound(held, capacity) < bound(plain, capacity) else plain), apart


def _graph_of(kernel: ir.Kernel, capacity: Capacity, hold: bool, again: bool) -> tuple[DFG, bool, bool]:
    """The graph, and whether it is another one because of `hold`, as `Symbolic` says, and would be with
    `again`, as `receive_packing` does.
    """
    leading, loop = split_kernel(kernel)
    alive = Variable("alive")
    logical = predicates(kernel) | {alive}
    known: dict[Variable, Const | LiveIn | Before] = {}
    given = {c.what for c in kernel.captured if c.into and isinstance(c.what, Variable)}
    packing = receive_packing(leading, loop, given, again)
    while True:
        ran = Symbolic(kernel, leading, loop, alive, logical, known, packing, hold)
        found = ran.run()
        if not found:
            made = Loop(ran.graph, ran.initial, ran.recurrences.final, alive, most=kernel.most)
            effects = shared(kernel, made, Effects(ran.operations, ran.memory.accesses, ran.words))
            dfg = _shortened(ran, kernel, (made, effects), capacity)
            check_dfg(dfg)
            return dfg, ran.holds, bool(packing.apart)
        known |= found


def _shortened(ran: Symbolic, kernel: ir.Kernel, made: tuple[Loop, Effects], capacity: Capacity) -> DFG:
    """The graph with the shorter recurrences: what `slopes` did is not always worth its operations."""
    dfg, done = _result(ran, kernel, made, capacity)

    def shorter() -> DFG:
        return with_short_recurrences(kernel, dfg, capacity) if enabled(kernel, "shorten") else dfg

    if "slopes" not in done:
        return shorter()
    plain = replace(kernel, without=kernel.without | {"slopes"})
    with aside(partial(_shortened, ran, plain, made, capacity)) as other:
        return min(shorter(), other(), key=lambda graph: (bound(graph, capacity), len(graph.nodes)))


def split_kernel(kernel: ir.Kernel) -> tuple[Body, ir.DoWhile]:
    """The leading assignments and the loop; a kernel without a loop is one iteration."""
    for position, stmt in enumerate(kernel.body):
        if isinstance(stmt, ir.DoWhile):
            assert position == len(kernel.body) - 1 and stmt.guard == ir.TRUE, kernel.name
            leading = kernel.body[:position]
            assert all(isinstance(s, ir.Assign) and isinstance(s.value, ir.Const | Read) for s in leading)
            return leading, stmt
    return (), ir.DoWhile(kernel.body, ir.FALSE, where=kernel.where)


def _result(
    ran: Symbolic, kernel: ir.Kernel, made: tuple[Loop, Effects], capacity: Capacity
) -> tuple[DFG, frozenset[str]]:
    """The graph that an execution has made, improved as a whole, with the orders that its effects keep.

    Also the names of the steps that had something to do. `kernel` says which are enabled.
    """
    loop, effects, done = improved(kernel, *made)
    graph, recurrences = loop.graph, Recurrences(loop.graph, loop.initial, loop.final)
    if enabled(kernel, "balance"):
        balance(graph, recurrences.final)
    if enabled(kernel, "muladd"):
        fuse(graph, recurrences.final, capacity.multiplies)
    nodes, new = finish(graph, recurrences)
    live_ins = positions(operand.index for operand in live_ins_of(nodes))
    memories = positions(node.memory for node in nodes if node.memory is not None)
    dfg = DFG(
        ran.kernel.name,
        tuple(compacted(node, live_ins, memories) for node in nodes),
        tuple(_orders(ran, effects, nodes, new)),
        tuple(_port(ran, stream, sends) for stream, sends in ran.ports),
        tuple(_described(ran, array) for array, m in ran.memory.numbers.items() if m in memories),
        tuple(ran.names[v] for i, v in enumerate(ran.live_ins) if i in live_ins),
        tuple(ran.names[v] for v in ran.live_outs),
        tuple(ran.assertions),
    )
    return dfg, done


def _orders(ran: Symbolic, effects: Effects, nodes: Sequence[Node], new: Mapping[int, int]) -> list[Order]:
    """What streams and memories keep; `new`: the nodes that the operations of `effects` have become."""
    orders: list[Order] = []
    for operations in effects.operations.values():
        orders += stream_orders([new[node] for node in operations])
    if ran.kernel.bubbles:
        directions = [sends for _, sends in ran.ports]
        sends = [node.id for node in nodes if node.stream is not None and directions[node.stream]]
        orders = list(dict.fromkeys([*orders, *stream_orders(sends)]))
    elif not ran.kernel.ordered:
        orders += _leads(ran, nodes)
    for accesses in effects.accesses.values():
        needed = [a.at(new[a.node]) for a in accesses.values() if a.node in new]
        orders += memory_orders(needed)
    return orders


def _leads(ran: Symbolic, nodes: Sequence[Node]) -> Iterator[Order]:
    """That no stream runs far ahead of another, among those that send and among those that receive."""
    for direction in (False, True):
        ports = [p for p, (_, sends) in enumerate(ran.ports) if sends is direction]
        own = [[node.id for node in nodes if node.stream == p] for p in ports]
        words = [len(ran.groups(stream)) for stream, sends in ran.ports if sends is direction]
        moved = [max(1, len(o) // w) for o, w in zip(own, words, strict=True)]
        yield from lead_orders(own, moved)


def _port(ran: Symbolic, stream: Stream, sends: bool) -> StreamPort:
    shown = ran.names.get(stream) or stream.name
    name = ran.names.get((stream, sends)) or shown
    words = tuple(map(moved, ran.groups(stream)))
    return StreamPort(name, sends, stream.size, words, shown if shown != name else "")


def _described(ran: Symbolic, array: Array) -> Memory:
    capture = ran.captured.get(array)
    if array not in ran.names:
        ran.names[array] = unused_name(array.name, ran.taken)
        ran.taken[ran.names[array]] = None
    into = capture is not None and capture.into
    out = capture is not None and capture.out and array in ran.stored
    return Memory(ran.names[array], array.size, into, out, array.initial)
