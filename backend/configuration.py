"""Mapping -> configuration: what every unit does and every multiplexer selects, slot by slot.

This is what a loadable accelerator would be loaded with. It follows from the mapping and the fabric alone,
and everything that is emitted follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from arch.fabric import Kind

from .dfg import DFG, Const, LiveIn, Use
from .mapping import Mapping


@dataclass(frozen=True, slots=True)
class Selected:
    """An operand read from `resource`, or `initial` in the first `distance` iterations."""

    resource: int
    distance: int
    initial: Const | LiveIn


Source = Selected | Const | LiveIn


@dataclass(frozen=True, slots=True)
class Issue:
    """What a unit starts in a slot: `node`, in iterations that are `stage` intervals old."""

    node: int
    op: str
    stage: int
    latency: int
    operands: tuple[Source, ...]


@dataclass(frozen=True)
class Configuration:
    """`issues[u][slot]` is what unit u starts; `selects[r][slot]` the resource that r selects.

    A register that selects itself holds; None means that the register or wire carries nothing.
    """

    mapping: Mapping
    issues: tuple[tuple[Issue | None, ...], ...]
    selects: tuple[tuple[int | None, ...], ...]

    @property
    def interval(self) -> int:
        return self.mapping.interval

    @property
    def dfg(self) -> DFG:
        return self.mapping.dfg

    def slot(self, slot: int) -> list[Issue]:
        """Everything that starts in `slot`, in the order of the graph's nodes."""
        found = [issue for unit in self.issues if (issue := unit[slot]) is not None]
        return sorted(found, key=lambda issue: issue.node)

    def origin(self, resource: int, slot: int) -> tuple[int, int]:
        """The RESULT whose word `resource` shows in `slot`, and how many cycles before it was there.

        It runs the multiplexers backwards, so it knows where words really come from.
        """
        resources = self.mapping.fabric.resources
        limit = self.interval * (len(resources) + 1)
        delay = 0
        here = resource
        while resources[here].kind is not Kind.RESULT and (here, (slot - delay) % self.interval) not in (
            self._arrivals
        ):
            name = resources[here].name
            if resources[here].kind is Kind.REGISTER:
                delay += 1
            source = self.selects[here][(slot - delay) % self.interval]
            assert source is not None, f"{name} is read in slot {slot} but carries nothing"
            here = source
            limit -= 1
            assert limit > 0, f"{name} is read in slot {slot} but nothing ever enters it"
        return here, delay

    @cached_property
    def _arrivals(self) -> dict[tuple[int, int], tuple[Issue, int]]:
        found: dict[tuple[int, int], tuple[Issue, int]] = {}
        for unit, issues in zip(self.mapping.fabric.units, self.issues, strict=True):
            for slot, issue in enumerate(issues):
                if issue is None:
                    continue
                arrival = (slot + issue.latency - 1) % self.interval
                for output, result in enumerate(unit.results[issue.op]):
                    found[result, arrival] = issue, output
        return found

    def producer(self, resource: int, slot: int) -> tuple[Issue, int, int]:
        """Whose word `resource` shows in `slot`: the operation, which output, and cycles since its issue."""
        result, delay = self.origin(resource, slot)
        arrival = self._arrivals.get((result, (slot - delay) % self.interval))
        assert arrival is not None, f"no operation brings {self.mapping.fabric.resources[result].name} a word"
        issue, output = arrival
        return issue, output, issue.latency - 1 + delay


def configure(mapping: Mapping) -> Configuration:
    """The configuration that carries out `mapping`; asserts that it does."""
    fabric, interval = mapping.fabric, mapping.interval
    selects: list[list[int | None]] = [[None] * interval for _ in fabric.resources]
    entry: dict[tuple[int, int], int] = {}
    for route in mapping.routes:
        for (before, _), (here, cycle) in zip(route.steps, route.steps[1:], strict=False):
            resource = fabric.resources[here]
            assert before in resource.sources, (
                f"no wire from {fabric.resources[before].name} to {resource.name}"
            )
            if resource.kind is Kind.OPERAND:
                entry[route.consumer, route.position] = before
                continue
            slot = (cycle - fabric.cost(here)) % interval
            if selects[here][slot] is None:  # else another branch brings the same word there: see _check
                selects[here][slot] = before
    issues: list[list[Issue | None]] = [[None] * interval for _ in fabric.units]
    placement = mapping.placement
    for node in mapping.dfg.nodes:
        unit = fabric.units[placement.unit[node.id]]
        stage, slot = divmod(placement.schedule.start[node.id], interval)
        operands: list[Source] = []
        for position, operand in enumerate(node.operands):
            match operand:
                case Use(_, distance, initial):
                    operands.append(Selected(entry[node.id, position], distance, initial))
                case _:
                    operands.append(operand)
        assert issues[unit.id][slot] is None, f"{unit.name} starts two operations in slot {slot}"
        issues[unit.id][slot] = Issue(node.id, node.op, stage, unit.latency[node.op], tuple(operands))
    configuration = Configuration(mapping, tuple(map(tuple, issues)), tuple(map(tuple, selects)))
    _check(configuration)
    return configuration


def _check(configuration: Configuration) -> None:
    """Assert that every operand gets the word that the graph says, in the cycle in which it should."""
    interval, start = configuration.interval, configuration.mapping.placement.schedule.start
    for slot in range(interval):
        for issue in configuration.slot(slot):
            operands = configuration.dfg.nodes[issue.node].operands
            for position, (use, source) in enumerate(zip(operands, issue.operands, strict=True)):
                if not (isinstance(use, Use) and isinstance(source, Selected)):
                    continue
                got, output, age = configuration.producer(source.resource, slot)
                wanted = start[issue.node] + use.distance * interval - start[use.node]
                assert (got.node, output, age) == (use.node, use.output, wanted), (
                    f"operand {position} of %{issue.node} should be %{use.node}.{use.output} issued {wanted}"
                    f" cycles before, but is %{got.node}.{output} issued {age} cycles before"
                )


def show_configuration(configuration: Configuration) -> str:
    """The configuration as text: per slot, what is selected and started."""
    fabric = configuration.mapping.fabric
    names = [resource.name for resource in fabric.resources]
    lines = [f"configuration of {configuration.dfg.name} on {fabric.name}, {configuration.interval} slots"]
    for slot in range(configuration.interval):
        lines.append(f"slot {slot}")
        for unit in fabric.units:
            if issue := configuration.issues[unit.id][slot]:
                text = ", ".join(_show_source(configuration, names, source) for source in issue.operands)
                lines.append(f"  {unit.name}: %{issue.node} {issue.op} {text} (stage {issue.stage})")
        for id, name in enumerate(names):
            if (source := configuration.selects[id][slot]) is not None:
                lines.append(f"  {name} <- {'hold' if source == id else names[source]}")
    return "\n".join(lines) + "\n"


def _show_source(configuration: Configuration, names: list[str], source: Source) -> str:
    match source:
        case Const(value):
            return str(value)
        case LiveIn(index):
            return configuration.dfg.live_ins[index]
        case Selected(resource, 0, _):
            return names[resource]
        case Selected(resource, distance, initial):
            return f"{names[resource]}@{distance}[{_show_source(configuration, names, initial)}]"
