"""Where the words of a design are, and how operands read them.

`verilog_folded` has the registers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from .configuration import Configuration, Issue, Selected, Source
from .dfg import Const, LiveIn

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


class Values(ABC):
    """Registers for all values, and the text of every operand."""

    def __init__(self, configuration: Configuration, live_ins: tuple[str, ...]) -> None:
        self._configuration = configuration
        self._live_ins = live_ins
        self._width = configuration.mapping.fabric.width
        self.stages = 1
        """How many stages' `valid` bits are asked for."""

    @abstractmethod
    def declarations(self) -> list[str]:
        """All registers."""

    @abstractmethod
    def immediate(self) -> list[tuple[Value, str]]:
        """The values that are read in the very cycle that computes them, with the names of their wires."""

    @abstractmethod
    def is_read(self, node: int, output: int) -> bool:
        """Whether anything reads this value."""

    @abstractmethod
    def writes(self, issue: Issue, output: int, expression: str) -> list[Write]:
        """What follows from an operation that computes `expression`."""

    def width(self, node: int, output: int) -> int:
        """The bits that are kept of a value; the others are 0."""
        return self._width

    def moves(self) -> list[Write]:
        """What is written besides."""
        return []

    @abstractmethod
    def _read(self, source: Selected, slot: int, bits: int) -> str:
        """The low `bits` bits of what is selected in `slot`."""

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

    def text(self, source: Source | Const | LiveIn, slot: int, stage: int, bits: int | None = None) -> str:
        """The low `bits` bits (all, if None) of an operand read in `slot` by an operation in `stage`."""
        bits = bits or self._width
        match source:
            case Const(value):
                return literal(value, bits)
            case LiveIn(index):
                return self.low(self._live_ins[index], bits)
            case Selected(_, distance, initial):
                if (kept := self._kept_bits(source, slot)) < bits:
                    return f"{{{bits - kept}'d0, {self.text(source, slot, stage, kept)}}}"
                word = self._read(source, slot, bits)
                if distance == 0:
                    return word
                return f"({self.valid(stage + distance)} ? {word} : {self.text(initial, slot, stage, bits)})"

    def low(self, name: str, bits: int, width: int | None = None) -> str:
        """The low `bits` bits of a register of `width` bits, or of a word."""
        return name if bits == (width or self._width) else name + part(0, bits)

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
        if isinstance(source, Selected) and self._kept_bits(source, slot) == 1:
            return self.text(source, slot, stage, 1)
        return f"({self.text(source, slot, stage)} != {literal(0, self._width)})"
