"""The words that a design keeps in registers, and how operands read them.

The specialised design folds the routes: a word that wanders over links and registers of the fabric is written
once per interval, as its next value would overwrite it, and read from there by everyone. Where each operand's
word comes from, and its age, is read out of the configuration, not out of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from .configuration import Configuration, Issue, Selected, Source
from .dfg import Const, LiveIn
from .verilog_names import Names

Value = tuple[int, int]
"""A node and which of its outputs."""


def literal(value: int, bits: int) -> str:
    """A constant of `bits` bits."""
    return f"{bits}'d{value & ((1 << bits) - 1)}"


@dataclass
class _Kept:
    """One value's registers: `early` while a long operation is under way, then `copies`, one per interval."""

    name: str
    early: list[str]
    copies: list[str]
    now: str | None = None


class Values:
    """Registers for all values, and the text of every operand."""

    def __init__(self, configuration: Configuration, names: Names, live_ins: tuple[str, ...]) -> None:
        self._configuration = configuration
        self._live_ins = live_ins
        self._width = configuration.mapping.fabric.width
        self._start = configuration.mapping.placement.schedule.start
        self.stages = 1
        """How many stages' `valid` bits are asked for."""
        self._latency: dict[int, int] = {}
        oldest: dict[Value, int] = {}
        immediate: set[Value] = set()
        for slot in range(configuration.interval):
            for issue in configuration.slot(slot):
                self._latency[issue.node] = issue.latency
                for source in issue.operands:
                    if isinstance(source, Selected):
                        value, age = self._age(source, slot)
                        oldest[value] = max(age, oldest.get(value, 0))
                        if age == 0:
                            immediate.add(value)
        self._kept = self._name(oldest, immediate, names)

    def _age(self, source: Selected, slot: int) -> tuple[Value, int]:
        """The value that is read and the cycles since its operation was issued."""
        issue, output, age = self._configuration.producer(source.resource, slot)
        return (issue.node, output), age

    def _name(self, oldest: dict[Value, int], immediate: set[Value], names: Names) -> dict[Value, _Kept]:
        nodes = self._configuration.dfg.nodes
        kept: dict[Value, _Kept] = {}
        for value in sorted(oldest, key=lambda value: (nodes[value[0]].variable is None, value)):
            node = nodes[value[0]]
            name = names.new(node.variable or f"{node.op}_{node.id}")
            now = names.new(f"{name}_now") if value in immediate else None
            base = max(0, self._latency[node.id] - 2)
            count = -((base - oldest[value]) // self._configuration.interval)
            early = [names.new(f"{name}_p{k}") for k in range(base)]
            older = [names.new(f"{name}_{k}") for k in range(1, count)]
            kept[value] = _Kept(name, early, [name, *older][:count], now)
        return kept

    def registers(self) -> list[str]:
        """The names of all registers."""
        return [name for kept in self._kept.values() for name in (*kept.early, *kept.copies)]

    def immediate(self) -> list[tuple[Value, str]]:
        """The values that are read in the very cycle that computes them, with the names of their wires."""
        return [(value, kept.now) for value, kept in self._kept.items() if kept.now is not None]

    def is_read(self, node: int, output: int) -> bool:
        """Whether any operand reads this value."""
        return (node, output) in self._kept

    def writes(self, issue: Issue, output: int, expression: str) -> list[tuple[int, str, str]]:
        """(slot, register, what it gets) for every register of the value."""
        kept = self._kept[issue.node, output]
        interval, start = self._configuration.interval, self._start[issue.node]
        words = [kept.now or expression, *kept.early, *kept.copies]
        found = []
        for position, (before, here) in enumerate(zip(words, words[1:], strict=False)):
            cycle = start + min(position, len(kept.early))
            found.append((cycle % interval, here, before))
        return found

    def text(self, source: Source | Const | LiveIn, slot: int, stage: int, bits: int | None = None) -> str:
        """The low `bits` bits (all, if None) of an operand read in `slot` by an operation in `stage`."""
        part = "" if bits is None or bits == self._width else f"[{bits - 1}:0]"
        match source:
            case Const(value):
                return literal(value, bits or self._width)
            case LiveIn(index):
                return self._live_ins[index] + part
            case Selected(_, distance, initial):
                word = self._read(source, slot) + part
                if distance == 0:
                    return word
                return f"({self.valid(stage + distance)} ? {word} : {self.text(initial, slot, stage, bits)})"

    def _read(self, source: Selected, slot: int) -> str:
        value, age = self._age(source, slot)
        kept = self._kept[value]
        if age == 0:
            assert kept.now is not None
            return kept.now
        return kept.copies[(age - 1 - len(kept.early)) // self._configuration.interval]

    def valid(self, stage: int) -> str:
        """Whether iteration 0 has reached `stage`."""
        self.stages = max(self.stages, stage + 1)
        return f"valid[{stage}]"

    def holds(self, source: Source, slot: int, stage: int) -> str:
        """Whether a guard is not 0 in an iteration that exists, as a condition."""
        truth = self.truth(source, slot, stage)
        if truth == "1'b0":
            return truth
        return self.valid(stage) if truth is None else f"{self.valid(stage)} && {truth}"

    def truth(self, source: Source, slot: int, stage: int) -> str | None:
        """Whether an operand is not 0, as a condition; None if it always is."""
        if isinstance(source, Const):
            return None if source.value else "1'b0"
        return f"({self.text(source, slot, stage)} != {literal(0, self._width)})"
