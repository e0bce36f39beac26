"""The bound from the steps between tiles: it holds for every mapping, and says why."""

from __future__ import annotations

import random

import pytest
from graphs import mixed

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.core import tightened
from backend.dfg import DFG, Node, Use
from backend.exact import Status, prove
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, MapOptions
from backend.steps import doors, strangers


def read_by(*readers: tuple[int, ...]) -> DFG:
    """A graph of operations that read those named, and are told apart by nothing else."""
    nodes = tuple(Node(k, f"alu_{len(some)}", tuple(map(Use, some))) for k, some in enumerate(readers))
    return DFG("graph", nodes, (), (), (), (), ())


TRIANGLE = (), (0,), (0, 1)
"""Three operations that are all next to each other."""

ALL = *TRIANGLE, (0, 1, 2)
"""Four of them."""


def test_a_triangle_has_ways_around_a_square_and_four_have_none() -> None:
    fabric = load_fabric("mesh:2x2")
    assert doors(fabric).ways == (1, 1, 1, 1)
    assert doors(fabric).nearby == ((1, 2), (0, 3), (0, 3), (1, 2))
    assert strangers(Problem(read_by(*TRIANGLE), fabric)) == ""
    full = read_by(*ALL)
    assert strangers(Problem(full, fabric)) == "3 values between 4 tiles, each with 1 way out"
    assert strangers(Problem(full, load_fabric("grid:2x2"))) == ""


def test_the_bound_is_raised() -> None:
    fabric, dfg = load_fabric("mesh:2x2"), read_by(*ALL)
    bounds, problem = minimum_interval(dfg, fabric), Problem(dfg, fabric)
    assert bounds.mii == 1
    tight = tightened(bounds, problem, 9)
    assert (tight.mii, tight.crowded, tight.cycle) == (2, True, ())
    with pytest.raises(DoesNotFit, match="the bound is 2: 3 values between 4 tiles"):
        map_kernel(dfg, fabric, MapOptions(interval=1))
    assert map_kernel(dfg, fabric, MapOptions()).interval == 2


def entangled(count: int, seed: int) -> DFG:
    """Operations that each read three earlier ones, from anywhere."""
    rng = random.Random(seed)
    return read_by(*(tuple(sorted(rng.sample(range(k), min(k, 3)))) for k in range(count)))


@pytest.mark.parametrize("arch", ["mesh:2x2", "mesh:2x3"])
def test_the_prover_says_the_same(arch: str) -> None:
    fabric, refuted = load_fabric(arch), 0
    for seed in range(12):
        dfg = entangled(len(fabric.tiles) - seed % 2, seed)
        if minimum_interval(dfg, fabric).mii > 1 or not strangers(Problem(dfg, fabric)):
            continue
        refuted += 1
        assert prove(dfg, fabric, 1, 3, 20_000).status is Status.INFEASIBLE
    assert refuted


@pytest.mark.parametrize("arch", ["mesh:2x3", "mesh:3x3", "satmapit:3x3", "hycube:2x3", "bitgrid:2x3"])
def test_what_is_mapped_has_ways(arch: str) -> None:
    fabric, mapped = load_fabric(arch), 0
    for seed in range(8):
        dfg = mixed(3 + seed % 4, seed, far=0.5)
        interval = map_kernel(dfg, fabric, MapOptions(effort=0.3)).interval
        mapped += interval == 1
        assert interval > 1 or strangers(Problem(dfg, fabric)) == ""
    assert mapped
