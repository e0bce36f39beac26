"""The bound from the middle of the array: it holds for every mapping, and says why."""

from __future__ import annotations

import random

import pytest
from graphs import mixed

from arch.describe import load_fabric
from backend.bisection import indivisible
from backend.bound import minimum_interval
from backend.core import tightened
from backend.dfg import DFG, Node, Use
from backend.exact import Status, prove
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, MapOptions


def entangled(count: int, reads: int, seed: int) -> DFG:
    """Operations that each read some earlier ones, from anywhere."""
    rng = random.Random(seed)
    made = [sorted(rng.sample(range(k), min(k, reads))) for k in range(count)]
    nodes = tuple(Node(k, f"alu_{len(some)}", tuple(map(Use, some))) for k, some in enumerate(made))
    return DFG(f"entangled{count}.{seed}", nodes, (), (), (), (), ())


def test_what_cannot_be_divided_is_above_the_bound() -> None:
    fabric, dfg = load_fabric("mesh:2x6"), entangled(12, 3, 1)
    bounds, problem = minimum_interval(dfg, fabric), Problem(dfg, fabric)
    assert bounds.mii == 1
    assert "through 2 ways out and 2 into" in indivisible(problem, 1)
    assert indivisible(problem, 2) == ""
    tight = tightened(bounds, problem, 9)
    assert (tight.mii, tight.crowded, tight.cycle) == (2, True, ())
    assert "left and right" in tight.binding
    lines: list[str] = []
    with pytest.raises(DoesNotFit, match="the bound is 2: values between two halves"):
        map_kernel(dfg, fabric, MapOptions(interval=1), lines.append)
    assert sum("II 1, attempt" in line and "remain" in line for line in lines) == 1


@pytest.mark.parametrize("seed", [0, 3, 6, 9])
def test_the_prover_finds_no_mapping_either(seed: int) -> None:
    fabric = load_fabric("mesh:2x4")
    dfg = entangled(8, 3, seed)
    assert indivisible(Problem(dfg, fabric), 1)
    assert prove(dfg, fabric, 1, 3, 20_000).status is Status.INFEASIBLE


@pytest.mark.parametrize("arch", ["mesh:2x6", "torus:2x4", "mosaic:2x4", "satmapit:2x4", "adres:3x4"])
def test_what_was_mapped_can_be_divided(arch: str) -> None:
    fabric = load_fabric(arch)
    for dfg in (mixed(16, 1), mixed(12, 2, far=1.0), entangled(9, 2, 1)):
        interval = map_kernel(dfg, fabric, MapOptions(effort=0.3)).interval
        assert indivisible(Problem(dfg, fabric), interval) == ""
