"""Runs a whole program with its kernels in the graph interpreter, without a mapping or a simulation.

The host program is compiled as ever; its `macah_run_kernel` sends what a kernel gets through a pipe and
receives what it leaves. Streams are not supported.
"""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

from backend.dfg import DFG, Memory
from backend.run_dfg import run_dfg
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.todfg import build_dfg
from macah.translate import to_host_c
from macah.translate_host import HostKernel
from sim.cosim import RUNTIME

_STUB = r"""
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
typedef struct macah_stream macah_stream;
static const int from_host = %(write)d, to_host = %(read)d, ins[] = {%(ins)s}, outs[] = {%(outs)s};
static const int memories[] = {%(memories)s};
static const struct { int words, in, out; } memory[][64] = {%(memory)s};
static void get(void *p, size_t n) {
  for (char *c = p; n > 0;) { ssize_t k = read(to_host, c, n); if (k <= 0) exit(99); c += k; n -= k; }
}
static void put(const void *p, size_t n) { if (n && write(from_host, p, n) != (ssize_t)n) exit(98); }
int macah_run_kernel(unsigned k, const uint32_t *in, uint32_t *out, macah_stream *const *s,
                     uint32_t *const *m) {
  put(&k, 4);
  put(in, 4 * ins[k]);
  for (int i = 0; i < memories[k]; i++) if (memory[k][i].in) put(m[i], 4 * memory[k][i].words);
  get(out, 4 * outs[k]);
  for (int i = 0; i < memories[k]; i++) if (memory[k][i].out) get(m[i], 4 * memory[k][i].words);
  return 0;
}
"""


def printed_by_graphs(source: Path, folder: Path) -> str:
    """What a program prints."""
    kernel_end, to_kernel = os.pipe()
    host_end, to_host = os.pipe()
    graphs = _build(source, folder, to_kernel, host_end)
    process = subprocess.Popen(
        [folder / "host"], stdout=subprocess.PIPE, text=True, pass_fds=(to_kernel, host_end)
    )
    os.close(to_kernel)
    os.close(host_end)
    with os.fdopen(kernel_end, "rb") as reader, os.fdopen(to_host, "wb") as writer:
        while head := reader.read(4):
            _run(graphs[struct.unpack("<I", head)[0]], reader.read, writer.write)
            writer.flush()
    printed, _ = process.communicate()
    assert process.returncode == 0
    return printed


def build_with_graphs(source: Path, folder: Path) -> Path:
    """The program, as far as its first kernel: that ends it."""
    _build(source, folder, -1, -1)
    return folder / "host"


def _build(source: Path, folder: Path, write: int, read: int) -> list[DFG]:
    program = read_program(source, [])
    kernels = []
    for site in program.kernels:
        kernel = optimize(lower(program, site))
        kernels.append(HostKernel(site, kernel, build_dfg(kernel)))
    graphs = [kernel.dfg for kernel in kernels]
    (folder / "host.c").write_text(to_host_c(program, kernels))
    (folder / "stub.c").write_text(_stub(graphs, write, read))
    compile_c([folder / "host.c", folder / "stub.c", RUNTIME / "overlap.c"], folder / "host", "-O1")
    return graphs


def compile_c(sources: list[Path], program: Path, *flags: str) -> None:
    """Compile C with Macah's rules for overflow."""
    command = ["gcc", "-std=gnu11", "-w", "-fwrapv", *flags, "-o", program, *sources]
    subprocess.run(command, check=True)


def _stub(graphs: list[DFG], write: int, read: int) -> str:
    def listed(value: Callable[[DFG], object]) -> str:
        return ", ".join(str(value(graph)) for graph in graphs)

    def memory(m: Memory) -> str:
        return f"{{{m.words}, {int(m.captured_in)}, {int(m.captured_out)}}}"

    return _STUB % {
        "write": write,
        "read": read,
        "ins": listed(lambda g: len(g.live_ins)),
        "outs": listed(lambda g: len(g.live_outs)),
        "memories": listed(lambda g: len(g.memories)),
        "memory": listed(lambda g: f"{{{', '.join(map(memory, g.memories))}}}"),
    }


def _run(graph: DFG, read: Callable[[int], bytes], write: Callable[[bytes], int]) -> None:
    def words(count: int) -> list[int]:
        return list(struct.unpack(f"<{count}I", read(4 * count)))

    live_ins = words(len(graph.live_ins))
    memories = {i: words(m.words) for i, m in enumerate(graph.memories) if m.captured_in}
    ran = run_dfg(graph, live_ins, {}, memories)
    write(struct.pack(f"<{len(graph.live_outs)}I", *ran.live_outs))
    for i, memory in enumerate(graph.memories):
        if memory.captured_out:
            write(struct.pack(f"<{memory.words}I", *ran.memories[i][: memory.words]))
