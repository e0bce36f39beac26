"""Counters that an iteration steps several times: `out[k++] = …; out[k++] = …;`."""

import random
from pathlib import Path

import pytest
from kernels import outcome, outcome_of_graph
from out_of_order import run_out_of_order

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from backend.run_dfg import run_dfg
from macah import ir
from macah.lower import lower
from macah.program import read_program
from macah.spread import spread

FABRIC = load_fabric("grid8x8")
CAPTURED = """
int f(const unsigned in[64], unsigned out[256]) {
  kernel { int k = 0; BODY }
  return 0;
}
int main(void) { return 0; }
"""
OWN = """
int f(const unsigned in[64], int m, int n) {
  unsigned sum = 0;
  kernel {
    unsigned out[640];
    int k = 300;
    for (int c = 0; c < 640; c++) out[c] = c;
    BODY
    for (int c = 0; c < 640; c++) sum = sum * 31 + out[c];
  }
  return sum;
}
int main(void) { return 0; }
"""
STEPS = ("k++;", "k += 2;", "k += 3;", "k--;", "k -= 2;")


def made(text: str, directory: Path) -> tuple[ir.Kernel, DFG]:
    """A kernel, and its graph as the compiler chooses it, but without copies of bodies."""
    source = directory / "program.macah"
    source.write_text(text)
    program = read_program(source)
    kernel = lower(program, program.kernels[0], {})
    chosen = spread(kernel, FABRIC, automatic=False)
    assert chosen is not None
    return kernel, chosen.dfg


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_what_is_stored_one_behind_the_other_is_in_banks(parts: int, tmp_path: Path) -> None:
    stores = " ".join(f"out[k++] = in[i] >> {8 * part} & 255;" for part in range(parts))
    loop = f"for (int i = 0; i < 60; i++) {{ {stores} }}"
    _, dfg = made(CAPTURED.replace("BODY", loop), tmp_path)
    assert minimum_interval(dfg, FABRIC).mii == 1


def test_what_the_last_iteration_leaves_out_is_no_step_of_it(tmp_path: Path) -> None:
    leaves = "int i = 0; do { i++; if (i < 5) { out[k] = in[i]; k += 2; } } while (i < 5);"
    behind = "for (int j = 0; j < 3; j++) { out[k + j] = in[in[j] & 15]; sum += out[308 + j]; }"
    kernel, dfg = made(OWN.replace("BODY", leaves + behind), tmp_path)
    same_in_any_order(kernel, dfg, 1, {"m": 0, "n": 0, "sum": 0})


def same_in_any_order(kernel: ir.Kernel, dfg: DFG, seed: int, scalars: dict[str, int]) -> None:
    chance = random.Random(seed)
    table = [chance.randrange(1 << 32) for _ in range(64)]
    given = {"scalars": scalars, "arrays": {"in": table}, "inputs": {}}
    assert outcome_of_graph(kernel, dfg, given) == outcome(kernel, given)
    words = [scalars[name] for name in dfg.live_ins]
    memories = {i: table for i, memory in enumerate(dfg.memories) if memory.captured_in}
    assert run_out_of_order(dfg, seed, words, {}, memories) == run_dfg(dfg, words, {}, memories)


# --- Random steps


def body(seed: int) -> str:
    chance = random.Random(seed)
    inner = " ".join(_part(chance) for _ in range(chance.randrange(2, 6)))
    if chance.random() < 0.4:
        inner = f"for (int j = 0; j < {chance.choice(('2', '3', 'm'))}; j++) {{ {inner} }} {_part(chance)}"
    return f"for (int i = 0; i < {chance.choice(('n', '5'))}; i++) {{ {inner} }}"


def _part(chance: random.Random) -> str:
    step = chance.choice(STEPS)
    if chance.random() < 0.2:
        step = f"if ({chance.choice(('in[i] & 1', 'i & 1', 'm == 2'))}) {step}"
    place = f"out[k + {chance.randrange(5)} & 255]" if chance.random() < 0.4 else "out[k & 255]"
    if chance.random() < 0.5:
        place = "out[k]"
    access = chance.choice(
        (f"{place} = in[i] + k;", f"{place} += i;", f"out[i] ^= {place};", f"{place} = i;")
    )
    return f"{access} {step}" if chance.random() < 0.7 else f"{step} {access}"


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(24))
def test_random_steps_do_the_same_in_any_order(seed: int, tmp_path: Path) -> None:
    kernel, dfg = made(OWN.replace("BODY", body(seed)), tmp_path)
    for count in (0, 1, 6):
        same_in_any_order(kernel, dfg, seed, {"m": (seed + count) % 4, "n": count, "sum": 0})
