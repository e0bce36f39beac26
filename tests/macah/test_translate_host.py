"""Host code around kernels: what is packed, in which order, and what comes back, with a stand-in runtime."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

from backend.dfg import DFG, Memory, StreamPort, Word
from macah import ir
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import Program, parse_program, read_program
from macah.todfg import build_dfg
from macah.translate import to_host_c
from macah.translate_host import HostKernel

FLAGS = ["-std=gnu11", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-O2"]
WORDS = (Word(0, 2, True),)

# Streams and kernels of the test; `macah_run_kernel` shows what it gets and answers with counted words.
RUNTIME = r"""
#include <stdio.h>
#include <stdint.h>
typedef struct macah_stream { int number; } macah_stream;
static macah_stream streams[8];
macah_stream *macah_stream_create(size_t size, size_t depth) {
  static int made;
  printf("stream %d: %zu x %zu\n", made, depth, size);
  streams[made].number = made;
  return &streams[made++];
}
int macah_run_kernel(unsigned kernel, const uint32_t *in, uint32_t *out, macah_stream *const *s,
                     uint32_t *const *m) {
  static const int counts[2][4] = LAYOUT;
  const int *count = counts[kernel];
  printf("kernel %u in", kernel);
  for (int i = 0; i < count[0]; i++) printf(" %x", in[i]);
  printf(" streams");
  for (int i = 0; i < count[2]; i++) printf(" %d", s[i]->number);
  for (int i = 0; i < count[1]; i++) out[i] = 0xfff0 + i;
  for (int i = 0; i < count[3]; i++) {
    printf(" memory");
    for (int k = 0; m[i] && k < 4; k++) printf(" %x", m[i][k]), m[i][k] = 0x1f0 + k;
  }
  printf("\n");
  return 0;
}
"""


def run(text: str, layout: str, folder: Path) -> list[str]:
    (folder / "program.c").write_text(text)
    (folder / "runtime.c").write_text(f"#include <stddef.h>\n#define LAYOUT {layout}\n{RUNTIME}")
    command = ["cc", *FLAGS, "program.c", "runtime.c", "-o", "program"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return subprocess.run(
        [folder / "program"], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def host(
    program: Program, captured: list[ir.Capture], handles: list[ir.StreamCapture], **graph: object
) -> HostKernel:
    site = program.kernels[0]
    kernel = ir.Kernel(site.name, tuple(captured), tuple(handles), (), site.where)
    empty = DFG(site.name, (), (), (), (), (), ())
    return HostKernel(site, kernel, replace(empty, **graph))


def test_scalars_and_streams(tmp_path: Path) -> None:
    program = parse_program(
        """int printf(const char *, ...);
struct { signed char low; unsigned char byte; } pair = {-1, 200};
static void f(short stream s[2], unsigned short n, long wide) {
  short t;
  float x = 1;
  kernel { t = n + pair.low; pair.byte = wide; x = x + 1; s[1] <! t; }
  printf("%d %d %lx %.3g\\n", t, pair.byte, wide, (double)x * 1e41);
}
int main(void) {
  short stream s[] = {pstream_create(short, 3), pstream_create(short)};
  f(s, 65535, -2);
  return 0;
}
""",
        Path("host.macah"),
    )
    names = {name: ir.Variable(name) for name in ("n", "low", "byte", "t", "wide_low", "wide_high", "x")}
    captured = [
        ir.Capture(names["n"], "n", "unsigned short"),
        ir.Capture(names["low"], "pair.low", "signed char"),
        ir.Capture(names["byte"], "pair.byte", "unsigned char", out=True),
        ir.Capture(names["wide_low"], "wide", "long", half=0),
        ir.Capture(names["wide_high"], "wide", "long", out=True, half=1),
        ir.Capture(names["t"], "t", "short", into=False, out=True),
        ir.Capture(names["x"], "x", "float", out=True),
    ]
    streams = [ir.StreamCapture(ir.Stream(f"s{i}", 2, WORDS), f"s[{i}]") for i in (0, 1)]
    kernel = host(
        program,
        captured,
        streams,
        live_ins=("wide_high", "low", "n", "byte", "wide_low", "x"),
        live_outs=("t", "byte", "wide_high", "x"),
        streams=(StreamPort("s1", True, 2, WORDS), StreamPort("s0", False, 2, WORDS)),
    )
    text = to_host_c(program, [kernel])
    assert run(text, "{{6, 4, 2, 0}}", tmp_path) == [
        "stream 0: 3 x 2",
        "stream 1: 16 x 2",
        "kernel 0 in ffffffff ffffffff ffff c8 fffffffe 3f800000 streams 1 0",
        "-16 241 fff2fffffffe 9.18",
    ]


def test_arrays_are_row_major_and_only_moved_as_needed(tmp_path: Path) -> None:
    program = parse_program(
        """int printf(const char *, ...);
typedef struct { short value; int other; } cell;
static void f(signed char a[2][2], long b[4], unsigned char c[^4^]) {
  static cell cells[4];
  cells[1].value = -3;
  go: kernel { a[0][0] = b[1]; c[0] = cells[1].value; }
  printf("%d %d %lx %d\\n", a[1][0], c[3], b[1], cells[2].value);
}
int main(void) {
  signed char a[2][2] = {{1, -2}, {3, 4}};
  long b[] = {-1, 0x500000006, 7, 8};
  unsigned char c[^4^] = {0};
  f(a, b, c);
  return 0;
}
""",
        Path("host.macah"),
    )
    a = ir.Array("a", (2, 2), ir.ElementType(8, True))
    c = ir.Array("c", (4,), ir.ElementType(8, False))
    high = ir.Array("b", (4,))
    cells = ir.Array("cells", (4,), ir.ElementType(16, True))
    captured = [
        ir.Capture(a, "a[{0}][{1}]", "signed char", out=True),
        ir.Capture(c, "c[{0}]", "unsigned char", into=False, out=True),
        ir.Capture(high, "b[{0}]", "long", out=True, half=1),
        ir.Capture(cells, "cells[{0}].value", "short"),
    ]
    memories = (
        Memory("c", 4, captured_out=True),
        Memory("a", 4, True, True),
        Memory("table", 3, initial=(1, 2, 3)),
        Memory("cells", 4, True),
        Memory("b", 4, True, True),
    )
    lines = run(
        to_host_c(program, [host(program, captured, [], memories=memories)]), "{{0, 0, 0, 5}}", tmp_path
    )
    assert lines[0].split(" memory")[2:] == [" 1 fffffffe 3 4", "", " 0 fffffffd 0 0", " ffffffff 5 0 0"]
    assert lines[1:] == ["-14 243 1f100000006 0"]


def test_kernels_without_captures_and_local_names(tmp_path: Path) -> None:
    program = parse_program(
        """int printf(const char *, ...);
static const int table[] = {1, 2};
static int helper(int x) { return x; }
int main(void) {
  int unread, shadow = 3;
  if (shadow == 3) kernel { int shadow = helper(table[0]); unread = shadow; } else printf("not here\\n");
  second: kernel { int local[4]; for (int i = 0; i < 4; i++) local[i] = i; }
  return 0;
}
""",
        Path("host.macah"),
    )
    empty = DFG("k", (), (), (), (), (), ())
    kernels = [HostKernel(s, ir.Kernel(s.name, (), (), ()), empty) for s in program.kernels]
    assert run(to_host_c(program, kernels), "{{0}}", tmp_path) == [
        "kernel 0 in streams",
        "kernel 1 in streams",
    ]


def test_a_variable_that_has_no_value_before_its_kernel_is_no_warning(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text("""static int last(const int *a, int n)
{
  int low;
  register int high;
  high = 0;
  kernel { for (int i = 0; i < n; i++) { low = i; high += i; } }
  return low + high + a[0];
}
int main(int argc, char **argv) { return last(&argc, 3) + !argv; }
""")
    program = read_program(source, [])
    kernel = optimize(lower(program, program.kernels[0]))
    text = to_host_c(program, [HostKernel(program.kernels[0], kernel, build_dfg(kernel))])
    host = tmp_path / "host.c"
    host.write_text(text)
    for level in ("-O0", "-O2"):
        flags = [*FLAGS, level, "-c", "-o", str(tmp_path / "host.o")]
        done = subprocess.run(["gcc", *flags, str(host)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
