"""Graphs that keep values over many iterations: mapped with stages, and the mappings turned back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from graphs import Builder, fir

from arch.describe import load_fabric
from backend.check import check_mapping
from backend.dfg import DFG, Const, Use
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, MapOptions, Mapping, Shortage
from backend.mapping_text import read_mapping, write_mapping
from backend.relays import SPARSE, relayed
from backend.run_mapping import compare
from backend.staged import _needless, map_graph, staged
from backend.unstaged import unstaged

SMALL = load_fabric("grid4x4")


def taps(count: int) -> DFG:
    """A filter without an end: each tap reads a word of an iteration earlier than the one before."""
    b = Builder(f"taps{count}")
    x = b.add("mov", Const(3))
    total = b.add("mul", x, Const(5))
    for k in range(1, count):
        total = b.add("muladd", Use(x, k), Const(5), total)
    return DFG(b.name, tuple(b.nodes), (), (), (), (), ())


@pytest.mark.parametrize("span", [6, 3])
def test_a_mapping_with_stages_becomes_one_of_the_graph(span: int) -> None:
    dfg = fir(40)
    longer = relayed(dfg, span)
    assert longer is not None
    mapping = unstaged(map_kernel(longer, SMALL, MapOptions()), dfg)
    assert mapping is not None and mapping.dfg == dfg
    assert min(mapping.placement.schedule.start) == 0
    compare(mapping, 60, list(range(1, 41)), {0: list(range(1, 61))})


@pytest.mark.parametrize("arch", ["satmapit:4x4", "adres:4x4", "mesh4x4"])
def test_words_pass_the_units_of_stages_on_arrays_with_output_registers(arch: str) -> None:
    dfg, fabric = taps(10), load_fabric(arch)
    longer = relayed(dfg, 3)
    assert longer is not None
    mapping = unstaged(map_kernel(longer, fabric, MapOptions(effort=0.5)), dfg)
    assert mapping is not None and len(mapping.dfg.nodes) == len(dfg.nodes)


@pytest.mark.slow
def test_where_only_results_enter_registers_stages_stay_operations() -> None:
    dfg, fabric = taps(12), load_fabric("hycube:4x4")
    longer = relayed(dfg, 3)
    assert longer is not None
    mapping = map_kernel(longer, fabric, MapOptions())
    assert unstaged(mapping, dfg) is None
    text = write_mapping(mapping, [])
    read = read_mapping(text, "file", dfg, fabric)
    check_mapping(read)
    assert staged(dfg, read) == staged(dfg, mapping) == 3


def test_a_value_with_dozens_of_late_readers_is_mapped_at_the_bound() -> None:
    dfg, told = taps(64), list[str]()
    mapping = map_graph(dfg, load_fabric("grid6x6"), MapOptions(), told.append)
    assert staged(dfg, mapping) == 0 and mapping.interval == 2
    assert told[0] == "with stages of 6 iterations, 10 more operations"


@pytest.mark.parametrize(
    ("arch", "interval", "last"),
    [
        ("grid4x4", 3, "II 2, attempt 1: values need too many registers"),
        ("torus4x4", 2, "II 2, in haste: mapped"),
    ],
)
def test_a_value_with_many_late_readers_is_mapped_in_stages_and_then_briefly_without(
    arch: str, interval: int, last: str
) -> None:
    """On the torus, too, stages reach an interval of 3."""
    told = list[str]()
    mapping = map_graph(fir(26), load_fabric(arch), MapOptions(), told.append)
    assert mapping.interval == interval
    assert told[0] == "with stages of 6 iterations, 4 more operations"
    assert (told[1].split(",")[0], told[-1]) == ("II 3", last)


def test_what_is_kept_for_few_iterations_is_mapped_as_ever() -> None:
    dfg = fir(8)
    assert map_graph(dfg, SMALL, MapOptions()) == map_kernel(dfg, SMALL, MapOptions())


def test_what_no_stages_help_is_refused_for_what_the_graph_lacks() -> None:
    with pytest.raises(DoesNotFit) as caught:
        map_graph(fir(200), SMALL, MapOptions(effort=0.5, max_interval=8))
    assert caught.value.shortage is Shortage.INTERVAL


def test_a_time_limit_is_for_all_searches_together() -> None:
    with pytest.raises(DoesNotFit) as caught:
        map_graph(fir(130), load_fabric("mesh4x4"), MapOptions(time_limit=0.5))
    assert caught.value.shortage in (Shortage.TIME, Shortage.REGISTERS)


@pytest.mark.parametrize(("arch", "needless"), [("grid4x4", True), ("adres:4x4", False)])
def test_the_longest_stages_are_left_far_above_the_bound_unless_words_take_slots(
    arch: str, needless: bool
) -> None:
    """A filter of 26 taps has an interval of 9 with them on `adres:4x4`, of 12 with shorter ones."""
    far = cast(Mapping, SimpleNamespace(interval=30, late=False, fabric=load_fabric(arch)))
    assert _needless(SPARSE, far, 10) is needless
    assert not _needless(SPARSE, far, 11) and not _needless(6, far, 10) and _needless(6, far, 30)


@pytest.mark.parametrize(
    ("dfg", "arch"), [(fir(26), "grid4x4"), (taps(14), "adres:4x4"), (taps(10), "mesh4x4")]
)
def test_one_interrupt_ends_all_searches(dfg: DFG, arch: str) -> None:
    told = list[str]()

    def interrupted(line: str) -> None:
        told.append(line)
        if any(": mapped" in line for line in told[:-1]):
            raise KeyboardInterrupt

    mapping = map_graph(dfg, load_fabric(arch), MapOptions(), interrupted)
    assert mapping.late
    assert not any(": mapped" in line for line in told[:-2])
