"""How fast kernels simulate: designs alone under vvp, and as kernels of a running program.

    python benchmarks/bridge.py

The kernel of examples/fir.macah is compiled and mapped on the default grid and simulated by Icarus Verilog,
once in a bench that does nothing but give and take words, once with the whole bridge: host program, streams,
shared memory, VPI and cocotb. Rates are per second of the simulator's processor time. Start-up is left out
by taking the difference of a long and a short run. The last line is the cost of entering a kernel.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from arch.describe import load_fabric  # noqa: E402
from backend.mapper import map_kernel  # noqa: E402
from backend.mapping import MapOptions  # noqa: E402
from backend.verilog import Design, emit  # noqa: E402
from macah.lower import lower  # noqa: E402
from macah.passes.pipeline import optimize  # noqa: E402
from macah.program import read_program  # noqa: E402
from macah.todfg import build_dfg  # noqa: E402
from sim.bench import BENCH, declarations, instance  # noqa: E402
from sim.cosim import RUNTIME_FLAGS, RUNTIME_SOURCES, build_image  # noqa: E402
from sim.icarus import compile_verilog  # noqa: E402

SHORT, LONG = 2_000, 100_000
AIM = 0.5


def fir(arch: str) -> Design:
    """The kernel of examples/fir.macah, through the whole compiler."""
    program = read_program(ROOT / "examples" / "fir.macah")
    graph = build_dfg(optimize(lower(program, program.kernels[0])))
    return emit(map_kernel(graph, load_fabric(arch), MapOptions(seed=1)))


BARE = """
  integer i;
  reg [31:0] n;
  task tick; begin #1 clk = 1; #1 clk = 0; end endtask
  initial begin
    if (!$value$plusargs("n=%d", n)) n = 1;
    rst = 1; tick; rst = 0; ctl_write = 1;
    for (i = 0; i < {count}; i = i + 1) begin ctl_address = i; ctl_wdata = i == {n} ? n : i; tick; end
    ctl_write = 0; start = 1; tick; start = 0; s0_tvalid = 1; s1_tready = 1;
    while (!done) begin
      #1 clk = 1; #1 clk = 0;
      s0_tdata = s0_tdata + 1;
    end
  end
endmodule
"""

HOST = """
#include <stdint.h>
#include <stdlib.h>
#include <macah.h>
static MACAH_STREAM(short) in, out;
static void feed(void *frame) {
  short x = 0;
  for (int i = *(int *)frame; i > 0; i--, x++) macah_send(in, x);
}
static void drain(void *frame) {
  short x;
  for (int i = *(int *)frame; i > 0; i--) macah_receive(x, out);
}
int main(int count, char **arguments) {
  int n = atoi(arguments[1]), entries = count > 2 ? atoi(arguments[2]) : 1;
  uint32_t live_in[{count}], live_out[64];
  for (int i = 0; i < {count}; i++) live_in[i] = i == {n} ? n : i;
  while (entries--) {
    in = macah_create(short, 64, "i16"), out = macah_create(short, 64, "i16");
    macah_spawn(in, "feed", feed, &n, sizeof n, 0);
    macah_spawn(out, "drain", drain, &n, sizeof n, 1);
    macah_run_kernel(0, live_in, live_out, (macah_stream *[]){(macah_stream *)in, (macah_stream *)out}, NULL);
    macah_reader_join(in);
    macah_writer_join(out);
  }
}
"""


def filled(text: str, design: Design) -> str:
    """A program's text with the number of live-ins, and which of them is the number of elements."""
    live_ins = design.dfg.live_ins
    return text.replace("{count}", str(len(live_ins))).replace("{n}", str(live_ins.index("n")))


def bare_program(design: Design, directory: Path) -> list[str]:
    """A command that runs the design alone for `+n=` elements."""
    bench = directory / "bare.v"
    lines = ["`timescale 1ns/1ns", f"module {BENCH};", *declarations(design.dfg), *instance(design)]
    bench.write_text("\n".join(lines) + filled(BARE, design))
    (directory / "design.v").write_text(design.text)
    compile_verilog([directory / "design.v", bench], BENCH, directory / "bare.vvp")
    return ["vvp", "-n", str(directory / "bare.vvp")]


def bridged_program(design: Design, directory: Path) -> str:
    """A program whose only kernel is the design."""
    image = build_image([design], directory)
    host, executable = directory / "host.c", directory / "host"
    host.write_text(filled(HOST, design))
    sources = [str(s) for s in (host, *RUNTIME_SOURCES, *image.sources)]
    subprocess.run(["cc", "-std=gnu11", "-O2", *RUNTIME_FLAGS, *sources, "-o", str(executable)], check=True)
    return str(executable)


def seconds(command: list[str]) -> float:
    """How long a command takes."""
    begin = time.perf_counter()
    simulator_seconds(command)
    return time.perf_counter() - begin


def adopt_orphans() -> None:
    """Makes simulators, which are no children of their programs, ours when the programs end."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def simulator_seconds(command: list[str]) -> float:
    """The processor time of the simulator that a command is or starts."""
    os.posix_spawnp(command[0], command, os.environ)
    used = 0.0
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return used
        assert ended is not None and ended.si_status == 0, command
        name = Path(f"/proc/{ended.si_pid}/comm").read_text().strip()
        usage = os.wait4(ended.si_pid, 0)[2]
        if name == "vvp":
            used += usage.ru_utime + usage.ru_stime


def best(repeat: int, measure: Callable[[], float]) -> float:
    """The least of several measurements: the one least disturbed by others."""
    return min(measure() for _ in range(repeat))


def rates(design: Design, directory: Path, repeat: int) -> tuple[float, float, str]:
    """Cycles per second alone and bridged, and the bridged executable."""
    bare, bridged = bare_program(design, directory), bridged_program(design, directory)
    times = [
        best(repeat, lambda command=command: simulator_seconds(command))  # type: ignore[misc]
        for command in (
            [*bare, f"+n={SHORT}"],
            [*bare, f"+n={LONG}"],
            [bridged, str(SHORT)],
            [bridged, str(LONG)],
        )
    ]
    cycles = (LONG - SHORT) * design.interval
    return cycles / (times[1] - times[0]), cycles / (times[3] - times[2]), bridged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--arch", default="grid8x8")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    adopt_orphans()
    design = fir(options.arch)
    print(
        f"{'design':10} {'II':>3} {'alone':>12} {'bridged':>12} {'ratio':>6} {'aim':>6}  (cycles per second)"
    )
    with tempfile.TemporaryDirectory() as name:
        alone, bridged, executable = rates(design, Path(name), options.repeat)
        rate = f"{alone:12,.0f} {bridged:12,.0f} {bridged / alone:6.2f} {AIM:6.2f}"
        print(f"{design.dfg.name:10} {design.interval:3} {rate}")
        many = best(options.repeat, lambda: seconds([executable, "1", "500"]))
        once = best(options.repeat, lambda: seconds([executable, "1", "1"]))
    print(f"entering a kernel: {(many - once) / 499 * 1e6:.0f} us, the first time {once:.2f} s")


if __name__ == "__main__":
    main()
