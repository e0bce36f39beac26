"""What the Verilog of a fabric has besides tiles: memories, the controller of the loop, the word port."""

from __future__ import annotations

from collections.abc import Iterator

from arch.fabric import MemoryBank

from .rows import DRAIN_BITS, MEMORIES, STAGE_BITS, Rows
from .verilog_unit import UnitText
from .verilog_values import literal

_NO = "1'b0"


def space(number: int) -> str:
    """A condition: the word port's address is in this space."""
    return f"ctl_address[31:30] == {literal(number, 2)}"


class Control:
    """Memories, controller and word port; `units` are the names outside of tiles, and logic, of all units."""

    def __init__(self, rows: Rows, units: dict[int, tuple[str, UnitText]]) -> None:
        self.rows, self.units, self.fabric = rows, units, rows.fabric

    def lines(self) -> Iterator[str]:
        """All of it."""
        for bank in self.fabric.memories:
            yield from self._bank(bank)
        yield from self._reads()
        yield from self._failures()
        yield from self._controller()

    def having(self, what: str) -> list[str]:
        """The names of the units that have a port of this name."""
        return [
            name
            for name, unit in self.units.values()
            if any(pin.name == f"{unit.name}_{what}" for pin in unit.pins())
        ]

    def _bank(self, bank: MemoryBank) -> Iterator[str]:
        """A memory; the word port uses its first port while the array does not run."""
        name, bits = f"bank_{bank.id}", self.rows.bank_bits(bank.id)
        ports = [self.units[unit] for unit in bank.ports if self.units[unit][1].accesses]
        first = ports[0][0] if ports else ""
        stores = [f"{unit}" for unit, _ in ports if f"{unit}" in self.having("write")]
        low = self.rows.bank_offset_bits
        here = f"ctl_address[29:{low}] == {literal(bank.id, 30 - low)}"
        yield f"reg [31:0] {name} [0:{(1 << bits) - 1}];"
        yield f"wire {name}_host = !running && {space(MEMORIES)} && {here};"
        address = f"ctl_address[{bits - 1}:0]"
        address = f"running ? {first}_address : {address}" if first else address
        yield f"wire [{bits - 1}:0] {name}_address = {address};"
        yield f"wire [31:0] {name}_word = {name}[{name}_address];"
        for unit, text in ports:
            if "load" in text.ops:
                word = f"{name}_word" if unit == first else f"{name}[{unit}_address]"
                yield f"assign {unit}_loaded = {word};"
            else:
                yield f"assign {unit}_loaded = 32'd0;"
        yield "always @(posedge clk) begin"
        shared = first in stores
        write = f"{name}_host && ctl_write" + (f" || {first}_write" if shared else "")
        word = f"running ? {first}_stored : ctl_wdata" if shared else "ctl_wdata"
        yield f"    if ({write}) {name}[{name}_address] <= {word};"
        for unit in stores:
            if unit != first:
                yield f"    if ({unit}_write) {name}[{unit}_address] <= {unit}_stored;"
        yield "end"
        k = f"{name}_initial"
        yield "`ifndef SYNTHESIS // what lies beyond arrays is read, but not used"
        yield f"integer {k};"
        yield f"initial for ({k} = 0; {k} < {1 << bits}; {k} = {k} + 1) {name}[{k}] = 32'd0;"
        yield "`endif"

    def _reads(self) -> Iterator[str]:
        """The word port's way out."""
        yield "assign ctl_rdata ="
        slot = self.rows.slot_bits
        for k, unit in enumerate(self.having("result")):
            number = f"ctl_address[31:{slot}] == {literal(k, 32 - slot)}"
            yield f"    (!running && {number} ? {unit}_result : 32'd0) |"
        for bank in self.fabric.memories:
            yield f"    (bank_{bank.id}_host ? bank_{bank.id}_word : 32'd0) |"
        yield "    32'd0;"

    def _failures(self) -> Iterator[str]:
        """Of assertions that fail in the same cycle, the last one counts."""
        failing = self.having("fail")
        yield f"wire failing = {' || '.join(f'{unit}_fail' for unit in failing) or _NO};"
        yield "reg [15:0] failed;"
        yield "always @* begin"
        yield "    failed = 16'd0;"
        for unit in failing:
            yield f"    if ({unit}_fail && {unit}_index > failed) failed = {unit}_index;"
        yield "end"

    def _controller(self) -> Iterator[str]:
        stops = " || ".join(f"{unit}_stop" for unit in self.having("stop")) or _NO
        controller = literal(len(self.fabric.tiles), self.rows.tile_bits)
        slot, word = self.rows.slot_bits, self.rows.word_bits
        yield f"wire stopping = {stops};"
        yield "wire last = slot == last_slot;"
        yield "wire at_once = stopping && drain == 0 && drain_cycles == 0;"
        yield f"wire ends = drain == {literal(1, DRAIN_BITS)} || at_once;"
        yield "always @(posedge clk)"
        yield f"    if (configures && tile == {controller})"
        yield f"        if (column == {literal(0, word)}) last_slot <= ctl_wdata[{slot - 1}:0];"
        yield f"        else if (column == {literal(1, word)}) drain_cycles <= ctl_wdata[{DRAIN_BITS - 1}:0];"
        yield f"        else if (column == {literal(2, word)}) last_age <= ctl_wdata[{STAGE_BITS - 1}:0];"
        yield "always @(posedge clk)"
        yield "    if (rst) begin"
        yield from (f"        {name} <= 0;" for name in ("slot", "age", "drain", "running", "done", "fail"))
        yield "        fail_index <= 0;"
        yield "    end else if (moves) begin"
        yield f"        slot <= last ? {literal(0, slot)} : slot + {literal(1, slot)};"
        yield f"        if (last && age != last_age) age <= age + {literal(1, STAGE_BITS)};"
        yield f"        if (drain != 0) drain <= drain - {literal(1, DRAIN_BITS)};"
        yield "        else if (stopping) drain <= drain_cycles;"
        yield "        if (ends) begin"
        yield "            running <= 1'b0;"
        yield "            done <= 1'b1;"
        yield "        end"
        yield "        if (failing && !fail) begin"
        yield "            fail <= 1'b1;"
        yield "            fail_index <= {16'd0, failed};"
        yield "        end"
        yield "    end else if (start && !running) begin"
        yield "        running <= 1'b1;"
        yield "        done <= 1'b0;"
        yield "        slot <= 0;"
        yield "        age <= 0;"
        yield "    end"
