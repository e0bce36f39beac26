"""Mapping -> Verilog of one kernel: the fabric with its configuration folded in.

One clocked process holds all registers, slot by slot, which is what an event-driven simulator does fastest.
"""

from __future__ import annotations

from dataclasses import dataclass

from arch.ops import verilog_function

from .configuration import Configuration, configure
from .dfg import DFG
from .mapping import Mapping
from .verilog_fabric import FabricValues
from .verilog_folded import FoldedValues
from .verilog_names import Names
from .verilog_slots import Signals, Slots
from .verilog_streams import Streams
from .verilog_values import Values, literal

_RESERVED = """
clk rst start done ctl_write ctl_address ctl_wdata ctl_rdata fail fail_index stalled
running slot valid drain initial_word umulh smulh
"""
_STREAM_SIGNALS = "tdata tvalid tready ended close need try shut stall"


@dataclass(frozen=True)
class Design:
    """A kernel as one Verilog-2005 module `top`, that starts an iteration every `interval` cycles.

    Ports: `clk`, `rst` (synchronous), `start` (a pulse), `done`; `ctl_…` reads and writes words at
    {8-bit region, 24-bit offset} while the kernel is not running: region 0 live-ins, 1 live-outs,
    2 + m memory m; `s<k>_…` is stream k: tdata, tvalid, tready and `ended` or `close`; `fail` and
    `fail_index` report an assertion; `stalled` says that the array waits for a stream.
    """

    top: str
    text: str
    dfg: DFG
    interval: int
    length: int


def emit(mapping: Mapping, folded: bool = True) -> Design:
    """The design that carries out `mapping`.

    Folded, each value has a register of its own, named after its variable: the form to simulate and to
    synthesise. Otherwise the registers are those of the fabric. Both behave the same, cycle for cycle.
    """
    names = Names()
    for name in _RESERVED.split():
        names.new(name)
    for k in range(len(mapping.dfg.streams)):
        for signal in _STREAM_SIGNALS.split():
            names.new(f"s{k}_{signal}")
    top = names.new(mapping.dfg.name)
    text = _Module(configure(mapping), names, folded).text(top)
    return Design(top, text, mapping.dfg, mapping.interval, mapping.length)


class _Module:
    """The frame around slots and stream ports."""

    def __init__(self, configuration: Configuration, names: Names, folded: bool) -> None:
        self._configuration = configuration
        self._dfg = configuration.dfg
        self._interval = configuration.interval
        self._signals = Signals.name(configuration, names)
        form = FoldedValues if folded else FabricValues
        self._values: Values = form(configuration, names, self._signals.live_ins)
        self._streams = Streams(configuration, self._values)
        self._slots = Slots(configuration, self._signals, self._values, self._streams)

    def text(self, top: str) -> str:
        """The module. State is declared last, when everything has asked for the `valid` bits it reads."""
        logic = [*self._slots.wires(), *self._streams.declarations(), *self._reads(), *self._process()]
        body = [*self._functions(), *self._state(), *self._memories(), *logic]
        mapping = self._configuration.mapping
        lines = [
            f"// Kernel {self._dfg.name} on {mapping.fabric.name}:",
            f"// an iteration starts every {mapping.interval} cycles and takes {mapping.length}.",
            f"module {top} (",
            "    // The ports are the same whatever the kernel uses of them.",
            "    // verilator lint_off UNUSED",
            *(f"    {port}" for port in self._ports()),
            "    // verilator lint_on UNUSED",
            ");",
            "    // A program may compare with a constant that decides the comparison.",
            "    // verilator lint_off UNSIGNED",
            "    // verilator lint_off CMPCONST",
            *(f"    {line}" for line in body),
            "endmodule",
        ]
        return "\n".join(lines) + "\n"

    def _ports(self) -> list[str]:
        return [
            "input clk,",
            "input rst,",
            "input start,",
            "output reg done,",
            "input ctl_write,",
            "input [31:0] ctl_address,",
            "input [31:0] ctl_wdata,",
            "output [31:0] ctl_rdata,",
            *self._streams.ports(),
            "output reg fail,",
            "output reg [31:0] fail_index,",
            "output stalled",
        ]

    def _functions(self) -> list[str]:
        width = self._configuration.mapping.fabric.width
        texts = (verilog_function(op, width) for op in sorted({node.op for node in self._dfg.nodes}))
        return [line for text in texts if text for line in text.splitlines()]

    def _state(self) -> list[str]:
        slot = f"reg [{(self._interval - 1).bit_length() - 1}:0] slot;"
        return [
            "reg running;",
            *([slot] if self._interval > 1 else []),
            f"reg [{self._values.stages - 1}:0] valid; // bit s: stage s holds an iteration",
            *self._drain(),
            "// A kernel may not need all bits of a word, or all captured scalars.",
            "// verilator lint_off UNUSED",
            *(f"reg [31:0] {name};" for name in self._signals.live_ins),
            *self._values.declarations(),
            "// verilator lint_on UNUSED",
            *(f"reg [31:0] {name};" for name in self._signals.live_outs),
        ]

    def _drain(self) -> list[str]:
        if not self._slots.drain:
            return []
        return [f"reg [{self._slots.drain_bits - 1}:0] drain; // cycles until the last iteration is complete"]

    def _memories(self) -> list[str]:
        """The arrays, cleared, so that no load gives an undefined word."""
        lines = ["integer initial_word;"] if self._dfg.memories else []
        for m, memory in enumerate(self._dfg.memories):
            name, size = self._signals.memories[m], 1 << self._signals.address_bits[m]
            place = self._configuration.mapping.placement.memory[m]
            bank = self._configuration.mapping.fabric.memories[place.bank]
            lines += [
                f"reg [31:0] {name} [0:{size - 1}]; // in {bank.name} from word {place.base} on",
                "initial begin",
                f"    for (initial_word = 0; initial_word < {size}; initial_word = initial_word + 1)",
                f"        {name}[initial_word] = 32'd0;",
                *(f"    {name}[{k}] = {literal(value, 32)};" for k, value in enumerate(memory.initial)),
                "end",
            ]
        return lines

    def _reads(self) -> list[str]:
        """The word port's way out."""
        lines = ["assign ctl_rdata ="]
        for k, name in enumerate(self._signals.live_outs):
            lines.append(f"    (ctl_address == {{8'd1, 24'd{k}}}) ? {name} :")
        for m, word in enumerate(self._port_words()):
            lines.append(f"    (ctl_address[31:24] == 8'd{m + 2}) ? {word} :")
        return [*lines, "    32'd0;"]

    def _port_words(self) -> list[str]:
        """For each array, the word at the word port's address."""
        pairs = zip(self._signals.memories, self._signals.address_bits, strict=True)
        return [f"{name}[ctl_address[{bits - 1}:0]]" for name, bits in pairs]

    def _process(self) -> list[str]:
        return [
            "always @(posedge clk)",
            "    if (rst) begin",
            *(f"        {line}" for line in self._reset()),
            "    end else if (running) begin",
            "        if (!stalled) begin",
            *(f"            {line}" for line in self._run()),
            "        end",
            "    end else begin",
            *(f"        {line}" for line in self._idle()),
            "    end",
        ]

    def _reset(self) -> list[str]:
        slot = ["slot <= 0;"] if self._interval > 1 else []
        drain = ["drain <= 0;"] if self._slots.drain else []
        state = ("valid", "running", "done", "fail", "fail_index", *self._signals.live_outs)
        return slot + drain + [f"{name} <= 0;" for name in state]

    def _idle(self) -> list[str]:
        lines = [
            "if (start) begin",
            "    running <= 1'b1;",
            "    done <= 1'b0;",
            f"    valid <= {literal(1, self._values.stages)};",
            *(["    slot <= 0;"] if self._interval > 1 else []),
            "end",
        ]
        for k, name in enumerate(self._signals.live_ins):
            lines.append(f"if (ctl_write && ctl_address == {{8'd0, 24'd{k}}}) {name} <= ctl_wdata;")
        for m, word in enumerate(self._port_words()):
            lines.append(f"if (ctl_write && ctl_address[31:24] == 8'd{m + 2}) {word} <= ctl_wdata;")
        return lines

    def _run(self) -> list[str]:
        """One cycle of the array."""
        slots = self._slots.statements()
        stages = self._values.stages
        slots[-1].insert(0, f"valid <= {{valid[{stages - 2}:0], 1'b1}};" if stages > 1 else "valid <= 1'b1;")
        lines = slots[0] if self._interval == 1 else self._case(slots)
        if self._slots.drain:
            lines += [
                "if (drain != 0) begin",
                f"    drain <= drain - {literal(1, self._slots.drain_bits)};",
                "    if (drain == 1) begin",
                "        running <= 1'b0;",
                "        done <= 1'b1;",
                "        valid <= 0;",
                "    end",
                "end",
            ]
        return lines

    def _case(self, slots: list[list[str]]) -> list[str]:
        bits = (self._interval - 1).bit_length()
        lines = ["case (slot)"]
        for slot, body in enumerate(slots):
            last = slot == self._interval - 1
            lines.append(f"    {'default' if last else literal(slot, bits)}: begin")
            lines.append(f"        slot <= {literal(0 if last else slot + 1, bits)};")
            lines += [f"        {line}" for line in body]
            lines.append("    end")
        return [*lines, "endcase"]
