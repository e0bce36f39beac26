"""Runs a design under Icarus Verilog in a plain Verilog bench, with streams from lists."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backend.dfg import DFG
from backend.verilog import Design
from backend.verilog_frame import FabricDesign, own_access


@dataclass(frozen=True)
class BenchRun:
    """What a simulation left; `cycles` counts from start to done."""

    outputs: dict[int, list[int]]
    live_outs: list[int]
    memories: dict[int, list[int]]
    cycles: int
    stalled: int
    closes: list[int]
    failed: int | None


def simulate(
    design: Design,
    directory: Path,
    live_ins: Sequence[int] = (),
    inputs: Mapping[int, Sequence[int]] | None = None,
    memories: Mapping[int, Sequence[int]] | None = None,
    readiness: int = 100,
    limit: int = 100_000,
    runs: int = 1,
) -> BenchRun:
    """Run `design`; streams are ready in `readiness` percent of the cycles.

    With `runs` > 1 it is started again that often, without new inputs, to see the state that remains.
    """
    bench = _bench(design, live_ins, inputs or {}, memories or {}, readiness, limit, runs)
    source, image = directory / f"{design.top}.v", directory / f"{design.top}.vvp"
    source.write_text(design.text + bench)
    compile_ = ["iverilog", "-g2005", "-Wall", "-Wno-timescale", "-s", "bench", "-o", image, source]
    done = subprocess.run(compile_, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr + design.text
    text = subprocess.run(["vvp", "-n", image], capture_output=True, text=True, check=True).stdout
    return _parse(design.dfg, text)


def _parse(dfg: DFG, text: str) -> BenchRun:
    outputs: dict[int, list[int]] = {k: [] for k, s in enumerate(dfg.streams) if s.sends}
    live_outs = [0] * len(dfg.live_outs)
    memories = {m: [0] * memory.words for m, memory in enumerate(dfg.memories)}
    closes: list[int] = []
    failed = None
    cycles = stalled = -1
    for line in text.splitlines():
        kind, *words = line.split()
        values = [int(word, 16) if "x" not in word else -1 for word in words]
        match kind:
            case "sent":
                outputs[values[0]].append(values[1])
            case "closed":
                closes.append(values[0])
            case "out":
                live_outs[values[0]] = values[1]
            case "mem":
                memories[values[0]][values[1]] = values[2]
            case "failed":
                failed = values[0]
            case "cycles":
                cycles, stalled = values
            case _:
                raise AssertionError(text)
    return BenchRun(outputs, live_outs, memories, cycles, stalled, closes, failed)


def _bench(
    design: Design,
    live_ins: Sequence[int],
    inputs: Mapping[int, Sequence[int]],
    memories: Mapping[int, Sequence[int]],
    readiness: int,
    limit: int,
    runs: int,
) -> str:
    dfg = design.dfg
    access = design.access if isinstance(design, FabricDesign) else own_access(dfg)
    declare = ["clk", "rst", "start", "done", "ctl_write", "ctl_address", "ctl_wdata", "ctl_rdata"]
    declare += ["fail", "fail_index", "stalled"]
    lines = [
        "module bench;",
        "reg clk = 0, rst = 1, start = 0, ctl_write = 0; reg [31:0] ctl_address = 0, ctl_wdata = 0;",
        "wire done, fail, stalled; wire [31:0] ctl_rdata, fail_index;",
        "integer i, cycles, frozen; reg go = 0;",
        "always #1 clk = !clk;",
    ]
    for k, stream in enumerate(dfg.streams):
        p = access.ports[k] or f"unused_{k}"
        names = [f"{p}_{n}" for n in ("tdata", "tvalid", "tready", "close" if stream.sends else "ended")]
        declare += names if access.ports[k] else []
        lines.append(f"integer {p}_seed = {k};")
        if stream.sends:
            lines += [
                f"wire [31:0] {p}_tdata; wire {p}_tvalid, {p}_close; reg {p}_tready = 0;",
                "always @(posedge clk) begin",
                f'  if ({p}_tvalid && {p}_tready) $display("sent {k} %h", {p}_tdata);',
                f'  if ({p}_close) $display("closed {k}");',
                f"  if (go) {p}_tready <= ({{$random({p}_seed)}} % 100) < {readiness};",
                "end",
            ]
        else:
            words = inputs.get(k, ())
            lines += [
                f"reg [31:0] s{k}_words [0:{len(words)}]; integer s{k}_next = 0; reg s{k}_gate = 0;",
                f"initial begin s{k}_words[{len(words)}] = 0;",
                *(f"s{k}_words[{n}] = {word};" for n, word in enumerate(words)),
                "end",
                f"wire [31:0] {p}_tdata = s{k}_words[s{k}_next]; wire {p}_tready;",
                f"wire {p}_tvalid = s{k}_gate && s{k}_next < {len(words)};",
                f"wire {p}_ended = s{k}_next == {len(words)};",
                "always @(posedge clk) begin",
                f"  if ({p}_tvalid && {p}_tready) s{k}_next <= s{k}_next + 1;",
                f"  if (go) s{k}_gate <= ({{$random({p}_seed)}} % 100) < {readiness};",
                "end",
            ]
    ports = ", ".join([*(f".{name}({name})" for name in declare), *_idle(design)])
    lines += [
        f"{design.top} dut ({ports});",
        "task put(input [31:0] address, input [31:0] data); begin",
        "  ctl_address <= address; ctl_wdata <= data; ctl_write <= 1; @(posedge clk); ctl_write <= 0;",
        "end endtask",
        "initial begin",
        "repeat (2) @(posedge clk); rst <= 0; @(posedge clk);",
        *(f"put(32'd{address}, 32'd{word});" for address, word in access.configuration),
        *(f"put(32'd{a}, {value});" for value, at in zip(live_ins, access.live_ins, strict=True) for a in at),
    ]
    for m, memory in enumerate(dfg.memories):
        content = memories.get(m, memory.initial)
        lines += [f"put(32'd{access.memories[m] + n}, 32'd{value});" for n, value in enumerate(content)]
    lines += [
        f"cycles = 0; frozen = 0; repeat ({runs}) begin",
        "go <= 1; start <= 1; @(posedge clk); start <= 0; @(posedge clk);",
        f"while (!done && !fail && cycles < {limit}) begin",
        "  cycles = cycles + 1; if (stalled) frozen = frozen + 1; @(posedge clk);",
        "end end",
        'if (fail) $display("failed %h", fail_index);',
        'if (done || fail) $display("cycles %h %h", cycles, frozen);',
    ]
    for k in range(len(dfg.live_outs)):
        lines.append(f'ctl_address = 32\'d{access.live_outs[k]}; #0 $display("out {k:x} %h", ctl_rdata);')
    for m, memory in enumerate(dfg.memories):
        lines.append(f"for (i = 0; i < {memory.words}; i = i + 1) begin")
        lines.append(
            f'ctl_address = 32\'d{access.memories[m]} + i; #0 $display("mem {m:x} %h %h", i, ctl_rdata); end'
        )
    return "\n".join([*lines, "$finish;", "end", "endmodule", ""])


def _idle(design: Design) -> list[str]:
    """Connections of a fabric's ports that the kernel does not use."""
    if not isinstance(design, FabricDesign):
        return []
    unused = [(pin, sends) for pin, sends in design.pins if pin not in design.access.ports]
    inputs = [
        f"{pin}_{n}" for pin, sends in unused for n in (["tready"] if sends else ["tdata", "tvalid", "ended"])
    ]
    return [f".{name}({32 if name.endswith('tdata') else 1}'d0)" for name in inputs]
