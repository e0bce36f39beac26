"""The fabric's own form: its registers and pipelines, by their names, each selecting slot by slot.

It does what the accelerator does, register for register: for looking at, and to hold the folded form against.
"""

from __future__ import annotations

from arch.fabric import Kind

from .configuration import Configuration, Issue, Selected
from .verilog_names import Names
from .verilog_values import Value, Values, Write


class FabricValues(Values):
    """A register for each of the fabric's that is used."""

    def __init__(self, configuration: Configuration, names: Names, live_ins: tuple[str, ...]) -> None:
        super().__init__(configuration, live_ins)
        self._fabric = configuration.mapping.fabric
        self._read_values = self._ages()
        nodes = configuration.dfg.nodes
        self._names = {
            resource.id: names.new(resource.name)
            for resource in self._fabric.resources
            if resource.kind is Kind.REGISTER and set(configuration.selects[resource.id]) != {None}
        }
        self._now = {
            value: names.new(f"{nodes[value[0]].op}_{value[0]}_now")
            for value, ages in sorted(self._read_values.items())
            if 0 in ages
        }
        self._pipeline: dict[tuple[int, int], str] = {}
        for slot in range(configuration.interval):
            for issue in configuration.slot(slot):
                for output, result in enumerate(self._results(issue)):
                    if self.is_read(issue.node, output):
                        self._name_pipeline(result, issue.latency - 1, names)

    def _name_pipeline(self, result: int, length: int, names: Names) -> None:
        if length and self._fabric.resources[result].kind is Kind.REGISTER:
            # The last stage is the register that the operation ends in.
            if result not in self._names:
                self._names[result] = names.new(self._fabric.resources[result].name)
            self._pipeline[result, 0] = self._names[result]
        for left in range(length):
            if (result, left) not in self._pipeline:
                self._pipeline[result, left] = names.new(f"{self._fabric.resources[result].name}_{left}")

    def _results(self, issue: Issue) -> tuple[int, ...]:
        unit = self._configuration.mapping.placement.unit[issue.node]
        return self._fabric.units[unit].results[issue.op]

    def declarations(self) -> list[str]:
        names = dict.fromkeys((*self._names.values(), *self._pipeline.values()))
        return [f"reg [{self._width - 1}:0] {name};" for name in names]

    def immediate(self) -> list[tuple[Value, str]]:
        return list(self._now.items())

    def is_read(self, node: int, output: int) -> bool:
        return (node, output) in self._read_values

    def writes(self, issue: Issue, output: int, expression: str) -> list[Write]:
        """The unit's pipeline, `left` counting the cycles to the result, and the registers that take that."""
        interval = self._configuration.interval
        start = self._configuration.mapping.placement.schedule.start[issue.node]
        result = self._results(issue)[output]
        word = self._now.get((issue.node, output), expression)
        found = []
        for left in reversed(range(issue.latency - 1)):
            found.append(((start + issue.latency - 2 - left) % interval, self._pipeline[result, left], word))
            word = self._pipeline[result, left]
        slot = (start + issue.latency - 1) % interval
        if result in self._names:
            return found  # `moves` takes it from there
        for register, name in self._names.items():
            source = self._configuration.selects[register][slot]
            if source is not None and self._through(source, slot) == result:
                found.append((slot, name, word))
        return found

    def _through(self, resource: int, slot: int) -> int:
        """The register or result whose word a resource carries in `slot`: itself, unless it is a wire."""
        while self._fabric.resources[resource].kind is Kind.WIRE:
            source = self._configuration.selects[resource][slot]
            assert source is not None
            resource = source
        return resource

    def moves(self) -> list[Write]:
        found = []
        for register, name in self._names.items():
            for slot, source in enumerate(self._configuration.selects[register]):
                if source is None:
                    continue
                before = self._through(source, slot)
                if before != register and before in self._names:
                    found.append((slot, name, self._names[before]))
        return found

    def _read(self, source: Selected, slot: int, bits: int) -> str:
        resource = self._through(source.resource, slot)
        if resource in self._names:
            return self.low(self._names[resource], bits)
        value, age = self._age(source, slot)
        return self.low(self._now[value] if age == 0 else self._pipeline[resource, 0], bits)
