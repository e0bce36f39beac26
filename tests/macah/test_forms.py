"""Forms of a kernel for the interval that is reached, where operations for a shorter one are in the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.check import check_mapping
from backend.dfg import DFG
from backend.mapper import map_kernel
from backend.mapping import MapOptions, Mapping
from macah.compile import fronts, map_front
from macah.forms import Front, _forms, smaller_first
from macah.options import Options
from macah.program import read_program
from macah.stages import Stages
from macah.todfg import build_dfg

LITERATURE = Path(__file__).parents[2] / "benchmarks" / "literature"


def front_of(name: str, array: str) -> tuple[Front, Options]:
    source = LITERATURE / f"{name}.macah"
    options = Options(source, arch=array, unroll=("none",))
    return fronts(read_program(source), {}, options, Stages())[0], options


def test_a_graph_made_for_a_longer_interval_has_fewer_operations() -> None:
    front, _ = front_of("sqrt", "satmapit:4x4")
    fabric = load_fabric("satmapit:4x4")
    made = [build_dfg(front.kernel, fabric, least=least) for least in (1, 2, 3, 4)]
    assert [minimum_interval(dfg, fabric).mii for dfg in made] == [2, 2, 3, 3]
    sizes = [len(dfg.nodes) for dfg in made]
    assert sizes == sorted(sizes, reverse=True) and sizes[2] < sizes[1] / 2


@pytest.mark.parametrize(
    ("name", "array", "interval"),
    [("sqrt", "satmapit:4x4", 3), ("sqrt", "adres:4x4", 3), ("srand", "satmapit:2x2", 7)],
)
def test_the_form_for_an_interval_is_mapped_where_the_fastest_is_not(
    name: str, array: str, interval: int
) -> None:
    front, options = front_of(name, array)
    found, mapping = map_front(front, load_fabric(array), options, Stages())
    check_mapping(mapping)
    assert mapping.interval == interval and mapping.dfg == found.dfg
    assert len(found.dfg.nodes) < 0.85 * len(front.dfg.nodes)


@pytest.mark.parametrize(("array", "roomy"), [("satmapit:4x4", True), ("satmapit:2x2", False)])
def test_the_fastest_form_comes_first_where_there_is_room(array: str, roomy: bool) -> None:
    """What is made for a longer interval would gain nothing there, and takes a second."""
    front, _ = front_of("srand", array)
    forms = list(_forms(front, load_fabric(array), 8, 1 << 20))
    assert (forms[0] is front, forms[-1] is front) == (roomy, not roomy) and len(forms) > 1


def test_a_form_that_takes_far_more_of_the_array_than_the_mapping_that_is_there_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """13 operations in 3 cycles take less than 11 in 4, but 31 in 2 half as much again."""
    front, _ = front_of("sqrt", "satmapit:4x4")
    asked = []

    def mapped(dfg: DFG, _: Fabric, options: MapOptions, __: object) -> SimpleNamespace:
        interval = options.max_interval or 4
        asked.append((len(dfg.nodes), interval))
        return SimpleNamespace(interval=interval, late=False)

    monkeypatch.setattr("macah.forms.map_kernel", mapped)
    smaller_first(front, load_fabric("satmapit:4x4"), MapOptions(), Stages())
    assert len(front.dfg.nodes) == 31 and asked == [(11, 4), (13, 3)]


@pytest.mark.parametrize("array", ["satmapit:4x4", "grid4x4"])
def test_who_interrupts_a_search_has_no_other_begun(array: str, monkeypatch: pytest.MonkeyPatch) -> None:
    front, options = front_of("sqrt", array)
    begun = []

    def interrupted(dfg: DFG, fabric: Fabric, options: MapOptions, _: object) -> Mapping:
        begun.append(len(dfg.nodes))
        longer = replace(options, interval=minimum_interval(dfg, fabric).mii + 2)
        return replace(map_kernel(dfg, fabric, longer), late=True)

    monkeypatch.setattr("macah.forms.map_kernel", interrupted)
    monkeypatch.setattr("macah.compile.map_kernel", interrupted)
    _, mapping = map_front(front, load_fabric(array), options, Stages())
    assert mapping.late and len(begun) == 1
