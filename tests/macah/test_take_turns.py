"""Rare branches with turns of their own: the same is computed, in fewer cycles where that was estimated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from kernels import seldom_shortened
from random_kernels import Choices
from test_bubbles import Input, with_receives

from arch.describe import load_fabric
from backend.dfg import Place
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from backend.verilog import emit
from macah import ir
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import parse_program
from macah.rare import rare_text, with_turns
from macah.rare_branch import RareBranch
from macah.todfg import build_dfg
from macah.walk import flat_map
from sim.simulate import simulate

GRID = load_fabric("grid8x8")


def with_rare_branches(seed: int) -> ir.Kernel:
    """A random kernel of which some branches are rare; they have places, as branches of programs do."""
    kernel, chance, places = with_receives(seed, Choices(leaves=False, size=30)), Random(seed), list[Place]()

    def change(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if isinstance(stmt, ir.If):
            places.append(Place("t", len(places) + 1))
            only = (ir.Assign, ir.Store, ir.Send) if chance.random() < 0.7 else ir.Stmt
            kept = tuple(s for s in stmt.then if isinstance(s, only) and not getattr(s, "worked", None))
            return (replace(stmt, then=kept, expect=0.1, where=places[-1]),)
        return (stmt,)

    kernel = replace(kernel, body=flat_map(kernel.body, change))
    chosen = [place for place in places if chance.random() < 0.7]
    return replace(kernel, rare=tuple(RareBranch(p, chance.randint(1, 5), 0.1, 1, 1, 1.0) for p in chosen))


@pytest.mark.quick(15)
@pytest.mark.sweep(8)
@pytest.mark.parametrize("seed", range(40))
def test_a_kernel_does_the_same_in_turns(seed: int) -> None:
    bubbles = seed % 2 == 1
    kernel, given, chance = seldom_shortened(with_rare_branches(seed), seed), Input(seed), Random(seed)
    expected: Any = given.run(optimize(replace(kernel, rare=())))
    final = optimize(replace(kernel, bubbles=bubbles))
    assert given.run(final, lambda: chance.random() < 0.3) == expected
    dfg = build_dfg(final)
    run = given.run_graph(dfg, lambda: chance.random() < 0.3)
    assert {p.name: run.outputs[s] for s, p in enumerate(dfg.streams) if run.outputs.get(s)} == {
        name: [word for (word,) in sent] for name, sent in expected[2].items()
    }
    scalars = dict(zip(dfg.live_outs, run.live_outs, strict=True))
    assert scalars.items() <= expected[0].items()
    for m, memory in enumerate(dfg.memories):
        if memory.captured_out:
            assert run.memories[m] == expected[1][memory.name]


SLOW = """void f(int stream in, int stream out, int n) {
  int x = 1;
  k: kernel {
    for (int i = 0; i < n; i++) {
      int v = 0;
      v <? in;
      x += v;
      if (EXPECT(x > 20000, CHANCE)) x = x / (v | 1) + v * v / (x & 15 | 1);
      out <! x;
    }
  }
}
"""
APART = """void f(int stream in, int stream out, int n) {
  k: kernel {
    for (int i = 0; i < n; i++) {
      int v = 0;
      v <? in;
      if (EXPECT(v > 20000, 0.03)) v = v / (v & 7 | 1);
      out <! v;
    }
  }
}
"""


def decided(text: str) -> ir.Kernel:
    program = parse_program(text, Path("t.macah"))
    return with_turns(lower(program, program.kernels[0]), GRID)


def test_a_slow_branch_that_all_would_wait_for_takes_turns() -> None:
    (branch,) = decided(SLOW.replace("CHANCE", "0.03")).rare
    assert branch.turns and branch.interval <= 6 and branch.predicated >= 12
    assert branch.cycles == pytest.approx(branch.interval * (1 + 0.03 * branch.turns))
    assert "more turns: an interval of" in rare_text(branch)


@pytest.mark.slow
def test_the_decision_depends_on_how_rare_it_is() -> None:
    turns = [decided(SLOW.replace("CHANCE", chance)).rare for chance in ("0.02", "0.3", "0.6")]
    often = turns[1][0]
    assert often.turns <= turns[0][0].turns
    assert turns[2] == ()  # not rare at all


def test_a_branch_that_nothing_waits_for_is_predicated() -> None:
    (branch,) = decided(APART).rare
    assert (branch.turns, branch.interval, branch.cycles) == (0, branch.predicated, branch.predicated)
    assert rare_text(branch).endswith("is predicated")


def test_the_estimate_is_what_a_mapped_kernel_needs() -> None:
    kernel = decided(SLOW.replace("CHANCE", "0.03"))
    mapping = map_kernel(build_dfg(optimize(kernel)), GRID, MapOptions())
    words = [100 + i * 37 % 300 for i in range(200)]
    live_ins = [{"x": 1, "n": len(words)}[name] for name in mapping.dfg.live_ins]
    run = simulate(emit(mapping), live_ins, {0: words}, closed=[0])
    taken, expected, x = 0, [], 1
    for v in words:
        x += v
        if x > 20000:
            taken += 1
            x = x // (v | 1) + v * v // (x & 15 | 1)
        expected.append(x)
    assert list(run.outputs[1]) == expected and taken > 0
    (branch,) = kernel.rare
    assert run.cycles <= mapping.interval * (200 + taken * branch.turns) + mapping.length + 10
    assert run.cycles < 200 * branch.predicated * 0.6
