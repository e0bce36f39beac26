"""Kernels of the examples with the words that they got in a real run, to be run again by other means.

A replay is a design and what its streams bring; it can be made into a bench for vvp that does nothing but
give and take words, and into a program whose only kernel is the design.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from account import macahc  # noqa: E402

from arch.describe import load_fabric as load_fabric  # noqa: E402
from backend.dfg import DFG, StreamPort, Word  # noqa: E402
from backend.mapper import map_kernel  # noqa: E402
from backend.mapping import MapOptions  # noqa: E402
from backend.mapping import Mapping as Mapped  # noqa: E402
from backend.verilog import Design, emit  # noqa: E402
from backend.verilog_fabric import hardware as hardware  # noqa: E402
from macah.lower import lower  # noqa: E402
from macah.passes.pipeline import optimize  # noqa: E402
from macah.program import read_program  # noqa: E402
from macah.todfg import build_dfg  # noqa: E402
from sim.bench import BENCH, DesignLike, declarations, instance  # noqa: E402
from sim.cosim import RUNTIME_FLAGS, RUNTIME_SOURCES, build_image  # noqa: E402
from sim.icarus import compile_verilog  # noqa: E402

EXAMPLES = ROOT / "examples"
VIDEO = ROOT.parent / "shared" / "data" / "people_160x96"
DEPTH = 4096
"""Of streams, so that sleeping and waking, which takes longer than many cycles, is rare."""


@dataclass(frozen=True)
class Replay:
    """A kernel; its live-ins by name, others are small numbers; the words that it receives."""

    design: Design
    mapping: Mapped | None
    live_ins: Mapping[str, int]
    inputs: Mapping[int, tuple[int, ...]]

    @property
    def scalars(self) -> list[int]:
        """The words of all live-ins."""
        return [self.live_ins.get(name, k % 7 + 1) for k, name in enumerate(self.design.dfg.live_ins)]


TRIVIAL = """int sum(int stream in, int n)
{
  int total = 0, x = 0;
  kernel { for (int i = 0; i < n; i++) { x <? in; total += x; } }
  return total;
}
int main(void) { int stream s = pstream_create(int, 4); return sum(s, 0); }
"""


_TAKER = """module take(input clk, input rst, input start, output done,
  input ctl_write, input [31:0] ctl_address, input [31:0] ctl_wdata, output [31:0] ctl_rdata,
  output fail, output [31:0] fail_index, output stalled,
  input [31:0] s0_tdata, input s0_tvalid, output s0_tready, input s0_ended);
  reg [31:0] left, sum;
  reg running, ran;
  assign done = ran && !running, s0_tready = running, stalled = running && !s0_tvalid;
  assign fail = 0, fail_index = 0, ctl_rdata = sum;
  always @(posedge clk)
    if (rst) begin running <= 0; ran <= 0; end
    else if (running) begin
      if (s0_tvalid) begin
        left <= left - 1;
        sum <= sum + s0_tdata;
        if (left == 1) running <= 0;
      end
    end else begin
      if (start) begin running <= 1; ran <= 1; end
      if (ctl_write) begin left <= ctl_wdata; sum <= 0; end
    end
endmodule
"""


def compiled(source: Path, arch: str) -> Mapped:
    """The first kernel of a program, through the whole compiler."""
    program = read_program(source)
    fabric = load_fabric(arch)
    graph = build_dfg(optimize(lower(program, program.kernels[0])), fabric)
    return map_kernel(graph, fabric, MapOptions(seed=1))


def fir(arch: str, directory: Path) -> Replay:
    """The filter, on a sound."""
    source = EXAMPLES / "fir.macah"
    words = _traffic(source, [EXAMPLES / "data" / "chirp.wav", directory / "out.wav"], directory)
    return _replay(source, arch, {"in": words("short stream in = mem_reader")}, {"n": 4000})


def sad(arch: str, directory: Path) -> Replay:
    """Full search, for two blocks of a frame."""
    source = EXAMPLES / "sad.macah"
    words = _traffic(source, _frames(), directory)
    streams = {"current": words("stream blocks_in =")[:512], "reference": words("stream windows_in =")[:1800]}
    return _replay(source, arch, streams, {"blocks": 2})


def motion(arch: str, directory: Path) -> Replay:
    """Hexagonal search, on a frame."""
    source = EXAMPLES / "motion" / "motion.macah"
    words = _traffic(source, ["--search", "ehs", *_frames()], directory)
    streams = {"commands": words("c->commands ="), "current": words("c->current_pixels =")}
    streams |= {f"reference[{q}]": words("c->reference_pixels[q] =", q) for q in range(4)}
    return _replay(source, arch, streams, {})


def trivial(count: int, directory: Path) -> Replay:
    """A kernel that takes a word in each cycle."""
    source = directory / "trivial.macah"
    source.write_text(TRIVIAL)
    return _replay(source, "grid4x4", {"in": tuple(range(count))}, {"n": count})


def taker(count: int, directory: Path) -> Replay:
    """The same written by hand, with no more than that takes."""
    dfg = DFG("take", (), (), (StreamPort("in", False, 4, (Word(0, 4, True),)),), (), ("n",), ("sum",))
    return Replay(Design("take", _TAKER, dfg, 1, 1), None, {"n": count}, {0: tuple(range(count))})


REPLAYS: dict[str, Callable[[str, Path], Replay]] = {"fir": fir, "sad": sad, "motion": motion}


def _frames() -> list[Path]:
    return (sorted(VIDEO.glob("*.pgm")) or sorted((EXAMPLES / "data").glob("frame*.pgm")))[:2]


def _traffic(
    source: Path, arguments: Sequence[str | Path], directory: Path
) -> Callable[..., tuple[int, ...]]:
    """Runs a program in mode `c`; gives what goes through the k-th stream created on a line with a text."""
    program, traces = directory / source.stem, directory / f"{source.stem}.traces"
    traces.mkdir(parents=True)
    macahc("--mode", "c", source, "-lm", "-o", program)
    environment = {**os.environ, "MACAH_TRACE": str(traces)}
    subprocess.run([program, *arguments], check=True, env=environment, stdout=subprocess.DEVNULL)
    lines = source.read_text().splitlines()

    def words(created: str, k: int = 0) -> tuple[int, ...]:
        line = next(number for number, text in enumerate(lines, 1) if created in text)
        text = (traces / f"{source.name}-{line}-{k}.txt").read_text()
        return tuple(int(row) for row in text.splitlines() if not row.startswith("#"))

    return words


def _replay(
    source: Path, arch: str, words: Mapping[str, tuple[int, ...]], live_ins: Mapping[str, int]
) -> Replay:
    mapping = compiled(source, arch)
    streams = enumerate(mapping.dfg.streams)
    inputs = {s: words[stream.name] for s, stream in streams if not stream.sends}
    return Replay(emit(mapping), mapping, live_ins, inputs)


_BARE = """
  integer e, r, k;
  time begun, cycles;
  initial begin
    if (!$value$plusargs("e=%d", e)) e = 1;
    cycles = 0;
    for (r = 0; r < e; r = r + 1) begin
      rst = 1; #1 clk = 1; #1 clk = 0; rst = 0; ctl_write = 1;
      for (k = 0; k < {count}; k = k + 1) begin
        ctl_address = k; ctl_wdata = scalars[k]; #1 clk = 1; #1 clk = 0;
      end
      ctl_write = 0; start = 1; #1 clk = 1; #1 clk = 0; start = 0;
      begun = $time;
      {begin}
      while (!done) begin
        #1 {take}
        clk = 1; #1 clk = 0;
        {show}
      end
      cycles = cycles + ($time - begun) / 2;
    end
    $display("%0d", cycles);
  end
endmodule
"""


def bare_program(replay: Replay, design: Design, directory: Path) -> list[str]:
    """A command that runs the design alone, `+e=` times, and prints how many cycles that took."""
    dfg = design.dfg
    lines = ["`timescale 1ns/1ns", f"module {BENCH};", *declarations(dfg), *instance(design)]
    lines.append(_table(directory, "scalars", replay.scalars))
    begin, take, show = [], [], []
    for s, stream in enumerate(dfg.streams):
        if stream.sends:
            begin.append(f"s{s}_tready = 1;")
            continue
        lines += [_table(directory, f"input{s}", replay.inputs[s]), f"integer place{s}; reg taken{s};"]
        begin.append(f"place{s} = 0; s{s}_tdata = input{s}[0]; s{s}_tvalid = 1;")
        take.append(f"taken{s} = s{s}_tready;")
        show.append(f"if (taken{s}) begin place{s} = place{s} + 1; s{s}_tdata = input{s}[place{s}]; end")
    parts = {"begin": begin, "take": take, "show": show}
    text = _BARE.replace("{count}", str(len(dfg.live_ins)))
    for name, statements in parts.items():
        text = text.replace(f"{{{name}}}", " ".join(statements))
    bench, compiled_bench = directory / "bare.v", directory / "bare.vvp"
    bench.write_text("\n".join(lines) + text)
    (directory / "design.v").write_text(design.text)
    compile_verilog([directory / "design.v", bench], BENCH, compiled_bench)
    return ["vvp", "-n", str(compiled_bench)]


def _table(directory: Path, name: str, words: Sequence[int]) -> str:
    """An array that holds words, and one more behind them."""
    path = directory / f"{name}.hex"
    path.write_text("".join(f"{word & 0xFFFFFFFF:08x}\n" for word in (*words, 0)))
    return f'reg [31:0] {name} [0:{len(words)}]; initial $readmemh("{path}", {name});'


_HOST = """
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <macah.h>
static int entries;
static macah_stream *streams[{streams} + 1];
static void *drain(void *stream) {
  uint64_t element[64];
  while (macah_stream_receive(stream, element, MACAH_HERE, "stream")) continue;
  return NULL;
}
{feeds}
int main(int count, char **arguments) {
  pthread_t thread;
  uint32_t live_in[] = {{scalars}}, live_out[64];
  entries = atoi(arguments[1]);
  (void)count;
  {threads}
  for (int e = 0; e < entries; e++) macah_run_kernel(0, live_in, live_out, streams, NULL);
  printf("%llu %llu\\n", macah_cycles(), macah_stalls());
  exit(0);
}
"""

_FEED = """
static const {type} input{s}[] = {{words}};
static void *feed{s}(void *unused) {
  for (int e = 0; e < entries; e++)
    for (int i = 0; i < {count}; i++) macah_stream_send(streams[{s}], &input{s}[i], MACAH_HERE, "stream");
  return unused;
}
"""


def bridged_program(replay: Replay, design: DesignLike, directory: Path, simulator: str = "icarus") -> str:
    """A program that enters the kernel as often as it is told, and prints how many cycles that took."""
    image = build_image([design], directory, simulator=simulator)
    feeds, threads = [], []
    for s, stream in enumerate(design.dfg.streams):
        threads.append(f'streams[{s}] = macah_stream_create({stream.size}, {DEPTH}, "", MACAH_HERE);')
        body = f"drain, streams[{s}]" if stream.sends else f"feed{s}, NULL"
        threads.append(f"pthread_create(&thread, NULL, {body});")
        if not stream.sends:
            words = ", ".join(map(str, replay.inputs[s]))
            parts = {"type": f"uint{8 * stream.size}_t", "words": words, "count": str(len(replay.inputs[s]))}
            feeds.append(_filled(_FEED, s=str(s), **parts))
    host, executable = directory / "host.c", directory / "host"
    scalars = ", ".join(f"{word}u" for word in (*replay.scalars, 0))
    parts = {"feeds": "".join(feeds), "threads": "\n  ".join(threads), "scalars": scalars}
    host.write_text(_filled(_HOST, streams=str(len(design.dfg.streams)), **parts))
    sources = [str(source) for source in (host, *RUNTIME_SOURCES, *image.sources)]
    flags = ["-std=gnu11", "-O2", "-w", *RUNTIME_FLAGS]
    subprocess.run(["cc", *flags, *sources, "-o", str(executable)], check=True)
    return str(executable)


def _filled(text: str, **parts: str) -> str:
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return text
