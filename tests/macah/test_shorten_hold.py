"""What waits for its turn may keep its value: only where that is what it would have been given."""

import random

import pytest

from backend.dfg import DFG, Const, LiveIn, Node, StreamPort, Use, Word, check_dfg
from backend.run_dfg import run_dfg
from macah.capacity import Capacity
from macah.shorten import shorten

MANY = Capacity(units=1000, ports=100)
WORD = (Word(0, 4, False),)
N = 40


def carried(made: Node, turn: Use, waiting: Const | LiveIn, first: Const | LiveIn, begins: str = "or") -> DFG:
    """`v = turn ? made : waiting`: node 5 is `v`, 4 `made`, 2 says whether its turn has come.

    `v` begins with `first`; the turn has come once a word that is received is odd.
    """
    nodes = (
        Node(0, "recv", (Const(0), Use(10)), stream=0),
        Node(1, "and", (Use(0), Const(1))),
        Node(2, begins, (Use(2, 1, Const(0)), Use(1))),
        Node(3, "shr", (Use(0), Const(1))),
        made,
        Node(5, "select", (turn, Use(4), waiting)),
        Node(6, "send", (Use(5), Use(10)), stream=1),
        Node(7, "add", (Use(7, 1, Const(0)), Const(1))),
        Node(8, "eq", (Use(7), Const(N))),
        Node(9, "stop", (Use(8),)),
        Node(10, "ult", (Use(7, 1, Const(0)), Const(N))),
    )
    streams = (StreamPort("in", False, 4, WORD), StreamPort("out", True, 4, WORD))
    dfg = DFG("k", nodes, (), streams, (), ("c",), (), ())
    check_dfg(dfg)
    return dfg


def made(op: str, first: Const | LiveIn) -> Node:
    before, word = Use(5, 1, first), Use(3)
    operands = {
        "add": (word, before),
        "sub": (before, word),
        "muladd": (word, word, before),
        "select": (Use(1), word, before),
    }
    return Node(4, op, operands[op])


def sent(dfg: DFG, seed: int) -> list[int]:
    chance = random.Random(seed)
    late = chance.randrange(N)
    words = [chance.randrange(1 << 32) & (~1 if k < late else ~0) for k in range(N)]
    return run_dfg(dfg, (77,) if dfg.live_ins else (), {0: words}, {}).outputs[1]


@pytest.mark.parametrize("op", ["add", "sub", "muladd", "select"])
@pytest.mark.parametrize("distance", [0, 1, 3])
@pytest.mark.parametrize("begins", ["or", "xor"])
@pytest.mark.parametrize(
    ("waiting", "first"), [(Const(9), Const(9)), (LiveIn(0), LiveIn(0)), (Const(9), Const(8))]
)
def test_values_are_the_same(op: str, distance: int, begins: str, waiting, first) -> None:
    turn = Use(2) if distance == 0 else Use(2, distance, Const(0))
    if begins == "xor" or waiting != first or isinstance(first, LiveIn):
        turn = Use(2, max(1, distance), Const(0))
    dfg = carried(made(op, first), turn, waiting, first, begins)
    shorter = shorten(dfg, MANY)
    for seed in range(6):
        assert sent(shorter, seed) == sent(dfg, seed)
