"""Arrays with fewer registers inside arrays with more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from graphs import sad

import arch
from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.check import check_mapping
from backend.mapper import map_kernel
from backend.mapping import MapOptions
from backend.nested import PLENTY, fabric_of, kept_resources, lifted

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
    kept = kept_resources(more)
    assert kept is not None
    assert fabric_of(more, kept) == fewer


@pytest.mark.parametrize("family", FAMILIES)
def test_no_register_is_taken_away_where_there_are_few(family: str) -> None:
    assert kept_resources(load_fabric(family)) is None


def test_more_registers_do_not_hide_what_fewer_find(tmp_path: Path) -> None:
    fewer, more = (with_registers("mesh", n, tmp_path) for n in (7, 8))
    small, large = (map_kernel(sad(8), fabric, MapOptions()) for fabric in (fewer, more))
    assert large.interval <= small.interval
    kept = kept_resources(more)
    assert kept is not None
    check_mapping(lifted(small, more, kept))
