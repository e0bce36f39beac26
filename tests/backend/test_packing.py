"""Graphs whose results fill the output registers of an array, so that words could not move."""

from __future__ import annotations

import pytest
from graphs import fir, layered

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.core import refutation, tightened
from backend.exact import Status, prove
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from backend.packing import FREE, unpackable

TORUS = load_fabric("satmapit:2x2")


@pytest.mark.parametrize("seed", range(1, 11))
def test_what_is_refuted_has_no_mapping_in_much_longer_schedules(seed: int) -> None:
    """Eight results in eight slots: all of these graphs are refuted."""
    dfg = layered(8, seed)
    assert unpackable(Problem(dfg, TORUS), 2) == (
        "8 results in 8 slots of output registers, which leave words on their way 0"
    )
    assert prove(dfg, TORUS, 2, 8).status is Status.INFEASIBLE


@pytest.mark.quick(2)
@pytest.mark.parametrize("arch", ["satmapit:2x2", "adres:3x3"])
@pytest.mark.parametrize("seed", range(1, 6))
def test_what_is_mapped_is_not_refuted(arch: str, seed: int) -> None:
    fabric = load_fabric(arch)
    for dfg in (layered(10 + seed, seed), fir(2 + seed)):
        mapping = map_kernel(dfg, fabric, MapOptions())
        assert unpackable(Problem(dfg, fabric), mapping.interval) == ""


def test_where_slots_are_left_or_words_leave_otherwise_nothing_is_refuted() -> None:
    assert FREE == 0.15
    assert unpackable(Problem(layered(8, 1), TORUS), 3) == ""
    assert unpackable(Problem(layered(16, 1), load_fabric("hycube:4x4")), 1) == ""
    assert unpackable(Problem(layered(9, 1), TORUS), 2) == ""  # the bound knows


def test_the_bound_knows_what_is_refuted() -> None:
    dfg = layered(8, 1)
    problem, bounds = Problem(dfg, TORUS), minimum_interval(dfg, TORUS)
    found = refutation(problem, 2)
    assert bounds.mii == 2 and found is not None
    assert tightened(bounds, problem, 3).mii == 3
    assert tightened(bounds, problem, 3).binding == found.why
