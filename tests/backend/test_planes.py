"""A plane of bits beside that of words: values of one bit ride it, words never do, and hardware agrees."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from graphs import Builder, fir, random_graph, sad
from hardware_tools import lint
from harness import simulate

from arch.check import check_fabric
from arch.describe import load_fabric
from arch.fabric import Fabric, Kind
from arch.ops import BIT_OPS
from backend.bound import minimum_interval
from backend.check import MappingError, check_mapping
from backend.dfg import DFG, Const, Operand, Use
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, MapOptions, Mapping
from backend.mapping_text import read_mapping, write_mapping
from backend.predicates import predicates
from backend.run_dfg import run_dfg
from backend.run_mapping import compare
from backend.verilog import emit
from backend.verilog_fabric import hardware

BITS = load_fabric("bitgrid4x4")
GRID = load_fabric("grid4x4")
TEXT = (Path(load_fabric.__code__.co_filename).parent / "bitgrid.toml").read_text()
APART = (
    TEXT.replace("apart = false", "apart = true")
    .replace('takes_bits = "a"\n', 'takes_bits = "abc"\n')
    .replace('takes_bits = "c"', 'takes_bits = "abc"')
    .replace('name = "div"\noperands = 2', 'name = "div"\noperands = 2\ntakes_bits = "ab"')
)
"""Values of one bit stay in their plane; all operands take them."""

SLOW = TEXT.replace("on_bits = true\ndoes = { alu = 1 }", "on_bits = true\ndoes = { alu = 3, mov = 1 }")
SLOW = SLOW.replace("{ alu = 3, mov = 1 }", "{ and = 3, xor = 2, select = 1 }").replace(
    "links = 1", "links = 2"
)
"""Logic takes several cycles, and each tile sends two bits each way."""


def fabric_of(text: str, folder: Path, size: str = "4x4") -> Fabric:
    path = folder / "planes.toml"
    path.write_text(text)
    fabric = load_fabric(f"{path}:{size}")
    check_fabric(fabric)
    return fabric


def decisions(seed: int, count: int) -> DFG:
    """A random kernel full of values of one bit: logic, selects and guards, carried ones, bits as numbers."""
    rng = random.Random(seed)
    b = Builder(f"decisions{count}.{seed}")
    index, alive = b.counter(40)
    source, sink, memory = b.stream("in", False), b.stream("out", True), b.memory("m", 64)
    word = b.add("try_recv", Const(0), alive, stream=source)
    words, bits = [index, word], [alive, b.add("slt", word, Const(6))]
    flag: Operand = Use(word, 0, output=1)

    def bit() -> Operand:
        roll = rng.random()
        if roll < 0.1:
            return flag
        if roll < 0.2:
            return Const(rng.randrange(2))
        chosen = rng.choice(bits[-12:])
        return Use(chosen, rng.choice((0, 0, 0, 1, 2)), Const(rng.randrange(2)))

    def number() -> Operand:
        return Use(rng.choice(words if rng.random() < 0.8 else bits))

    while len(b.nodes) < count:
        roll = rng.random()
        if roll < 0.3:
            op = rng.choice(sorted(BIT_OPS.keys() - {"select", "mov"}))
            bits.append(b.add(op, bit(), bit()))
        elif roll < 0.4:
            bits.append(b.add("select", bit(), bit(), bit()))
        elif roll < 0.6:
            bits.append(b.add(rng.choice(("eq", "slt", "ule")), number(), number()))
        elif roll < 0.75:
            words.append(b.add("select", bit(), number(), number()))
        elif roll < 0.9:
            words.append(b.add(rng.choice(("add", "sub", "mul", "xor")), number(), number()))
        else:
            bits.append(b.add("and", bit(), number()))
    b.add("send", rng.choice(words), b.add("and", alive, bit()), stream=sink)
    b.add("store", b.add("and", index, Const(63)), number(), b.add("and", bits[-1], alive), memory=memory)
    return b.build()


def inputs_of(dfg: DFG) -> dict[int, list[int]]:
    return {s: [5, 7, 1, 0, 9] * 40 for s, p in enumerate(dfg.streams) if not p.sends}


def mapped(dfg: DFG, fabric: Fabric) -> Mapping:
    mapping = map_kernel(dfg, fabric, MapOptions(effort=0.3))
    check_mapping(mapping)
    compare(mapping, 30, [3] * len(dfg.live_ins), inputs_of(dfg))
    return mapping


def words_and_bits(mapping: Mapping) -> tuple[int, int]:
    """The slots of links and registers that are used, in both planes."""
    resources = mapping.fabric.resources
    used = {(r, cycle % mapping.interval) for route in mapping.routes for r, cycle in route.steps}
    held = [resources[r].narrow for r, _ in used if resources[r].kind is Kind.REGISTER]
    return held.count(False), held.count(True)


@pytest.mark.parametrize("text", [TEXT, APART, SLOW], ids=["together", "apart", "slow"])
@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_use_both_planes(text: str, seed: int, tmp_path: Path) -> None:
    mapping = mapped(decisions(seed, 30 + 6 * seed), fabric_of(text, tmp_path))
    assert words_and_bits(mapping)[1] > 0


@pytest.mark.needs("iverilog")
@pytest.mark.parametrize("text", [TEXT, APART, SLOW], ids=["together", "apart", "slow"])
def test_both_netlists_do_what_the_graph_does(text: str, tmp_path: Path) -> None:
    fabric = fabric_of(text, tmp_path)
    made = hardware(fabric)
    for dfg in (decisions(11, 34), decisions(12, 26), random_graph(3, 24, memories=1)):
        mapping, live_ins = mapped(dfg, fabric), [3] * len(dfg.live_ins)
        wanted = run_dfg(dfg, live_ins, inputs_of(dfg))
        cycles = set()
        for design in (emit(mapping), made.load(mapping)):
            got = simulate(design, tmp_path, live_ins, inputs_of(dfg))
            assert (got.outputs, got.live_outs) == (wanted.outputs, wanted.live_outs)
            cycles.add(got.cycles)
        assert len(cycles) == 1


@pytest.mark.needs("verilator")
@pytest.mark.parametrize("text", [APART, SLOW], ids=["apart", "slow"])
def test_hardware_with_two_planes_is_lint_clean(text: str, tmp_path: Path) -> None:
    lint(hardware(fabric_of(text, tmp_path, "2x2")), tmp_path)


def test_predicates_leave_the_words_links_and_the_arithmetic_units() -> None:
    dfg = sad(4)
    with_bits, without = mapped(dfg, BITS), mapped(dfg, GRID)
    assert words_and_bits(with_bits)[0] < words_and_bits(without)[0]
    assert minimum_interval(dfg, BITS).mii < minimum_interval(dfg, GRID).mii
    assert with_bits.interval < without.interval


def test_a_unit_on_bits_does_nothing_on_words() -> None:
    b = Builder("words")
    index, alive = b.counter(9)
    masked = b.add("and", index, Const(7))
    kept = b.add("and", alive, b.live_in("captured"))
    b.add("store", masked, kept, alive, memory=b.memory("m", 8))
    mapping = mapped(b.build(), BITS)
    assert predicates(mapping.dfg) >= {(kept, 0), (alive, 0)}
    # A scalar that the host gives is a word, whatever it turns out to be.
    assert not any(BITS.is_narrow(BITS.units[mapping.placement.unit[n]]) for n in (masked, kept, index))
    moved = list(mapping.placement.unit)
    tile = BITS.units[moved[masked]].tile
    moved[masked] = next(u.id for u in BITS.units if u.tile == tile and BITS.is_narrow(u))
    wrong = replace(mapping, placement=replace(mapping.placement, unit=tuple(moved)))
    with pytest.raises(MappingError, match=r"has words; .* has bits"):
        check_mapping(wrong)


def test_the_checker_refuses_a_word_in_the_plane_of_bits() -> None:
    mapping = mapped(fir(6), BITS)
    bits, tried = predicates(mapping.dfg), 0
    names = {resource.name: resource for resource in BITS.resources}
    for place, route in enumerate(mapping.routes):
        use = mapping.dfg.nodes[route.consumer].operands[route.position]
        assert isinstance(use, Use)
        before, after = [r for r, _ in route.steps[:-2]], route.steps[-1][0]
        held, cycle = route.steps[-2]
        twin = names.get(f"{BITS.resources[held].name}_bit")
        if (use.node, use.output) in bits or twin is None or twin.id not in BITS.resources[after].sources:
            continue
        if before[-1] not in twin.sources:
            continue
        tried += 1
        steps = (*route.steps[:-2], (twin.id, cycle), route.steps[-1])
        routes = (*mapping.routes[:place], replace(route, steps=steps), *mapping.routes[place + 1 :])
        with pytest.raises(MappingError, match="is a word, but in"):
            check_mapping(replace(mapping, routes=routes))
    assert tried


def test_where_planes_are_apart_no_bit_crosses_that_of_words() -> None:
    b = Builder("number")
    index, alive = b.counter(9)
    odd = b.add("eq", b.add("and", index, Const(3)), Const(1))
    # The second operand of an addition takes words alone: the bit gets there through a register for words.
    b.add("store", index, b.add("add", index, odd), alive, memory=b.memory("m", 16))
    mapping = mapped(b.build(), BITS)
    strict = replace(BITS, apart=True)
    with pytest.raises(MappingError, match=r"is one bit, but in r\dc\d\.r"):
        check_mapping(replace(mapping, placement=replace(mapping.placement, fabric=strict)))
    assert not strict.allows(next(r.id for r in BITS.resources if r.name == "r0c0.r0"), one_bit=True)


def test_a_bit_that_no_operand_takes_has_no_way_where_planes_are_apart() -> None:
    b = Builder("stuck")
    index, alive = b.counter(9)
    odd = b.add("eq", index, Const(1))
    b.add("store", index, b.add("sub", Const(9), b.add("mul", odd, odd)), alive, memory=b.memory("m", 16))
    with pytest.raises(DoesNotFit):
        map_kernel(b.build(), replace(BITS, apart=True), MapOptions(effort=0.1, max_interval=2))


def test_logic_that_only_units_on_bits_do_is_not_for_words(tmp_path: Path) -> None:
    text = TEXT.replace("{ alu = 1, mul = 2 }", "{ add = 1, eq = 1, xor = 1 }")
    b = Builder("masked")
    index, alive = b.counter(9)
    b.add("send", b.add("and", index, Const(3)), alive, stream=b.stream("out", True))
    with pytest.raises(DoesNotFit, match="can do and on words"):
        minimum_interval(b.build(), fabric_of(text, tmp_path))


def test_mappings_are_written_and_read_back() -> None:
    mapping = mapped(decisions(2, 30), BITS)
    text = write_mapping(mapping, [])
    assert "_bit@" in text
    again = read_mapping(text, "m.map", mapping.dfg, BITS)
    assert (
        again == mapping and write_mapping(map_kernel(mapping.dfg, BITS, MapOptions(effort=0.3)), []) == text
    )
