"""Graphs for tests and benchmarks of the back end: known kernels and random ones."""

from __future__ import annotations

import random
from dataclasses import replace

from arch.ops import OPS
from backend.dfg import DFG, Const, LiveIn, Memory, Node, Operand, Order, StreamPort, Use, Word, check_dfg

WORD = (Word(0, 4, True),)


class Builder:
    """Builds a graph node by node; an int as operand is the node of that id."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.orders: list[Order] = []
        self.streams: list[StreamPort] = []
        self.memories: list[Memory] = []
        self.live_ins: list[str] = []

    def add(
        self, op: str, *operands: int | Operand, stream: int | None = None, memory: int | None = None
    ) -> int:
        """A node; its id."""
        given = tuple(Use(o) if isinstance(o, int) else o for o in operands)
        self.nodes.append(Node(len(self.nodes), op, given, stream, memory))
        return len(self.nodes) - 1

    def patch(self, node: int, position: int, operand: Operand) -> None:
        """Replace an operand, to close a recurrence."""
        operands = list(self.nodes[node].operands)
        operands[position] = operand
        self.nodes[node] = replace(self.nodes[node], operands=tuple(operands))

    def stream(self, name: str, sends: bool) -> int:
        """A stream of words; its index."""
        self.streams.append(StreamPort(name, sends, 4, WORD))
        return len(self.streams) - 1

    def memory(self, name: str, words: int) -> int:
        """An array; its index."""
        self.memories.append(Memory(name, words))
        return len(self.memories) - 1

    def live_in(self, name: str) -> LiveIn:
        """A word from the host."""
        self.live_ins.append(name)
        return LiveIn(len(self.live_ins) - 1)

    def order(self, before: int, after: int, distance: int = 0, delay: int = 1) -> None:
        """Keep two effects in order."""
        self.orders.append(Order(before, after, distance, delay))

    def counter(self, limit: int) -> tuple[int, int]:
        """A counted loop's control: the index, and a predicate that the loop runs; adds the stop."""
        index = self.add("add", Const(0), Const(1))
        self.patch(index, 0, Use(index, 1, Const((1 << 32) - 1)))
        last = self.add("eq", index, Const(limit - 1))
        alive = self.add("and", Const(0), Const(0))
        ended = self.add("xor", last, Const(1))
        self.patch(alive, 0, Use(alive, 1, Const(1)))
        self.patch(alive, 1, Use(ended, 1, Const(1)))
        stop = self.add("and", last, alive)
        self.add("stop", stop)
        return index, alive

    def build(self) -> DFG:
        """The checked graph."""
        dfg = DFG(
            self.name,
            tuple(self.nodes),
            tuple(self.orders),
            tuple(self.streams),
            tuple(self.memories),
            tuple(self.live_ins),
            (),
        )
        check_dfg(dfg)
        return dfg


def fir(taps: int = 16) -> DFG:
    """One word in, one word out: a chain of multiply-adds on delayed copies of the input."""
    b = Builder(f"fir{taps}")
    source, sink = b.stream("in", False), b.stream("out", True)
    _, alive = b.counter(1000)
    x = b.add("recv", Const(0), alive, stream=source)
    total = b.add("mul", x, b.live_in("c0"))
    for k in range(1, taps):
        total = b.add("muladd", Use(x, k), b.live_in(f"c{k}"), total)
    b.add("send", total, alive, stream=sink)
    return b.build()


def matmul(size: int = 4) -> DFG:
    """A row times a column of local arrays, reduced by a tree, per iteration."""
    b = Builder(f"matmul{size}")
    a = [b.memory(f"a{k}", 16) for k in range(size)]
    c = [b.memory(f"b{k}", 16) for k in range(size)]
    out = b.memory("c", 64)
    index, alive = b.counter(size * size)
    row = b.add("shr", index, Const(2))
    column = b.add("and", index, Const(3))
    terms = [
        b.add("mul", b.add("load", row, memory=a[k]), b.add("load", column, memory=c[k])) for k in range(size)
    ]
    b.add("store", index, reduce_tree(b, "add", terms), alive, memory=out)
    return b.build()


def sad(width: int = 16) -> DFG:
    """Sum of absolute differences between two rows in local arrays, with a running minimum."""
    b = Builder(f"sad{width}")
    rows = [b.memory(f"row{k}", 64) for k in range(width)]
    block = b.memory("block", 64)
    best_out = b.stream("best", True)
    index, alive = b.counter(256)
    terms = []
    for k in range(width):
        # Each lane has its own bounds test, as if-converted code does.
        at = b.add("add", index, Const(k))
        inside = b.add("ult", at, Const(60))
        value = b.add("load", at, memory=rows[k])
        guarded = b.add("select", inside, value, Const(0))
        wanted = b.add("and", inside, alive)
        terms.append(b.add("select", wanted, b.add("absdiff", guarded, b.live_in(f"k{k}")), Const(0)))
    total = reduce_tree(b, "add", terms)
    b.add("store", index, total, alive, memory=block)
    best = b.add("umin", total, Const(0))
    b.patch(best, 1, Use(best, 1, Const((1 << 32) - 1)))
    b.add("send", best, b.add("and", alive, b.add("ult", total, best)), stream=best_out)
    return b.build()


def reduce_tree(b: Builder, op: str, values: list[int]) -> int:
    """A balanced tree of `op` over values."""
    while len(values) > 1:
        pairs = [b.add(op, *values[k : k + 2]) for k in range(0, len(values) - 1, 2)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


BINARY = ("add", "sub", "and", "or", "xor", "eq", "slt", "ult", "umin", "absdiff")


def layered(count: int, seed: int, width: int = 16, locality: int = 24, multiplies: float = 0.0) -> DFG:
    """About `count` plain operations; each reads one or two of the last `locality` nodes."""
    rng = random.Random(seed)
    b = Builder(f"layered{count}.{seed}")
    _, alive = b.counter(100)
    roots = [alive]
    while len(b.nodes) < count:
        pool = b.nodes[-locality:]
        producers = [n.id for n in pool if OPS[n.op].outputs] or roots
        first = rng.choice(producers[-width:])
        op = "mul" if rng.random() < multiplies else rng.choice(BINARY)
        second: int | Operand = rng.choice(producers) if rng.random() < 0.7 else Const(rng.randrange(100))
        b.add(op, first, second)
    return b.build()


def mixed(
    count: int,
    seed: int,
    *,
    accesses: float = 0.0,
    multiplies: float = 0.2,
    far: float = 0.0,
    ring: int = 1,
    locality: int = 24,
) -> DFG:
    """`count` opaque operations that read one or two of the `locality` last values; any, with chance `far`.

    Shares of them are accesses to memory and multiplications. The first `ring` are a recurrence.
    """
    rng = random.Random(seed)
    nodes = [Node(k, "alu_1", (Use((k or ring) - 1, int(k == 0)),)) for k in range(ring)]
    values = list(range(ring))

    def value() -> Use:
        return Use(rng.choice(values if rng.random() < far else values[-locality:]))

    while len(nodes) < count:
        access = rng.random() < accesses
        kind = "access" if access else "mul" if rng.random() < multiplies else "alu"
        operands = tuple(value() for _ in range(2 if rng.random() < (0.3 if access else 0.7) else 1))
        if not (access and len(operands) == 2):  # else a store
            values.append(len(nodes))
        nodes.append(Node(len(nodes), f"{kind}_{len(operands)}", operands))
    return DFG(f"mixed{count}.{seed}", tuple(nodes), (), (), (), (), ())


def random_graph(seed: int, count: int = 30, streams: int = 2, memories: int = 2) -> DFG:
    """A random kernel with recurrences, guarded effects on memories and streams, and orders."""
    rng = random.Random(seed)
    b = Builder(f"random{count}.{seed}")
    index, alive = b.counter(64)
    values = [index, alive]
    sources = [b.stream(f"s{k}", k % 2 == 1) for k in range(streams)]
    arrays = [b.memory(f"m{k}", rng.choice((16, 64, 128))) for k in range(memories)]
    last: dict[tuple[str, int], int] = {}
    first: dict[tuple[str, int], int] = {}
    while len(b.nodes) < count:
        roll = rng.random()
        node = None
        if roll < 0.12 and sources:
            s = rng.choice(sources)
            key = ("stream", s)
            if b.streams[s].sends:
                node = b.add("send", rng.choice(values), alive, stream=s)
            else:
                op = rng.choice(("recv", "recv", "try_recv"))
                node = b.add(op, Const(0), alive, stream=s)
                values.append(node)
        elif roll < 0.27 and arrays:
            m = rng.choice(arrays)
            key = ("memory", m)
            address = b.add("and", rng.choice(values), Const(15))
            if rng.random() < 0.6:
                node = b.add("load", address, memory=m)
                values.append(node)
            else:
                node = b.add("store", address, rng.choice(values), alive, memory=m)
        elif roll < 0.35:
            node = b.add("add", rng.choice(values), Const(0))
            b.patch(node, 1, Use(node, rng.choice((1, 1, 2)), Const(7)))
            values.append(node)
            node = None
        elif roll < 0.42:
            values.append(b.add("select", rng.choice(values), rng.choice(values), rng.choice(values)))
        elif roll < 0.48:
            values.append(b.add("mul", rng.choice(values), Use(rng.choice(values), rng.choice((0, 1, 3)))))
        else:
            values.append(b.add(rng.choice(BINARY), rng.choice(values[-8:]), rng.choice(values)))
        if node is not None:
            if key in last:
                b.order(last[key], node)
            first.setdefault(key, node)
            last[key] = node
    for key, node in last.items():
        if first[key] != node:
            b.order(node, first[key], 1)
    return b.build()
