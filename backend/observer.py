"""Verilog beside a design's own that counts what a shadow graph wants counted, iteration by iteration.

When an iteration is over, all of its values are there, the shadow's nodes are evaluated in order, with
registers of their own for the values of iterations before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from arch.ops import OPS, verilog_expression

from .dfg import DFG, Const, LiveIn, Node, Operand, Use
from .shadow import Shadow
from .verilog_names import Names
from .verilog_values import bit_range, literal

Value = tuple[int, int]
"""A node and which of its outputs."""


@dataclass(frozen=True)
class Tap:
    """A value of the iteration that is over: its width, and its text then."""

    width: int
    text: str


Array = tuple[str, int]
"""An array's name, and the bits of its addresses."""


class Observer:
    """Names and lines of the counters. `turn` changes whenever an iteration has been counted.

    If the shadow knows of a last iteration, a count more has iterations from there on: it is 1 at the end.
    """

    def __init__(
        self, dfg: DFG, shadow: Shadow, live_ins: tuple[str, ...], arrays: Sequence[Array], names: Names
    ) -> None:
        self._shadow, self._live_ins, self._first = shadow, live_ins, len(dfg.nodes)
        self._arrays = arrays
        self._uses = list(_uses(shadow))
        self._far = max([0, *(use.distance for use in self._uses)])
        self._reach: dict[Value, int] = {}
        for use in self._uses:
            value = (use.node, use.output)
            self._reach[value] = max(self._reach.get(value, 0), use.distance)
        self.taps = sorted(value for value in self._reach if value[0] < self._first)
        """The values of the graph that are needed."""
        self._names = {value: names.new(f"seen_{value[0]}_{value[1]}") for value in self._reach}
        self._before = {
            (value, d): names.new(f"{self._names[value]}_{d}")
            for value, reach in self._reach.items()
            for d in range(1, reach + 1)
        }
        self._loops = tuple(names.new(f"count_{k}") for k in range(len(shadow.wanted)))
        self.turn, self._age = names.new("turn"), names.new("age")
        self._beyond = names.new("beyond") if shadow.stop is not None else ""
        self.counts = (*self._loops, self._beyond) if self._beyond else self._loops

    def lines(self, over: str, taps: Callable[[Value], Tap]) -> list[str]:
        """Declarations and the process, in which `over` says that an iteration is."""
        widths = {value: taps(value).width for value in self.taps}
        names = [*self._names.items(), *((value, name) for (value, _), name in self._before.items())]
        age = f"[{max(1, self._far.bit_length()) - 1}:0] "
        return [
            "// What a profile counts.",
            "// verilator lint_off BLKSEQ",
            "// verilator lint_off UNUSED",
            *(f"reg {bit_range(widths.get(value, 32))}{name};" for value, name in names),
            *(f"reg [31:0] {name};" for name in self.counts),
            f"reg {self.turn}; reg {age}{self._age};",
            "initial begin",
            *(f"    {name} = 0;" for name in (*self.counts, self.turn)),
            "end",
            "always @(posedge clk)",
            "    if (start) begin",
            *(f"        {name} = 0;" for name in (*self.counts, self._age)),
            f"    end else if ({over}) begin",
            *(f"        {line}" for line in self._evaluation(taps, widths)),
            "    end",
            "// verilator lint_on UNUSED",
            "// verilator lint_on BLKSEQ",
        ]

    def _evaluation(self, taps: Callable[[Value], Tap], widths: dict[Value, int]) -> Iterator[str]:
        for value in self.taps:
            yield f"{self._names[value]} = {taps(value).text};"
        for node in self._ordered():
            operands = [self._text(operand, widths) for operand in node.operands]
            yield f"{self._names[node.id, 0]} = {self._value(node, operands)};"
        for name, wanted in zip(self._loops, self._shadow.wanted, strict=True):
            for operand in wanted:
                yield f"if ({self._text(operand, widths)} != 32'd0) {name} = {name} + 32'd1;"
        if self._shadow.stop is not None:
            known = f"{self._beyond} != 32'd0 || {self._text(self._shadow.stop, widths)} != 32'd0"
            yield f"if ({known}) {self._beyond} = {self._beyond} + 32'd1;"
        for value, reach in self._reach.items():
            for d in range(reach, 0, -1):
                before = self._before[value, d - 1] if d > 1 else self._names[value]
                yield f"{self._before[value, d]} = {before};"
        if self._far:
            bits = self._far.bit_length()
            most, one = literal(self._far, bits), literal(1, bits)
            yield f"if ({self._age} != {most}) {self._age} = {self._age} + {one};"
        yield f"{self.turn} = !{self.turn};"

    def _value(self, node: Node, operands: list[str]) -> str:
        if node.memory is None:
            return verilog_expression(node.op, 32, *operands)
        name, bits = self._arrays[node.memory]
        return f"{name}[{bits}'d{(1 << bits) - 1} & {operands[0]}]"

    def _text(self, operand: Operand, widths: dict[Value, int]) -> str:
        """An operand as a word."""
        match operand:
            case Const(value):
                return literal(value, 32)
            case LiveIn(index):
                return self._live_ins[index]
            case Use(node, distance, initial, output):
                used = (node, output)
                name = self._before[used, distance] if distance else self._names[used]
                width = widths.get(used, 32)
                word = name if width == 32 else f"{{{32 - width}'d0, {name}}}"
                if not distance:
                    return word
                begins = f"{self._age} < {literal(distance, self._far.bit_length())}"
                return f"(({begins}) ? {self._text(initial, widths)} : {word})"

    def _ordered(self) -> list[Node]:
        """The shadow's nodes, each behind those of its iteration that it uses."""
        done: dict[int, Node] = {}

        def visit(node: Node) -> None:
            if node.id in done:
                return
            for operand in node.operands:
                if isinstance(operand, Use) and operand.node >= self._first and not operand.distance:
                    visit(self._shadow.nodes[operand.node - self._first])
            done[node.id] = node

        for node in self._shadow.nodes:
            assert (OPS[node.op].pure or node.memory is not None) and OPS[node.op].outputs == 1, node
            visit(node)
        return list(done.values())


def _uses(shadow: Shadow) -> Iterator[Use]:
    operands = [operand for wanted in shadow.wanted for operand in wanted]
    ends = [] if shadow.stop is None else [shadow.stop]
    for operand in [*operands, *ends, *(o for node in shadow.nodes for o in node.operands)]:
        if isinstance(operand, Use):
            yield operand
