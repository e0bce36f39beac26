"""A function unit as Verilog, which each cycle does what its tile's row of configuration says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arch.fabric import Unit
from arch.ops import BIT_OPS, CLOSES, CONTROL_OPS, OPS, RECEIVES, SENDS, STREAM_OPS, verilog_expression

from .rows import INDEX_BITS, OPCODE_BITS, OPCODES, WORD_BITS, Row, does, unit_ops
from .verilog_values import bit_range, has_bit, literal

SUFFIXES = (
    *("in_tdata", "in_tvalid", "in_tready", "in_ended", "out_tdata", "out_tvalid", "out_tready", "out_close"),
    *("op", "truth", "holds", "sends", "closes", "word", "flag", "waits", "blocked"),
    *("address", "loaded", "stored", "write"),
    *("result", "results", "stop", "fail", "index"),
)
"""What the names of a unit's signals end in."""


@dataclass(frozen=True)
class Pin:
    """A port of a tile that belongs to a unit."""

    direction: str
    bits: int
    name: str


class UnitText:
    """The logic of one unit. `name` is its name, `reads` the names of its operands, of `bits` bits each."""

    def __init__(
        self, unit: Unit, row: Row, name: str, reads: Sequence[str], bank_bits: int, bits: int
    ) -> None:
        self.unit, self.row, self.name, self.reads = unit, row, name, reads
        self.bank_bits, self.bits = bank_bits, bits
        self.fields = row.units[unit.id]
        self.ops = unit_ops(unit)
        self.receives, self.sends = does(unit, (*RECEIVES, "ended")), does(unit, (*SENDS, *CLOSES))
        self.accesses = unit.memory is not None and does(unit, ("load", "store"))

    def is_op(self, *ops: str) -> str:
        """A condition: the unit does one of these now."""
        terms = [f"{self.name}_op == {_code(op)}" for op in ops if op in self.ops]
        return f"({' || '.join(terms)})" if terms else "1'b0"

    def pins(self) -> Iterator[Pin]:
        """What the unit has to do with the world outside of its tile."""
        u = self.name
        if self.receives:
            yield Pin("input", 32, f"{u}_in_tdata")
            yield Pin("input", 1, f"{u}_in_tvalid")
            yield Pin("output", 1, f"{u}_in_tready")
            yield Pin("input", 1, f"{u}_in_ended")
        if self.sends:
            yield Pin("output", 32, f"{u}_out_tdata")
            yield Pin("output", 1, f"{u}_out_tvalid")
            yield Pin("input", 1, f"{u}_out_tready")
            yield Pin("output", 1, f"{u}_out_close")
        if does(self.unit, STREAM_OPS):
            yield Pin("output", 1, f"{u}_waits")
            yield Pin("input", 1, f"{u}_blocked")
        if self.accesses:
            yield Pin("output", self.bank_bits, f"{u}_address")
            yield Pin("input", 32, f"{u}_loaded")
        if self.accesses and "store" in self.ops:
            yield Pin("output", 32, f"{u}_stored")
            yield Pin("output", 1, f"{u}_write")
        if "result" in self.ops:
            yield Pin("output", 32, f"{u}_result")
        if "stop" in self.ops:
            yield Pin("output", 1, f"{u}_stop")
        if "fail" in self.ops:
            yield Pin("output", 1, f"{u}_fail")
            yield Pin("output", INDEX_BITS, f"{u}_index")

    def logic(self) -> Iterator[str]:
        """All but what is clocked; `word`, `flag` and the pins follow from the operation and the operands."""
        u = self.name
        yield f"wire {bit_range(self.fields.op.bits)}{u}_op = {self.fields.op.text};"
        if self.fields.stage is not None:
            yield f"wire {u}_truth = {self._truth()};"
            yield f"wire {u}_holds = running && age >= {self.fields.stage.text} && {u}_truth;"
        yield from self._stream()
        if self.accesses:
            assert self.fields.base is not None and self.fields.mask is not None
            low = f"{self.reads[0]}[{self.bank_bits - 1}:0]"
            yield f"assign {u}_address = ({low} & {self.fields.mask.text}) + {self.fields.base.text};"
        if self.accesses and "store" in self.ops:
            yield f"assign {u}_stored = {self.reads[1]};"
            yield f"assign {u}_write = {u}_holds && moves && {self.is_op('store')};"
        for op in ("stop", "fail"):
            if op in self.ops:
                yield f"assign {u}_{op} = {u}_holds && {self.is_op(op)};"
        if self.fields.index is not None:
            yield f"assign {u}_index = {self.fields.index.text};"
        yield from self._words()

    def clocked(self) -> Iterator[str]:
        """What happens at the end of a cycle in which the array moves."""
        if "result" in self.ops:
            gives = f"{self.name}_holds && {self.is_op('result')}"
            yield f"if ({gives}) {self.name}_results[slot] <= {self.reads[0]};"

    def reports(self, slots: int) -> Iterator[str]:
        """The words of live-outs, for each slot, which the host reads."""
        if "result" in self.ops:
            yield f"reg [31:0] {self.name}_results [0:{slots - 1}];"
            yield f"assign {self.name}_result = {self.name}_results[row];"

    def _truth(self) -> str:
        """Whether the operation's guard, its last operand, is not 0."""
        positions: dict[int, list[str]] = {}
        for op in self.ops:
            if op in STREAM_OPS | CONTROL_OPS or op == "store":
                positions.setdefault(OPS[op].arity - 1, []).append(op)
        (last, _), *others = sorted(positions.items(), reverse=True)
        text = f"{self.reads[last]} != 32'd0"
        for position, ops in others:
            text = f"{self.is_op(*ops)} ? {self.reads[position]} != 32'd0 : ({text})"
        return text

    def _stream(self) -> Iterator[str]:
        u, waits = self.name, []
        if self.receives:
            yield f"assign {u}_in_tready = {u}_holds && !{u}_blocked && {self.is_op(*RECEIVES)};"
            waits.append(f"{self.is_op('recv')} && !{u}_in_tvalid && !{u}_in_ended")
        if self.sends:
            yield f"wire {u}_sends = {self._does_bit(0, *SENDS)};"
            yield f"wire {u}_closes = {self._does_bit(1, *CLOSES)};"
            yield f"assign {u}_out_tvalid = {u}_holds && !{u}_blocked && {u}_sends;"
            yield f"assign {u}_out_close = {u}_holds && !{u}_blocked && {u}_closes && !{u}_waits;"
            yield f"assign {u}_out_tdata = {self.reads[0]};"
            waits.append(f"{self.is_op('send', 'send_close')} && {u}_sends && !{u}_out_tready")
        if waits:
            yield f"assign {u}_waits = {u}_holds && ({' || '.join(waits)});"

    def _does_bit(self, bit: int, *ops: str) -> str:
        """A condition: the unit does one of these, of which `send_close` only if its guard has this bit."""
        plain = self.is_op(*(op for op in ops if op != "send_close"))
        if "send_close" not in self.ops:
            return plain
        return f"({plain} || {self.is_op('send_close')} && {has_bit(self.reads[1], bit, WORD_BITS)})"

    def _words(self) -> Iterator[str]:
        """What the operation gives: a word, and of some a flag besides."""
        u = self.name
        if any(OPS[op].outputs for op in self.ops):
            yield f"reg {bit_range(self.bits)}{u}_word;"
            yield "always @*"
            yield f"    case ({u}_op)"
            for op in self.ops:
                if OPS[op].outputs:
                    yield f"        {_code(op)}: {u}_word = {self._word(op)}; // {op}"
            yield f"        default: {u}_word = {literal(0, self.bits)};"
            yield "    endcase"
        if any(OPS[op].outputs == 2 for op in self.ops):
            goes_on = f"!({u}_truth && !{u}_in_tvalid && !{u}_in_ended)"
            yield f"wire {u}_flag = {self.is_op('await')} ? {goes_on} : {u}_truth && {u}_in_tvalid;"

    def _word(self, op: str) -> str:
        u = self.name
        match op:
            case "load":
                return f"{u}_loaded"
            case "recv" | "try_recv" | "await":
                return f"{u}_truth && {u}_in_tvalid ? {u}_in_tdata : {self.reads[0]}"
            case "try_send":
                return f"{{31'd0, {u}_truth && {u}_out_tready}}"
            case "ended":
                return f"{{31'd0, {u}_truth && {u}_in_ended}}"
        if self.bits == 1:
            return BIT_OPS[op].format(*self.reads)
        return verilog_expression(op, self.bits, *self.reads[: OPS[op].arity])


def _code(op: str) -> str:
    return literal(OPCODES[op], OPCODE_BITS)
