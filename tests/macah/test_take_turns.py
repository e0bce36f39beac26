"""Rare branches with turns of their own: the same is computed, in fewer cycles where that was estimated."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from random_kernels import Choices
from test_bubbles import Input, with_receives

from backend.dfg import Place
from macah import ir
from macah.passes.pipeline import optimize
from macah.todfg import build_dfg
from macah.walk import flat_map


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
    turns = tuple((place, chance.randint(1, 5)) for place in places if chance.random() < 0.7)
    return replace(kernel, turns=turns)


@pytest.mark.parametrize("seed", range(40))
def test_a_kernel_does_the_same_in_turns(seed: int) -> None:
    bubbles = seed % 2 == 1
    kernel, given, chance = with_rare_branches(seed), Input(seed), Random(seed)
    expected: Any = given.run(optimize(replace(kernel, turns=())))
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
