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


_PACKED = 6
"""From this many old copies on, a value's copies are one shift register: cheaper to simulate than many."""


@dataclass(frozen=True)
class _Kept:
    """One value's registers.

    `early` hold it while a long operation is under way, `name` from then on for an interval, and `older` for
    as many intervals after that; `packed` is one register that stands for all of `older`. `now` is a wire.
    """

    name: str
    early: tuple[str, ...]
    copies: int
    older: tuple[str, ...]
    packed: str | None
    now: str | None

    def declarations(self, width: int) -> list[str]:
        """Verilog declarations of the registers."""
        names = [*self.early, *([self.name] if self.copies else []), *self.older]
        lines = [f"reg [{width - 1}:0] {name};" for name in names]
        if self.packed:
            lines.append(f"reg [{width * (self.copies - 1) - 1}:0] {self.packed};")
        return lines

    def read(self, copy: int, bits: int, width: int) -> str:
        """The low `bits` bits of the value as it was `copy` intervals ago."""
        if copy and self.packed:
            low = width * (copy - 1)
            return f"{self.packed}[{low + bits - 1}:{low}]"
        return (self.older[copy - 1] if copy else self.name) + ("" if bits == width else f"[{bits - 1}:0]")

    def shifts(self, expression: str, width: int) -> list[tuple[int, str, str]]:
        """What to write: cycles after the issue, the register, its new value."""
        words = [expression, *self.early, *([self.name] if self.copies else []), *self.older]
        last = len(self.early)
        pairs = zip(words, words[1:], strict=False)
        found = [(min(position, last), here, before) for position, (before, here) in enumerate(pairs)]
        if self.packed:
            rest = f"{self.packed}[{width * (self.copies - 2) - 1}:0]"
            found.append((last, self.packed, f"{{{rest}, {self.name}}}"))
        return found


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
            early = tuple(names.new(f"{name}_p{k}") for k in range(base))
            packed = names.new(f"{name}_old") if count > _PACKED else None
            older = () if packed else tuple(names.new(f"{name}_{k}") for k in range(1, count))
            kept[value] = _Kept(name, early, count, older, packed, now)
        return kept

    def declarations(self) -> list[str]:
        """All registers."""
        return [line for kept in self._kept.values() for line in kept.declarations(self._width)]

    def immediate(self) -> list[tuple[Value, str]]:
        """The values that are read in the very cycle that computes them, with the names of their wires."""
        return [(value, kept.now) for value, kept in self._kept.items() if kept.now is not None]

    def is_read(self, node: int, output: int) -> bool:
        """Whether any operand reads this value."""
        return (node, output) in self._kept

    def writes(self, issue: Issue, output: int, expression: str) -> list[tuple[int, str, str]]:
        """(slot, register, what it gets) for every register of the value."""
        kept = self._kept[issue.node, output]
        start, interval = self._start[issue.node], self._configuration.interval
        shifts = kept.shifts(kept.now or expression, self._width)
        return [((start + after) % interval, register, word) for after, register, word in shifts]

    def text(self, source: Source | Const | LiveIn, slot: int, stage: int, bits: int | None = None) -> str:
        """The low `bits` bits (all, if None) of an operand read in `slot` by an operation in `stage`."""
        bits = bits or self._width
        match source:
            case Const(value):
                return literal(value, bits)
            case LiveIn(index):
                return self._live_ins[index] + ("" if bits == self._width else f"[{bits - 1}:0]")
            case Selected(_, distance, initial):
                word = self._read(source, slot, bits)
                if distance == 0:
                    return word
                return f"({self.valid(stage + distance)} ? {word} : {self.text(initial, slot, stage, bits)})"

    def _read(self, source: Selected, slot: int, bits: int) -> str:
        value, age = self._age(source, slot)
        kept = self._kept[value]
        if age == 0:
            assert kept.now is not None
            return kept.now + ("" if bits == self._width else f"[{bits - 1}:0]")
        copy = (age - 1 - len(kept.early)) // self._configuration.interval
        return kept.read(copy, bits, self._width)

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
