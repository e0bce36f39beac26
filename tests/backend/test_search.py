"""The way through the intervals, whatever attempts at them come to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from graphs import fir

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.clock import Clock
from backend.flat import Problem
from backend.mapping import MapOptions, Mapping
from backend.search import Search

GRID = load_fabric("grid4x4")


class Scripted(Search):
    """A search in which it is known from the beginning which intervals are `reachable`."""

    reachable: frozenset[int]

    def _try(self, interval: int, quick: bool) -> None:
        if interval in self.reachable:
            self.best = cast(Mapping, SimpleNamespace(interval=interval))


def reached(*reachable: int) -> int:
    """The interval that is found where the bound is 8."""
    dfg = fir(8)
    bounds = minimum_interval(dfg, GRID)
    search = Scripted(Problem(dfg, GRID), bounds, 256, MapOptions(), Clock(0.0), lambda _: None)
    search.least, search.reachable = 8, frozenset(reachable)
    mapping = search.smallest()
    return mapping.interval if mapping else 0


@pytest.mark.parametrize(
    ("reachable", "found"),
    [
        ((8, 9, 10), 8),
        ((11, 12, 13), 11),
        (tuple(range(33, 90)), 33),
        (tuple(range(25, 90)), 25),
        ((), 0),
    ],
)
def test_the_shortest_interval_is_found_though_steps_are_long(reachable: tuple[int, ...], found: int) -> None:
    assert reached(*reachable) == found


def test_far_above_the_bound_one_interval_without_a_mapping_is_bad_luck() -> None:
    assert reached(20, *range(22, 90)) == 20
