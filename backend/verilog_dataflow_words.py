"""The words of a dataflow circuit: where an operator's results are kept, and how others read them.

An operator's firings are numbered, as iterations are. Each of its results has room for as many iterations as
may be wanted at once: those in which operators work at the same time, and before them as many as the farthest
use reaches back. What is read before there was a result, the initial value, is told by the number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arch.ops import OPS

from .dfg import DFG, Const, LiveIn, Operand, Use
from .predicates import Value, predicates
from .verilog_names import Names
from .verilog_values import bit_range, literal, part

ITERATION = "iteration"
"""The register with the number of the oldest iteration that is not complete."""


@dataclass(frozen=True)
class Count:
    """A count of firings modulo 2 ** `width`; if `sticky`, a bit more says that it has come round."""

    name: str
    width: int
    sticky: bool = False

    def low(self, bits: int) -> str:
        """The low bits of the count."""
        whole = bits == self.width and not self.sticky
        return self.name if whole else self.name + part(0, bits)

    def declaration(self) -> str:
        """Its declaration."""
        return f"reg {bit_range(self.width + self.sticky)}{self.name};"

    def next(self) -> str:
        """The count after the next firing."""
        if not self.sticky:
            return f"!{self.name}" if self.width == 1 else f"{self.name} + {literal(1, self.width)}"
        low, most, one = self.low(self.width), literal(-1, self.width), literal(1, self.width)
        return f"{{{self.name}[{self.width}] || {low} == {most}, {low} + {one}}}"


@dataclass(frozen=True)
class _Kept:
    """A result: `room` words of `width` bits."""

    name: str
    width: int
    room: int

    def declaration(self) -> str:
        array = f" [0:{self.room - 1}]" if self.room > 1 else ""
        return f"reg {bit_range(self.width)}{self.name}{array};"

    def place(self, at: Count) -> str:
        """The word of the iteration that a count names."""
        return self.name if self.room == 1 else f"{self.name}[{at.low((self.room - 1).bit_length())}]"


class Words:
    """The results of a graph's operators, of which those of `window` iterations may work at the same time."""

    def __init__(
        self,
        dfg: DFG,
        latency: Callable[[str], int],
        window: int,
        names: Names,
        live_ins: tuple[str, ...],
    ) -> None:
        self._dfg, self._live_ins, self.window = dfg, live_ins, window
        reach: dict[Value, int] = {}
        for _, _, use in dfg.uses():
            value = (use.node, use.output)
            reach[value] = max(reach.get(value, 0), use.distance)
        farthest = max([0, *reach.values()])
        self.bits = (window + max(farthest, window - 1)).bit_length()
        """The width in which the numbers of any two iterations that have to do with each other differ."""
        self._kept: dict[Value, _Kept] = {}
        bases: dict[int, str] = {}
        narrow = predicates(dfg)
        # What has a source variable gets its name.
        for node in sorted(
            dfg.nodes, key=lambda node: (node.variable is None or not OPS[node.op].outputs, node.id)
        ):
            bases[node.id] = names.new(node.variable or f"{node.op}_{node.id}")
            for output in range(OPS[node.op].outputs):
                value = (node.id, output)
                if value in reach:
                    name = names.new(f"{bases[node.id]}_worked") if output else bases[node.id]
                    room = 1 << (window + reach[value] - 1).bit_length()
                    self._kept[value] = _Kept(name, 1 if value in narrow else 32, room)
        self.base = [bases[node.id] for node in dfg.nodes]
        carried = {consumer for consumer, _, use in dfg.uses() if use.distance}
        self.oldest = Count(ITERATION, self.bits, window == 1 and bool(carried))
        self.count_bits = 1 if window == 1 else self.bits
        self.at = [
            Count(names.new(f"{bases[n.id]}_at"), self.count_bits, window > 1 and n.id in carried)
            for n in dfg.nodes
        ]
        self.cycles = [
            latency(n.op) if any((n.id, o) in reach for o in range(OPS[n.op].outputs)) else 1
            for n in dfg.nodes
        ]
        """From a firing until its results are there."""
        reads = {(c if window > 1 else -1, use.distance) for c, _, use in dfg.uses() if use.distance}
        reads |= {(o.after, o.distance) for o in dfg.orders if 0 < o.distance < window}
        self._before = {
            (reader, distance): Count(names.new(f"{self.position(reader).name}_before_{distance}"), self.bits)
            for reader, distance in sorted(reads)
        }
        self._way = {n: names.new(f"{bases[n]}_way") for n, cycles in enumerate(self.cycles) if cycles > 1}

    def counts(self) -> list[str]:
        """Declarations of the counts of firings, and of where these are while results are on their way."""
        lines = [count.declaration() for count in (self.oldest, *self.at)]
        for node, way in self._way.items():
            lines.append(f"reg {bit_range(self._way_bits(node))}{way};")
        for (reader, distance), count in self._before.items():
            new = f"{self.position(reader).low(self.bits)} - {literal(distance, self.bits)}"
            lines.append(f"wire {bit_range(self.bits)}{count.name} = {new};")
        return lines

    def declarations(self) -> list[str]:
        """Declarations of the results."""
        return [kept.declaration() for kept in self._kept.values()]

    def _way_bits(self, node: int) -> int:
        return self.count_bits * (self.cycles[node] - 1)

    def ways(self) -> list[tuple[str, str, str]]:
        """For each operator that takes several cycles: a register, its next value, whether that differs."""
        found = []
        for node, way in self._way.items():
            count, bits = self.at[node].low(self.count_bits), self._way_bits(node)
            rest = bits - self.count_bits
            following = f"{{{way}{part(0, rest)}, {count}}}" if rest else count
            still = f"{{{self.cycles[node] - 1}{{{count}}}}}" if rest else count
            found.append((way, following, f"{way} != {still}"))
        return found

    def fired(self, node: int, distance: int = 0) -> str:
        """How often an operator has fired, less a distance."""
        return (
            self._back(node, distance).low(self.count_bits)
            if distance
            else self.at[node].low(self.count_bits)
        )

    def _back(self, reader: int, distance: int) -> Count:
        """The number of the iteration that is `distance` before the one that an operator is in."""
        return self._before[reader if self.window > 1 else -1, distance]

    def given(self, node: int) -> str:
        """How often an operator's results have been there."""
        way = self._way.get(node)
        if way is None:
            return self.fired(node)
        bits, width = self._way_bits(node), self.count_bits
        return way if bits == width else way + part(bits - width, width)

    def position(self, node: int) -> Count:
        """The number of the iteration that an operator that can fire is in."""
        return self.oldest if self.window == 1 else self.at[node]

    def is_read(self, node: int, output: int) -> bool:
        """Whether anything reads this result."""
        return (node, output) in self._kept

    def width(self, node: int, output: int) -> int:
        """The bits that are kept of a result; the others are 0."""
        return self._kept[node, output].width

    def place(self, node: int, output: int) -> str:
        """Where an operator's firing puts its result."""
        return self._kept[node, output].place(self.position(node))

    def complete(self, node: int, output: int) -> str:
        """A result of the oldest iteration, when that is complete."""
        return self._kept[node, output].place(self.oldest)

    def text(self, reader: int, operand: Operand, bits: int = 32) -> str:
        """The low bits of an operand of the operator `reader`; a primary."""
        match operand:
            case Const(value):
                return literal(value, bits)
            case LiveIn(index):
                name = self._live_ins[index]
                return name if bits == 32 else name + part(0, bits)
            case Use(node, distance, initial, output):
                kept = self._kept[node, output]
                if kept.width < bits:
                    return f"{{{bits - kept.width}'d0, {self.text(reader, operand, kept.width)}}}"
                at = self.position(reader)
                word = kept.place(self._back(reader, distance) if distance else at)
                word = word if bits == kept.width else word + part(0, bits)
                if distance == 0:
                    return word
                begins = f"{at.name} < {literal(distance, at.width + at.sticky)}"
                return f"(({begins}) ? {self.text(reader, initial, bits)} : {word})"

    def truth(self, reader: int, operand: Operand) -> str | None:
        """Whether an operand is not 0, as a condition; None if it always is."""
        if isinstance(operand, Const):
            return None if operand.value else "1'b0"
        if isinstance(operand, Use) and self.width(operand.node, operand.output) == 1:
            return self.text(reader, operand, 1)
        return f"({self.text(reader, operand)} != 32'd0)"
