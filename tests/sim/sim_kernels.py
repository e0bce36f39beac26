"""Hand-written designs that obey the interface of backend/verilog.py, and programs built around them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from backend.dfg import DFG, Const, Memory, Node, Place, StreamPort, Word
from sim.cosim import RUNTIME_FLAGS, RUNTIME_SOURCES, build_image
from sim.objects import compile_objects

HEAD = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <macah.h>
#define CREATE(size, depth) macah_stream_create(size, depth, "", MACAH_HERE)
#define SEND(s, ...) macah_stream_send(s, __VA_ARGS__, MACAH_HERE, #s)
#define TRY_SEND(s, ...) macah_stream_try_send(s, __VA_ARGS__, MACAH_HERE, #s)
#define RECEIVE(s, element) macah_stream_receive(s, element, MACAH_HERE, #s)
#define TRY_RECEIVE(s, element) macah_stream_try_receive(s, element, MACAH_HERE, #s)
#define SPAWN(s, body, frame, size, writes) macah_spawn(s, #body, body, frame, size, writes)
"""
WARNINGS = (
    "-std=gnu11",
    "-O1",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-function",
    "-Wno-unused-but-set-variable",
    "-Wno-maybe-uninitialized",
)
INT = (Word(0, 4, True),)

_HEAD = """\
module {top}(input clk, input rst, input start, output done,
  input ctl_write, input [31:0] ctl_address, input [31:0] ctl_wdata, output [31:0] ctl_rdata,
  output fail, output [31:0] fail_index, output stalled{ports});
"""
_IN = ", input [31:0] s{0}_tdata, input s{0}_tvalid, output s{0}_tready, input s{0}_ended"
_OUT = ", output [31:0] s{0}_tdata, output s{0}_tvalid, input s{0}_tready, output s{0}_close"


@dataclass(frozen=True)
class Hand:
    """A design written by hand."""

    top: str
    text: str
    dfg: DFG


def hand(
    top: str,
    body: str,
    streams: Sequence[StreamPort] = (),
    live_ins: Sequence[str] = (),
    live_outs: Sequence[str] = (),
    memories: Sequence[Memory] = (),
    assertions: Sequence[str] = (),
) -> Hand:
    """A design with the module's head written for it, and a graph that has its ports but no operations."""
    ports = "".join((_OUT if s.sends else _IN).format(k) for k, s in enumerate(streams))
    nodes = tuple(
        Node(k, "fail", (), index=k, where=Place("file.macah", 7 + k)) for k in range(len(assertions))
    )
    dfg = DFG(
        top, nodes, (), tuple(streams), tuple(memories), tuple(live_ins), tuple(live_outs), tuple(assertions)
    )
    return Hand(top, _HEAD.format(top=top, ports=ports) + body + "endmodule\n", dfg)


_CONTROL = """\
  reg running, ran;
  assign done = ran && !running;
  wire leave;
  always @(posedge clk)
    if (rst) begin running <= 0; ran <= 0; end
    else if (start) begin running <= 1; ran <= 1; end
    else if (leave) running <= 0;
"""


def scale(words: Sequence[Word] = INT, size: int = 4) -> Hand:
    """for (i = 0; i < n; i++) { x <? in; out <! x * factor; sum += x; }: one word in and out per cycle."""
    body = """\
  reg [31:0] n, factor, i, sum, old;
  wire need = running && i < n;
  wire no_input = need && !s0_tvalid && !s0_ended, no_room = need && !s1_tready;
  wire [31:0] x = s0_tvalid ? s0_tdata : old;
  assign stalled = no_input || no_room, s0_tready = need && !no_room, s1_tvalid = need && !no_input;
  assign s1_tdata = x * factor, s1_close = 0, fail = 0, fail_index = 0;
  assign ctl_rdata = sum, leave = running && i >= n;
  always @(posedge clk)
    if (ctl_write) begin
      if (ctl_address == 0) n <= ctl_wdata;
      if (ctl_address == 1) factor <= ctl_wdata;
    end
    else if (start) begin i <= 0; sum <= 0; old <= 0; end
    else if (need && !stalled) begin i <= i + 1; sum <= sum + x; old <= x; end
"""
    streams = (StreamPort("in", False, size, tuple(words)), StreamPort("out", True, size, tuple(words)))
    return hand("scale", _CONTROL + body, streams, ("n", "factor"), ("sum",))


def pass_on() -> Hand:
    """while (!pstream_ended(in)) { x <? in; assert(x != 13); out <! x; } pstream_close(out);"""
    body = """\
  reg failed;
  wire go = running && !s0_ended && !failed;
  assign stalled = go && (!s0_tvalid || !s1_tready), s0_tready = go && s1_tready, s1_tvalid = go && s0_tvalid;
  assign s1_tdata = s0_tdata, leave = running && s0_ended, s1_close = leave;
  assign fail = failed, fail_index = failed, ctl_rdata = 0;
  always @(posedge clk)
    if (rst) failed <= 0;
    else if (go && !stalled && s0_tdata == 13) failed <= 1;
"""
    streams = (StreamPort("in", False, 4, INT), StreamPort("out", True, 4, INT))
    return hand("pass_on", _CONTROL + body, streams, assertions=("unused", "x != 13"))


def poll() -> Hand:
    """while (!w) { w :: x <? in; polls++; }, then the same with v :: out <! x."""
    body = """\
  reg [31:0] x, polls; reg have;
  assign s0_tready = running && !have, s1_tvalid = running && have, s1_tdata = x, s1_close = 0;
  assign stalled = 0, fail = 0, fail_index = 0;
  assign ctl_rdata = ctl_address[0] ? polls : x, leave = s1_tvalid && s1_tready;
  always @(posedge clk)
    if (start) begin have <= 0; polls <= 0; end
    else if (running) begin
      polls <= polls + 1;
      if (s0_tready && s0_tvalid) begin x <= s0_tdata; have <= 1; end
    end
"""
    streams = (StreamPort("in", False, 4, INT), StreamPort("out", True, 4, INT))
    return hand("poll", _CONTROL + body, streams, (), ("x", "polls"))


def arrays() -> Hand:
    """for (i = 0; i < 4; i++) { a[i] += table[i]++; b[i] = scratch[i]; } with `scratch` never written."""
    body = """\
  reg [31:0] a [0:3], b [0:3], scratch [0:3], tab [0:3]; reg [2:0] i;
  wire [31:0] offset = ctl_address & 24'hffffff;
  assign stalled = 0, fail = 0, fail_index = 0, leave = running && i == 4;
  assign ctl_rdata = ctl_address[31:24] == 2 ? a[offset] : b[offset];
  always @(posedge clk)
    if (ctl_write) case (ctl_address[31:24])
      2: a[offset] <= ctl_wdata;
      3: b[offset] <= ctl_wdata;
      4: tab[offset] <= ctl_wdata;
      5: scratch[offset] <= ctl_wdata;
    endcase
    else if (start) i <= 0;
    else if (running && i < 4) begin
      a[i] <= a[i] + tab[i]; tab[i] <= tab[i] + 1; b[i] <= scratch[i]; i <= i + 1;
    end
"""
    memories = (
        Memory("a", 4, captured_in=True, captured_out=True),
        Memory("b", 4, captured_out=True),
        Memory("tab", 4, initial=(10, 20, 30)),
        Memory("scratch", 4),
    )
    made = hand("arrays", _CONTROL + body, memories=memories)
    store = Node(0, "store", (Const(0), Const(0), Const(0)), memory=2)
    return replace(made, dfg=replace(made.dfg, nodes=(store,)))


def build(host: str, designs: Sequence[Hand], directory: Path, simulator: str = "icarus") -> Path:
    """Compiles a host program with the simulations of designs; with none, a program of mode `c`."""
    runtime, own = list(RUNTIME_SOURCES), []
    if designs:
        image = build_image(designs, directory, simulator=simulator)
        runtime, own = [*runtime, *image.runtime], list(image.own)
    program, executable = directory / "host.c", directory / "host"
    program.write_text(HEAD + host)
    flags = [*WARNINGS, *RUNTIME_FLAGS]
    objects = compile_objects(["cc"], flags, runtime, directory, _cc)
    _cc([*flags, *map(str, [program, *own, *objects]), "-o", str(executable)])
    return executable


def _cc(arguments: list[str]) -> None:
    subprocess.run(["cc", *arguments], check=True)


def run(executable: Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, with a limit on time."""
    defaults = {"capture_output": True, "text": True, "timeout": 60, "stdin": subprocess.DEVNULL}
    return subprocess.run([str(executable)], **{**defaults, **options})  # type: ignore[call-overload,no-any-return]
