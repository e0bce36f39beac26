"""Loops one after the other that use one stream, or one array, with bounds known at run time only."""

import random
from pathlib import Path

import pytest
from kernels import outcome, outcome_of_graph

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from macah import ir, share_ports
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.share_ports import most_moved
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
PROGRAM = """
int f(int stream in, int stream out, int m, int n) {
  int z = 0;
  kernel {
    int v[8];
    BODY
  }
  return z;
}
int main(void) { return 0; }
"""
LOADED = "for (int c = 0; c < 8; c++) v[c] <? in;"
ROWS = """for (int r = 0; r < n; r++) {
  int s = 0;
  for (int c = 0; c < 8; c++) { int x; x <? in; s += x * v[c]; }
  out <! s;
}"""


def lowered(body: str, directory: Path) -> ir.Kernel:
    source = directory / "program.macah"
    source.write_text(PROGRAM.replace("BODY", body))
    program = read_program(source)
    return lower(program, program.kernels[0], {})


def graph(kernel: ir.Kernel) -> DFG:
    return build_dfg(optimize(kernel), FABRIC)


def inputs(kernel: ir.Kernel, seed: int) -> dict:
    """Some of the captured scalars, and more elements than kernels receive."""
    chance = random.Random(seed)
    names = [c.what.name for c in kernel.captured if isinstance(c.what, ir.Variable)]
    scalars = {name: chance.randrange(6) for name in names}
    words = [(chance.choice((chance.randrange(9), chance.randrange(1 << 32))),) for _ in range(4000)]
    received = any(capture.stream.name == "in" for capture in kernel.streams)
    return {"scalars": scalars, "arrays": {}, "inputs": {"in": words} if received else {}}


def test_one_receive_serves_a_loop_and_the_nest_behind_it(tmp_path: Path) -> None:
    kernel = lowered(LOADED + ROWS, tmp_path)
    dfg = graph(kernel)
    assert (most_moved(dfg, 2), minimum_interval(dfg, FABRIC).mii) == (1, 1)
    given = inputs(kernel, 1)
    assert outcome_of_graph(kernel, dfg, given) == outcome(kernel, given)


def test_what_waits_for_its_turn_is_kept(tmp_path: Path) -> None:
    nest = ROWS.replace("int x; x <? in; s += x * v[c];", "s += (r ^ c) * v[c];")
    kernel = lowered(LOADED + nest, tmp_path)
    dfg = graph(kernel)
    assert minimum_interval(dfg, FABRIC).mii == 1
    given = inputs(kernel, 2)
    assert outcome_of_graph(kernel, dfg, given) == outcome(kernel, given)


CLEARED = "for (int c = 0; c < 8; c++) v[c] = 0;"
RINGS = [
    """int s = 0, p = 0;
    for (int i = 0; i < n; i++) {
      int x; x <? in;
      s += x - v[p];
      v[p] = x;
      p = (p + 1) % 8;
      out <! s;
    }""",
    """int p = 0;
    for (int i = 0; i < n; i++) {
      int x; x <? in;
      out <! x + v[p - m & 7];
      v[p] = x;
      p = p + 1 & 7;
    }
    z = p;""",
]


@pytest.mark.parametrize("ring", RINGS)
def test_one_store_serves_a_loop_that_clears_an_array_and_the_one_behind_it(
    ring: str, tmp_path: Path
) -> None:
    kernel = lowered(CLEARED + ring, tmp_path)
    dfg = graph(kernel)
    assert (most_moved(dfg, 2), minimum_interval(dfg, FABRIC).mii) == (1, 1)
    for seed in range(6):
        given = inputs(kernel, seed)
        assert outcome_of_graph(kernel, dfg, given) == outcome(kernel, given)


# --- Random stages


def stages(seed: int) -> str:
    chance = random.Random(seed)
    return "\n".join(_stage(chance, f"{chance.choice('mn')}") for _ in range(chance.randrange(2, 4)))


def _stage(chance: random.Random, bound: str) -> str:
    received = chance.choice(("int x; x <? in;", "int x = r * 3;", "int x = 0; if (c & 1) x <? in;"))
    start = chance.choice(("0", "5", "n", "z"))
    step = chance.choice(
        (
            "s += x;",
            "s = s - x;",
            "if (x & 1) s += x; else t = s;",
            "t = x & 2 ? t : s; s += x * v[c & 7];",
            "s = x & 4 ? s + x : t; t += c;",
            "s = max(s, x); t = t ^ s;",
        )
    )
    if chance.random() < 0.4:
        return (
            f"for (int c = 0; c < {chance.choice(('8', bound))}; c++) {{ int r = c; {received} v[c] = x; }}"
        )
    after = chance.choice(("out <! s - t;", "z += s ^ t;", "if (s & 1) out <! t; z = s;"))
    inner = f"for (int c = 0; c < {chance.choice(('3', bound, '4'))}; c++) {{ {received} {step} }}"
    if chance.random() < 0.3:
        return f"{{ int s = {start}, t = 0, r = 7; {inner} {after} }}"
    return f"for (int r = 0; r < {chance.choice('mn')}; r++) {{ int s = {start}, t = 1; {inner} {after} }}"


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(12))
def test_random_stages_do_the_same(seed: int, tmp_path: Path) -> None:
    body = "for (int k = 0; k < 8; k++) v[k] = k;" + stages(seed)
    kernel = lowered(body, tmp_path)
    dfg = graph(kernel)
    for given in (inputs(kernel, seed), inputs(kernel, seed + 100)):
        assert outcome_of_graph(kernel, dfg, given) == outcome(kernel, given), body


def test_values_are_handed_on_from_stores_that_became_one(tmp_path: Path) -> None:
    """The longest common subsequence: its table is written in three loops, of which the last binds."""
    source = tmp_path / "lcs.macah"
    source.write_text(
        """int f(const char *a, const char *b) {
          static char s[40], t[30]; static int d[41][31]; int result = 0;
          for (int i = 0; i < 40; i++) s[i] = a[i]; for (int i = 0; i < 30; i++) t[i] = b[i];
          kernel {
            for (int i = 0; i <= 40; i++) d[i][0] = 0;
            for (int j = 0; j <= 30; j++) d[0][j] = 0;
            for (int i = 1; i <= 40; i++)
              for (int j = 1; j <= 30; j++)
                if (s[i - 1] == t[j - 1]) d[i][j] = d[i - 1][j - 1] + 1;
                else d[i][j] = max(d[i - 1][j], d[i][j - 1]);
            result = d[40][30];
          }
          return result; }"""
    )
    program = read_program(source)
    dfg = graph(lower(program, program.kernels[0], {}))
    assert minimum_interval(dfg, FABRIC).mii == 2
    assert sum(node.op == "store" for node in dfg.nodes) == 1


DIGITS = """v[0] = 1;
for (int i = 1; i < 8; i++) v[i] = 0;
int len = 1;
for (int k = 2; k <= n; k++) {
  unsigned carry = 0;
  for (int i = 0; i < len; i++) { unsigned w = v[i & 7] * k + carry; v[i & 7] = w & 1023; carry = w >> 10; }
  while (carry) { v[len++ & 7] = carry & 1023; carry >>= 10; }
}"""


def test_stores_are_not_joined_where_their_loads_hold_iterations_up_and_would_do_so_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_on: list[DFG] = []
    monkeypatch.setattr(share_ports, "forwarded_in_graph", lambda dfg, *_: handed_on.append(dfg) or dfg)
    dfg = graph(lowered(DIGITS, tmp_path))
    bounds = minimum_interval(dfg, FABRIC)
    assert 1 < most_moved(dfg, 2) <= bounds.resource < bounds.recurrence
    assert not handed_on
