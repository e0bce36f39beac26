"""Tables in several memories: as many as the ports need and the fabric has."""

import random

import pytest

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG, Const, Memory, Node, StreamPort, Use, Word
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from backend.run_dfg import run_dfg
from backend.verilog import emit
from macah import ir
from macah.copies import with_copies
from sim.simulate import simulate

KERNEL = ir.Kernel("k", (), (), ())
WORD = (Word(0, 4, False),)


def lookups(count: int, *tables: int, stores: bool = False) -> DFG:
    """A graph that looks `count` bytes up in each table, and sends their sum; it stops after 8 iterations."""
    nodes: list[Node] = [
        Node(0, "recv", (Const(0), Use(2)), stream=0),
        Node(1, "add", (Use(1, 1), Const(1))),
        Node(2, "ule", (Use(1), Const(8))),
    ]

    def add(op: str, *operands: Use | Const, **fields: int) -> Use:
        nodes.append(Node(len(nodes), op, operands, **fields))
        return Use(nodes[-1].id)

    total: Use | Const = Const(0)
    for table in range(len(tables)):
        for number in range(count):
            byte = add("and", add("shr", Use(0), Const(3 * number)), Const(15))
            total = add("add", total, add("load", byte, memory=table))
    if stores:
        add("store", Const(0), Const(0), Const(0), memory=0)
    add("send", total, Use(2), stream=1)
    add("stop", add("eq", Use(1), Const(8)))
    memories = tuple(Memory(f"t{m}", words, captured_in=True) for m, words in enumerate(tables))
    streams = (StreamPort("in", False, 4, WORD), StreamPort("out", True, 4, WORD))
    return DFG("lookups", tuple(nodes), (), streams, memories, (), ())


def test_four_lookups_in_one_cycle() -> None:
    fabric, dfg = load_fabric("grid8x8"), lookups(4, 16)
    assert minimum_interval(dfg, fabric).mii == 2
    copied = with_copies(KERNEL, dfg, fabric)
    assert minimum_interval(copied, fabric).mii == 1
    assert [memory.name for memory in copied.memories] == ["t0", "t0"]
    source = random.Random(1)
    words, table = [source.randrange(1 << 32) for _ in range(12)], [source.randrange(1000) for _ in range(16)]
    expected = run_dfg(dfg, (), {0: words}, {0: table}).outputs
    assert run_dfg(copied, (), {0: words}, {0: table, 1: table}).outputs == expected
    mapping = map_kernel(copied, fabric, MapOptions())
    ran = simulate(emit(mapping), (), {0: words}, {0: table, 1: table})
    assert {s: list(sent) for s, sent in ran.outputs.items() if sent} == expected


@pytest.mark.parametrize("dfg", [lookups(2, 16), lookups(4, 16, stores=True), lookups(4, 1000, *[900] * 30)])
def test_where_copies_do_not_help_there_are_none(dfg: DFG) -> None:
    assert with_copies(KERNEL, dfg, load_fabric("grid8x8")) is dfg
