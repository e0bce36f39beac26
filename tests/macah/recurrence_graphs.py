"""Random graphs full of recurrences, for the search that shortens them."""

from __future__ import annotations

import random
from dataclasses import replace

from arch.ops import COMPARISONS, OPS
from backend.dfg import DFG, Const, LiveIn, Memory, Node, Operand, StreamPort, Use, Word, check_dfg

WORD = (Word(0, 4, True),)
ITERATIONS = 12
CONSTANTS = (0, 1, 1, 2, 3, 5, 7, 25, 31, 255, 0xEDB88320, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
PREDICATES = ("and", "or", "xor", "select")
WORDS = (
    *(
        "add",
        "add",
        "sub",
        "neg",
        "and",
        "or",
        "xor",
        "not",
        "select",
        "select",
        "select",
        "shl",
        "shr",
        "sar",
    ),
    *("rotl", "smin", "smax", "umin", "umax", "mul", "muladd", "zext8", "sext16", "load", "recv", "absdiff"),
)
TABLE = tuple(k * 0x9E3779B1 % (1 << 32) for k in range(8))


class _Maker:
    def __init__(self, seed: int, size: int) -> None:
        self.random = random.Random(seed)
        self.size = size
        self.words = [n for n in range(size) if self.random.random() < 0.6]
        self.received = False  # one operation on the stream needs no orders

    def predicate(self, node: int) -> bool:
        return node not in self.words

    def word(self, before: int) -> Operand:
        roll = self.random.random()
        if roll < 0.15:
            return Const(self.random.choice(CONSTANTS))
        if roll < 0.2:
            return LiveIn(self.random.randrange(2))
        return self.use(before, self.words)

    def condition(self, before: int) -> Operand:
        return self.use(before, [n for n in range(self.size) if self.predicate(n)])

    def use(self, before: int, among: list[int]) -> Operand:
        """A node of this iteration if there is one, else of an earlier iteration."""
        near = [n for n in among if before - 6 <= n < before]
        if near and self.random.random() < 0.75:
            return Use(self.random.choice(near))
        if not among:
            return Const(1)
        node = self.random.choice(among)
        first: Const | LiveIn = Const(self.random.choice(CONSTANTS))
        if self.predicate(node):
            first = Const(self.random.randrange(2))
        elif self.random.random() < 0.2:
            first = LiveIn(self.random.randrange(2))
        return Use(node, self.random.choice((1, 1, 1, 2, 3)), first)

    def node(self, number: int) -> Node:
        if self.predicate(number):
            if self.random.random() < 0.45:
                op = self.random.choice(sorted(COMPARISONS))
                return Node(number, op, (self.word(number), self.word(number)))
            op = self.random.choice(PREDICATES)
            return Node(number, op, tuple(self.condition(number) for _ in range(OPS[op].arity)))
        op = self.random.choice(WORDS)
        if op == "recv" and self.received:
            op = "sub"
        self.received |= op == "recv"
        if op == "select":
            return Node(number, op, (self.condition(number), self.word(number), self.word(number)))
        if op == "recv":
            return Node(number, op, (self.word(number), self.condition(number)), stream=0)
        operands = tuple(self.word(number) for _ in range(OPS[op].arity))
        return Node(number, op, operands, memory=0 if op == "load" else None)


def recurrent(seed: int, size: int = 24) -> DFG:
    """A graph that sends some of its values in every iteration."""
    maker = _Maker(seed, size)
    nodes = [maker.node(number) for number in range(size)]
    sent = maker.random.sample(range(size), 4)
    for stream, node in enumerate(sent, 1):
        nodes.append(Node(len(nodes), "send", (Use(node), Use(size + 6, 1, Const(1))), stream=stream))
    index = size + 4
    nodes.append(Node(index, "add", (Use(index, 1, Const(0)), Const(1))))
    nodes.append(Node(index + 1, "ult", (Use(index), Const(ITERATIONS))))
    nodes.append(Node(index + 2, "and", (Use(index + 1), Use(index + 2, 1, Const(1)))))
    nodes.append(Node(index + 3, "xor", (Use(index + 2), Use(index + 2, 1, Const(1)))))
    nodes.append(Node(index + 4, "stop", (Use(index + 3),)))

    for node in nodes[:size]:
        if node.op == "recv":
            old, wanted = node.operands
            guard = Node(len(nodes), "and", (wanted, Use(index + 2, 1, Const(1))))
            nodes.append(guard)
            nodes[node.id] = replace(node, operands=(old, Use(guard.id)))
    streams = tuple(StreamPort(f"s{k}", k > 0, 4, WORD) for k in range(5))
    dfg = DFG(f"recurrent{seed}", tuple(nodes), (), streams, (Memory("t", 8, initial=TABLE),), ("a", "b"), ())
    check_dfg(dfg)
    return dfg
