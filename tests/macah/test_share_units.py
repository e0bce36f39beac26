"""One operation for two that exclude each other, where ports and the like are scarce and nowhere else."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kernels import outcome, outcome_of_graph, seldom_shortened
from out_of_order import run_out_of_order

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG, Word, check_dfg, show_dfg
from backend.run_dfg import run_dfg
from macah import ir, share_units
from macah.ir import Apply, Array, Assign, Const, If, Load, Read, Stmt, Stream, Variable
from macah.join_nodes import joined
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.share_units import Crowd, relieved, with_shared_units
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
PROGRAM = """
void f(unsigned stream in, unsigned stream out) {
  kernel {
    unsigned char ring[64];
    unsigned x = 0;
    for (unsigned i = 0; i < 64; i++) {
      x <? in;
      ring[i * 5 & 63] = x;
      BODY
    }
  }
}
int main(void) { return 0; }
"""
CHOICE = "out <! x & 1 ? ring[x >> 8 & 63] : ring[x >> 16 & 63];"
SEPARATED = """unsigned one = ring[x >> 8 & 63];
  ring[x >> 20 & 63] = i;
  out <! x & 1 ? one : ring[x >> 16 & 63];"""


def kernel(body: str, path: Path) -> ir.Kernel:
    source = path / "program.macah"
    source.write_text(PROGRAM.replace("BODY", body))
    program = read_program(source)
    return lower(program, program.kernels[0], {})


def graph(made: ir.Kernel, *without: str) -> DFG:
    return build_dfg(optimize(replace(made, without=frozenset(without))), FABRIC)


def loads(dfg: DFG) -> int:
    return sum(node.op == "load" for node in dfg.nodes)


@pytest.mark.parametrize(("body", "least"), [(CHOICE, 1), (SEPARATED, 2), (CHOICE + CHOICE, 3)])
def test_graphs_do_the_same_with_shared_loads(body: str, least: int, tmp_path: Path) -> None:
    made = kernel(body, tmp_path)
    chosen, plain = graph(made), graph(made, "share_units")
    assert loads(chosen) <= least + (body != CHOICE)
    assert minimum_interval(chosen, FABRIC).mii <= minimum_interval(plain, FABRIC).mii
    words = [random.Random(7).randrange(1 << 32) for _ in range(64)]
    words = random.Random(3).sample(words, 64)
    assert run_dfg(chosen, (), {0: words}, {}).outputs == run_dfg(plain, (), {0: words}, {}).outputs


def test_the_interval_gets_shorter(tmp_path: Path) -> None:
    made = kernel(CHOICE, tmp_path)
    chosen, plain = graph(made), graph(made, "share_units", "copies")
    assert (loads(chosen), loads(plain)) == (1, 2)
    assert (minimum_interval(chosen, FABRIC).mii, minimum_interval(plain, FABRIC).mii) == (1, 2)


def test_loads_on_both_sides_of_a_store_stay(tmp_path: Path) -> None:
    assert loads(graph(kernel(SEPARATED, tmp_path))) == 2


def test_where_ports_suffice_nothing_changes(tmp_path: Path) -> None:
    body = CHOICE.replace("ring[x >> 16 & 63]", "(x >> 16)")
    made = kernel(body, tmp_path)
    assert graph(made) == graph(made, "share_units")


@pytest.mark.parametrize(
    ("body", "plain", "shared"),
    [
        ("if (x & 1) ring[x >> 8 & 63] = i; else ring[x >> 16 & 63] = x; out <! ring[i];", 2, 2),
        (
            """switch (x & 7) { case 0: ring[x >> 8 & 63] = i; break; case 1: ring[x >> 9 & 63] = x; break;
               case 2: ring[x >> 16 & 63] = 0; break; case 3: ring[x >> 18 & 63] = 1; break;
               case 4: ring[x >> 20 & 63] = 2; break; default: ring[x >> 17 & 63] = 7; }
               out <! ring[i];""",
            4,
            2,
        ),
        (
            "unsigned z = i; if (x & 1) z = ring[x >> 8 & 63] + 3; else z = ring[x >> 9 & 63] ^ i; out <! z;",
            2,
            1,
        ),
        ("unsigned a = 0; if (x & 1) { a <? in; a *= 3; } else { a <? in; a ^= 5; } out <! a;", 4, 2),
    ],
)
def test_branches_share_what_only_one_of_them_uses(
    body: str, plain: int, shared: int, tmp_path: Path
) -> None:
    made = kernel(body, tmp_path)
    graphs = graph(made, "share_units", "copies"), graph(made)
    assert [minimum_interval(dfg, FABRIC).mii for dfg in graphs] == [plain, shared], show_dfg(graphs[1])
    words = random.Random(3).choices(range(1 << 32), k=150)
    one, other = (run_dfg(dfg, (), {0: words}, {}) for dfg in graphs)
    assert (one.outputs, one.memories) == (other.outputs, other.memories)


def test_dividers_are_shared_where_there_are_few(tmp_path: Path) -> None:
    fabric = load_fabric("mesh:4x4")  # which has one
    made = kernel("unsigned z; if (x & 1) z = i / (x | 1); else z = x / (i | 1); out <! z;", tmp_path)
    plain = build_dfg(optimize(replace(made, without=frozenset({"share_units"}))), fabric)
    shared = build_dfg(optimize(made), fabric)
    assert [sum(n.op == "udiv" for n in dfg.nodes) for dfg in (plain, shared)] == [2, 1]
    assert minimum_interval(shared, fabric).mii < minimum_interval(plain, fabric).mii


@pytest.mark.parametrize(
    ("either", "joins"),
    [
        ("unsigned z; if (x & 1) z = x + i; else z = x + 5; out <! z;", True),
        # `z` and `y` are chosen apart, so a choice would take the place of the sum that goes
        ("unsigned z = 1, y = 2; if (x & 1) z = x + i; else y = x + 5; out <! z ^ y * 3;", False),
    ],
)
def test_nothing_is_joined_on_trial_where_a_choice_takes_its_place(
    either: str, joins: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dfg = build_dfg(optimize(replace(kernel(either, tmp_path), without=frozenset({"share_units"}))), NARROW)
    tried: list[object] = []

    def counted(*asked: Any) -> DFG:
        tried.append(asked)
        return joined(*asked)

    monkeypatch.setattr(share_units, "joined", counted)
    units = Crowd(1, ops=frozenset({"add", "select"}))
    fewer = next(share_units._relief(dfg, units, share_units.Effort()), None)
    assert (bool(tried), fewer is not None) == (joins, joins), show_dfg(dfg)


# --- Random conditions around random operations

WORD = Word(0, 4, True)
IN, PAIRS = Stream("in", 4, (WORD,)), Stream("pairs", 8, (WORD, Word(4, 4, True)))
OUT, BOTH = Stream("out", 4, (WORD,)), Stream("both", 8, (WORD, Word(4, 4, True)))
TABLE, COUNT = Array("t", (8,)), Variable("count")
NARROW = load_fabric("mesh:2x2")


class Maker:
    """One flat loop with nests of conditions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables = [Variable(name) for name in "abcd"]

    def expr(self, depth: int = 2) -> ir.Expr:
        r = self.random
        if depth == 0 or r.random() < 0.2:
            return (
                Read(r.choice(self.variables)) if r.random() < 0.8 else Const(r.choice((0, 1, 5, 0xFFFFFFFF)))
            )
        op = r.choice(("add", "sub", "xor", "mul", "udiv", "srem", "load", "slt"))
        if op == "load":
            return Load(TABLE, (Apply("and", (self.expr(depth - 1), Const(7))),))
        return Apply(op, (self.expr(depth - 1), self.expr(depth - 1)))

    def condition(self) -> ir.Expr:
        op = self.random.choice(("slt", "eq", "ne", "ult"))
        bit = Apply("and", (self.expr(1), Const(self.random.choice((1, 3)))))
        return Apply(op, (self.random.choice((bit, self.expr(1))), Const(self.random.randrange(3))))

    def statement(self, depth: int) -> Stmt:
        r = self.random
        if depth and r.random() < 0.6:
            return If(self.condition(), self.body(depth - 1), self.body(depth - 1))
        match r.randrange(6):
            case 0:
                return ir.Receive(IN, (), (r.choice(self.variables),))
            case 1:
                return ir.Receive(PAIRS, (), tuple(r.sample(self.variables, 2)))
            case 2:
                return ir.Send(OUT, (), (self.expr(),))
            case 3:
                return ir.Send(BOTH, (), (self.expr(), self.expr(1)))
            case 4:
                return ir.Store(TABLE, (Apply("and", (self.expr(1), Const(7))),), self.expr())
            case _:
                return Assign(r.choice(self.variables), self.expr())

    def body(self, depth: int) -> tuple[Stmt, ...]:
        return tuple(self.statement(depth) for _ in range(self.random.randrange(1, 3)))

    def kernel(self) -> ir.Kernel:
        start = tuple(Assign(v, Const(k)) for k, v in enumerate((COUNT, *self.variables)))
        step = Assign(COUNT, Apply("add", (Read(COUNT), Const(1))))
        loop = ir.DoWhile((*self.body(3), *self.body(3), step), Apply("slt", (Read(COUNT), Const(24))))
        captured = (ir.Capture(TABLE, "t", "int", True, True),)
        streams = tuple(ir.StreamCapture(s, s.name) for s in (IN, PAIRS, OUT, BOTH))
        without = frozenset({"share_sends", "scalarize_arrays"})  # so that there is more to do
        return ir.Kernel("k", captured, streams, (*start, loop), without=without)


def random_shared(seed: int) -> tuple[ir.Kernel, DFG, DFG]:
    """A kernel, its graph, and the graph with all that can be joined joined, whether that helps or not."""
    made = seldom_shortened(Maker(seed).kernel(), seed)
    plain = build_dfg(optimize(made))
    shared = relieved(with_shared_units(made, plain, NARROW), NARROW, 1)
    check_dfg(shared)
    return made, plain, shared


@pytest.mark.quick(1)
@pytest.mark.parametrize("first", [0, 12])
def test_random_conditions(first: int) -> None:
    fewer = dict.fromkeys(("load", "store", "send", "recv", "udiv"), 0)
    for seed in range(first, first + 12):
        made, plain, shared = random_shared(seed)
        for op in fewer:
            fewer[op] += sum(n.op == op for n in plain.nodes) - sum(n.op == op for n in shared.nodes)
        r = random.Random(seed)
        for few in (3, 1 << 32):
            data = {
                "scalars": {},
                "arrays": {"t": [r.randrange(few) for _ in range(8)]},
                "inputs": {
                    "in": [(r.randrange(few),) for _ in range(30)],
                    "pairs": [(r.randrange(few), r.randrange(few)) for _ in range(20)],
                },
            }
            assert outcome_of_graph(made, shared, data) == outcome(made, data), (seed, show_dfg(shared))
            words = {"in": [w for e in data["inputs"]["in"] for w in e]}
            words["pairs"] = [w for e in data["inputs"]["pairs"] for w in e]
            inputs = {s: words[p.name] for s, p in enumerate(shared.streams) if not p.sends}
            memories = dict.fromkeys(range(len(shared.memories)), data["arrays"]["t"])
            assert run_out_of_order(shared, seed, (), inputs, memories) == run_dfg(
                shared, (), inputs, memories
            )
    assert all(fewer.values()), fewer
