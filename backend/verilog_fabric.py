"""Fabric -> Verilog of the accelerator itself, which does what its configuration memories are loaded with.

One module for each shape of tile, and one around them, with what `verilog_control` adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from arch.fabric import Fabric

from .bitstream import bitstream
from .mapping import Mapping
from .rows import CONFIGURATION, DRAIN_BITS, STAGE_BITS, NoHardware, Rows
from .verilog_control import Control, space
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
        self.control = Control(rows, self.units)

    def _readers(self, resource: int) -> Iterator[int]:
        """What selects a resource in hardware."""
        static = self.fabric.resources[resource].static
        settings = (resource,) if static is None else self.fabric.settings[static]
        for sink in (self.rows.wire(sink) for setting in settings for sink in self.fabric.sinks[setting]):
            if sink in self.rows.rows[self.fabric.resources[sink].tile].selects:
                yield sink

    def signal(self, tile: TileText, name: str) -> str:
        """What a tile's signal is called outside of it."""
        return f"{self.fabric.tiles[tile.tile].prefix}_{name}"

    def hardware(self) -> Hardware:
        modules: dict[str, str] = {}
        instances: list[str] = []
        for tile in self.tiles:
            body = tile.text("")
            module = modules.setdefault(body, f"{self.top}_tile_{len(modules)}")
            instances += self._instance(tile, module)
        texts = [tile_text.replace("module  (", f"module {name} (", 1) for tile_text, name in modules.items()]
        body_lines = [*self._declarations(), *instances, *self._streams()]
        body_lines += self.control.lines()
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
        pins = [(f"{name}_in", False) for name in self.control.having("in_tdata")]
        pins += [(f"{name}_out", True) for name in self.control.having("out_tdata")]
        names = tuple(self.units[unit.id][0] for unit in self.fabric.units)
        waits = {
            u: f"{name}_waits" for u, (name, _) in self.units.items() if name in self.control.having("waits")
        }
        return Hardware(self.rows, self.top, text, tuple(pins), names, waits)

    def _ports(self) -> Iterator[str]:
        yield from ("input clk", "input rst", "input start", "output reg done", "input ctl_write")
        yield from ("input [31:0] ctl_address", "input [31:0] ctl_wdata", "output [31:0] ctl_rdata")
        for name in self.control.having("in_tdata"):
            yield f"input [31:0] {name}_in_tdata"
            yield from (f"input {name}_in_tvalid", f"output {name}_in_tready", f"input {name}_in_ended")
        for name in self.control.having("out_tdata"):
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
        yield f"wire configures = ctl_write && !running && {space(CONFIGURATION)};"
        yield f"wire [{word - 1}:0] column = ctl_address[{word - 1}:0];"
        place, low = f"ctl_address[{word + slot - 1}:{word}]", f"ctl_address[{slot - 1}:0]"
        yield f"wire {bit_range(slot)}row = ctl_address[31] ? {place} : {low};"
        bits = self.rows.tile_bits
        yield f"wire {bit_range(bits)}tile = ctl_address[{word + slot + bits - 1}:{word + slot}];"
        for tile in self.tiles:
            for resource in tile.outputs:
                yield f"wire {bit_range(tile.bits(resource))}{self.signal(tile, tile.names[resource])};"
            for pin in tile.pins():
                if "_in_" not in pin.name and "_out_" not in pin.name:
                    yield f"wire {bit_range(pin.bits)}{self.signal(tile, pin.name)};"

    def _instance(self, tile: TileText, module: str) -> Iterator[str]:
        yield f"{module} {self.fabric.tiles[tile.tile].prefix} ("
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
        waiting = self.control.having("waits")
        if not waiting:
            yield "assign stalled = 1'b0;"
            return
        bits = ", ".join(f"{unit}_waits" for unit in reversed(waiting))
        yield f"wire {bit_range(len(waiting))}waiting = {{{bits}}};"
        yield "assign stalled = |waiting;"
        for k, unit in enumerate(waiting):
            yield f"assign {unit}_blocked = |(waiting & ~{literal(1 << k, len(waiting))});"


LOOPS = (
    "// Ways through multiplexers can lead back to their beginning; those that are selected do not.",
    "// verilator lint_off UNOPTFLAT",
)
