"""Runs a mapping cycle by cycle on the fabric's registers and wires; the graph's interpreter must do as much.

Nothing here looks at routes or at the graph's edges: words come from where the configuration's multiplexers
get them.
"""

from __future__ import annotations

from collections.abc import Mapping as Map
from collections.abc import Sequence
from contextlib import suppress

from arch.fabric import Kind

from .configuration import Configuration, Issue, Selected, Source, configure
from .dfg import Const, LiveIn
from .mapping import Mapping
from .run_dfg import Machine

Values = list[list[tuple[int, ...]]]
"""Of each node, the outputs in each iteration."""


class WrongRun(AssertionError):
    """A mapping that does something else than its graph."""


def run_graph(machine: Machine, iterations: int) -> Values:
    """What a graph computes in its first iterations."""
    found: Values = [[] for _ in machine.dfg.nodes]
    for iteration in range(iterations):
        machine.iterate(iteration)
        for n, values in enumerate(found):
            values.append(machine.past[n][iteration % machine.depth])
    return found


def compare(
    mapping: Mapping,
    iterations: int,
    live_ins: Sequence[int] = (),
    inputs: Map[int, Sequence[int]] | None = None,
    memories: Map[int, Sequence[int]] | None = None,
) -> None:
    """Run a graph and its mapping; WrongRun names the first value that differs."""
    dfg = mapping.dfg
    wanted, other = (Machine(dfg, live_ins, inputs or {}, memories or {}) for _ in range(2))
    right = run_graph(wanted, iterations)
    run = _Run(configure(mapping), other, iterations)
    found = run.values()
    for iteration in range(iterations):
        for n in range(len(dfg.nodes)):
            if found[n][iteration] != right[n][iteration]:
                raise WrongRun(
                    f"node {n} of iteration {iteration} is {found[n][iteration]}, not {right[n][iteration]}"
                )
    for what in ("outputs", "live_outs", "memories", "closed"):
        if getattr(wanted, what) != getattr(other, what):
            raise WrongRun(f"{what} differ: {getattr(other, what)}, not {getattr(wanted, what)}")


class _Run:
    """The state of a fabric: what its registers show now, and what results will be there when."""

    def __init__(self, configuration: Configuration, machine: Machine, iterations: int) -> None:
        self.configuration, self.machine, self.iterations = configuration, machine, iterations
        self.fabric = configuration.mapping.fabric
        self.registers: dict[int, int] = {}
        self.coming: dict[tuple[int, int], int | None] = {}
        self.cycle = 0
        self.begun: set[int] = set()
        self.found: Values = [[()] * iterations for _ in machine.dfg.nodes]

    def values(self) -> Values:
        """All values of the iterations that are run."""
        interval = self.configuration.interval
        slots = [sorted(self.configuration.slot(slot), key=_effect_last) for slot in range(interval)]
        for cycle in range(self.configuration.mapping.length + self.iterations * interval):
            self.cycle = cycle
            self.begun.clear()
            for issue in slots[cycle % interval]:
                self._issue(issue)
            self._clock()
        return self.found

    def _issue(self, issue: Issue) -> None:
        """Start an operation, once in a cycle, if its iteration is one of those that are run."""
        iteration = self.cycle // self.configuration.interval - issue.stage
        if issue.node in self.begun or not 0 <= iteration < self.iterations:
            return
        self.begun.add(issue.node)
        node = self.machine.dfg.nodes[issue.node]
        unit = self.fabric.units[self.configuration.mapping.placement.unit[issue.node]]
        words = [self._operand(source, iteration) for source in issue.operands]
        operands = [self._cut(r, word) for r, word in zip(unit.operands, words, strict=False)]
        values = self.machine.node(node, operands)
        self.found[issue.node][iteration] = values
        for output, result in enumerate(unit.results[issue.op]):
            there = self.cycle + issue.latency - 1
            self.coming[result, there] = self._cut(result, values[output]) if values else None

    def _cut(self, resource: int, word: int) -> int:
        """What a resource can carry of a word."""
        return word & 1 if self.fabric.resources[resource].narrow else word

    def _operand(self, source: Source, iteration: int) -> int:
        match source:
            case Const(value):
                return value
            case LiveIn(index):
                return self.machine.live_ins[index]
            case Selected(resource, distance, initial):
                return self._operand(initial, iteration) if iteration < distance else self._word(resource)

    def _word(self, resource: int) -> int:
        """What a resource shows in this cycle."""
        name = self.fabric.resources[resource].name
        here = resource
        slot = self.cycle % self.configuration.interval
        cut = False
        while (kind := self.fabric.resources[here].kind) is Kind.WIRE:
            cut |= self.fabric.resources[here].narrow
            source = self.configuration.selects[here][slot]
            if source is None:
                raise WrongRun(f"{name} is read in cycle {self.cycle}, but carries nothing")
            here = source
        if kind is Kind.RESULT and (here, self.cycle) not in self.coming:
            for issue in self.configuration.slot(slot):  # of those that end in the cycle of their issue
                self._issue(issue)
        found = self.coming.get((here, self.cycle), self.registers.get(here))
        if found is None:
            raise WrongRun(f"{name} is read in cycle {self.cycle}, but nothing has come there")
        return found & 1 if cut else found

    def _clock(self) -> None:
        """End the cycle: registers take what they select, unless an operation ends in them."""
        slot, fresh = self.cycle % self.configuration.interval, {}
        for resource in self.fabric.resources:
            if resource.kind is Kind.REGISTER:
                source = self.configuration.selects[resource.id][slot]
                if source is not None:
                    with suppress(WrongRun):  # nothing is there yet: who reads the register will see
                        fresh[resource.id] = self._cut(resource.id, self._word(source))
        self.coming = {key: value for key, value in self.coming.items() if key[1] > self.cycle}
        for (resource_id, when), value in self.coming.items():
            if when == self.cycle + 1 and self.fabric.resources[resource_id].kind is Kind.REGISTER:
                fresh.pop(resource_id, None)
                if value is not None:
                    fresh[resource_id] = value
        self.registers = fresh


def _effect_last(issue: Issue) -> tuple[bool, int]:
    """Memories are read before they are written."""
    return issue.op == "store", issue.node
