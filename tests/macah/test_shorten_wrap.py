"""What wraps around is masked behind its recurrence, with the same values in every iteration."""

import random

import pytest

from backend.dfg import DFG, Const, LiveIn, Node, Operand, StreamPort, Use, Word, check_dfg
from backend.run_dfg import run_dfg
from macah.capacity import Capacity
from macah.shorten import shorten, slow_cycles
from macah.shorten_wrap import unmasked

MANY = Capacity(units=1000, ports=100)
WORD = (Word(0, 4, False),)
N = 30
OPS = ("add", "sub", "mul", "and", "or", "xor", "muladd", "select", "shl", "shr", "neg", "not", "smin", "slt")
MASKS = (0, 1, 3, 6, 7, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)
WORDS = (0, 1, 7, 8, 0x7F, 0x80, 0xFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def with_ends(nodes: list[Node], sent: list[int]) -> DFG:
    """Nodes, of which 0 receives in N iterations, and what sends some of them."""
    own = len(nodes)
    nodes[0] = Node(0, "recv", (Const(0), Use(own + 3)), stream=0)
    nodes += [
        Node(own, "add", (Use(own, 1, Const(0)), Const(1))),
        Node(own + 1, "eq", (Use(own), Const(N))),
        Node(own + 2, "stop", (Use(own + 1),)),
        Node(own + 3, "ult", (Use(own, 1, Const(0)), Const(N))),
    ]
    for stream, node in enumerate(sent, 1):
        nodes.append(Node(len(nodes), "send", (Use(node), Use(own + 3)), stream=stream))
    streams = tuple(StreamPort(f"s{k}", k > 0, 4, WORD) for k in range(len(sent) + 1))
    dfg = DFG("k", tuple(nodes), (), streams, (), ("a", "b"), (), ())
    check_dfg(dfg)
    return dfg


def masked(chance: random.Random, size: int = 9) -> list[Node]:
    """Operations on one another, most of them with low bits that depend on low bits, and masks between."""

    def operand(number: int) -> Operand:
        start = chance.choice((Const(chance.choice(WORDS)), LiveIn(chance.randrange(2))))
        if chance.random() < 0.15:
            return start
        if number > 1 and chance.random() < 0.5:
            return Use(chance.randrange(number))
        return Use(chance.randrange(1, size + 1), chance.choice((1, 1, 1, 2)), start)

    nodes = [Node(0, "mov", (Const(0),))]
    for number in range(1, size + 1):
        if chance.random() < 0.35:
            mask = Const(chance.choice(MASKS))
            op = chance.choice(("and", "and", "zext8", "sext8", "zext16", "sext16"))
            nodes.append(Node(number, op, (operand(number), mask)[: 1 + (op == "and")]))
            continue
        op = chance.choice(OPS)
        count = 3 if op in ("muladd", "select") else 1 if op in ("neg", "not") else 2
        operands = [operand(number) for _ in range(count)]
        if op in ("shl", "shr"):
            operands[1] = Const(chance.randrange(32))
        nodes.append(Node(number, op, tuple(operands)))
    return nodes


def outputs(dfg: DFG, chance: random.Random) -> dict[int, list[int]]:
    words = [chance.choice((*WORDS, chance.randrange(1 << 32))) for _ in range(N)]
    live = {name: chance.choice(WORDS) for name in ("a", "b")}
    return run_dfg(dfg, tuple(live[name] for name in dfg.live_ins), {0: words}, {}).outputs


@pytest.mark.parametrize("seed", range(40))
def test_copies_have_the_values_of_what_they_are_copies_of(seed: int) -> None:
    chance = random.Random(seed)
    found = 0
    for _ in range(15):
        nodes = masked(chance)
        own = len(nodes)
        dfg, equal = unmasked(with_ends(nodes, list(range(1, own))), range(own))
        found += len(equal)
        sends = list(dfg.nodes)
        streams = list(dfg.streams)
        for old, new in equal.items():
            send = next(n for n in dfg.nodes if n.op == "send" and n.operands[0] == Use(old))
            sends.append(Node(len(sends), "send", (Use(new), send.operands[1]), stream=len(streams)))
            streams.append(StreamPort(f"c{new}", True, 4, WORD))
        both = DFG("k", tuple(sends), (), tuple(streams), (), dfg.live_ins, (), ())
        check_dfg(both)
        sent = outputs(both, chance)
        for k, old in enumerate(equal):
            assert sent[own + k] == sent[old], (nodes, old)
    assert found


@pytest.mark.parametrize("seed", range(30))
def test_shorter_recurrences_compute_the_same(seed: int) -> None:
    chance = random.Random(seed)
    nodes = masked(chance, 5)
    dfg = with_ends(nodes, list(range(1, len(nodes))))
    shorter = shorten(dfg, MANY)
    assert slow_cycles(shorter, 1)[0] <= slow_cycles(dfg, 1)[0]
    for turn in range(4):
        assert outputs(dfg, random.Random(turn)) == outputs(shorter, random.Random(turn))


def test_a_counter_that_wraps_around_counts_on_behind_its_mask() -> None:
    nodes = [
        Node(0, "mov", (Const(0),)),
        Node(1, "add", (Use(2, 1, LiveIn(0)), Use(0))),
        Node(2, "and", (Use(1), Const(7))),
    ]
    dfg = with_ends(nodes, [2])
    shorter = shorten(dfg, MANY)
    assert (slow_cycles(dfg, 1)[0], slow_cycles(shorter, 1)[0]) == (2, 1)
    assert len(shorter.nodes) == len(dfg.nodes)
    assert outputs(dfg, random.Random(1)) == outputs(shorter, random.Random(1))
