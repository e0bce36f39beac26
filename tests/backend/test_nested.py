"""Arrays inside arrays: with fewer registers, fewer rows or fewer columns."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from graphs import matmul, sad

import arch
from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.check import check_mapping
from backend.mapper import map_kernel
from backend.mapping import MapOptions, Mapping
from backend.nested import PLENTY, everything, lifted, parts
from backend.run_mapping import compare
from backend.search import Search

FAMILIES = ["adres", "bitgrid", "grid", "hycube", "mesh", "satmapit", "torus"]


def with_registers(family: str, registers: int, folder: Path) -> Fabric:
    """Three rows of four tiles with so many registers each."""
    text = Path(arch.__file__).with_name(f"{family}.toml").read_text()
    file = folder / f"{family}{registers}.toml"
    file.write_text(re.sub(r"(?m)^registers = \d+", f"registers = {registers}", text))
    return load_fabric(f"{file}:3x4")


@pytest.mark.parametrize("family", FAMILIES)
def test_without_one_register_of_each_tile_an_array_is_the_one_with_fewer(
    family: str, tmp_path: Path
) -> None:
    more, fewer = (with_registers(family, n, tmp_path) for n in (PLENTY + 2, PLENTY + 1))
    assert [part.fabric for part in parts(everything(more), narrower=False)] == [fewer]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_register_is_taken_away_where_there_are_few(family: str) -> None:
    assert not [*parts(everything(load_fabric(family)), narrower=False)]


def test_more_registers_do_not_hide_what_fewer_find(tmp_path: Path) -> None:
    fewer, more = (with_registers("mesh", n, tmp_path) for n in (7, 8))
    small, large = (map_kernel(sad(8), fabric, MapOptions()) for fabric in (fewer, more))
    assert large.interval <= small.interval
    (part,) = parts(everything(more), narrower=False)
    check_mapping(lifted(small, more, part))


@pytest.mark.parametrize("family", ["adres", "hycube"])
def test_without_its_last_row_or_column_an_array_is_the_smaller_one(family: str) -> None:
    found = [part.fabric for part in parts(everything(load_fabric(f"{family}:4x5")), narrower=True)]
    smaller = [load_fabric(f"{family}:{size}") for size in ("3x5", "4x4")]
    assert [replace(fabric, name="") for fabric in found] == [replace(fabric, name="") for fabric in smaller]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_mapped_on_a_part_is_mapped_on_the_whole(family: str) -> None:
    whole, dfg = load_fabric(f"{family}:4x4"), matmul(2)
    found = [*parts(everything(whole), narrower=True)]
    assert len(found) == (0 if family in ("satmapit", "torus") else 2)  # without a row a torus is none
    for part in found:
        mapping = lifted(map_kernel(dfg, part.fabric, MapOptions(interval=8)), whole, part)
        check_mapping(mapping)
        compare(mapping, 5)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_smallest_arrays_have_no_parts(family: str) -> None:
    assert not [*parts(everything(load_fabric(f"{family}:2x2")), narrower=True)]


@pytest.mark.parametrize("blind", [(5,), (5, 4)])
def test_a_wider_array_does_not_hide_what_a_narrower_one_finds(
    blind: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where an array in between does not find it, either."""
    dfg, whole, smallest = matmul(2), load_fabric("grid:3x5"), Search.smallest
    best = map_kernel(dfg, load_fabric("grid:3x3"), MapOptions()).interval

    def seen(search: Search) -> Mapping | None:
        """On some numbers of columns the best interval is not seen."""
        if 1 + max(tile.column for tile in search.problem.fabric.tiles) in blind:
            search.least = best + 1
        return smallest(search) if search.least <= search.limit else None

    monkeypatch.setattr(Search, "smallest", seen)
    monkeypatch.setattr(Search, "_leap", lambda search: None)
    monkeypatch.setattr(Search, "_descend", lambda search: None)
    mapping = map_kernel(dfg, whole, MapOptions())
    assert mapping.interval <= best and mapping.fabric == whole
    compare(mapping, 5)
