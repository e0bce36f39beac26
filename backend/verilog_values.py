"""Where the words of a design are, and how operands read them.

A value that wanders over the fabric's registers is kept in one place of its own. It is written once per
interval, as its next value would overwrite it, and read from there by everyone. Where each operand's word
comes from, and its age, is read out of the configuration, not out of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from .configuration import Configuration, Issue, Selected, Source
from .dfg import Const, LiveIn
from .predicates import predicates
from .verilog_names import Names

Value = tuple[int, int]
"""A node and which of its outputs."""

Write = tuple[int, str, str]
"""A slot, a register, and its new word."""


def bit_range(width: int) -> str:
    """The range of a declaration of `width` bits."""
    return f"[{width - 1}:0] " if width > 1 else ""


def part(low: int, bits: int) -> str:
    """A part-select of `bits` bits from bit `low` on."""
    return f"[{low}]" if bits == 1 else f"[{low + bits - 1}:{low}]"


def literal(value: int, bits: int) -> str:
    """A constant of `bits` bits."""
    return f"{bits}'d{value & ((1 << bits) - 1)}"


def has_bit(word: str, bit: int, bits: int) -> str:
    """Whether a bit of a word of `bits` bits is 1, as a condition."""
    return f"(({word} & {literal(1 << bit, bits)}) != {literal(0, bits)})"


_PACKED = 6
"""From this many old copies on, a value's copies are one shift register: cheaper to simulate than many."""


@dataclass(frozen=True)
class _Kept:
    """One value's registers.

    `early` hold it while a long operation is under way, `name` from then on for an interval, and `older` for
    as many intervals after that; `packed` is one register that stands for all of `older`. `now` is a wire.
    Where all that read a value of an earlier iteration begin with the same word, and the value has only one
    register, that is this word, `first`, until iteration 0 writes it: so nobody has to choose.
    """

    name: str
    width: int
    early: tuple[str, ...]
    copies: int
    older: tuple[str, ...]
    packed: str | None
    now: str | None
    first: Const | LiveIn | None

    def declarations(self) -> list[str]:
        """Verilog declarations of the registers."""
        names = [*self.early, *([self.name] if self.copies else []), *self.older]
        lines = [f"reg {bit_range(self.width)}{name};" for name in names]
        if self.packed:
            lines.append(f"reg [{self.width * (self.copies - 1) - 1}:0] {self.packed};")
        return lines

    def read(self, copy: int, bits: int) -> str:
        """The low `bits` bits of the value as it was `copy` intervals ago."""
        if copy and self.packed:
            return self.packed + part(self.width * (copy - 1), bits)
        name = self.older[copy - 1] if copy else self.name
        return name if bits == self.width else name + part(0, bits)

    def shifts(self, expression: str) -> list[Write]:
        """What to write: cycles after the issue, the register, its new value."""
        words = [expression, *self.early, *([self.name] if self.copies else []), *self.older]
        last = len(self.early)
        pairs = zip(words, words[1:], strict=False)
        found = [(min(position, last), here, before) for position, (before, here) in enumerate(pairs)]
        if self.packed:
            rest = f"{self.packed}[{self.width * (self.copies - 2) - 1}:0]"
            found.append((last, self.packed, f"{{{rest}, {self.name}}}"))
        return found


class Values:
    """A register for each value, named after its variable."""

    def __init__(self, configuration: Configuration, names: Names, live_ins: tuple[str, ...]) -> None:
        self._configuration = configuration
        self._names = names
        self._live_ins = live_ins
        self._width = configuration.mapping.fabric.width
        self._stages: dict[int, str] = {}
        self._bits: dict[str, str] = {}
        interval, nodes = configuration.interval, configuration.dfg.nodes
        self._start = configuration.mapping.placement.schedule.start
        slots = range(interval)
        latency = {issue.node: issue.latency for slot in slots for issue in configuration.slot(slot)}
        self._kept: dict[Value, _Kept] = {}
        narrow, ages = predicates(configuration.dfg), self._ages()
        initial = self._initial()
        for value in sorted(ages, key=lambda value: (nodes[value[0]].variable is None, value)):
            node = nodes[value[0]]
            name = names.new(node.variable or f"{node.op}_{node.id}")
            now = names.new(f"{name}_now") if 0 in ages[value] else None
            base = max(0, latency[node.id] - 2)
            copies = -((base - max(ages[value])) // interval)
            early = tuple(names.new(f"{name}_p{k}") for k in range(base))
            packed = names.new(f"{name}_old") if copies > _PACKED else None
            older = () if packed else tuple(names.new(f"{name}_{k}") for k in range(1, copies))
            width = 1 if value in narrow else self._width
            alone = not (narrow & {value} or early or now) and copies == 1
            first = initial[value] if alone else None
            self._kept[value] = _Kept(name, width, early, copies, older, packed, now, first)

    def declarations(self) -> list[str]:
        """All registers."""
        return [line for kept in self._kept.values() for line in kept.declarations()]

    def immediate(self) -> list[tuple[Value, str]]:
        """The values that are read in the very cycle that computes them, with the names of their wires."""
        return [(value, kept.now) for value, kept in self._kept.items() if kept.now is not None]

    def firsts(self) -> list[str]:
        """Statements that give registers the words that they begin with."""
        return [
            f"{kept.name} <= {self._outside(kept.first, kept.width)};"
            for kept in self._kept.values()
            if kept.first is not None
        ]

    def keeps(self, issue: Issue, slot: int) -> str | None:
        """The register of an operation whose first operand is what it gave last; None if it is not so."""
        kept, source = self._kept[issue.node, 0], issue.operands[0]
        if kept.first is None or not isinstance(source, Selected):
            return None
        return kept.name if self._age(source, slot)[0] == (issue.node, 0) else None

    def is_read(self, node: int, output: int) -> bool:
        """Whether anything reads this value."""
        return (node, output) in self._kept

    def width(self, node: int, output: int) -> int:
        """The bits that are kept of a value; the others are 0."""
        return self._kept[node, output].width

    def writes(self, issue: Issue, output: int, expression: str) -> list[Write]:
        """What follows from an operation that computes `expression`."""
        kept = self._kept[issue.node, output]
        start, interval = self._start[issue.node], self._configuration.interval
        if kept.first is not None:
            keeps = f"if ({self.valid(issue.stage)}) " if issue.stage else ""
            return [(start % interval, f"{keeps}{kept.name}", expression)]
        shifts = kept.shifts(kept.now or expression)
        return [((start + after) % interval, register, word) for after, register, word in shifts]

    def _read(self, source: Selected, slot: int, bits: int) -> str:
        """The low `bits` bits of what is selected in `slot`."""
        value, age = self._age(source, slot)
        kept = self._kept[value]
        if age == 0:
            assert kept.now is not None
            return self.low(kept.now, bits, kept.width)
        copy = (age - 1 - len(kept.early)) // self._configuration.interval
        return kept.read(copy, bits)

    def _kept_bits(self, source: Selected, slot: int) -> int:
        (node, output), _ = self._age(source, slot)
        return self.width(node, output)

    def _age(self, source: Selected, slot: int) -> tuple[Value, int]:
        """The value that is read and the cycles since its operation was issued."""
        issue, output, age = self._configuration.producer(source.resource, slot)
        return (issue.node, output), age

    def _ages(self) -> dict[Value, set[int]]:
        """For each value that an operand reads, its ages then."""
        found: dict[Value, set[int]] = {}
        for slot in range(self._configuration.interval):
            for issue in self._configuration.slot(slot):
                for source in issue.operands:
                    if isinstance(source, Selected):
                        value, age = self._age(source, slot)
                        found.setdefault(value, set()).add(age)
        return found

    def _initial(self) -> dict[Value, Const | LiveIn | None]:
        """What stands for each value before iteration 0; None if nothing, or not always the same."""
        found: dict[Value, set[Const | LiveIn]] = {}
        for slot in range(self._configuration.interval):
            for issue in self._configuration.slot(slot):
                for source in issue.operands:
                    if isinstance(source, Selected):
                        words = found.setdefault(self._age(source, slot)[0], set())
                        words |= {source.initial} if source.distance else set()
        return {value: next(iter(words)) if len(words) == 1 else None for value, words in found.items()}

    def text(self, source: Source | Const | LiveIn, slot: int, stage: int, bits: int | None = None) -> str:
        """The low `bits` bits (all, if None) of an operand read in `slot` by an operation in `stage`."""
        bits = bits or self._width
        match source:
            case Const() | LiveIn():
                return self._outside(source, bits)
            case Selected(_, distance, initial):
                if (kept := self._kept_bits(source, slot)) < bits:
                    return f"{{{bits - kept}'d0, {self.text(source, slot, stage, kept)}}}"
                word = self._read(source, slot, bits)
                if distance == 0 or self._kept[self._age(source, slot)[0]].first is not None:
                    return word
                return f"({self.valid(stage + distance)} ? {word} : {self.text(initial, slot, stage, bits)})"

    def _outside(self, source: Const | LiveIn, bits: int) -> str:
        """The low `bits` bits of what no operation computes."""
        if isinstance(source, Const):
            return literal(source.value, bits)
        return self.low(self._live_ins[source.index], bits)

    def low(self, name: str, bits: int, width: int | None = None) -> str:
        """The low `bits` bits of a register of `width` bits, or of a word."""
        return name if bits == (width or self._width) else name + part(0, bits)

    def valid(self, stage: int) -> str:
        """Whether iteration 0 has reached `stage`."""
        if stage not in self._stages:
            self._stages[stage] = self._names.new(f"valid_{stage}")
        return self._stages[stage]

    @property
    def stages(self) -> int:
        """How many stages' `valid` bits are asked for."""
        return max(self._stages, default=0) + 1

    def bit(self, name: str, expression: str) -> str:
        """A wire of one bit for what is made of single bits.

        Most of these change rarely, and a simulator computes a wire only then; each operand that a process
        reads costs it more than what is done with it.
        """
        if expression.isidentifier() or expression[0].isdigit():
            return expression
        if expression not in self._bits:
            self._bits[expression] = self._names.new(name)
        return self._bits[expression]

    def bits(self) -> tuple[list[str], list[str]]:
        """The declarations of all such wires, and what they are."""
        wires = {f"valid[{stage}]": name for stage, name in sorted(self._stages.items())} | self._bits
        return (
            [f"wire {name};" for name in wires.values()],
            [f"assign {name} = {expression};" for expression, name in wires.items()],
        )

    def is_quiet(self, source: Source, slot: int) -> bool:
        """Whether an operand has one bit only, or does not change while the kernel runs."""
        return not isinstance(source, Selected) or self._kept_bits(source, slot) == 1

    def holds(self, source: Source, slot: int, stage: int) -> str:
        """Whether a guard is not 0 in an iteration that exists, as a condition."""
        truth = self.truth(source, slot, stage)
        if truth == "1'b0":
            return truth
        return self.valid(stage) if truth is None else f"{self.valid(stage)} && {truth}"

    def has_bit(self, bit: int, source: Source, slot: int, stage: int) -> str:
        """Whether a bit of an operand is 1, as a condition."""
        return has_bit(self.text(source, slot, stage), bit, self._width)

    def truth(self, source: Source, slot: int, stage: int) -> str | None:
        """Whether an operand is not 0, as a condition; None if it always is."""
        if isinstance(source, Const):
            return None if source.value else "1'b0"
        if isinstance(source, Selected) and self._kept_bits(source, slot) == 1:
            return self.text(source, slot, stage, 1)
        return f"({self.text(source, slot, stage)} != {literal(0, self._width)})"
