"""Fabric -> Verilog of the accelerator itself, which does what its configuration memories are loaded with.

One module for each shape of tile, and one around them: memories, the controller of the loop, the word port.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from arch.fabric import Fabric, MemoryBank

from .bitstream import bitstream
from .mapping import Mapping
from .rows import CONFIGURATION, DRAIN_BITS, MEMORIES, STAGE_BITS, NoHardware, Rows
from .verilog_frame import FabricDesign
from .verilog_names import Names
from .verilog_tile import TileText
from .verilog_unit import UnitText
from .verilog_values import bit_range, literal
from .watch import watch_loaded


@dataclass(frozen=True)
class Hardware:
    """A fabric as Verilog: the module `top`, and its ports for streams.

    By unit, `units` has names, and `waits` the signals of those that wait for streams.
    """

    rows: Rows
    top: str
    text: str
    pins: tuple[tuple[str, bool], ...]
    units: tuple[str, ...]
    waits: dict[int, str]

    def load(self, mapping: Mapping) -> FabricDesign:
        """With what it is loaded with to carry out a mapping. Errors: NoHardware."""
        access = bitstream(mapping, self.rows, self._ports(mapping))
        watch = watch_loaded(mapping, self.waits)
        dfg, interval = mapping.dfg, mapping.interval
        return FabricDesign(self.top, self.text, dfg, interval, mapping.length, watch, access, self.pins)

    def _ports(self, mapping: Mapping) -> tuple[str, ...]:
        """What the signals of each stream begin with; without an operation, those of a free port."""
        nodes, unit = mapping.dfg.nodes, mapping.placement.unit
        used = {n.stream: self.units[unit[n.id]] for n in nodes if n.stream is not None}
        free = [pin for pin in self.pins if pin[0].rpartition("_")[0] not in used.values()]
        ports = []
        for s, stream in enumerate(mapping.dfg.streams):
            if s in used:
                ports.append(f"{used[s]}_{'out' if stream.sends else 'in'}")
                continue
            pin = next((pin for pin in free if pin[1] == stream.sends), None)
            if pin is None:
                raise NoHardware(f"it has no port left for stream '{stream.name}'")
            free.remove(pin)
            ports.append(pin[0])
        return tuple(ports)


def hardware(fabric: Fabric) -> Hardware:
    """The Verilog of a fabric. Errors: NoHardware."""
    rows = Rows(fabric)
    rows.check()
    return _Fabric(rows, Names().new(fabric.name)).hardware()


class _Fabric:
    """Tiles, and what is around them."""

    def __init__(self, rows: Rows, top: str) -> None:
        self.rows, self.top, self.fabric = rows, top, rows.fabric
        outputs: list[list[int]] = [[] for _ in self.fabric.tiles]
        for resource in self.fabric.resources:
            if rows.wire(resource.id) != resource.id:
                continue
            if any(self.fabric.resources[sink].tile != resource.tile for sink in self._readers(resource.id)):
                outputs[resource.tile].append(resource.id)
        self.tiles = [TileText(rows, tile.id, outputs[tile.id]) for tile in self.fabric.tiles]
        self.units: dict[int, tuple[str, UnitText]] = {}
        for tile in self.tiles:
            for unit in tile.units:
                self.units[unit.unit.id] = self.signal(tile, unit.name), unit

    def _readers(self, resource: int) -> Iterator[int]:
        """What selects a resource in hardware."""
        static = self.fabric.resources[resource].static
        settings = (resource,) if static is None else self.fabric.settings[static]
        for sink in (self.rows.wire(sink) for setting in settings for sink in self.fabric.sinks[setting]):
            if sink in self.rows.rows[self.fabric.resources[sink].tile].selects:
                yield sink

    def signal(self, tile: TileText, name: str) -> str:
        """What a tile's signal is called outside of it."""
        place = self.fabric.tiles[tile.tile]
        return f"r{place.row}c{place.column}_{name}"

    def having(self, what: str) -> list[str]:
        """The names of the units that have a port of this name."""
        return [
            name
            for name, unit in self.units.values()
            if any(pin.name == f"{unit.name}_{what}" for pin in unit.pins())
        ]

    def hardware(self) -> Hardware:
        modules: dict[str, str] = {}
        instances: list[str] = []
        for tile in self.tiles:
            body = tile.text("")
            module = modules.setdefault(body, f"{self.top}_tile_{len(modules)}")
            instances += self._instance(tile, module)
        texts = [tile_text.replace("module  (", f"module {name} (", 1) for tile_text, name in modules.items()]
        body_lines = [*self._declarations(), *instances, *self._streams()]
        for bank in self.fabric.memories:
            body_lines += self._bank(bank)
        body_lines += [*self._reads(), *self._failures(), *self._controller()]
        top = [
            f"// The accelerator {self.fabric.name}, of up to {self.fabric.max_interval} slots.",
            "// It may have no use for some bits of what all tiles and units are given.",
            "// verilator lint_off DECLFILENAME",
            "// verilator lint_off UNUSEDSIGNAL",
            *(LOOPS if self.fabric.loops else []),
            f"module {self.top} (",
            ",\n".join(f"    {port}" for port in self._ports()),
            ");",
            *(f"    {line}" for line in body_lines),
            "endmodule",
        ]
        text = "\n\n".join(["\n".join(top), *texts])
        pins = [(f"{name}_in", False) for name in self.having("in_tdata")]
        pins += [(f"{name}_out", True) for name in self.having("out_tdata")]
        names = tuple(self.units[unit.id][0] for unit in self.fabric.units)
        waits = {u: f"{name}_waits" for u, (name, _) in self.units.items() if name in self.having("waits")}
        return Hardware(self.rows, self.top, text, tuple(pins), names, waits)

    def _ports(self) -> Iterator[str]:
        yield from ("input clk", "input rst", "input start", "output reg done", "input ctl_write")
        yield from ("input [31:0] ctl_address", "input [31:0] ctl_wdata", "output [31:0] ctl_rdata")
        for name in self.having("in_tdata"):
            yield f"input [31:0] {name}_in_tdata"
            yield from (f"input {name}_in_tvalid", f"output {name}_in_tready", f"input {name}_in_ended")
        for name in self.having("out_tdata"):
            yield f"output [31:0] {name}_out_tdata"
            yield from (f"output {name}_out_tvalid", f"input {name}_out_tready", f"output {name}_out_close")
        yield from ("output reg fail", "output reg [31:0] fail_index", "output stalled")

    def _declarations(self) -> Iterator[str]:
        slot, word = self.rows.slot_bits, self.rows.word_bits
        yield "reg running;"
        yield f"reg {bit_range(slot)}slot;"
        yield f"reg {bit_range(slot)}last_slot;"
        yield f"reg {bit_range(STAGE_BITS)}age, last_age; // intervals since the start, as far as it matters"
        yield f"reg {bit_range(DRAIN_BITS)}drain, drain_cycles; // until the last iteration is complete"
        yield "wire moves = running && !stalled;"
        yield f"wire configures = ctl_write && !running && {self._space(CONFIGURATION)};"
        yield f"wire [{word - 1}:0] column = ctl_address[{word - 1}:0];"
        place, low = f"ctl_address[{word + slot - 1}:{word}]", f"ctl_address[{slot - 1}:0]"
        yield f"wire {bit_range(slot)}row = ctl_address[31] ? {place} : {low};"
        bits = self.rows.tile_bits
        yield f"wire {bit_range(bits)}tile = ctl_address[{word + slot + bits - 1}:{word + slot}];"
        for tile in self.tiles:
            for resource in tile.outputs:
                yield f"wire [31:0] {self.signal(tile, tile.names[resource])};"
            for pin in tile.pins():
                if "_in_" not in pin.name and "_out_" not in pin.name:
                    yield f"wire {bit_range(pin.bits)}{self.signal(tile, pin.name)};"

    def _space(self, space: int) -> str:
        return f"ctl_address[31:30] == {literal(space, 2)}"

    def _instance(self, tile: TileText, module: str) -> Iterator[str]:
        place = self.fabric.tiles[tile.tile]
        yield f"{module} r{place.row}c{place.column} ("
        shared = ("clk", "running", "moves", "slot", "age", "row", "column")
        yield f"    {', '.join(f'.{name}({name})' for name in shared)}, .word(ctl_wdata),"
        selected = f"configures && tile == {literal(tile.tile, self.rows.tile_bits)}"
        ports = [f".configure({selected})"]
        for resource in tile.inputs:
            other = self.tiles[self.fabric.resources[resource].tile]
            ports.append(f".{tile.names[resource]}({self.signal(other, other.names[resource])})")
        own = [*(tile.names[resource] for resource in tile.outputs), *(pin.name for pin in tile.pins())]
        ports += [f".{name}({self.signal(tile, name)})" for name in own]
        yield ",\n    ".join(f"    {port}" for port in ports)
        yield ");"

    def _streams(self) -> Iterator[str]:
        """One that waits keeps all others from moving a word."""
        waiting = self.having("waits")
        if not waiting:
            yield "assign stalled = 1'b0;"
            return
        bits = ", ".join(f"{unit}_waits" for unit in reversed(waiting))
        yield f"wire {bit_range(len(waiting))}waiting = {{{bits}}};"
        yield "assign stalled = |waiting;"
        for k, unit in enumerate(waiting):
            yield f"assign {unit}_blocked = |(waiting & ~{literal(1 << k, len(waiting))});"

    def _bank(self, bank: MemoryBank) -> Iterator[str]:
        """A memory; the word port uses its first port while the array does not run."""
        name, bits = f"bank_{bank.id}", self.rows.bank_bits(bank.id)
        ports = [self.units[unit] for unit in bank.ports if self.units[unit][1].accesses]
        first = ports[0][0] if ports else ""
        stores = [f"{unit}" for unit, _ in ports if f"{unit}" in self.having("write")]
        low = self.rows.bank_offset_bits
        here = f"ctl_address[29:{low}] == {literal(bank.id, 30 - low)}"
        yield f"reg [31:0] {name} [0:{(1 << bits) - 1}];"
        yield f"wire {name}_host = !running && {self._space(MEMORIES)} && {here};"
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
        controller = literal(len(self.tiles), self.rows.tile_bits)
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


_NO = "1'b0"
LOOPS = (
    "// Ways through multiplexers can lead back to their beginning; those that are selected do not.",
    "// verilator lint_off UNOPTFLAT",
)
