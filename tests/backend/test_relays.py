"""Stages for values that are kept over many iterations."""

from __future__ import annotations

import random

import pytest
from graphs import Builder, fir

from arch.describe import load_fabric
from backend.dfg import DFG, Const, Use, check_dfg
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from backend.relays import MANY, kept, relayed
from backend.run_dfg import run_dfg
from backend.run_mapping import compare

SMALL = load_fabric("grid4x4")


def delays(seed: int) -> DFG:
    """A running sum of words of up to 25 iterations ago, with different values before the first ones."""
    rng, b = random.Random(seed), Builder(f"delays{seed}")
    source, sink = b.stream("in", False), b.stream("out", True)
    _, alive = b.counter(60)
    before = b.live_in("before")
    x = b.add("recv", Const(0), alive, stream=source)
    total = b.add("add", Use(x, MANY + 1), Const(0))
    for _ in range(8):
        initial = rng.choice((Const(0), Const(5), before))
        total = b.add("add", total, Use(rng.choice((x, total)), rng.randrange(1, 26), initial))
    b.add("send", total, alive, stream=sink)
    return b.build()


@pytest.mark.parametrize("span", [1, 3, 6])
@pytest.mark.parametrize("seed", range(6))
def test_stages_change_no_result(seed: int, span: int) -> None:
    dfg = delays(seed)
    staged = relayed(dfg, span)
    assert staged is not None
    check_dfg(staged)
    assert max(use.distance for _, _, use in staged.uses()) <= span
    words = {0: list(range(100, 160))}
    assert run_dfg(staged, [77], words) == run_dfg(dfg, [77], words)


def test_what_is_kept_for_few_iterations_gets_none() -> None:
    assert relayed(fir(MANY + 1), 3) is None
    assert kept(fir(MANY + 1)) == MANY


def test_a_filter_that_fills_half_of_the_registers_is_mapped() -> None:
    staged = relayed(fir(60), 6)
    assert staged is not None and kept(fir(60)) > SMALL.registers / 2
    mapping = map_kernel(staged, SMALL, MapOptions(interval=16))
    compare(mapping, 70, list(range(1, 61)), {0: list(range(1, 71))})
