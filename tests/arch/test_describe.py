"""Architecture files: what they mean, and that malformed ones are refused at the right line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arch.check import check_fabric
from arch.describe import ArchitectureError, load_fabric, shipped
from arch.fabric import Fabric, Kind, Resource

GRID = """\
name = "small"
rows = 2
columns = 3
[links]
neighbours = true
[[layer]]
name = "compute"
registers = 2
[[layer.unit]]
name = "alu"
operands = 3
does = { alu = 1, mul = 2 }
"""


def load(tmp_path: Path, text: str, size: str = "") -> Fabric:
    path = tmp_path / "a.toml"
    path.write_text(text)
    return load_fabric(f"{path}{size}")


@pytest.mark.parametrize("name", shipped())
@pytest.mark.parametrize("size", ["", ":2x2", ":2x5", ":3x3", ":4x4", ":8x8", ":16x16"])
def test_shipped_fabrics_are_sound(name: str, size: str) -> None:
    check_fabric(load_fabric(name + size))


@pytest.mark.slow
@pytest.mark.sweep(61)
@pytest.mark.parametrize("name", shipped())
@pytest.mark.parametrize("rows", range(2, 17))
def test_shipped_fabrics_are_sound_in_many_sizes(name: str, rows: int) -> None:
    for columns in (2, 3, 7, 16):
        check_fabric(load_fabric(f"{name}:{rows}x{columns}"))


def test_short_and_long_names_mean_the_same() -> None:
    assert load_fabric("grid4x4") == load_fabric("grid:4x4")
    assert load_fabric("grid") == load_fabric("grid8x8")
    assert load_fabric("grid").name == "grid8x8"
    assert load_fabric("grid").digest != load_fabric("grid9x9").digest


@pytest.mark.parametrize(("size", "banks"), [("4x4", 4), ("8x8", 20)])
def test_the_grid_has_memories_and_operations_all_over(size: str, banks: int) -> None:
    fabric = load_fabric(f"grid{size}")
    assert len(fabric.memories) >= banks
    assert all(memory.words == 2048 and len(memory.ports) == 2 for memory in fabric.memories)
    assert fabric.latency("load") == 2 and fabric.latency("store") == 1
    assert fabric.latency("mul") == 2 and fabric.latency("sdiv") == 8 and fabric.latency("recv") == 1
    assert len(fabric.units_for("muladd")) == len(fabric.tiles)


def test_a_unit_reaches_itself_in_one_cycle_and_a_neighbour_in_one() -> None:
    fabric = load_fabric("grid4x4")
    alu = {fabric.units[u].tile: u for u in fabric.units_for("add")}
    assert fabric.distance(alu[5], alu[5]) == 1
    assert fabric.distance(alu[5], alu[6]) == 1
    assert fabric.distance(alu[0], alu[15]) == 6


def test_the_check_notices_what_is_broken() -> None:
    fabric = load_fabric("grid2x2")
    operand = fabric.units[0].operands[0]
    register = next(r for r in fabric.resources if r.kind is Kind.REGISTER)
    result = next(r for r in fabric.resources if r.kind is Kind.RESULT)
    unit = fabric.units[0]
    broken = [
        replace(fabric, resources=changed(fabric, operand, sources=())),
        replace(fabric, resources=changed(fabric, operand, sources=(operand,))),
        replace(fabric, resources=changed(fabric, register.id, sources=(10**6,))),
        replace(fabric, resources=changed(fabric, register.id, sources=register.sources * 2)),
        replace(fabric, resources=changed(fabric, result.id, sources=(register.id,))),
        replace(fabric, resources=changed(fabric, result.id, name=register.name)),
        replace(fabric, resources=changed(fabric, operand, kind=Kind.WIRE, sources=(operand,))),
        replace(fabric, units=(replace(unit, latency=unit.latency | {"add": 0}), *fabric.units[1:])),
        replace(fabric, units=(replace(unit, operands=unit.operands[:2]), *fabric.units[1:])),
        replace(fabric, units=(replace(unit, results=unit.results | {"add": ()}), *fabric.units[1:])),
        replace(fabric, units=(replace(unit, memory=0), *fabric.units[1:])),
        replace(fabric, memories=()),
        replace(fabric, tiles=fabric.tiles[:1] * 4),
    ]
    for wrong in broken:
        with pytest.raises(AssertionError):
            check_fabric(wrong)


def test_the_check_notices_cut_off_tiles_and_loops_of_wires() -> None:
    fabric = load_fabric("grid2x2")
    links = {r.id for r in fabric.resources if r.kind is Kind.REGISTER and ".r" not in r.name}
    without = tuple(replace(r, sources=tuple(set(r.sources) - links)) for r in fabric.resources)
    with pytest.raises(AssertionError):
        check_fabric(replace(fabric, resources=without))
    wires = [replace(r, kind=Kind.WIRE) if r.id in links else r for r in fabric.resources]
    with pytest.raises(AssertionError, match="combinational loop"):
        check_fabric(replace(fabric, resources=tuple(wires)))


def changed(fabric: Fabric, id: int, **fields: object) -> tuple[Resource, ...]:
    """The fabric's resources with one changed."""
    return tuple(replace(r, **fields) if r.id == id else r for r in fabric.resources)  # type: ignore[arg-type]


def test_links_lead_to_existing_tiles_only(tmp_path: Path) -> None:
    fabric = load(tmp_path, GRID)
    registers = [r.name for r in fabric.resources if r.kind is Kind.REGISTER and r.tile == 0]
    assert registers == ["r0c0.r0", "r0c0.r1", "r0c0.east", "r0c0.south"]
    check_fabric(fabric)


@pytest.mark.parametrize(
    ("links", "tiles"),
    [
        ("neighbours = true", {1, 4}),
        ("neighbours = true\ndiagonals = true", {1, 4, 5}),
        ("neighbours = true\nhops = true", {1, 2, 4, 8}),
        ("neighbours = true\nhops = true\nlong_from = 4", {1, 2, 4, 8}),
        ("neighbours = true\nhops = true\ndiagonals = true\nlong_from = 5", {1, 4}),
        ("neighbours = true\nwrap = true", {1, 3, 4, 12}),
        ("neighbours = true\nwords = 2", {1, 4}),
        ("neighbours = true\nshared = true", {1, 4}),
    ],
)
def test_links_of_a_corner(tmp_path: Path, links: str, tiles: set[int]) -> None:
    fabric = load(tmp_path, GRID.replace("neighbours = true", links), ":4x4")
    corner = {r.id for r in fabric.resources if r.tile == 0 and r.kind is Kind.REGISTER}
    operands = {o for unit in fabric.units for o in unit.operands}
    readers = {fabric.resources[o].tile for o in operands if corner & set(fabric.resources[o].sources)}
    assert readers - {0} == tiles


def test_a_shared_link_is_one_register_for_all_neighbours(tmp_path: Path) -> None:
    fabric = load(tmp_path, GRID.replace("neighbours = true", "neighbours = true\nshared = true"))
    registers = [r for r in fabric.resources if r.kind is Kind.REGISTER and r.tile == 1]
    assert [r.name for r in registers] == ["r0c1.r0", "r0c1.r1", "r0c1.out"]
    assert {fabric.resources[r].tile for r in fabric.sinks[registers[-1].id]} == {0, 1, 2, 4}
    check_fabric(fabric)


def test_results_are_shared_within_an_entry_of_does(tmp_path: Path) -> None:
    unit = load(tmp_path, GRID).units[0]
    assert unit.results["add"] == unit.results["xor"] != unit.results["mul"] == unit.results["muladd"]
    assert unit.latency["add"] == 1 and unit.latency["umulh"] == 2


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('name = "small"', "name = ", 1, "not TOML"),
        ('name = "small"', 'name = "two words"', 1, "must be a name"),
        ('name = "small"', "name = 3", 1, "'name' must be a string"),
        ("rows = 2\n", "", 0, "missing key 'rows'"),
        ("rows = 2", "rows = 1", 2, "from 2 to 64"),
        ("rows = 2", "rows = 2\nrow = 2", 3, "unknown key 'row'"),
        ("rows = 2", "rows = true", 2, "'rows' must be a whole number"),
        ("rows = 2", "rows = 2\nwidth = 16", 3, "'width'"),
        ("neighbours = true", "neighbours = 1", 5, "true or false"),
        ("neighbours = true", "neighbors = true", 5, "unknown key 'neighbors'"),
        ("neighbours = true", "neighbours = true\nbus = 1", 6, "unknown key 'bus'"),
        ("neighbours = true", "", 4, "neither 'neighbours'"),
        ("neighbours = true", "diagonals = true", 4, "lead nowhere from tile r0c0 to r0c1"),
        ("neighbours = true", "hops = true", 4, "lead nowhere from tile r0c0 to r0c1"),
        ("registers = 2", "registers = 2\nwhere = { border = true, row = 3 }", 9, "unknown key 'row'"),
        ("registers = 2", "registers = -1", 8, "from 0 to 64"),
        ("operands = 3", "operands = 2", 12, "'select' has 3 operands"),
        ("alu = 1, mul", "alu = 1, add = 1, mul", 12, "does 'add' twice"),
        ("alu = 1, mul", "alu = 0, mul", 12, "from 1 to 64"),
        ("alu = 1, mul", "alu = 1, fma", 12, "neither an operation nor a class"),
        ("alu = 1, mul", "alu = 1, load", 12, "belongs to a memory"),
        ("alu = 1, mul", "alu = 1, sext32", 12, "neither an operation nor a class"),
        ("does = { alu = 1, mul = 2 }", "", 9, "does nothing"),
        ("[[layer.unit]]", "[layer.memory]\nwords = 4\nports = 0\n[[layer.unit]]", 11, "'ports' is 0"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    assert old in GRID
    with pytest.raises(ArchitectureError) as caught:
        load(tmp_path, GRID.replace(old, new))
    assert message in caught.value.message
    assert caught.value.line == line
    assert caught.value.file == str(tmp_path / "a.toml")


def test_contradictory_layers_are_refused(tmp_path: Path) -> None:
    again = '[[layer]]\nname = "{}"\n[[layer.unit]]\nname = "alu"\noperands = 2\ndoes = {{ io = 1 }}\n'
    with pytest.raises(ArchitectureError, match=r"a\.toml:14: two layers have the name 'compute'"):
        load(tmp_path, GRID + again.format("compute"))
    with pytest.raises(ArchitectureError, match="tile r0c0 gets unit 'alu' twice"):
        load(tmp_path, GRID + again.format("more"))


@pytest.mark.parametrize(
    "name", ["grid:1x4", "grid4x65", "nothing", "nothing:4x4", "no/such.toml", "/", "", "\0"]
)
def test_names_that_mean_nothing_are_refused(name: str) -> None:
    with pytest.raises(ArchitectureError):
        load_fabric(name)


HELD = GRID.replace("neighbours = true", "neighbours = true\nheld = true")
CROSSBAR = GRID.replace("neighbours = true", "neighbours = true\ncrossbar = true")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("grid8", "grid8x8"), ("satmapit:3", "satmapit3x3"), ("gird:4x2", "grid4x2"), ("Torus", "torus")],
)
def test_a_misspelt_name_is_told_what_it_may_mean(name: str, meant: str) -> None:
    with pytest.raises(ArchitectureError, match=f"no such architecture; did you mean '{meant}'"):
        load_fabric(name)


def test_a_held_output_is_where_results_are_and_all_that_neighbours_read(tmp_path: Path) -> None:
    fabric = load(tmp_path, HELD)
    check_fabric(fabric)
    names = {resource.name: resource for resource in fabric.resources}
    out = names["r0c0.out"]
    assert fabric.units[0].results["add"] == (out.id,) and fabric.units[0].latency["add"] == 2
    assert [fabric.resources[s].name for s in names["r0c0.r0"].sources] == ["r0c0.out", "r0c0.r0"]
    operand = {fabric.resources[s].name for s in names["r0c1.alu.a"].sources}
    assert operand == {"r0c0.out", "r0c1.out", "r0c2.out", "r1c1.out", "r0c1.r0", "r0c1.r1"}


def test_what_hands_results_to_the_host_leaves_a_held_output_alone(tmp_path: Path) -> None:
    fabric = load(tmp_path, HELD + '[[layer.unit]]\nname = "o"\noperands = 2\ndoes = { result = 1 }\n')
    check_fabric(fabric)
    alu, out = fabric.units[:2]
    assert out.results == {"result": ()} and out.latency == {"result": 1}
    assert fabric.resources[out.operands[0]].sources == fabric.resources[alu.operands[0]].sources


def test_a_crossbar_sees_a_link_now_or_as_it_was_kept(tmp_path: Path) -> None:
    fabric = load(tmp_path, CROSSBAR)
    check_fabric(fabric)
    assert fabric.loops and not load(tmp_path, GRID).loops
    names = {resource.name: resource for resource in fabric.resources}

    def sources(name: str) -> list[str]:
        return [fabric.resources[s].name for s in names[name].sources]

    assert sources("r0c1.east_in") == sources("r0c1.east_kept") == ["r0c0.east", "r0c1.east_kept"]
    assert sources("r0c0.east") == ["r0c0.alu.t", "r0c0.r0", "r0c0.r1", "r0c0.west_in", "r0c0.north_in"]


def test_units_that_load_share_one_memory(tmp_path: Path) -> None:
    text = HELD.replace("[links]", "[memory]\nwords = 99\n[links]").replace("mul = 2", "mul = 2, mem = 1")
    where = 'name = "compute"'
    fabric = load(tmp_path, text.replace(where, where + "\nwhere = { from_column = 1 }"))
    (bank,) = fabric.memories
    assert bank.words == 99 and len(bank.ports) == len(fabric.units) == 4
    assert all(fabric.tiles[unit.tile].column >= 1 for unit in fabric.units)


BITS = GRID.replace("[[layer]]", "[bits]\nlinks = 1\n[[layer]]")
LOGIC = '[[layer.unit]]\nname = "logic"\noperands = 2\non_bits = true\ndoes = { alu = 1 }\n'


def test_a_plane_of_bits_has_links_registers_and_units(tmp_path: Path) -> None:
    text = BITS.replace("registers = 2", "registers = 1\nbit_registers = 1")
    fabric = load(tmp_path, text.replace("operands = 3", 'operands = 3\ntakes_bits = "b"') + LOGIC)
    check_fabric(fabric)
    names = {resource.name: resource for resource in fabric.resources}

    def sources(name: str) -> list[str]:
        return [fabric.resources[s].name for s in names[name].sources]

    into = ["r0c1.west_bit", "r1c0.north_bit", "r0c0.p0"]
    assert sources("r0c0.alu.a") == ["r0c1.west", "r1c0.north", "r0c0.r0"]
    assert sources("r0c0.alu.b") == sources("r0c0.logic.a") == into + sources("r0c0.alu.a")
    assert sources("r0c0.r0")[-4:] == ["r0c0.logic.alu", *into]
    assert sources("r0c0.east_bit")[:3] == ["r0c0.alu.alu", "r0c0.alu.mul", "r0c0.logic.alu"]
    assert "r0c0.logic.alu" not in sources("r0c0.east")
    narrow = {resource.name for resource in fabric.resources if resource.narrow and resource.tile == 0}
    assert narrow == {f"r0c0.{n}" for n in ["logic.a", "logic.b", "logic.alu", "p0", "east_bit", "south_bit"]}
    logic = next(unit for unit in fabric.units if unit.name == "r0c0.logic")
    assert "and" in logic.latency and not {"add", "select", "mul"} & logic.latency.keys()
    assert not load(tmp_path, GRID).planes


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (GRID + LOGIC, 16, "no plane of bits"),
        (GRID.replace("registers = 2", "bit_registers = 2"), 8, "no plane of bits"),
        (GRID.replace("mul = 2 }", 'mul = 2 }\ntakes_bits = "a"'), 13, "no plane of bits"),
        (BITS.replace("mul = 2 }", 'mul = 2 }\ntakes_bits = "d"'), 15, "no operand with 'd'"),
        (BITS.replace("mul = 2 }", 'mul = 2 }\ntakes_bits = ["a"]'), 15, "must be a string"),
        (BITS.replace("links = 1", ""), 6, "missing key 'links'"),
        (BITS.replace("links = 1", "links = 0"), 7, "from 1 to 8"),
        (BITS.replace("links = 1", "links = 1\napart = true"), 8, "operand a of r0c0.alu does not"),
        (BITS.replace("registers = 2", ""), 6, "in which bits become words"),
        (BITS + LOGIC.replace("alu = 1", "mul = 1"), 19, "nothing that a unit on bits does"),
        (BITS + LOGIC.replace("alu = 1", "select = 1"), 19, "'select' has 3 operands"),
        (BITS + LOGIC + 'takes_bits = "a"\n', 20, "leave out 'takes_bits'"),
        (BITS.replace("neighbours = true", "neighbours = true\nheld = true"), 7, "excludes 'held'"),
        (BITS.replace("neighbours = true", "neighbours = true\ncrossbar = true"), 7, "excludes 'held'"),
    ],
)
def test_contradictions_of_a_plane_of_bits_are_refused(
    text: str, line: int, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ArchitectureError) as caught:
        load(tmp_path, text)
    assert message in caught.value.message and caught.value.line == line


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (HELD.replace("held", "words = 2\nheld"), 6, "'words' must be 1"),
        (CROSSBAR.replace("crossbar", "shared = true\ncrossbar"), 7, "'crossbar' excludes"),
        (
            HELD + '[[layer.unit]]\nname = "b"\noperands = 3\ndoes = { alu = 1 }\n',
            7,
            "a tile has one unit that makes words",
        ),
        (HELD.replace("mul = 2", "try_recv = 1"), 6, "no unit can do 'try_recv'"),
        (GRID.replace("mul = 2", "mem = 2"), 12, "or the file a [memory]"),
        (GRID.replace("operands = 3", "operands = 9"), 11, "must be from 1 to 8"),
    ],
)
def test_contradictions_of_outputs_and_memories_are_refused(
    text: str, line: int, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ArchitectureError) as caught:
        load(tmp_path, text)
    assert message in str(caught.value) and caught.value.line == line
