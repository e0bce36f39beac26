"""An independent checker of mappings: everything recomputed from the graph and the fabric."""

from __future__ import annotations

from collections.abc import Set

from arch.fabric import Kind, Unit
from arch.ops import OPS

from .dfg import Node, Use
from .mapping import Mapping, Route
from .predicates import Value, narrow, predicates


class MappingError(AssertionError):
    """A mapping that does not compute its graph."""


def check_mapping(mapping: Mapping) -> None:
    """Raise MappingError, with the reason, unless the mapping is right."""
    _check_sizes(mapping)
    bits = predicates(mapping.dfg) if mapping.fabric.planes else frozenset()
    _check_units(mapping, bits)
    _check_memories(mapping)
    _check_streams(mapping)
    _check_orders(mapping)
    _check_routes(mapping, bits)
    _check_sharing(mapping)
    _check_settings(mapping)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise MappingError(message)


def _unit(mapping: Mapping, node: int) -> Unit:
    return mapping.fabric.units[mapping.placement.unit[node]]


def _start(mapping: Mapping, node: int) -> int:
    return mapping.placement.schedule.start[node]


def _check_sizes(mapping: Mapping) -> None:
    count = len(mapping.dfg.nodes)
    _require(len(mapping.placement.unit) == count, "not a unit for every node")
    _require(len(mapping.placement.schedule.start) == count, "not a start for every node")
    _require(len(mapping.placement.memory) == len(mapping.dfg.memories), "not a place for every array")
    _require(1 <= mapping.interval <= mapping.fabric.max_interval, f"initiation interval {mapping.interval}")
    for node in range(count):
        _require(_start(mapping, node) >= 0, f"node {node} starts before its iteration")


def _check_units(mapping: Mapping, bits: Set[Value]) -> None:
    """Every operation on a unit that does it, one in each slot of a unit; on bits what has but these."""
    taken: dict[tuple[int, int], int] = {}
    for node in mapping.dfg.nodes:
        unit = _unit(mapping, node.id)
        _require(node.op in unit.latency, f"node {node.id}: {unit.name} does not do {node.op}")
        key = (unit.id, _start(mapping, node.id) % mapping.interval)
        _require(key not in taken, f"nodes {taken.get(key)} and {node.id} share {unit.name} in slot {key[1]}")
        taken[key] = node.id
        if mapping.fabric.is_narrow(unit):
            outputs = ((node.id, output) in bits for output in range(OPS[node.op].outputs))
            one_bit = all(outputs) and all(narrow(operand, bits) for operand in node.operands)
            _require(one_bit, f"node {node.id} has words; {unit.name} has bits")


def _check_memories(mapping: Mapping) -> None:
    """Accesses on the ports of the array's bank; arrays inside their banks, beside each other."""
    for node in mapping.dfg.nodes:
        if node.memory is not None:
            bank = mapping.fabric.memories[mapping.placement.memory[node.memory].bank]
            name = mapping.dfg.memories[node.memory].name
            unit = _unit(mapping, node.id)
            _require(
                unit.id in bank.ports, f"node {node.id}: {unit.name} does not reach {name} in {bank.name}"
            )
    places = mapping.placement.memory
    for m, (memory, place) in enumerate(zip(mapping.dfg.memories, places, strict=True)):
        bank = mapping.fabric.memories[place.bank]
        inside = place.base >= 0 and place.base + memory.words <= bank.words
        _require(inside, f"array {memory.name} does not fit into {bank.name}")
        for other in range(m):
            words = mapping.dfg.memories[other].words
            apart = (
                places[other].bank != place.bank
                or places[other].base + words <= place.base
                or place.base + memory.words <= places[other].base
            )
            _require(apart, f"arrays {mapping.dfg.memories[other].name} and {memory.name} overlap")


def _check_streams(mapping: Mapping) -> None:
    """One unit for a stream, one stream for a unit."""
    unit_of: dict[int, int] = {}
    stream_of: dict[int, int] = {}
    for node in mapping.dfg.nodes:
        if node.stream is not None:
            unit = mapping.placement.unit[node.id]
            _require(unit_of.setdefault(node.stream, unit) == unit, f"stream {node.stream} has two ports")
            _require(
                stream_of.setdefault(unit, node.stream) == node.stream,
                f"{mapping.fabric.units[unit].name} serves two streams",
            )


def _check_orders(mapping: Mapping) -> None:
    for order in mapping.dfg.orders:
        after = _start(mapping, order.after) + order.distance * mapping.interval
        _require(
            after >= _start(mapping, order.before) + order.delay,
            f"node {order.after} is issued too early after node {order.before}",
        )


def _check_routes(mapping: Mapping, bits: Set[Value]) -> None:
    """Exactly one right route for each use."""
    routes: dict[tuple[int, int], Route] = {}
    for route in mapping.routes:
        key = (route.consumer, route.position)
        _require(key not in routes, f"two routes to operand {key[1]} of node {key[0]}")
        routes[key] = route
    uses = 0
    for consumer, position, use in mapping.dfg.uses():
        uses += 1
        _require((consumer, position) in routes, f"no route to operand {position} of node {consumer}")
        route = routes[consumer, position]
        _check_route(mapping, mapping.dfg.nodes[consumer], use, route)
        if mapping.fabric.planes:
            _check_planes(mapping, use, (use.node, use.output) in bits, route)
    _require(uses == len(routes), "a route without a use")


def _check_route(mapping: Mapping, consumer: Node, use: Use, route: Route) -> None:
    """From the result, along edges that exist, to the operand, each step in its cycle."""
    fabric = mapping.fabric
    what = f"route to operand {route.position} of node {consumer.id}"
    producer = mapping.dfg.nodes[use.node]
    unit = _unit(mapping, producer.id)
    done = _start(mapping, producer.id) + unit.latency[producer.op] - 1
    _require(len(route.steps) >= 2, f"{what} is empty")
    first = (unit.results[producer.op][use.output], done)
    _require(route.steps[0] == first, f"{what} starts at {route.steps[0]}, not at {first}")
    operand = _unit(mapping, consumer.id).operands[route.position]
    last = (operand, _start(mapping, consumer.id) + use.distance * mapping.interval)
    _require(route.steps[-1] == last, f"{what} ends at {route.steps[-1]}, not at {last}")
    for (a, t), (b, next_t) in zip(route.steps, route.steps[1:], strict=False):
        resource = fabric.resources[b]
        _require(a in resource.sources, f"{what}: {resource.name} cannot select {fabric.resources[a].name}")
        delay = 1 if resource.kind is Kind.REGISTER else 0
        _require(next_t - t == delay, f"{what}: {next_t - t} cycles into {resource.name}")
    for r, _ in route.steps[1:-1]:
        kind = fabric.resources[r].kind
        _require(kind in (Kind.REGISTER, Kind.WIRE), f"{what} passes through {fabric.resources[r].name}")


def _check_planes(mapping: Mapping, use: Use, one_bit: bool, route: Route) -> None:
    """Words stay out of the plane of bits and, where the planes are apart, bits out of that of words."""
    what = f"node {use.node} is {'one bit' if one_bit else 'a word'}"
    for step, _ in route.steps:
        place = mapping.fabric.resources[step].name
        _require(mapping.fabric.allows(step, one_bit), f"{what}, but in {place}")


def _check_sharing(mapping: Mapping) -> None:
    """In each slot a resource carries one word, from one source."""
    held: dict[tuple[int, int], tuple[int, int, int]] = {}
    selected: dict[tuple[int, int], int] = {}
    interval = mapping.interval

    def claim(resource: int, cycle: int, node: int, output: int) -> None:
        word = (node, output, cycle)
        other = held.setdefault((resource, cycle % interval), word)
        name = mapping.fabric.resources[resource].name
        _require(other == word, f"{name} in slot {cycle % interval}: nodes {other[0]} and {node}")

    used = {(use.node, use.output) for _, _, use in mapping.dfg.uses()}
    resources = mapping.fabric.resources
    for node in mapping.dfg.nodes:
        unit = _unit(mapping, node.id)
        done = _start(mapping, node.id) + unit.latency[node.op] - 1
        for output, result in enumerate(unit.results[node.op]):
            # A register takes a result also if nobody wants it.
            if (node.id, output) in used or resources[result].kind is Kind.REGISTER:
                claim(result, done, node.id, output)
    for route in mapping.routes:
        use = mapping.dfg.nodes[route.consumer].operands[route.position]
        assert isinstance(use, Use)
        for (source, _), (resource, cycle) in zip(route.steps, route.steps[1:], strict=False):
            if mapping.fabric.resources[resource].kind is Kind.OPERAND:
                continue
            claim(resource, cycle, use.node, use.output)
            one = selected.setdefault((resource, cycle % interval), source)
            name = mapping.fabric.resources[resource].name
            _require(one == source, f"{name} selects two sources in slot {cycle % interval}")


def _check_settings(mapping: Mapping) -> None:
    """What is configured once has one setting in all slots."""
    setting: dict[int, int] = {}
    resources = mapping.fabric.resources
    for route in mapping.routes:
        for step, _ in route.steps:
            static = resources[step].static
            if static is not None:
                one = setting.setdefault(static, step)
                name = f"{resources[one].name} and {resources[step].name}"
                _require(one == step, f"{name} are settings of what is configured once")
