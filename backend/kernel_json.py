"""Graphs of kernels as JSON, with all that makes them run; docs/graphs.md describes the form."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from typing import Any

from arch.ops import MEMORY_OPS, OPAQUE_OPS, OPS, STREAM_OPS, WIDE_OPS

from .dfg import DFG, Const, LiveIn, Memory, Node, Operand, Order, Place, StreamPort, Use, Word
from .foreign import MOST_DISTANCE, ForeignGraph, assemble
from .graph_text import Path, Source

FORMAT = "macah-graph 1"
"""What tells the form, and its version."""

LARGEST = 1 << 24
"""No array has more words."""

WIDEST = 4
"""Bytes of the largest word; small fields of a struct may share one of three."""


def write_kernel(dfg: DFG) -> str:
    """A kernel's graph as JSON: one line for each node and order."""
    head = {
        "format": FORMAT,
        "name": dfg.name,
        "streams": [_stream(s) for s in dfg.streams],
        "memories": [asdict(m) for m in dfg.memories],
        "live_ins": dfg.live_ins,
        "live_outs": dfg.live_outs,
        "assertions": dfg.assertions,
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    nodes = ",\n".join(json.dumps(_node(node)) for node in dfg.nodes)
    orders = ",\n".join(json.dumps(asdict(order)) for order in dfg.orders)
    lines += [f'"nodes": [\n{nodes}\n]', f'"orders": [\n{orders}\n]']
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _node(node: Node) -> dict[str, Any]:
    found = {"id": node.id, "op": node.op, "operands": [_operand(operand) for operand in node.operands]}
    extra = {"stream": node.stream, "memory": node.memory, "variable": node.variable}
    extra |= {"index": node.index or None, "where": str(node.where) if node.where else None}
    return found | {key: value for key, value in extra.items() if value is not None}


def _stream(port: StreamPort) -> dict[str, Any]:
    found = asdict(port) | {"words": [[*asdict(word).values()] for word in port.words]}
    return {key: value for key, value in found.items() if key != "stream" or value}


def _place(text: str) -> Place | None:
    """The place that `str` gave a text for."""
    if found := re.fullmatch(r"(.+?):(\d{1,9})(?::(\d{1,9}))?", text, re.DOTALL):
        return Place(found[1], int(found[2]), int(found[3] or 0))
    return None


def _operand(operand: Operand) -> int | dict[str, Any]:
    match operand:
        case Const(value):
            return value
        case LiveIn(index):
            return {"live_in": index}
        case Use(node, distance, initial, output):
            rest = {"initial": _operand(initial)} if distance else {}
            return {"node": node, "distance": distance, "output": output, **rest}


def read_kernel(data: dict[str, Any], source: Source) -> ForeignGraph:
    """The graph of a kernel that `write_kernel` wrote, or somebody else. Errors: GraphError."""
    return _Reader(data, source).graph()


class _Reader:
    """Takes the parts one after the other, each checked against those before."""

    def __init__(self, data: dict[str, Any], source: Source) -> None:
        self.data, self.source = data, source
        form = source.take(data, "format", (str,), ())
        if form != FORMAT:
            raise source.error(f"the form is '{form}'; '{FORMAT}' is known", ("format",))
        self.raw = source.tables(data, "nodes", ())
        self.streams = tuple(self._stream(s, ("streams", k)) for k, s in self._each("streams"))
        self.memories = tuple(self._memory(m, ("memories", k)) for k, m in self._each("memories"))
        self.live_ins, self.live_outs, self.assertions = (
            tuple(source.items(data, key, (str,), ())) for key in ("live_ins", "live_outs", "assertions")
        )

    def graph(self) -> ForeignGraph:
        """The graph, with the kernel in it."""
        source = self.source
        name = source.take(self.data, "name", (str,), (), "graph")
        nodes = tuple(self._node(k, node, ("nodes", k)) for k, node in enumerate(self.raw))
        orders = tuple(self._order(o, ("orders", k)) for k, o in self._each("orders"))
        stops = [k for k, node in enumerate(nodes) if node.op == "stop"]
        if len(stops) > 1:
            raise source.error("a second 'stop'", ("nodes", stops[1]))
        dfg = DFG(
            name, nodes, orders, self.streams, self.memories, self.live_ins, self.live_outs, self.assertions
        )
        uses = [(use.node, consumer, use.distance, False) for consumer, _, use in dfg.uses()]
        owners = [consumer for consumer, _, _ in dfg.uses()]

        def locate(what: str, k: int) -> Place:
            if what == "edge":
                path: Path = ("nodes", owners[k]) if k < len(owners) else ("orders", k - len(owners))
            else:
                path = ("nodes", k) if what else ()
            return source.place(path)

        edges = [*uses, *((o.before, o.after, o.distance, True) for o in orders)]
        graph = assemble(name, [(k, node.op) for k, node in enumerate(nodes)], edges, locate)
        return replace(graph, kernel=dfg)

    def _each(self, key: str) -> list[tuple[int, dict[str, Any]]]:
        return list(enumerate(self.source.tables(self.data, key, (), optional=True)))

    def _number(self, table: dict[str, Any], key: str, path: Path, end: int, default: int | None = 0) -> int:
        """A whole number from 0 to before `end`."""
        value: int = self.source.take(table, key, (int,), path, default)
        if not 0 <= value < end:
            raise self.source.error(f"'{key}' is {value}, but must be from 0 to {end - 1}", (*path, key))
        return value

    def _stream(self, table: dict[str, Any], path: Path) -> StreamPort:
        take = self.source.take
        size = self._number(table, "size", path, LARGEST, None)
        words = []
        for k, word in enumerate(take(table, "words", (list,), path)):
            if [type(part) for part in word if type(word) is list] != [int, int, bool]:
                raise self.source.error("a word is [offset, size, signed]", (*path, "words", k))
            if not (1 <= word[1] <= WIDEST and 0 <= word[0] <= size - word[1]):
                raise self.source.error("a word is outside of its element", (*path, "words", k))
            words.append(Word(*word))
        if not words:
            raise self.source.error("a stream of no words", path)
        sends = take(table, "sends", (bool,), path)
        stream = take(table, "stream", (str,), path, "")
        return StreamPort(take(table, "name", (str,), path), sends, size, tuple(words), stream)

    def _memory(self, table: dict[str, Any], path: Path) -> Memory:
        take = self.source.take
        words = self._number(table, "words", path, LARGEST, None)
        initial = tuple(self.source.items(table, "initial", (int,), path))
        if len(initial) > words or not all(0 <= value < 1 << 32 for value in initial):
            raise self.source.error("'initial' does not fit", (*path, "initial"))
        before, after = (take(table, key, (bool,), path, False) for key in ("captured_in", "captured_out"))
        return Memory(take(table, "name", (str,), path), words, before, after, initial)

    def _order(self, table: dict[str, Any], path: Path) -> Order:
        count = len(self.raw)
        before, after = (self._number(table, key, path, count, None) for key in ("before", "after"))
        distance = self._number(table, "distance", path, MOST_DISTANCE + 1)
        return Order(before, after, distance, self._number(table, "delay", path, 1 << 16, 1))

    def _node(self, k: int, table: dict[str, Any], path: Path) -> Node:
        source = self.source
        if source.take(table, "id", (int,), path) != k:
            raise source.error(f"'id' must be {k}: they count from 0", (*path, "id"))
        name = self._op(k)
        op = OPS[name]
        raw = source.take(table, "operands", (list,), path)
        if len(raw) != op.arity:
            raise source.error(f"{name} has {op.arity} operands, not {len(raw)}", (*path, "operands"))
        operands = tuple(self._operand(o, (*path, "operands", p)) for p, o in enumerate(raw))
        stream = memory = None
        if name in STREAM_OPS:
            stream = self._number(table, "stream", path, len(self.streams), None)
        if name in MEMORY_OPS:
            memory = self._number(table, "memory", path, len(self.memories), None)
        named = {"result": self.live_outs, "fail": self.assertions}.get(name)
        index = self._number(table, "index", path, len(named)) if named is not None else 0
        variable = source.take(table, "variable", (str,), path, "")
        where = _place(source.take(table, "where", (str,), path, ""))
        return Node(k, name, operands, stream, memory, index, where, variable or None)

    def _op(self, k: int) -> str:
        """The operation of a node."""
        path: Path = ("nodes", k)
        name: str = self.source.take(self.raw[k], "op", (str,), path)
        if name not in OPS or name in WIDE_OPS or name in OPAQUE_OPS:
            raise self.source.error(f"there is no operation '{name}'", (*path, "op"))
        return name

    def _operand(self, raw: object, path: Path) -> Operand:
        if type(raw) is int and 0 <= raw < 1 << 32:
            return Const(raw)
        if type(raw) is dict and "live_in" in raw:
            return LiveIn(self._number(raw, "live_in", path, len(self.live_ins), None))
        if type(raw) is not dict or "node" not in raw:
            raise self.source.error("an operand is a word, or an object with 'node' or 'live_in'", path)
        node = self._number(raw, "node", path, len(self.raw), None)
        outputs = OPS[self._op(node)].outputs
        if not outputs:
            raise self.source.error(f"node {node} gives no value", path)
        distance = self._number(raw, "distance", path, MOST_DISTANCE + 1)
        initial = self._operand(raw.get("initial", 0), (*path, "initial"))
        if isinstance(initial, Use):
            raise self.source.error("an initial value is a word or a live-in", (*path, "initial"))
        return Use(node, distance, initial, self._number(raw, "output", path, outputs))
