"""What all designs have in common: ports, arrays, the word port by which the host fills and reads them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from arch.ops import verilog_function

from .dfg import DFG
from .verilog_names import Names
from .verilog_values import literal
from .watch import Watch, with_counts

_RESERVED = """
clk rst start done ctl_write ctl_address ctl_wdata ctl_rdata fail fail_index stalled
running step filling slot valid drain initial_word umulh smulh
"""
_STREAM_SIGNALS = "tdata tvalid tready ended close need try shut stall"


@dataclass(frozen=True)
class Design:
    """A kernel as one Verilog-2005 module `top`, that starts an iteration every `interval` cycles.

    Ports: `clk`, `rst` (synchronous), `start` (a pulse), `done`; `ctl_…` reads and writes words at
    {8-bit region, 24-bit offset} while the kernel is not running: region 0 live-ins, 1 live-outs,
    2 + m memory m; `s<k>_…` is stream k: tdata, tvalid, tready and `ended` or `close`; `fail` and
    `fail_index` report an assertion; `stalled` says that nothing moves until a stream does. What is under
    way when all streams wait has come to its end after `length` + 2 * `interval` cycles. `watch` tells what
    it waits for.
    """

    top: str
    text: str
    dfg: DFG
    interval: int
    length: int
    watch: Watch | None = None


@dataclass(frozen=True)
class Access:
    """How a kernel's words and streams are reached: addresses of the word port, and names of ports.

    A live-in is written to all of its addresses; an array's words follow its first. `ports` are what the
    names of a stream's signals begin with. `configuration` is what is loaded before, as addresses and words.
    """

    live_ins: tuple[tuple[int, ...], ...]
    live_outs: tuple[int, ...]
    memories: tuple[int, ...]
    ports: tuple[str, ...]
    configuration: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class FabricDesign(Design):
    """A fabric, the module `top`, with what makes it a kernel's; several kernels can take turns on it.

    Ports: as of any design, but those for streams are `pins`: what their names begin with, and whether they
    send. Words are at the addresses that `access` has. `twin` is the kernel by itself, if it is to count
    beside the fabric what that cannot.
    """

    access: Access = Access((), (), (), ())
    pins: tuple[tuple[str, bool], ...] = ()
    twin: Design | None = None

    def with_twin(self, twin: Design) -> FabricDesign:
        """The same, counted by a design of the same mapping, if that counts."""
        if self.watch is None or twin.watch is None or twin.watch.turn is None:
            return self
        return replace(self, watch=with_counts(self.watch, twin.watch), twin=twin)


def own_access(dfg: DFG) -> Access:
    """That of a design which is a single kernel's."""
    return Access(
        tuple((k,) for k in range(len(dfg.live_ins))),
        tuple(1 << 24 | k for k in range(len(dfg.live_outs))),
        tuple((m + 2) << 24 for m in range(len(dfg.memories))),
        tuple(f"s{k}" for k in range(len(dfg.streams))),
    )


@dataclass(frozen=True)
class Signals:
    """The names of everything but the values: per live-in, live-out and array, in the graph's order."""

    live_ins: tuple[str, ...]
    live_outs: tuple[str, ...]
    memories: tuple[str, ...]
    address_bits: tuple[int, ...]

    @staticmethod
    def name(dfg: DFG, names: Names) -> Signals:
        """Take the names. Arrays are as large as a power of two, so that every address is in them."""
        return Signals(
            tuple(names.new(f"{name}_in") for name in dfg.live_ins),
            tuple(names.new(f"{name}_out") for name in dfg.live_outs),
            tuple(names.new(memory.name) for memory in dfg.memories),
            tuple(max(1, (memory.words - 1).bit_length()) for memory in dfg.memories),
        )

    def fills(self) -> list[str]:
        """Statements that write live-ins and arrays through the word port."""
        lines = []
        for k, name in enumerate(self.live_ins):
            lines.append(f"if (ctl_write && ctl_address == {{8'd0, 24'd{k}}}) {name} <= ctl_wdata;")
        for m, word in enumerate(self._port_words()):
            lines.append(f"if (ctl_write && ctl_address[31:24] == 8'd{m + 2}) {word} <= ctl_wdata;")
        return lines

    def reads(self) -> list[str]:
        """The word port's way out."""
        lines = ["assign ctl_rdata ="]
        for k, name in enumerate(self.live_outs):
            lines.append(f"    (ctl_address == {{8'd1, 24'd{k}}}) ? {name} :")
        for m, word in enumerate(self._port_words()):
            lines.append(f"    (ctl_address[31:24] == 8'd{m + 2}) ? {word} :")
        return [*lines, "    32'd0;"]

    def arrays(self, dfg: DFG, notes: Sequence[str]) -> list[str]:
        """The arrays, cleared, so that no load gives an undefined word; each declaration ends in a note."""
        lines = ["integer initial_word;"] if dfg.memories else []
        for m, memory in enumerate(dfg.memories):
            name, size = self.memories[m], 1 << self.address_bits[m]
            lines += [
                f"reg [31:0] {name} [0:{size - 1}];{notes[m]}",
                "initial begin",
                f"    for (initial_word = 0; initial_word < {size}; initial_word = initial_word + 1)",
                f"        {name}[initial_word] = 32'd0;",
                *(f"    {name}[{k}] = {literal(value, 32)};" for k, value in enumerate(memory.initial)),
                "end",
            ]
        return lines

    def _port_words(self) -> list[str]:
        """For each array, the word at the word port's address."""
        pairs = zip(self.memories, self.address_bits, strict=True)
        return [f"{name}[ctl_address[{bits - 1}:0]]" for name, bits in pairs]


def functions(ops: Collection[str], width: int) -> list[str]:
    """The functions that expressions of operations on words of `width` bits call."""
    texts = (verilog_function(op, width) for op in sorted(ops))
    return [line for text in texts if text for line in text.splitlines()]


def new_names(dfg: DFG, others: Sequence[str] = ()) -> Names:
    """Names with those taken that the ports have, and `others`."""
    names = Names()
    for name in (*_RESERVED.split(), *others):
        names.new(name)
    for k in range(len(dfg.streams)):
        for signal in _STREAM_SIGNALS.split():
            names.new(f"s{k}_{signal}")
    return names


def module(
    top: str, about: Sequence[str], dfg: DFG, body: Sequence[str], registers: Collection[int] = ()
) -> str:
    """The text of a module; `about` is a comment, `registers` are the streams whose `tdata` is a variable."""
    lines = [
        *(f"// {line}" for line in about),
        f"module {top} (",
        "    // The ports are the same whatever the kernel uses of them.",
        "    // verilator lint_off UNUSED",
        *(f"    {port}" for port in _ports(dfg, registers)),
        "    // verilator lint_on UNUSED",
        ");",
        "    // A program may compare with a constant that decides the comparison.",
        "    // verilator lint_off UNSIGNED",
        "    // verilator lint_off CMPCONST",
        *(f"    {line}" for line in body),
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _ports(dfg: DFG, registers: Collection[int]) -> list[str]:
    lines = [
        "input clk,",
        "input rst,",
        "input start,",
        "output reg done,",
        "input ctl_write,",
        "input [31:0] ctl_address,",
        "input [31:0] ctl_wdata,",
        "output [31:0] ctl_rdata,",
    ]
    for k, stream in enumerate(dfg.streams):
        if stream.sends:
            lines += [
                f"output {'reg ' if k in registers else ''}[31:0] s{k}_tdata, // {stream.name}",
                f"output s{k}_tvalid,",
                f"input s{k}_tready,",
                f"output s{k}_close,",
            ]
        else:
            lines += [
                f"input [31:0] s{k}_tdata, // {stream.name}",
                f"input s{k}_tvalid,",
                f"output s{k}_tready,",
                f"input s{k}_ended,",
            ]
    return [*lines, "output reg fail,", "output reg [31:0] fail_index,", "output stalled"]
