"""Arrays in several memories: as many as the ports need and the fabric has."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from affine_kernels import SIZE, Maker
from out_of_order import run_out_of_order

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG, Const, Memory, Node, Order, StreamPort, Use, Word, check_dfg
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from backend.run_dfg import run_dfg
from backend.verilog import emit
from macah import ir
from macah.copies import _copied, with_copies
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.spread import spread
from macah.todfg import build_dfg
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


def chains(lanes: int, tmp_path: Path, *disabled: str) -> DFG:
    """Each lane loads from one table twice in each iteration, and once more with what it found."""
    source = tmp_path / "p.macah"
    source.write_text(
        f"""static unsigned char t[256]; static unsigned in[64];
        int f(int n) {{ unsigned s[{lanes}];
          kernel {{
            FOR (int k = 0; k < {lanes}; k++) s[k] = k;
            for (int i = 0; i < n; i++)
              FOR (int k = 0; k < {lanes}; k++) s[k] = t[t[s[k] & 255] ^ (in[i & 63] >> k)] + s[k];
          }}
          unsigned sum = 0; FOR (int k = 0; k < {lanes}; k++) sum += s[k]; return sum; }}"""
    )
    program = read_program(source)
    kernel = replace(lower(program, program.kernels[0]), without=frozenset(disabled))
    return build_dfg(optimize(kernel), load_fabric("grid8x8"))


def test_a_table_on_recurrences_gets_ports_to_spare(tmp_path: Path) -> None:
    """With 12 loads in 7 cycles of 2 ports, there would hardly be a choice of when they are."""
    dfg, plain = chains(6, tmp_path), chains(6, tmp_path, "copies")
    bounds = [minimum_interval(graph, load_fabric("grid8x8")) for graph in (dfg, plain)]
    assert bounds[0].mii == bounds[0].recurrence == bounds[1].mii >= 6
    assert [m.name for m in dfg.memories].count("t") == 4
    loads = Counter(node.memory for node in dfg.nodes if node.op == "load")
    assert max(loads.values()) == 3
    few = chains(3, tmp_path)
    assert [m.name for m in few.memories].count("t") == 1


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


def smoothing(rounds: int) -> DFG:
    """a[i] = a[i - 7] ^ 3 * a[i - 1 & 31] + a[i & 3], round and round, and b[0] = b[i & 1] + 1."""
    nodes: list[Node] = []

    def add(op: str, *operands: Use | Const, **fields: int) -> Use:
        nodes.append(Node(len(nodes), op, operands, **fields))
        return Use(nodes[-1].id)

    i = add("add", Use(0, 1), Const(1))
    at = add("and", i, Const(31))
    places = [
        add("and", add("add", i, Const(step)), Const(mask))
        for step, mask in ((-7 % 32, 31), (31, 31), (0, 3))
    ]
    loads = [add("load", place, memory=0) for place in places]
    new = add("add", add("xor", loads[0], add("mul", loads[1], Const(3))), loads[2])
    stop = add("eq", i, Const(rounds))
    alive = add("ule", i, Const(rounds))
    stored = add("store", at, new, alive, memory=0)
    add("stop", stop)
    orders = [Order(load.node, stored.node, 0, 0) for load in loads]
    orders += [Order(stored.node, load.node, 1) for load in loads]
    memories = (Memory("a", 32, captured_in=True, captured_out=True),)
    return DFG("smoothing", tuple(nodes), (*orders, Order(stored.node, stored.node, 1)), (), memories, (), ())


def test_what_is_stored_is_stored_in_all_copies() -> None:
    dfg = smoothing(100)
    plenty = replace(dfg, orders=tuple(replace(order, distance=8 * order.distance) for order in dfg.orders))
    fabric = load_fabric("grid8x8")
    assert minimum_interval(plenty, fabric).mii == 2
    assert with_copies(KERNEL, plenty, fabric) is plenty
    copied = with_copies(KERNEL, plenty, fabric, stored=True)
    check_dfg(copied)
    assert minimum_interval(copied, fabric).mii == 1
    accesses = [[node.op for node in copied.nodes if node.memory == m] for m in range(3)]
    assert accesses == 3 * [["load", "store"]]
    assert [memory.captured_out for memory in copied.memories] == [True, False, False]


@pytest.mark.parametrize("seed", range(12))
def test_orders_hold_copies_to_each_other(seed: int) -> None:
    dfg = smoothing(100)
    words = [random.Random(seed).randrange(1 << 32) for _ in range(32)]
    expected = run_dfg(dfg, (), {}, {0: words}).memories[0]
    copied = _copied(dfg, 2, stored=True)
    made = run_out_of_order(copied, seed, (), {}, dict.fromkeys(range(3), words))
    assert list(made.memories.values()) == 3 * [expected]


PROGRAM = """
#include <stdio.h>
enum { N = 9 };
static int a[N][N + 1];
int main(void)
{
  for (int i = 0; i < N * N + N; i++) a[0][i] = i * 37 % 11;
  kernel {
    for (int k = 0; k < N - 1; k++)
      for (int i = k + 1; i < N; i++) {
        int p = a[k][k], f = a[i][k];
        for (int j = k; j <= N; j++) a[i][j] = a[i][j] * p - a[k][j] * f;
      }
  }
  for (int i = 0; i < N * N + N; i++) printf("%d ", a[0][i]);
}
"""


@pytest.mark.slow
def test_elimination_is_the_same_with_copies_and_without(tmp_path: Path) -> None:
    source = tmp_path / "elimination.macah"
    source.write_text(PROGRAM)
    program, fabric = read_program(source), load_fabric("grid8x8")
    kernel = lower(program, program.kernels[0])
    shorter = {"tabulate", "exact_orders", "unroll_loops"}  # these need no copies of arrays
    ways = [frozenset(shorter), frozenset({*shorter, "copies"})]
    made = [spread(replace(kernel, without=without), fabric) for without in ways]
    dfg, single = [choice.dfg for choice in made if choice is not None]
    assert (len(dfg.memories), minimum_interval(dfg, fabric).mii) == (2, 2)
    assert (len(single.memories), minimum_interval(single, fabric).mii) == (1, 3)
    words = [n * 37 % 11 for n in range(90)]
    expected = run_dfg(single, (), {}, {0: words}).memories[0]
    assert run_dfg(dfg, (), {}, {0: words, 1: words}).memories[0] == expected
    for seed in range(3):
        made = run_out_of_order(dfg, seed, (), {}, {0: words, 1: words})
        assert list(made.memories.values()) == 2 * [expected]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_nests_with_copies_of_all_arrays(first: int) -> None:
    changed = 0
    for seed in range(first, first + 20):
        source = random.Random(seed)
        dfg = build_dfg(optimize(Maker(seed).kernel()))
        arrays = {name: [source.randrange(8) for _ in range(SIZE)] for name in "ab"}
        live_ins = [source.randrange(6) for _ in dfg.live_ins]

        def words(graph: DFG, arrays: dict[str, list[int]] = arrays) -> dict[int, list[int]]:
            return {m: arrays[memory.name] for m, memory in enumerate(graph.memories)}

        expected = run_dfg(dfg, live_ins, {}, words(dfg))
        left = {memory.name: expected.memories[m] for m, memory in enumerate(dfg.memories)}
        for most in (2, 3, 4):
            copied = _copied(dfg, most, stored=True)
            changed += len(copied.memories) > len(dfg.memories)
            made = run_out_of_order(copied, seed, live_ins, {}, words(copied))
            assert [left[m.name] for m in copied.memories] == list(made.memories.values()), seed
            assert made.live_outs == expected.live_outs, seed
    assert changed > 10


@pytest.mark.parametrize("dfg", [lookups(2, 16), lookups(4, 16, stores=True), lookups(4, 1000, *[900] * 30)])
def test_where_copies_do_not_help_there_are_none(dfg: DFG) -> None:
    assert with_copies(KERNEL, dfg, load_fabric("grid8x8")) is dfg
