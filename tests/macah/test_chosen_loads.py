"""One load from a chosen address instead of a choice between two, where ports are scarce and nowhere else."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.run_dfg import run_dfg
from macah import ir
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
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
def test_graphs_do_the_same_with_chosen_loads(body: str, least: int, tmp_path: Path) -> None:
    made = kernel(body, tmp_path)
    chosen, plain = graph(made), graph(made, "chosen_loads")
    assert loads(chosen) <= least + (body != CHOICE)
    assert minimum_interval(chosen, FABRIC).mii <= minimum_interval(plain, FABRIC).mii
    words = [random.Random(7).randrange(1 << 32) for _ in range(64)]
    words = random.Random(3).sample(words, 64)
    assert run_dfg(chosen, (), {0: words}, {}).outputs == run_dfg(plain, (), {0: words}, {}).outputs


def test_the_interval_gets_shorter(tmp_path: Path) -> None:
    made = kernel(CHOICE, tmp_path)
    chosen, plain = graph(made), graph(made, "chosen_loads")
    assert (loads(chosen), loads(plain)) == (1, 2)
    assert (minimum_interval(chosen, FABRIC).mii, minimum_interval(plain, FABRIC).mii) == (1, 2)


def test_loads_on_both_sides_of_a_store_stay(tmp_path: Path) -> None:
    assert loads(graph(kernel(SEPARATED, tmp_path))) == 2


def test_where_ports_suffice_nothing_changes(tmp_path: Path) -> None:
    body = CHOICE.replace("ring[x >> 16 & 63]", "(x >> 16)")
    made = kernel(body, tmp_path)
    assert graph(made) == graph(made, "chosen_loads")
