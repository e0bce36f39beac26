"""Hand-written designs that obey the interface of backend/verilog.py, and programs built around them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backend.dfg import DFG, Memory, Node, Place, StreamPort, Word
from sim.cosim import RUNTIME_FLAGS, RUNTIME_SOURCES, build_image

WARNINGS = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror")
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


def scale() -> Hand:
    """for (i = 0; i < n; i++) { x <? in; out <! x * factor; sum += x; }: one element in and out per cycle."""
    body = """\
  reg [31:0] n, factor, i, sum, old; reg running, ran;
  wire need = running && i < n;
  wire no_input = need && !s0_tvalid && !s0_ended, no_room = need && !s1_tready;
  wire [31:0] x = s0_tvalid ? s0_tdata : old;
  assign stalled = no_input || no_room, s0_tready = need && !no_room, s1_tvalid = need && !no_input;
  assign s1_tdata = x * factor, s1_close = 0, fail = 0, fail_index = 0;
  assign done = ran && !running, ctl_rdata = sum;
  always @(posedge clk)
    if (rst) begin running <= 0; ran <= 0; end
    else if (ctl_write) begin
      if (ctl_address == 0) n <= ctl_wdata;
      if (ctl_address == 1) factor <= ctl_wdata;
    end
    else if (start) begin running <= 1; ran <= 1; i <= 0; sum <= 0; old <= 0; end
    else if (running && !stalled) begin
      if (i < n) begin i <= i + 1; sum <= sum + x; old <= x; end else running <= 0;
    end
"""
    streams = (StreamPort("in", False, 4, INT), StreamPort("out", True, 4, INT))
    return hand("scale", body, streams, ("n", "factor"), ("sum",))


def build(host: str, designs: Sequence[Hand], directory: Path) -> Path:
    """Compiles a host program with the simulations of designs; with none, a program of mode `c`."""
    sources = [str(s) for s in RUNTIME_SOURCES]
    if designs:
        sources += [str(s) for s in build_image(designs, directory).sources]
    program, executable = directory / "host.c", directory / "host"
    program.write_text("#include <macah.h>\n#include <stdio.h>\n#include <stdlib.h>\n" + host)
    subprocess.run(
        ["cc", *WARNINGS, *RUNTIME_FLAGS, str(program), *sources, "-o", str(executable)], check=True
    )
    return executable


def run(executable: Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, with a limit on time."""
    defaults = {"capture_output": True, "text": True, "timeout": 60, "stdin": subprocess.DEVNULL}
    return subprocess.run([str(executable)], **{**defaults, **options})  # type: ignore[call-overload,no-any-return]
