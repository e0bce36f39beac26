"""The dataflow graph of one kernel: the body of its one flat loop.

Iteration i of the loop evaluates every node once. A `Use` at distance d reads the value that the node had in
iteration i - d, and `initial` while i < d. Side effects happen iff their guard operand is not 0. The
iteration in which the guard of a `stop` node is not 0 is the last one with effects: the front end
guards the effects of later ones off itself.

Values are words of the fabric's width (`arch.ops`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from arch.ops import MEMORY_OPS, OPAQUE_OPS, OPS, STREAM_OPS
from backend.record import made_quickly


@made_quickly
@dataclass(frozen=True, slots=True)
class Place:
    """A position in a source file; line and column count from 1, column 0 means unknown.

    What stands there reaches from column `begin` to before `end`, where they are known, and comes from a
    macro if that is named; none of this tells places apart.
    """

    file: str
    line: int
    column: int = 0
    begin: int = field(default=0, compare=False, repr=False)
    end: int = field(default=0, compare=False, repr=False)
    macro: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


@made_quickly
@dataclass(frozen=True, slots=True)
class Const:
    """A word known at compile time, in [0, 2**width)."""

    value: int

    def __hash__(self) -> int:
        return self.value


@made_quickly
@dataclass(frozen=True, slots=True)
class LiveIn:
    """A word that the host gives at the start, by index into `DFG.live_ins`."""

    index: int


@made_quickly
@dataclass(frozen=True, slots=True)
class Use:
    """Output `output` of node `node`, `distance` iterations ago; `initial` before there was one."""

    node: int
    distance: int = 0
    initial: Const | LiveIn = Const(0)
    output: int = 0

    def __hash__(self) -> int:
        return ~self.node  # little else tells uses apart, and they are looked up all the time


Operand = Use | Const | LiveIn


@made_quickly
@dataclass(frozen=True, slots=True)
class Node:
    """One operation of `arch.ops.OPS`.

    `stream` indexes `DFG.streams` for stream operations, `memory` indexes `DFG.memories` for loads and
    stores, `index` numbers live-outs (`result`) and assertions (`fail`).
    """

    id: int
    op: str
    operands: tuple[Operand, ...]
    stream: int | None = None
    memory: int | None = None
    index: int = 0
    where: Place | None = None
    variable: str | None = None

    @property
    def spelling(self) -> str:
        """The name of the operation; of an opaque one the name that it came with."""
        return self.variable if self.variable and self.op in OPAQUE_OPS else self.op


@made_quickly
@dataclass(frozen=True, slots=True)
class Order:
    """`after`, `distance` iterations later, is issued at least `delay` cycles after `before` is.

    Delay 1 keeps two effects in order; delay 0 lets a store be issued in the cycle of the load before it,
    as memories read before they write.
    """

    before: int
    after: int
    distance: int = 0
    delay: int = 1


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a stream element: `size` bytes at `offset` in the host's layout, extended to a word."""

    offset: int
    size: int
    signed: bool


@dataclass(frozen=True, slots=True)
class StreamPort:
    """One end of a stream. `words` says how an element of `size` bytes is cut into words.

    Word k of an element is moved by the k-th operation on the port, modulo `len(words)`; whole elements
    arrive and leave at once, so only the first word's operation ever waits or fails.
    `stream` is what the program calls it, where the port has another name.
    """

    name: str
    sends: bool
    size: int
    words: tuple[Word, ...]
    stream: str = ""

    @property
    def shown(self) -> str:
        """What messages call it: both ends of one stream are called as it is."""
        return self.stream or self.name


@dataclass(frozen=True, slots=True)
class Memory:
    """An array in local memory. `captured_in`/`captured_out`: filled before, read back after the run.

    `initial` holds the first words of a constant table.
    """

    name: str
    words: int
    captured_in: bool = False
    captured_out: bool = False
    initial: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DFG:
    """A kernel as a graph; ids are positions. `live_outs` names the scalars of `result` nodes, by index.

    `assertions` holds the message of each `fail` node, by index.
    """

    name: str
    nodes: tuple[Node, ...]
    orders: tuple[Order, ...]
    streams: tuple[StreamPort, ...]
    memories: tuple[Memory, ...]
    live_ins: tuple[str, ...]
    live_outs: tuple[str, ...]
    assertions: tuple[str, ...] = ()

    def bare(self) -> DFG:
        """The graph without what people alone read: places in the source, and names of variables."""
        kept = [replace(node, where=None, variable=_name_kept(node)) for node in self.nodes]
        return replace(self, nodes=tuple(kept))

    def uses(self) -> Iterator[tuple[int, int, Use]]:
        """Every (consumer, operand position, use)."""
        for node in self.nodes:
            for position, operand in enumerate(node.operands):
                if isinstance(operand, Use):
                    yield node.id, position, operand


def _name_kept(node: Node) -> str | None:
    """The name that an opaque operation came with, which tells it from others."""
    return node.variable if node.op in OPAQUE_OPS else None


def check_dfg(dfg: DFG) -> None:
    """Assert a graph's invariants: arities, ids, attributes, one `stop`, no cycle of distance 0."""
    for position, node in enumerate(dfg.nodes):
        op = OPS[node.op]
        assert node.id == position, node
        assert len(node.operands) == op.arity, node
        assert (node.stream is not None) == (node.op in STREAM_OPS), node
        assert (node.memory is not None) == (node.op in MEMORY_OPS), node
        assert node.stream is None or 0 <= node.stream < len(dfg.streams), node
        assert node.memory is None or 0 <= node.memory < len(dfg.memories), node
        for operand in node.operands:
            match operand:
                case Use(source, distance, _, output):
                    assert 0 <= source < len(dfg.nodes) and distance >= 0, node
                    assert 0 <= output < OPS[dfg.nodes[source].op].outputs, node
                case LiveIn(index):
                    assert 0 <= index < len(dfg.live_ins), node
                case Const(value):
                    assert value >= 0, node
    assert sum(node.op == "stop" for node in dfg.nodes) == 1, dfg.name
    for order in dfg.orders:
        assert 0 <= order.before < len(dfg.nodes) and 0 <= order.after < len(dfg.nodes), order
        assert order.distance >= 0 and order.delay >= 0, order
    evaluation_order(dfg)


def evaluation_order(dfg: DFG) -> tuple[int, ...]:
    """Nodes such that producers and earlier effects of the same iteration come first; ties by id.

    Asserts that there is one: a cycle needs a positive total distance.
    """
    found = _orderable(dfg)
    assert len(found) == len(dfg.nodes), f"{dfg.name}: a cycle within one iteration"
    return tuple(found)


def is_ordered(dfg: DFG) -> bool:
    """Whether no operation needs itself in its own iteration."""
    return len(_orderable(dfg)) == len(dfg.nodes)


def _orderable(dfg: DFG) -> list[int]:
    """The nodes that have a place in an evaluation order."""
    import heapq

    waiting = [0] * len(dfg.nodes)
    after: list[list[int]] = [[] for _ in dfg.nodes]
    edges = [(use.node, consumer) for consumer, _, use in dfg.uses() if use.distance == 0]
    edges += [(order.before, order.after) for order in dfg.orders if order.distance == 0]
    for source, target in edges:
        after[source].append(target)
        waiting[target] += 1
    ready = [node for node, count in enumerate(waiting) if count == 0]
    found: list[int] = []
    while ready:
        node = heapq.heappop(ready)
        found.append(node)
        for target in after[node]:
            waiting[target] -= 1
            if waiting[target] == 0:
                heapq.heappush(ready, target)
    return found


def show_dfg(dfg: DFG) -> str:
    """The graph as text, one node a line."""
    lines = [f"graph {dfg.name}"]
    for s, stream in enumerate(dfg.streams):
        words = " ".join(f"{'s' if w.signed else 'u'}{8 * w.size}@{w.offset}" for w in stream.words)
        lines.append(
            f"  stream {s} {'out' if stream.sends else 'in'} {stream.name}: {words} of {stream.size}"
        )
    for m, memory in enumerate(dfg.memories):
        flags = " in" * memory.captured_in + " out" * memory.captured_out
        lines.append(f"  memory {m} {memory.name}[{memory.words}]{flags}")
    for node in dfg.nodes:
        lines.append("  " + _show_node(dfg, node))
    for o in dfg.orders:
        lines.append(f"  order %{o.before} -> %{o.after} distance {o.distance} delay {o.delay}")
    return "\n".join(lines) + "\n"


def _show_node(dfg: DFG, node: Node) -> str:
    operands = ", ".join(_show_operand(dfg, operand) for operand in node.operands)
    target = f"%{node.id} = " if OPS[node.op].outputs else f"%{node.id}: "
    extra = ""
    if node.stream is not None:
        extra += f" {dfg.streams[node.stream].name}"
    if node.memory is not None:
        extra += f" {dfg.memories[node.memory].name}"
    if node.op == "result":
        extra += f" {dfg.live_outs[node.index]}"
    comment = f"  ; {node.variable}" if node.variable else ""
    return f"{target}{node.op}{extra} {operands}{comment}"


def _show_operand(dfg: DFG, operand: Operand) -> str:
    match operand:
        case Const(value):
            return str(value)
        case LiveIn(index):
            return dfg.live_ins[index]
        case Use(node, distance, initial, output):
            text = f"%{node}" + (f".{output}" if output else "")
            return text + (f"@{distance}[{_show_operand(dfg, initial)}]" if distance else "")
