"""A send and the close behind it become one operation.

    send out x if p;  close out if q        ->        send_close out x, q * 2 + p

A stream has one port, where a close that happens once would take a cycle of every iteration.
"""

from __future__ import annotations

from dataclasses import replace

from backend.dfg import DFG, Const, Node, Order, Use, is_ordered
from backend.predicates import narrow, predicates
from macah import ir
from macah.capacity import Capacity
from macah.compact import without_nodes
from macah.optional import enabled
from macah.shorten import bound


def with_closing_sends(kernel: ir.Kernel, dfg: DFG, capacity: Capacity) -> DFG:
    """The graph with closes joined to the sends before them, where its bound is no greater then."""
    if not enabled(kernel, "closing_sends") or not capacity.sends_and_closes:
        return dfg
    for stream in range(len(dfg.streams)):
        pair = _last_two(dfg, stream)
        if pair is not None:
            made = _joined(dfg, *pair, capacity)
            if is_ordered(made) and bound(made, capacity) <= bound(dfg, capacity):
                dfg = made
    return dfg


def _last_two(dfg: DFG, stream: int) -> tuple[Node, Node] | None:
    """The last send to a stream and its close, if all else there is in an iteration are sends before."""
    own = {node.id: node for node in dfg.nodes if node.stream == stream}
    ops = sorted(node.op for node in own.values())
    if len(ops) < 2 or ops != ["close", *["send"] * (len(ops) - 1)]:
        return None
    steps = {(o.before, o.after) for o in dfg.orders if o.distance == 0 and {o.before, o.after} <= own.keys()}
    found = [(own[a], own[b]) for a, b in steps if own[b].op == "close"]
    if len(steps) != len(ops) - 1 or len(found) != 1 or any(own[a].op == "close" for a, _ in steps):
        return None
    bits = predicates(dfg)
    return found[0] if all(narrow(node.operands[-1], bits) for node in found[0]) else None


def _joined(dfg: DFG, send: Node, close: Node, capacity: Capacity) -> DFG:
    """The graph with the two as one operation, which is told by two bits what happens."""
    value, sends = send.operands
    (closes,) = close.operands
    nodes, what = list(dfg.nodes), len(dfg.nodes)
    if capacity.multiplies:
        nodes.append(Node(what, "muladd", (closes, Const(2), sends), where=close.where))
    else:
        nodes.append(Node(what, "shl", (closes, Const(1)), where=close.where))
        nodes.append(Node(what + 1, "or", (Use(what), sends), where=close.where))
    nodes[send.id] = replace(send, op="send_close", operands=(value, Use(nodes[-1].id)))
    ends = {close.id: send.id}
    moved = [(ends.get(o.before, o.before), ends.get(o.after, o.after), o) for o in dfg.orders]
    orders = {Order(a, b, o.distance, o.delay): None for a, b, o in moved if a != b}
    return without_nodes(replace(dfg, nodes=tuple(nodes), orders=tuple(orders)), {close.id})
