"""Arrays inside arrays: with fewer registers, fewer rows or fewer columns."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from graphs import matmul, sad

import arch
from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.check import check_mapping
from backend.mapper import _parts, map_kernel
from backend.mapping import MapOptions, Mapping
from backend.nested import PLENTY, everything, lifted, narrower, sparer
from backend.run_mapping import compare
from backend.search import Search
from backend.tries import FIRST

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
    part = sparer(everything(more))
    assert part and part.fabric == fewer


@pytest.mark.parametrize("family", FAMILIES)
def test_no_register_is_taken_away_where_there_are_few(family: str) -> None:
    assert not sparer(everything(load_fabric(family)))


@pytest.mark.parametrize(
    ("family", "registers", "searched", "fewer"),
    [
        ("adres", 1, [], 0),
        ("adres", PLENTY - 1, [], PLENTY - 2),
        ("adres", PLENTY, [], 0),  # a glance takes the solver as long as a search there
        ("mesh", PLENTY, [], PLENTY - 1),
        ("mesh", PLENTY + 2, [PLENTY + 1, PLENTY], PLENTY - 1),
    ],
)
def test_parts_with_plenty_of_registers_are_searched_and_one_with_fewer_glanced_at(
    family: str, registers: int, searched: list[int], fewer: int, tmp_path: Path
) -> None:
    found = [
        (part.fabric, glance) for part, glance in _parts(with_registers(family, registers, tmp_path), 20)
    ]
    with_all_tiles = [(fabric, glance) for fabric, glance in found if len(fabric.tiles) == 12]
    wanted = [(n, False) for n in searched] + [(fewer, True)] * bool(fewer)
    assert with_all_tiles == [(with_registers(family, n, tmp_path), glance) for n, glance in wanted]


def test_a_register_more_does_not_hide_what_two_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where registers are few, too: a search on three of them in each tile that misses the best interval."""
    dfg, tried = matmul(2), Search._try
    fewer, more = (with_registers("adres", n, tmp_path) for n in (2, 3))
    best = map_kernel(dfg, fewer, MapOptions()).interval

    def seen(search: Search, interval: int, quick: bool) -> None:
        if search.problem.fabric != more or interval > best:
            tried(search, interval, quick)

    monkeypatch.setattr(Search, "_try", seen)
    monkeypatch.setattr(Search, "_leap", lambda search: None)
    monkeypatch.setattr(Search, "_hope", lambda search: None)
    mapping = map_kernel(dfg, more, MapOptions())
    assert mapping.interval == best and mapping.fabric == more
    compare(mapping, 5)


def test_more_registers_do_not_hide_what_fewer_find(tmp_path: Path) -> None:
    fewer, more = (with_registers("mesh", n, tmp_path) for n in (7, 8))
    small, large = (map_kernel(sad(8), fabric, MapOptions()) for fabric in (fewer, more))
    assert large.interval <= small.interval
    part = sparer(everything(more))
    assert part
    check_mapping(lifted(small, more, part))


@pytest.mark.parametrize("family", ["adres", "hycube"])
def test_without_its_last_rows_or_columns_an_array_is_the_smaller_one(family: str) -> None:
    found = [part.fabric for part in narrower(everything(load_fabric(f"{family}:4x5")))]
    smaller = [load_fabric(f"{family}:{size}") for size in ("3x4", "2x3", "4x4", "3x5", "4x3", "2x5", "4x2")]
    assert [replace(fabric, name="") for fabric in found] == [replace(fabric, name="") for fabric in smaller]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_mapped_on_a_part_is_mapped_on_the_whole(family: str) -> None:
    whole, dfg = load_fabric(f"{family}:4x4"), matmul(2)
    found = [part for part in narrower(everything(whole)) if len(part.fabric.tiles) > 8]
    assert len(found) == (0 if family in ("satmapit", "torus") else 3)  # without a row a torus is none
    for part in found:
        mapping = lifted(map_kernel(dfg, part.fabric, MapOptions(interval=8)), whole, part)
        check_mapping(mapping)
        compare(mapping, 5)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_smallest_arrays_have_no_parts(family: str) -> None:
    assert not [*narrower(everything(load_fabric(f"{family}:2x2")))]


@pytest.mark.parametrize("blind", [(5,), (5, 4)])
def test_a_wider_array_does_not_hide_what_a_narrower_one_finds(
    blind: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where an array in between does not find it, either."""
    dfg, whole, tried = matmul(2), load_fabric("grid:3x5"), Search._try
    best = map_kernel(dfg, load_fabric("grid:3x3"), MapOptions()).interval

    def seen(search: Search, interval: int, quick: bool) -> None:
        """On some numbers of columns the best interval is not seen."""
        columns = 1 + max(tile.column for tile in search.problem.fabric.tiles)
        if columns not in blind or interval > best:
            tried(search, interval, quick)

    monkeypatch.setattr(Search, "_try", seen)
    monkeypatch.setattr(Search, "_leap", lambda search: None)
    mapping = map_kernel(dfg, whole, MapOptions())
    assert mapping.interval <= best and mapping.fabric == whole
    compare(mapping, 5)


def test_parts_with_fewer_tiles_are_looked_at_with_few_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searching them all takes many times what searching the array takes."""
    dfg, whole, attempt = matmul(2), load_fabric("grid:4x4"), Search._attempt
    best = map_kernel(dfg, whole, MapOptions()).interval
    made: Counter[int] = Counter()

    def failing(search: Search, interval: int, number: int) -> Mapping | int:
        made[len(search.problem.fabric.tiles)] += 1
        return attempt(search, interval, number) if interval > best else 1

    monkeypatch.setattr(Search, "_attempt", failing)
    monkeypatch.setattr(Search, "_hastily", lambda *_: False)
    monkeypatch.setattr(Search, "_solved", lambda *_, **__: False)
    assert map_kernel(dfg, whole, MapOptions()).interval == best + 1
    parts = [tiles for tiles in made if tiles < len(whole.tiles)]
    assert parts and all(made[tiles] <= 2 * FIRST < made[len(whole.tiles)] for tiles in parts)
