"""A fabric as arrays: the small copy of the distances that placement asks for."""

from __future__ import annotations

from array import array

import pytest

from arch.describe import load_fabric
from backend.reach import condensed
from backend.terrain import FARTHEST, terrain

FABRICS = ["adres:3x3", "bitgrid", "grid8x8", "hycube:4x4", "mesh4x4", "satmapit:4x4", "torus"]


@pytest.mark.parametrize("arch", FABRICS)
def test_hops_are_the_gaps_from_results(arch: str) -> None:
    t = terrain(load_fabric(arch))
    results = {r for unit in t.fabric.units for some in unit.results.values() for r in some}
    assert {r for r in range(t.resources) if t.outlet_of[r] >= 0} == results
    for basin in range(len(t.gap) // t.resources):
        for r in results:
            hops = t.hops[basin * len(t.outlets) + t.outlet_of[r]]
            assert hops == min(t.gap[basin * t.resources + r], FARTHEST)


def test_what_is_too_far_for_a_byte_is_marked() -> None:
    assert [*condensed(array("i", [1, 2, 300, 255, 254, 0]), 3, array("i", [2, 0]), 255)] == [255, 1, 0, 255]
