"""Bounds from what words go through, and that no mapping is below any bound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from graphs import Builder, random_graph

from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.dfg import DFG, Const, Use
from backend.exact import Status, prove
from backend.flat import Problem
from backend.mapping import DoesNotFit, Shortage
from backend.ports import port_bound, write_back


def sharing_results(fabric: Fabric) -> Fabric:
    """All units of a tile have one result."""
    first: dict[int, int] = {}
    units = []
    for unit in fabric.units:
        some = next((r for results in unit.results.values() for r in results), None)
        if some is not None:
            one = first.setdefault(unit.tile, some)
            unit = replace(unit, results={op: (one,) if len(r) == 1 else r for op, r in unit.results.items()})
        units.append(unit)
    return replace(fabric, units=tuple(units))


def loads(count: int) -> DFG:
    """Values from two arrays, each changed."""
    b = Builder(f"loads{count}")
    index, _ = b.counter(9)
    arrays = [b.memory("a", 16), b.memory("b", 16)]
    for k in range(count):
        b.add("xor", b.add("load", index, memory=arrays[k % 2]), Const(3))
    return b.build()


def test_units_that_share_a_write_back_port_are_bounded_by_it() -> None:
    fabric = load_fabric("mesh:2x2")
    b = Builder("results")
    index, _ = b.counter(9)
    array = b.memory("a", 16)
    for k in range(3):
        b.add("xor", b.add("load", index, memory=array), Use(b.add("add", index, Const(k))))
    own, shared = (write_back(Problem(b.build(), f)) for f in (fabric, sharing_results(fabric)))
    assert own.interval <= shared.interval
    assert shared.why.endswith("results on 4 write-back ports")


def test_words_of_a_memory_column_need_ways_out_of_it(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "arch" / "mesh.toml").read_text()
    description = tmp_path / "narrow.toml"
    description.write_text(text.replace("ports = 1", "ports = 4"))
    bound = port_bound(Problem(loads(48), load_fabric(str(description))))
    assert bound.interval == 6
    assert "values out of 4 tiles, through 4 ways" in bound.why


def test_recurrences_that_hold_more_words_than_registers_are_refused() -> None:
    fabric = load_fabric("satmapit:2x2")
    b = Builder("many")
    b.counter(9)
    registers = sum(1 for r in fabric.resources if r.kind.value == "register")
    for k in range(registers + 1):
        node = b.add("add", Const(k), Const(1))
        b.patch(node, 0, Use(node, 1))
    with pytest.raises(DoesNotFit, match="registers") as caught:
        minimum_interval(b.build(), fabric)
    assert (caught.value.shortage, caught.value.available) == (Shortage.REGISTERS, registers)


@pytest.mark.parametrize("array", ["mesh:2x2", "adres:2x2", "hycube:2x2", "satmapit:2x2"])
@pytest.mark.parametrize("shared", [False, True])
def test_no_mapping_is_below_the_bound(array: str, shared: bool) -> None:
    fabric = load_fabric(array)
    if shared:
        fabric = sharing_results(fabric)
    for dfg in (random_graph(3, 9, 1, 1), random_graph(5, 10, 1, 1), loads(3)):
        least = minimum_interval(dfg, fabric).mii
        assert least > 1
        assert prove(dfg, fabric, least - 1, 3, 1500).status is not Status.FOUND
