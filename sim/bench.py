"""The Verilog around one design: clock, word port, and streams moved by the system tasks of runtime/vpi.c."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from backend.dfg import DFG, StreamPort
from backend.verilog_frame import FabricDesign
from backend.watch import Watch

from .access import DesignLike as DesignLike
from .access import Transfer, access_of, fetches, stores
from .watching import Phase, begins, watch_declarations, watch_task

BENCH = "macah_bench"
"""The name of the module."""

LIVE_IN, LIVE_OUT, FIRST_MEMORY = 0, 1, 2
"""Regions of the word port."""

MAX_MEMORIES, MAX_WORDS = 256 - FIRST_MEMORY, 1 << 24
"""What the word port can address."""


class Recorder(Protocol):
    """Verilog that records what happens: a `wave.Wave`."""

    def start(self, design: DesignLike) -> Iterator[str]: ...
    def step(self) -> Iterator[str]: ...


def bench_text(
    kernels: DesignLike | Sequence[DesignLike],
    wave: Recorder | None = None,
    watch: Watch | None = None,
    beside: Sequence[str] = (),
) -> str:
    """The bench of a design, or of kernels that take turns on a fabric.

    Each change of `go`, which the control plane makes, is one execution. With `watch`, it tells the runtime
    what a profile is made from, and what that takes `beside` the design are lines of the bench.
    """
    kernels = kernels if isinstance(kernels, Sequence) else [kernels]
    design = kernels[0]
    loads = any(access_of(kernel).configuration for kernel in kernels)
    return "\n".join(
        [
            "`timescale 1ns/1ns",
            f"module {BENCH};",
            *(f"  {line}" for line in declarations(design.dfg, stream_ports(design))),
            "  reg go = 0, finished = 0, again = 0, first = 1; reg [31:0] which = 0, from = 0, many = 0;",
            *(f"  {line}" for line in instance(design)),
            *(f"  {line}" for line in (wave.start(design) if wave else ())),
            *(f"  {line}" for line in beside),
            *(f"  {line}" for line in (watch_declarations(watch) if watch else ())),
            "  initial begin",
            "    $macah_status(stalled);",
            *(f"    {line}" for k, kernel in enumerate(kernels) for line in _port_tasks(k, kernel)),
            *([f"    {watch_task(watch)}"] if watch else []),
            "  end",
            _TASKS,
            "  // Cheaper than to look in each cycle. Both are registers.",
            "  always @(posedge done or posedge fail) disable cycles;",
            "  always @(go) if (go != finished) begin",
            "    $macah_kernel(which, first, from, many);",
            *([f"    {_FILLS}"] if watch and not loads else []),
            *([f"    if (many != 0) {begins(Phase.CONFIGURES)} else {_FILLS}"] if watch and loads else []),
            "    rst = 1; tick; rst = 0;",
            *(_LOAD if loads else []),
            *([f"    if (many != 0) {_FILLS}"] if watch and loads else []),
            *(f"    {line}" for line in _by_kernel([_calls("store", stores(kernel)) for kernel in kernels])),
            _RUN.format(step=" ".join(["", *(wave.step() if wave else ())])),
            "    if (!fail) begin",
            *(
                f"      {line}"
                for line in _by_kernel([_calls("fetch", fetches(kernel)) for kernel in kernels])
            ),
            *([f"      {begins(Phase.STARTS)}"] if watch else []),
            "    end",
            *(["    $dumpflush;"] if wave else []),
            "    finished = go;",
            "  end",
            "endmodule",
            "",
        ]
    )


_TASKS = """\
  integer i;
  task tick; begin #1 clk = 1; #1 clk = 0; end endtask
  task store(input [31:0] address, input [31:0] index, input [31:0] count); begin
    ctl_write = 1;
    for (i = 0; i < count; i = i + 1) begin
      $macah_word_in(index + i, ctl_wdata);
      ctl_address = address + i;
      tick;
    end
    ctl_write = 0;
  end endtask
  task fetch(input [31:0] address, input [31:0] index, input [31:0] count);
    for (i = 0; i < count; i = i + 1) begin
      ctl_address = address + i;
      #1 $macah_word_out(index + i, ctl_rdata);
    end
  endtask"""

_FILLS = begins(Phase.FILLS)
_LOAD = (
    "    ctl_write = 1;",
    "    for (i = 0; i < many; i = i + 1) begin",
    "      $macah_pair_in(from + 2 * i, ctl_address, ctl_wdata);",
    "      tick;",
    "    end",
    "    ctl_write = 0;",
)
"""Loads a fabric with the configuration of the kernel that begins, if it has another's."""

_RUN = """\
    $macah_begin;
    start = 1; tick; start = 0;
    if (!done && !fail) begin
      begin : cycles
        forever begin
          $macah_drive;
          #1 $macah_commit(again);
          while (again) #1 $macah_commit(again);
          clk = 1; #1 clk = 0;{step}
        end
      end
      #1 clk = 0;{step}
    end
    $macah_end;"""


@dataclass(frozen=True)
class Pin:
    """A port of a design: so many bits, into it or out of it."""

    name: str
    bits: int
    enters: bool


def stream_ports(design: DesignLike) -> tuple[tuple[str, bool], ...]:
    """The ports for streams: what the names of their signals begin with, and whether they send."""
    if isinstance(design, FabricDesign):
        return design.pins
    return _own_ports(design.dfg)


def _own_ports(dfg: DFG) -> tuple[tuple[str, bool], ...]:
    return tuple((f"s{s}", stream.sends) for s, stream in enumerate(dfg.streams))


def pins(dfg: DFG, ports: Sequence[tuple[str, bool]] | None = None) -> tuple[Pin, ...]:
    """All ports of a design of this graph, or of a fabric that has these for streams."""
    control = (
        *(Pin(name, 1, True) for name in ("clk", "rst", "start", "ctl_write")),
        *(Pin(name, 32, True) for name in ("ctl_address", "ctl_wdata")),
        *(Pin(name, 1, False) for name in ("done", "fail", "stalled")),
        *(Pin(name, 32, False) for name in ("ctl_rdata", "fail_index")),
    )
    found = [*control]
    for name, sends in _own_ports(dfg) if ports is None else ports:
        found.append(Pin(f"{name}_tdata", 32, not sends))
        found.append(Pin(f"{name}_tvalid", 1, not sends))
        found.append(Pin(f"{name}_tready", 1, sends))
        found.append(Pin(f"{name}_{'close' if sends else 'ended'}", 1, not sends))
    return tuple(found)


def declarations(dfg: DFG, ports: Sequence[tuple[str, bool]] | None = None) -> Iterator[str]:
    """A variable for each input of the design and a wire for each output, all named as its ports."""
    for pin in pins(dfg, ports):
        bits = "" if pin.bits == 1 else f"[{pin.bits - 1}:0] "
        yield f"reg {bits}{pin.name} = 0;" if pin.enters else f"wire {bits}{pin.name};"


def instance(design: DesignLike) -> Iterator[str]:
    """The design, connected to the variables of its ports' names."""
    yield f"{design.top} kernel ("
    yield ",\n    ".join(f"  .{pin.name}({pin.name})" for pin in pins(design.dfg, stream_ports(design)))
    yield ");"


def _port_tasks(k: int, design: DesignLike) -> Iterator[str]:
    """What the runtime is told once of a kernel's streams."""
    ports = access_of(design).ports
    for s, stream in enumerate(design.dfg.streams):
        yield _port_task(f"{k}, {s}", ports[s], stream)
    for s, cycles in patience(design):
        yield f"$macah_patience({k}, {s}, {cycles});"


def _port_task(numbers: str, port: str, stream: StreamPort) -> str:
    flag = "close" if stream.sends else "ended"
    words = "".join(f", {w.offset}, {w.size}, {int(w.signed)}" for w in stream.words)
    signals = ", ".join(f"{port}_{name}" for name in ("tdata", "tvalid", "tready", flag))
    return f"$macah_port({numbers}, {int(stream.sends)}, {signals}, {stream.size}{words});"


def _by_kernel(choices: Sequence[Sequence[str]]) -> Iterator[str]:
    """Statements of the kernel that begins or ends."""
    if len(choices) == 1:
        yield from choices[0]
        return
    yield "case (which)"
    for k, statements in enumerate(choices):
        yield f"  {k}: begin"
        yield from (f"    {statement}" for statement in statements)
        yield "  end"
    yield "endcase"


def _calls(task: str, transfers: Iterator[Transfer]) -> list[str]:
    return [each.statement(task) for each in transfers]


def patience(design: DesignLike) -> Iterator[tuple[int, int]]:
    """For each port that iterations wait for as bubbles, the cycles in which all others leave the pipeline.

    Other polls at the same port may go on for ever.
    """
    for s in range(len(design.dfg.streams)):
        used = {node.op for node in design.dfg.nodes if node.stream == s}
        if "await" in used and "try_recv" not in used:
            yield s, design.length + 2 * design.interval
