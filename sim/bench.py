"""The Verilog around one design: clock, word port, and streams moved by the system tasks of runtime/vpi.c."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from backend.dfg import DFG, StreamPort
from backend.watch import Watch

from .watching import Phase, begins, watch_declarations, watch_task

BENCH = "macah_bench"
"""The name of the module."""

LIVE_IN, LIVE_OUT, FIRST_MEMORY = 0, 1, 2
"""Regions of the word port."""

MAX_MEMORIES, MAX_WORDS = 256 - FIRST_MEMORY, 1 << 24
"""What the word port can address."""


class DesignLike(Protocol):
    """What the simulation needs of a `backend.verilog.Design`: its text, top module and graph."""

    @property
    def top(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def dfg(self) -> DFG: ...
    @property
    def interval(self) -> int: ...
    @property
    def length(self) -> int: ...


class Recorder(Protocol):
    """Verilog that records what happens: a `wave.Wave`."""

    def start(self, design: DesignLike) -> Iterator[str]: ...
    def step(self) -> Iterator[str]: ...


def bench_text(design: DesignLike, wave: Recorder | None = None, watch: Watch | None = None) -> str:
    """The bench of a design: each change of `go`, which the control plane makes, is one execution.

    With `watch`, it tells the runtime what a profile is made from.
    """
    dfg = design.dfg
    return "\n".join(
        [
            "`timescale 1ns/1ns",
            f"module {BENCH};",
            *(f"  {line}" for line in declarations(dfg)),
            "  reg go = 0, finished = 0, again = 0, first = 1;",
            *(f"  {line}" for line in instance(design)),
            *(f"  {line}" for line in (wave.start(design) if wave else ())),
            *(f"  {line}" for line in (watch_declarations(watch) if watch else ())),
            "  initial begin",
            "    $macah_status(stalled);",
            *(f"    {_port_task(s, stream)}" for s, stream in enumerate(dfg.streams)),
            *(f"    $macah_patience({s}, {cycles});" for s, cycles in patience(design)),
            *([f"    {watch_task(watch)}"] if watch else []),
            "  end",
            _TASKS,
            "  // Cheaper than to look in each cycle. Both are registers.",
            "  always @(posedge done or posedge fail) disable cycles;",
            "  always @(go) if (go != finished) begin",
            *([f"    {begins(Phase.FILLS)}"] if watch else []),
            "    rst = 1; tick; rst = 0;",
            *(f"    {each.statement('store')}" for each in stores(dfg)),
            _RUN.format(step=" ".join(["", *(wave.step() if wave else ())])),
            "    if (!fail) begin",
            *(f"      {each.statement('fetch')}" for each in fetches(dfg)),
            *([f"      {begins(Phase.STARTS)}"] if watch else []),
            "    end",
            "    first = 0;",
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


def pins(dfg: DFG) -> tuple[Pin, ...]:
    """All ports of a design of this graph."""
    control = (
        *(Pin(name, 1, True) for name in ("clk", "rst", "start", "ctl_write")),
        *(Pin(name, 32, True) for name in ("ctl_address", "ctl_wdata")),
        *(Pin(name, 1, False) for name in ("done", "fail", "stalled")),
        *(Pin(name, 32, False) for name in ("ctl_rdata", "fail_index")),
    )
    found = [*control]
    for s, stream in enumerate(dfg.streams):
        found.append(Pin(f"s{s}_tdata", 32, not stream.sends))
        found.append(Pin(f"s{s}_tvalid", 1, not stream.sends))
        found.append(Pin(f"s{s}_tready", 1, stream.sends))
        found.append(Pin(f"s{s}_{'close' if stream.sends else 'ended'}", 1, not stream.sends))
    return tuple(found)


def declarations(dfg: DFG) -> Iterator[str]:
    """A variable for each input of the design and a wire for each output, all named as its ports."""
    for pin in pins(dfg):
        bits = "" if pin.bits == 1 else f"[{pin.bits - 1}:0] "
        yield f"reg {bits}{pin.name} = 0;" if pin.enters else f"wire {bits}{pin.name};"


def instance(design: DesignLike) -> Iterator[str]:
    """The design, connected to the variables of its ports' names."""
    yield f"{design.top} kernel ("
    yield ",\n    ".join(f"  .{pin.name}({pin.name})" for pin in pins(design.dfg))
    yield ");"


def _port_task(s: int, stream: StreamPort) -> str:
    flag = "close" if stream.sends else "ended"
    words = "".join(f", {w.offset}, {w.size}, {int(w.signed)}" for w in stream.words)
    signals = ", ".join(f"s{s}_{name}" for name in ("tdata", "tvalid", "tready", flag))
    return f"$macah_port({s}, {int(stream.sends)}, {signals}, {stream.size}{words});"


def patience(design: DesignLike) -> Iterator[tuple[int, int]]:
    """For each port that iterations wait for as bubbles, the cycles in which all others leave the pipeline.

    Other polls at the same port may go on for ever.
    """
    for s in range(len(design.dfg.streams)):
        used = {node.op for node in design.dfg.nodes if node.stream == s}
        if "await" in used and "try_recv" not in used:
            yield s, design.length + 2 * design.interval


def region(number: int) -> str:
    """The first address of a region of the word port."""
    return f"32'h{number << 24:08x}"


def memory_is_refilled(dfg: DFG, m: int) -> bool:
    """Whether a table's first contents must be written again at each entry, as the kernel changes them."""
    return bool(dfg.memories[m].initial) and any(n.op == "store" and n.memory == m for n in dfg.nodes)


def _memory_bases(dfg: DFG) -> list[int]:
    """Where each memory begins among the words of an execution: after live-ins and live-outs."""
    bases = [len(dfg.live_ins) + len(dfg.live_outs)]
    for memory in dfg.memories:
        bases.append(bases[-1] + memory.words)
    return bases


@dataclass(frozen=True)
class Transfer:
    """Words that go between the word port, from `address` on, and those of an execution, from `index` on."""

    address: int
    index: int
    count: int
    once: bool = False  # at the first execution only

    def statement(self, task: str) -> str:
        """The same in Verilog."""
        call = f"{task}(32'h{self.address:08x}, {self.index}, {self.count});"
        return f"if (first) {call}" if self.once else call


def stores(dfg: DFG) -> Iterator[Transfer]:
    """Fills live-ins and memories. Memories that nobody fills are zeroed once, as X would spread."""
    if dfg.live_ins:
        yield Transfer(LIVE_IN << 24, 0, len(dfg.live_ins))
    for m, (memory, base) in enumerate(zip(dfg.memories, _memory_bases(dfg), strict=False)):
        always = memory.captured_in or memory_is_refilled(dfg, m)
        yield Transfer(FIRST_MEMORY + m << 24, base, memory.words, once=not always)


def fetches(dfg: DFG) -> Iterator[Transfer]:
    """Takes live-outs and memories."""
    if dfg.live_outs:
        yield Transfer(LIVE_OUT << 24, len(dfg.live_ins), len(dfg.live_outs))
    for m, (memory, base) in enumerate(zip(dfg.memories, _memory_bases(dfg), strict=False)):
        if memory.captured_out:
            yield Transfer(FIRST_MEMORY + m << 24, base, memory.words)
