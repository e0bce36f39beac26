"""The fabric as hardware: its text, its configuration, and what cannot be. That it runs: test_verilog.py."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from graphs import fir, random_graph
from hardware_tools import lint
from simple_mapper import simple_map

from arch.describe import load_fabric, shipped
from backend.rows import OPCODES, NoHardware, Rows
from backend.verilog_fabric import hardware

SMALL = {"torus": "torus:4x4", "grid": "grid4x4"}


@pytest.mark.needs("verilator")
@pytest.mark.parametrize("family", shipped())
def test_every_shipped_fabric_is_lint_clean(family: str, tmp_path: Path) -> None:
    fabric = load_fabric(SMALL.get(family, f"{family}:2x2"))
    lint(hardware(fabric), tmp_path)


@pytest.mark.needs("yosys")
@pytest.mark.parametrize("name", ["mesh:2x2", "adres:2x2"])
def test_yosys_finds_neither_latches_nor_loops(name: str, tmp_path: Path) -> None:
    made = hardware(load_fabric(name))
    path = tmp_path / "fabric.v"
    path.write_text(made.text)
    command = (
        f"read_verilog {path}; hierarchy -check -top {made.top}; proc; opt_clean; memory_collect;"
        " select -assert-none t:$dlatch; check -assert"
    )
    done = subprocess.run(["yosys", "-q", "-p", command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("family", shipped())
def test_fields_of_a_row_do_not_overlap(family: str) -> None:
    rows = Rows(load_fabric(SMALL.get(family, f"{family}:2x2")))
    rows.check()
    for row in rows.rows:
        used: list[tuple[int, int]] = []
        fields = [*row.constants.values(), *row.selects.values(), *row.since.values()]
        for unit in row.units.values():
            fields += [f for f in (unit.op, unit.stage, unit.base, unit.mask, unit.index) if f is not None]
        for field in fields:
            used += [(field.word, field.low + k) for k in range(field.bits)]
        assert len(set(used)) == len(used)
        assert all(bit < row.words[word] for word, bit in used)


def test_the_configuration_is_determinate_and_in_the_order_of_its_addresses() -> None:
    grid = load_fabric("grid4x4")
    mapping = simple_map(random_graph(3, 20, memories=1), grid, 7, 2)
    made, again = hardware(grid).load(mapping), hardware(load_fabric("grid4x4")).load(mapping)
    assert made == again
    addresses = [address for address, _ in made.access.configuration]
    assert addresses and addresses == sorted(set(addresses))
    assert all(0 <= word < 1 << 32 for _, word in made.access.configuration)


def test_live_ins_are_constants_of_the_configuration() -> None:
    grid = load_fabric("grid4x4")
    dfg = fir(4)
    access = hardware(grid).load(simple_map(dfg, grid, 1, 2)).access
    assert dfg.live_ins
    assert [len(addresses) for addresses in access.live_ins] == [1] * len(dfg.live_ins)
    assert {a for addresses in access.live_ins for a in addresses}.isdisjoint(dict(access.configuration))


def test_what_the_hardware_has_no_room_for_is_refused() -> None:
    grid = load_fabric("grid4x4")
    mapping = simple_map(fir(2), grid, 1, 1)
    start = tuple(s + 50000 for s in mapping.placement.schedule.start)
    schedule = replace(mapping.placement.schedule, start=start)
    steps = [replace(r, steps=tuple((at, when + 50000) for at, when in r.steps)) for r in mapping.routes]
    late = replace(mapping, placement=replace(mapping.placement, schedule=schedule), routes=tuple(steps))
    with pytest.raises(NoHardware, match="more than 4095 stages"):
        hardware(grid).load(late)


def test_words_that_the_port_cannot_reach_are_refused() -> None:
    grid = load_fabric("grid4x4")
    with pytest.raises(NoHardware, match="the configuration of grid4x4 need"):
        hardware(replace(grid, max_interval=1 << 24))


def test_the_documentation_has_the_codes_of_all_operations() -> None:
    text = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text().split()
    assert " ".join(f"{code} {op}," for op, code in OPCODES.items())[:-1] in " ".join(text)
