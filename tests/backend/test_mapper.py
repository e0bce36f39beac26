"""Whole mappings: at the bound where that is known to be possible, always checked, always the same."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from graphs import Builder, fir, layered, matmul, mixed, random_graph, sad

import arch
import backend
from arch.describe import load_fabric
from arch.fabric import Fabric
from backend.bound import minimum_interval
from backend.check import check_mapping
from backend.clock import OutOfTime
from backend.dfg import DFG, Const, Node, Use
from backend.flat import Board, Problem
from backend.flow import Flow
from backend.ledger import Ledger
from backend.mapper import map_kernel
from backend.mapping import EFFORTS, DoesNotFit, MapOptions, Mapping, Shortage
from backend.search import Search
from backend.show import show_mapping
from backend.solved import small, tight, timed

SMALL, LARGE, MOSAIC, MESH = (load_fabric(name) for name in ("grid4x4", "grid8x8", "mosaic:3x3", "mesh:4x4"))


def test_the_filter_starts_an_iteration_in_every_cycle() -> None:
    assert map_kernel(fir(), LARGE, MapOptions()).interval == 1


def test_sums_of_differences_reach_the_bound_on_the_large_grid() -> None:
    assert map_kernel(sad(), LARGE, MapOptions()).interval == 2


def test_a_matrix_product_reaches_the_bound_on_the_large_grid() -> None:
    assert map_kernel(matmul(), LARGE, MapOptions()).interval == 1


def test_two_hundred_operations_fill_a_small_grid() -> None:
    assert map_kernel(layered(200, 1), SMALL, MapOptions()).interval == 13


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels_are_mapped_near_their_bound(seed: int) -> None:
    dfg = random_graph(seed, 40 + 5 * seed, streams=1 + seed % 3, memories=seed % 4)
    lines: list[str] = []
    mapping = map_kernel(dfg, SMALL, MapOptions(seed=seed), lines.append)
    check_mapping(mapping)
    assert mapping.interval <= 24
    assert lines[-1].endswith("mapped")


def test_the_seed_decides_the_mapping() -> None:
    dfg = random_graph(3, 40)
    first, second = (map_kernel(dfg, SMALL, MapOptions(seed=4)) for _ in range(2))
    assert first == second
    assert show_mapping(first) == show_mapping(second)
    assert map_kernel(dfg, SMALL, MapOptions(seed=5)) != first


def test_a_bound_above_the_limit_is_refused_with_the_recurrence() -> None:
    b = Builder("slow")
    b.counter(9)
    first = b.add("add", Const(1), Const(1))
    last = first
    for _ in range(5):
        last = b.add("add", last, Const(1))
    b.patch(first, 0, Use(last, 1))
    with pytest.raises(DoesNotFit) as caught:
        map_kernel(b.build(), SMALL, MapOptions(max_interval=4))
    assert caught.value.shortage is Shortage.INTERVAL
    assert (caught.value.needed, caught.value.available) == (6, 4)
    assert set(caught.value.nodes) == set(range(first, last + 1))


def test_a_limit_that_leaves_no_room_to_route_is_refused() -> None:
    with pytest.raises(DoesNotFit) as caught:
        map_kernel(matmul(), SMALL, MapOptions(max_interval=1, effort=0.4))
    assert caught.value.shortage is Shortage.ROUTES


def test_an_interval_that_is_asked_for_is_the_one_that_is_mapped() -> None:
    assert map_kernel(fir(2), SMALL, MapOptions(interval=5)).interval == 5


@pytest.mark.parametrize(("interval", "limit"), [(1, 1), (SMALL.max_interval + 1, SMALL.max_interval)])
def test_an_interval_that_cannot_be_is_refused(interval: int, limit: int) -> None:
    with pytest.raises(DoesNotFit) as caught:
        map_kernel(layered(60, 1), SMALL, MapOptions(interval=interval))
    assert (caught.value.shortage, caught.value.available) == (Shortage.INTERVAL, limit)


def test_the_time_limit_is_named_when_nothing_was_found_in_it() -> None:
    with pytest.raises(DoesNotFit, match=r"time limit of 0\.001 s") as caught:
        map_kernel(layered(400, 1), SMALL, MapOptions(time_limit=0.001))
    assert caught.value.shortage is Shortage.TIME


def test_a_time_limit_leaves_a_mapping_at_a_long_interval_if_there_is_no_time_for_a_good_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(self: Search, interval: int, number: int) -> Mapping | int:
        raise OutOfTime

    monkeypatch.setattr(Search, "_attempt", late)
    dfg = layered(60, 1)
    mapping = map_kernel(dfg, SMALL, MapOptions(effort=EFFORTS["high"], time_limit=1000))
    check_mapping(mapping)
    assert mapping.interval == 2 * minimum_interval(dfg, SMALL).mii + 2


def test_a_time_limit_costs_one_mapping_more_where_the_bound_is_reached_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempt, tried = Search._attempt, []

    def noted(self: Search, interval: int, number: int) -> Mapping | int:
        tried.append(interval)
        return attempt(self, interval, number)

    monkeypatch.setattr(Search, "_attempt", noted)
    dfg = layered(60, 1)
    mapping = map_kernel(dfg, SMALL, MapOptions(time_limit=1000))
    assert tried == [mapping.interval] == [minimum_interval(dfg, SMALL).mii]


def test_a_time_limit_that_is_not_reached_costs_no_quality() -> None:
    for dfg in (fir(8), layered(60, 1), random_graph(2, 40)):
        without = map_kernel(dfg, SMALL, MapOptions())
        assert map_kernel(dfg, SMALL, MapOptions(time_limit=1000)).interval <= without.interval


def test_high_effort_begins_with_less_and_then_searches_only_for_what_is_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    smallest, searched = Search.smallest, []

    def noted(self: Search) -> Mapping | None:
        limit, found = self.limit, smallest(self)
        searched.append((self.options.effort, limit, found.interval if found else None))
        return found

    monkeypatch.setattr(Search, "smallest", noted)
    dfg, fabric = random_graph(3, 14), load_fabric("satmapit:2x2")
    mapping = map_kernel(dfg, fabric, MapOptions(effort=EFFORTS["high"]))
    efforts, limits, found = zip(*searched, strict=True)
    assert mapping.interval > minimum_interval(dfg, fabric).mii
    assert efforts == tuple(EFFORTS.values())
    assert [limit + 1 for limit in limits[1:]] == list(found[:-1])


@pytest.mark.parametrize("ending", [KeyboardInterrupt, OutOfTime])
def test_who_cannot_wait_gets_the_best_mapping_so_far(
    ending: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt, at_bound = Search._attempt, []

    def unlucky(self: Search, interval: int, number: int) -> Mapping | int:
        if interval > self.bounds.mii:
            return attempt(self, interval, number)
        at_bound.append(number)
        return 4

    def solved(self: Search, interval: int, brief: bool) -> bool:
        if self.best is not None:
            raise ending
        return False

    monkeypatch.setattr(Search, "_attempt", unlucky)
    monkeypatch.setattr(Search, "_solved", solved)
    dfg = fir(8)
    mapping = map_kernel(dfg, SMALL, MapOptions())
    check_mapping(mapping)
    assert at_bound and mapping.interval > minimum_interval(dfg, SMALL).mii


def test_an_interrupt_before_any_mapping_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "_hastily", lambda *_: False)
    with pytest.raises(KeyboardInterrupt):
        map_kernel(fir(2), SMALL, MapOptions(), interrupt)


@pytest.mark.parametrize("dfg", [random_graph(1, 40), random_graph(2, 40), sad(8), layered(60, 1)])
def test_a_larger_array_never_maps_worse(dfg: DFG) -> None:
    fabrics = (load_fabric(f"grid:{size}") for size in ("3x3", "3x4", "4x4", "4x6", "6x6"))
    intervals = [map_kernel(dfg, fabric, MapOptions()).interval for fabric in fabrics]
    assert intervals == sorted(intervals, reverse=True)


def with_registers(family: str, size: str, registers: int, folder: Path) -> Fabric:
    """An array of a family with so many registers in each tile."""
    text = Path(arch.__file__).with_name(family + ".toml").read_text()
    file = folder / f"{family}{registers}.toml"
    file.write_text(re.sub(r"(?m)^registers = 4", f"registers = {registers}", text))
    return load_fabric(f"{file}:{size}")


@pytest.mark.parametrize("dfg", [random_graph(1, 40), random_graph(3, 40), layered(60, 1)])
def test_more_registers_never_map_worse(dfg: DFG, tmp_path: Path) -> None:
    fabrics = (with_registers("grid", "4x4", registers, tmp_path) for registers in (1, 2, 4, 8))
    intervals = [map_kernel(dfg, fabric, MapOptions()).interval for fabric in fabrics]
    assert intervals == sorted(intervals, reverse=True)


def rings(count: int, length: int) -> DFG:
    """Rings of operations, each going round in an iteration; those of all rings read those of the first."""
    nodes = []
    for n in range(count * length):
        ring, at = divmod(n, length)
        before = Use(n - 1) if at else Use(n + length - 1, 1)
        nodes.append(Node(n, "alu_2", (before, Use(at) if ring else before)))
    return DFG("rings", tuple(nodes), (), (), (), (), ())


VARIED = [
    *(random_graph(seed, 40) for seed in (0, 1, 2, 5, 6, 7)),
    *(mixed(80, 2), mixed(60, 3, far=0.3), layered(60, 1), sad(8)),
]


@pytest.mark.slow
@pytest.mark.sweep(6)
@pytest.mark.parametrize("family", ["mesh", "grid"])
@pytest.mark.parametrize("dfg", VARIED, ids=lambda dfg: dfg.name)
def test_no_larger_array_of_many_maps_worse(dfg: DFG, family: str) -> None:
    sizes = ("2x3", "3x3", "3x4", "4x4", "4x6", "6x6", "8x8")
    intervals = [map_kernel(dfg, load_fabric(f"{family}:{size}"), MapOptions()).interval for size in sizes]
    assert intervals == sorted(intervals, reverse=True)


@pytest.mark.slow
@pytest.mark.sweep(3)
@pytest.mark.parametrize("size", ["3x3", "3x4"])
@pytest.mark.parametrize("dfg", VARIED, ids=lambda dfg: dfg.name)
def test_no_more_registers_of_many_map_worse(dfg: DFG, size: str, tmp_path: Path) -> None:
    fabrics = (with_registers("mesh", size, registers, tmp_path) for registers in range(1, 9))
    intervals = [map_kernel(dfg, fabric, MapOptions()).interval for fabric in fabrics]
    assert intervals == sorted(intervals, reverse=True)


def test_a_recurrence_that_leaves_no_choice_is_a_question_for_the_solver() -> None:
    dfg = rings(6, 10)
    problem, bounds = Problem(dfg, MESH), minimum_interval(dfg, MESH)
    assert (bounds.mii, small(problem)) == (10, False)
    assert tight(problem, bounds, 10) and not tight(problem, bounds, 11)
    mapping = timed(problem, 10, 1.0, 1e9)
    assert mapping is not None and mapping.interval == 10
    check_mapping(mapping)


def test_routes_are_as_before_once_all_is_back_where_it_was() -> None:
    mapping = map_kernel(layered(60, 1), MESH, MapOptions())
    problem, start, unit = (
        Problem(mapping.dfg, MESH),
        mapping.placement.schedule.start,
        mapping.placement.unit,
    )
    board = Board(problem, mapping.interval, unit, start, [-1], 64)
    flow = Flow(problem, board)
    Ledger(problem, board)
    for n in sorted(range(problem.nodes), key=start.__getitem__):
        flow.route_node(n)
    used, busy = bytes(board.used), bytes(board.busy)
    for n in range(0, problem.nodes, 3):
        flow.lift(n)
        flow.put(n, unit[n], start[n] + 1)
    flow.restore(list(unit), list(start))
    assert (bytes(board.used), bytes(board.busy)) == (used, busy)


def test_parts_that_nothing_connects_begin_together() -> None:
    chains, links = 30, 4
    nodes = tuple(
        Node(n, "alu_1" if n % links else "alu_0", (Use(n - 1),) if n % links else ())
        for n in range(chains * links)
    )
    mapping = map_kernel(DFG("chains", nodes, (), (), (), (), ()), SMALL, MapOptions())
    starts = mapping.placement.schedule.start
    assert max(starts[::links]) < mapping.interval
    assert min(starts) == 0


def test_the_text_names_units_slots_and_ways() -> None:
    mapping = map_kernel(fir(2), SMALL, MapOptions())
    text = show_mapping(mapping)
    assert text.startswith("mapping fir2 on grid4x4: interval 1,")
    assert "recv in" in text
    assert text.count(" -> ") == len(mapping.routes) + 1


@pytest.fixture
def uncompiled() -> Iterator[dict[str, ModuleType]]:
    """The back end again, with its hot modules as plain Python."""
    names = [
        "reach",
        "paths",
        "flow",
        "flood",
        "relocate",
        "anneal",
        "pushes",
        "flat",
        "bound",
        "schedule",
        "place",
        "route",
    ]
    names += ["longest", "cycles", "ledger", "check", "attempt", "ahead", "search", "mapper"]
    saved = {f"backend.{n}": sys.modules.pop(f"backend.{n}", None) for n in names}
    kept = {n: getattr(backend, n, None) for n in names}
    fresh: dict[str, ModuleType] = {}
    for name in names:
        path = Path(backend.__file__).with_name(name + ".py")
        spec = importlib.util.spec_from_file_location(f"backend.{name}", path)
        assert spec is not None and spec.loader is not None
        fresh[name] = importlib.util.module_from_spec(spec)
        sys.modules[f"backend.{name}"] = fresh[name]
        spec.loader.exec_module(fresh[name])
    yield fresh
    for name in names:
        sys.modules.pop(f"backend.{name}")
        module = saved[f"backend.{name}"]
        if module is not None:
            sys.modules[f"backend.{name}"] = module
            setattr(backend, name, kept[name])


def test_compiled_and_plain_python_agree(uncompiled: dict[str, ModuleType]) -> None:
    assert uncompiled["flow"].__file__.endswith("flow.py")
    assert inspect.isfunction(vars(uncompiled["attempt"].route.__globals__["Flow"])["put"])
    options = MapOptions(seed=2, effort=0.2)
    cases = (
        (random_graph(1, 24), SMALL),
        (fir(4), SMALL),
        (random_graph(2, 20), MOSAIC),
        (layered(40, 1), MESH),
    )
    for dfg, fabric in cases:
        assert uncompiled["mapper"].map_kernel(dfg, fabric, options) == map_kernel(dfg, fabric, options)
