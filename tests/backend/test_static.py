"""What is configured once: routes agree on its setting, and hardware holds it in one word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from graphs import fir, random_graph
from harness import simulate

from arch.check import check_fabric
from arch.describe import ArchitectureError, load_fabric
from arch.fabric import Fabric
from backend.check import MappingError, check_mapping
from backend.dfg import DFG
from backend.exact import prove
from backend.mapper import map_kernel
from backend.mapping import MapOptions, Mapping
from backend.rows import Rows
from backend.run_dfg import run_dfg
from backend.run_mapping import compare
from backend.verilog import emit
from backend.verilog_fabric import hardware

MOSAIC = load_fabric("mosaic:4x4")


def only_static(folder: Path, size: str = "4x4") -> Fabric:
    """A grid all of whose links are configured once."""
    text = (Path(load_fabric.__code__.co_filename).parent / "mosaic.toml").read_text()
    path = folder / "once.toml"
    path.write_text(text.replace("words = 2\nstatic = 1", "static = 1"))
    fabric = load_fabric(f"{path}:{size}")
    check_fabric(fabric)
    return fabric


def uses_of_settings(mapping: Mapping) -> dict[int, set[tuple[int, int]]]:
    """For each setting that is used, the slots and nodes."""
    found: dict[int, set[tuple[int, int]]] = {}
    for route in mapping.routes:
        for resource, cycle in route.steps:
            if mapping.fabric.resources[resource].static is not None:
                node = mapping.dfg.nodes[route.consumer].operands[route.position].node  # type: ignore[union-attr]
                found.setdefault(resource, set()).add((cycle % mapping.interval, node))
    return found


def ran_alike(mapping: Mapping) -> None:
    check_mapping(mapping)
    dfg = mapping.dfg
    inputs = {s: [5, 7, 1, 0, 9] * 9 for s, p in enumerate(dfg.streams) if not p.sends}
    compare(mapping, 40, [3] * len(dfg.live_ins), inputs)


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_on_static_and_dynamic_links(seed: int) -> None:
    ran_alike(map_kernel(random_graph(seed, 24), MOSAIC, MapOptions(effort=0.2)))


def test_values_share_a_static_link_over_time(tmp_path: Path) -> None:
    fabric = only_static(tmp_path)
    mapping = map_kernel(random_graph(1, 24), fabric, MapOptions(effort=0.3))
    ran_alike(mapping)
    shared = [uses for uses in uses_of_settings(mapping).values() if len({node for _, node in uses}) > 1]
    assert shared, "no link carries two values in turns"
    once = {fabric.resources[setting].static for setting in uses_of_settings(mapping)}
    assert len(once) == len(uses_of_settings(mapping))


def test_the_checker_refuses_two_settings() -> None:
    mapping = map_kernel(fir(6), MOSAIC, MapOptions(effort=0.2))
    check_mapping(mapping)
    taken, refused = uses_of_settings(mapping), 0
    for setting in taken:
        for other in MOSAIC.settings[MOSAIC.resources[setting].static or 0]:
            if other == setting:
                continue
            first = next(iter(taken[setting]))
            for place, route in enumerate(mapping.routes):
                steps = tuple(
                    (other if r == setting and c % mapping.interval == first[0] else r, c)
                    for r, c in route.steps
                )
                if steps != route.steps:
                    routes = (
                        *mapping.routes[:place],
                        replace(route, steps=steps),
                        *mapping.routes[place + 1 :],
                    )
                    with pytest.raises(MappingError):
                        check_mapping(replace(mapping, routes=routes))
                    refused += 1
    assert refused


def test_the_exact_engine_agrees_on_settings(tmp_path: Path) -> None:
    fabric = only_static(tmp_path, "2x2")
    mapping = map_kernel(random_graph(5, 12, memories=1), fabric, MapOptions(effort=0.3))
    ran_alike(mapping)
    proof = prove(mapping.dfg, fabric, mapping.interval, mapping.length)
    assert proof.mapping is not None
    ran_alike(proof.mapping)


def test_a_setting_is_one_word_for_all_slots() -> None:
    rows = Rows(MOSAIC)
    for tile, row in enumerate(rows.rows):
        statics = [r for r in row.selects if MOSAIC.resources[r].static is not None]
        assert all(row.selects[r].word >= row.once for r in statics) and statics
        addresses = {
            rows.configuration(tile, slot, row.selects[r].word) for r in statics for slot in range(9)
        }
        assert len(addresses) == len(row.words) - row.once


@pytest.mark.needs("iverilog")
def test_both_netlists_do_what_the_graph_does(tmp_path: Path) -> None:
    dfg: DFG = random_graph(2, 20, memories=1)
    fabric = only_static(tmp_path)
    mapping = map_kernel(dfg, fabric, MapOptions(effort=0.3))
    live_ins = [3] * len(dfg.live_ins)
    inputs = {s: [5, 7, 1] * 12 for s, p in enumerate(dfg.streams) if not p.sends}
    wanted = run_dfg(dfg, live_ins, inputs)
    for design in (emit(mapping), hardware(fabric).load(mapping)):
        got = simulate(design, tmp_path, live_ins, inputs)
        assert (got.outputs, got.live_outs) == (wanted.outputs, wanted.live_outs)


@pytest.mark.parametrize(
    ("old", "new"), [("static = 1", "static = 3"), ("static = 1", "static = 1\nshared = true")]
)
def test_what_cannot_be_configured_once(old: str, new: str, tmp_path: Path) -> None:
    text = (Path(load_fabric.__code__.co_filename).parent / "mosaic.toml").read_text()
    (tmp_path / "bad.toml").write_text(text.replace(old, new))
    with pytest.raises(ArchitectureError, match=r"bad\.toml:\d+"):
        load_fabric(str(tmp_path / "bad.toml"))
