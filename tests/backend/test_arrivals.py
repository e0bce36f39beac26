"""How many words reach an operation at once, where some places take only what is made in their tile."""

from __future__ import annotations

import pytest

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.check import check_mapping
from backend.dfg import DFG, Node, Use
from backend.foreign import ForeignGraph, assemble, to_dfg
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, MapOptions, Shortage


def fan_in(ways: int, op: str = "load", into: str = "add") -> ForeignGraph:
    """So many operations that one reads."""
    nodes = [(k, op) for k in range(ways)] + [(ways, into)]
    return assemble(f"{op}{ways}", nodes, [(k, ways, 0, False) for k in range(ways)], lambda _what, _k: None)


def reads(*operands: Use, sources: tuple[str, ...]) -> DFG:
    """The operands read by one arithmetic operation, behind its sources."""
    made = [Node(k, op, ()) for k, op in enumerate(sources)]
    reader = Node(len(made), f"alu_{len(operands)}", operands)
    return DFG("reads", (*made, reader), (), (), (), (), ())


@pytest.mark.parametrize(
    ("array", "words", "away"),
    [
        ("hycube:4x4", [3, 4, 4, 3, 4, 5, 5, 4], [2, 3, 3, 2, 3, 4, 4, 3]),
        ("hycube:2x2", [3] * 4, [2] * 4),
        ("satmapit:2x2", [7] * 4, [7] * 4),
        ("grid2x2", [6] * 4, [6] * 4),
    ],
)
def test_a_register_for_results_alone_takes_no_word_of_another_tile(
    array: str, words: list[int], away: list[int]
) -> None:
    fabric = load_fabric(array)
    units = [unit.id for unit in fabric.units if "alu_2" in unit.latency or "add" in unit.latency]
    units = units[: len(words)]
    assert [fabric.words_at(u) for u in units] == words
    assert [fabric.words_from_away(u) for u in units] == away


def test_more_words_of_other_tiles_than_can_reach_a_unit_are_refused() -> None:
    fabric, uses = load_fabric("hycube:4x4"), [Use(k) for k in range(5)]
    with pytest.raises(DoesNotFit, match="reads 5 values at once that other tiles make; 4 can") as caught:
        minimum_interval(reads(*uses, sources=("access_0",) * 5), fabric)
    assert (caught.value.shortage, caught.value.needed, caught.value.available) == (Shortage.ROUTES, 5, 4)
    assert caught.value.nodes == (5,)


@pytest.mark.parametrize(
    ("operands", "sources"),
    [
        ([Use(k) for k in range(5)], ("access_0",) * 4 + ("alu_0",)),
        # What it made itself stays in its tile.
        ([Use(0), Use(1), Use(2), Use(3), Use(4, 1)], ("access_0",) * 4),
        # A word is there once, however many operands read it.
        ([Use(0), Use(1), Use(2), Use(3), Use(0)], ("access_0",) * 4),
    ],
)
def test_one_word_more_is_read_where_its_tile_can_make_it(
    operands: list[Use], sources: tuple[str, ...]
) -> None:
    check_mapping(map_kernel(reads(*operands, sources=sources), load_fabric("hycube:4x4"), MapOptions()))


def test_trees_have_inputs_that_reach_them() -> None:
    """Five words of the left column reach no tile: its own have three ways in, others load nothing."""
    fabric = load_fabric("hycube:4x4")
    inputs = {
        ways: [len(node.operands) for node in to_dfg(fan_in(ways), fabric).nodes[ways:]]
        for ways in (4, 5, 6, 9)
    }
    assert inputs == {4: [4], 5: [4, 2], 6: [5, 2], 9: [5, 4, 2]}
    # Of arithmetic, the tile itself can make one.
    assert len(to_dfg(fan_in(5, "add"), fabric).nodes) == 6


@pytest.mark.parametrize("ways", [5, 9, 12, 20])
def test_any_number_of_loads_is_added(ways: int) -> None:
    fabric = load_fabric("hycube:4x4")
    mapping = map_kernel(to_dfg(fan_in(ways), fabric), fabric, MapOptions())
    check_mapping(mapping)
    assert mapping.interval <= -(-ways // 4) + 1


def test_what_reads_much_itself_is_made_in_few_tiles() -> None:
    """Five words reach the inner tiles of arithmetic alone, so no store has such a word from its own tile."""
    fabric = load_fabric("hycube:4x4")
    dfg = to_dfg(fan_in(20, "add", "store"), fabric)
    assert [len(node.operands) for node in dfg.nodes[20:]] == [3, 5, 5, 5, 5, 2]
    check_mapping(map_kernel(dfg, fabric, MapOptions()))
    five = [Node(20 + k, "alu_5", tuple(map(Use, range(5 * k, 5 * k + 5)))) for k in range(4)]
    store = Node(24, "access_4", tuple(Use(20 + k) for k in range(4)))
    wide = DFG("wide", (*(Node(k, "alu_0", ()) for k in range(20)), *five, store), (), (), (), (), ())
    with pytest.raises(DoesNotFit, match="reads 4 values at once that other tiles make; 3 can"):
        minimum_interval(wide, fabric)


def test_at_an_interval_of_one_a_tile_makes_nothing_beside_its_operation() -> None:
    fabric = load_fabric("hycube:4x4")
    bounds = minimum_interval(reads(*map(Use, range(5)), sources=("alu_0",) * 5), fabric)
    assert bounds.mii == 2 and "reads 5 values at once that other tiles make, of which 4" in bounds.binding
    own = reads(Use(0), Use(1), Use(2), Use(3), Use(4, 1), sources=("alu_0",) * 4)
    assert minimum_interval(own, fabric).mii == 1
