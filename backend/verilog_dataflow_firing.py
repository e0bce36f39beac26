"""When the operators of a dataflow circuit fire, and the stream ports that this drives.

Handshakes are counts. A word is there for an operator if its producer has fired more often than the operator
has (counting back by the use's distance); and since no operator is further ahead of the oldest incomplete
iteration than results have room for, there is always room. With iterations that do not overlap a count is one
bit: the two-phase handshake, in which a word is there while the two ends' phases differ.
"""

from __future__ import annotations

import networkx as nx

from arch.ops import RECEIVES, SENDS

from .dfg import DFG, Node, Use, evaluation_order
from .verilog_dataflow_words import Words
from .verilog_names import Names
from .verilog_values import has_bit, literal

_MOVES = (*RECEIVES, *SENDS)
_NO = "1'b0"


class Firing:
    """Wires `…_fires`, one for each operator, in an order in which they may fire."""

    def __init__(self, dfg: DFG, words: Words, names: Names) -> None:
        self._dfg, self._words = dfg, words
        self.order = evaluation_order(dfg)
        self.fires = [names.new(f"{base}_fires") for base in words.base]
        on_ports = [n.id for n in dfg.nodes if n.stream is not None]
        self._may = {n: names.new(f"{words.base[n]}_may") for n in on_ports}
        self.wants = {n: names.new(f"{words.base[n]}_wants") for n in on_ports}
        """An operation's turn has come and its guard holds."""
        self._orders: list[list[tuple[int, int]]] = [[] for _ in dfg.nodes]
        for order in dfg.orders:
            if order.distance < words.window:
                self._orders[order.after].append((order.before, order.distance))
        within: nx.DiGraph[int] = nx.DiGraph()
        within.add_nodes_from(range(len(dfg.nodes)))
        within.add_edges_from((use.node, consumer) for consumer, _, use in dfg.uses() if use.distance == 0)
        self._has_readers = {node for node in within if within.out_degree(node)}
        within.add_edges_from((o.before, o.after) for o in dfg.orders if o.distance == 0)
        self._within = within

    def last(self) -> list[int]:
        """The operators for which nothing in an iteration waits: when all these are done, it is."""
        return [
            n
            for n in range(len(self._dfg.nodes))
            if not self._within.out_degree(n) or n not in self._has_readers and self._words.cycles[n] > 1
        ]

    def wires(self) -> list[str]:
        """All wires of operators and stream ports."""
        lines = []
        ports = self._ports()
        for n in self.order:
            node = self._dfg.nodes[n]
            ready = " && ".join(["running", *self._waits(n)])
            if node.stream is None:
                lines.append(f"wire {self.fires[n]} = {ready};")
                continue
            others = "".join(f" && !{self._may[m]}" for m in self._rivals(n, ports[node.stream]))
            lines.append(f"wire {self._may[n]} = {ready}{others};")
            guard = self._guard(node)
            lines.append(f"wire {self.wants[n]} = {self._may[n]}{'' if guard is None else f' && {guard}'};")
            lines.append(f"wire {self.fires[n]} = {self._may[n]}{self._moving(node)};")
        for k, operations in enumerate(ports):
            lines += self._port(k, operations)
        return lines

    def _guard(self, node: Node) -> str | None:
        """When a stream operation moves a word, or what else it is there for; None if always."""
        if node.op == "send_close":
            return self._has_bit(node, 0)
        return self._words.truth(node.id, node.operands[-1])

    def _has_bit(self, node: Node, bit: int) -> str:
        return has_bit(self._words.text(node.id, node.operands[-1]), bit, 32)

    def _waits(self, n: int) -> list[str]:
        """The conditions under which an operator's inputs are there and its orders kept."""
        words = self._words
        own = words.fired(n)
        uses = [operand for operand in self._dfg.nodes[n].operands if isinstance(operand, Use)]
        waits = {(words.given(use.node), use.distance): None for use in uses if use.distance < words.window}
        waits |= {(words.fired(before), distance): None for before, distance in self._orders[n]}
        found = []
        for other, distance in waits:
            if other != own:
                found.append(f"{words.fired(n, distance)} != {other}")
        # What waits for nothing in its iteration is held back by the loop's controller.
        return found if self._within.in_degree(n) else [*found, f"{own} != limit"]

    def _ports(self) -> list[list[int]]:
        """The operations on each stream."""
        ports: list[list[int]] = [[] for _ in self._dfg.streams]
        for n in self.order:
            stream = self._dfg.nodes[n].stream
            if stream is not None:
                ports[stream].append(n)
        return ports

    def _rivals(self, n: int, operations: list[int]) -> list[int]:
        """The earlier operations on a port that may come at the same time; none if orders forbid that."""
        if self._in_turn(operations):
            return []
        return operations[: operations.index(n)]

    def _in_turn(self, operations: list[int]) -> bool:
        """Whether operations on a port follow one another, in an iteration and from one to the next."""
        if len(operations) < 2:
            return True
        pairs = zip(operations, operations[1:], strict=False)
        if not all(nx.has_path(self._within, a, b) for a, b in pairs):
            return False
        if self._words.window == 1:
            return True
        behind = nx.descendants(self._within, operations[-1]) | {operations[-1]}
        before = nx.ancestors(self._within, operations[0]) | {operations[0]}
        steps = [(o.before, o.after) for o in self._dfg.orders if o.distance == 1]
        steps += [(use.node, consumer) for consumer, _, use in self._dfg.uses() if use.distance == 1]
        return any(a in behind and b in before for a, b in steps)

    def _moving(self, node: Node) -> str:
        """What a blocking operation waits for besides."""
        if node.op in ("send", "send_close"):
            return f" && (!{self.wants[node.id]} || s{node.stream}_tready)"
        if node.op == "recv":
            return f" && (!{self.wants[node.id]} || s{node.stream}_tvalid || s{node.stream}_ended)"
        return ""

    def _port(self, k: int, operations: list[int]) -> list[str]:
        moving = [n for n in operations if self._dfg.nodes[n].op in _MOVES]
        move = " || ".join(self.wants[n] for n in moving) or _NO
        if not self._dfg.streams[k].sends:
            return [f"assign s{k}_tready = {move};"]
        closing = [found for n in operations if (found := self._closing(self._dfg.nodes[n]))]
        data = [self._words.text(n, self._dfg.nodes[n].operands[0]) for n in moving]
        chosen = [f"{self._may[n]} ? {word} : " for n, word in zip(moving[:-1], data, strict=False)]
        return [
            f"assign s{k}_tvalid = {move};",
            f"assign s{k}_tdata = {''.join(chosen)}{data[-1] if data else literal(0, 32)};",
            f"assign s{k}_close = {' || '.join(closing) or _NO};",
        ]

    def _closing(self, node: Node) -> str | None:
        """When an operation closes its stream, if it does that."""
        match node.op:
            case "close":
                return self.wants[node.id]
            case "send_close":
                return f"({self.fires[node.id]} && {self._has_bit(node, 1)})"
        return None

    def stream_word(self, node: Node) -> str:
        """The word that a stream operation gives when it fires."""
        assert node.op in RECEIVES, node
        there = f"{self.wants[node.id]} && s{node.stream}_tvalid"
        return f"(({there}) ? s{node.stream}_tdata : {self._words.text(node.id, node.operands[0])})"

    def stream_flag(self, node: Node) -> str:
        """The one bit that it gives: whether it happened, for `await` whether to go on."""
        port, wants = f"s{node.stream}", self.wants[node.id]
        match node.op:
            case "await":
                return f"!({wants} && !{port}_tvalid && !{port}_ended)"
            case "try_send":
                return f"({wants} && {port}_tready)"
            case "ended":
                return f"({wants} && {port}_ended)"
        return f"({wants} && {port}_tvalid)"
