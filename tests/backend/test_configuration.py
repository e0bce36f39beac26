"""The configuration says what every unit does and what every multiplexer selects."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphs import Builder, random_graph
from simple_mapper import simple_map

from arch.describe import load_fabric
from arch.fabric import Kind
from backend.configuration import Selected, configure, show_configuration
from backend.dfg import Const, LiveIn, Use
from backend.mapping import Mapping

GRID = load_fabric("grid4x4")


def mapped(seed: int, interval: int = 2) -> Mapping:
    return simple_map(random_graph(seed, 22), GRID, seed, interval)


@pytest.mark.parametrize("seed", range(6))
def test_every_node_is_issued_once_by_its_unit_in_its_slot(seed: int) -> None:
    mapping = mapped(seed)
    configuration = configure(mapping)
    found = {}
    for unit, issues in enumerate(configuration.issues):
        for slot, issue in enumerate(issues):
            if issue is not None:
                found[issue.node] = unit, issue.stage * mapping.interval + slot, issue.op
    starts, units = mapping.placement.schedule.start, mapping.placement.unit
    assert found == {n.id: (units[n.id], starts[n.id], n.op) for n in mapping.dfg.nodes}


@pytest.mark.parametrize("seed", range(6))
def test_multiplexers_run_backwards_lead_to_each_operands_producer(seed: int) -> None:
    mapping = mapped(seed)
    configuration = configure(mapping)
    start = mapping.placement.schedule.start
    checked = 0
    for slot in range(mapping.interval):
        for issue in configuration.slot(slot):
            for use, source in zip(mapping.dfg.nodes[issue.node].operands, issue.operands, strict=True):
                if isinstance(use, Const | LiveIn):
                    assert source == use
                    continue
                assert isinstance(source, Selected) and source.distance == use.distance
                producer, output, age = configuration.producer(source.resource, slot)
                assert (producer.node, output) == (use.node, use.output)
                assert age == start[issue.node] + use.distance * mapping.interval - start[use.node]
                checked += 1
    assert checked == len(list(mapping.dfg.uses()))


def test_only_registers_and_wires_select_and_only_what_they_can() -> None:
    configuration = configure(mapped(1, 3))
    for resource, selects in zip(GRID.resources, configuration.selects, strict=True):
        assert len(selects) == configuration.interval
        for source in selects:
            assert source is None or source in resource.sources
        if resource.kind in (Kind.RESULT, Kind.OPERAND):
            assert set(selects) == {None}


def test_a_route_to_the_wrong_word_is_noticed() -> None:
    mapping = mapped(2)
    one = mapping.routes[0]
    other = next(r for r in mapping.routes if r.steps[0] != one.steps[0])
    with pytest.raises(AssertionError):
        configure(replace(mapping, routes=(replace(one, steps=other.steps), *mapping.routes[1:])))


def test_a_way_that_is_no_wire_is_noticed() -> None:
    mapping = mapped(2)
    route = mapping.routes[0]
    far = next(
        r.id for r in GRID.resources if r.kind is Kind.REGISTER and route.steps[-1][0] not in GRID.sinks[r.id]
    )
    steps = (*route.steps[:-2], (far, route.steps[-2][1]), route.steps[-1])
    with pytest.raises(AssertionError, match="no wire"):
        configure(replace(mapping, routes=(replace(route, steps=steps), *mapping.routes[1:])))


def test_text_shows_operands_with_distances_and_holds() -> None:
    b = Builder("shown")
    out = b.stream("out", True)
    index, alive = b.counter(4)
    b.add("send", b.add("sub", Use(index, 2, Const(9)), b.live_in("n")), alive, stream=out)
    texts = [show_configuration(configure(simple_map(b.build(), GRID, seed, 6))) for seed in range(8)]
    assert all(text.startswith("configuration of shown on grid4x4, 6 slots\nslot 0\n") for text in texts)
    assert all("@2[9], n (stage" in text for text in texts)
    assert any("<- hold" in text for text in texts)
