"""MACAH_TRACE: what goes through each stream, as text, the same wherever its kernels run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sim_kernels import build, run, scale

from backend.dfg import Word

HOST = """
#include <string.h>
#include <pthread.h>
struct inner { signed char a; unsigned short b[2]; };
struct outer { float f; struct inner i[2]; _Bool t; unsigned long long n; double d; };
#define LAYOUT "{f32@0 [2]{i8@0 [2]u16@2}/6@4 u8@16 u64@24 f64@32}/40"
# 100 "dir with/odd name!.macah"
int main(void) {
  MACAH_STREAM(struct outer) s = macah_create(struct outer, 2, LAYOUT);
  struct outer x = {1.5f, {{-1, {2, 65535}}, {3, {4, 5}}}, 1, -1ull, 1e300};
  macah_send(s, x);
  MACAH_STREAM(long double) unknown = macah_create(long double, 2, "");
  macah_stream_send((macah_stream *)unknown, "0123456789abcdef", MACAH_HERE, "s");
  for (int i = 0; i < 2; i++) {
    MACAH_STREAM(short) t = macah_create(short, 2, "i16");
    int w = macah_try_send(t, -i);
    w += macah_try_send(t, i); w += macah_try_send(t, 7);
    if (w != 2) return 1;
    macah_free(t);
  }
}
"""


def traced(executable: Path, directory: Path, places: str = "0") -> dict[str, str]:
    """What a run leaves in a trace directory."""
    done = run(executable, env={**os.environ, "MACAH_TRACE": str(directory), "MACAH_TRACE_PLACES": places})
    assert (done.returncode, done.stderr) == (0, "")
    return {path.name: path.read_text() for path in directory.iterdir()}


def test_elements_are_readable_and_files_named_for_places(tmp_path: Path) -> None:
    files = traced(build(HOST, [], tmp_path), tmp_path / "trace", "1")
    where = "# dir with/odd name!.macah"
    layout = "{f32@0 [2]{i8@0 [2]u16@2}/6@4 u8@16 u64@24 f64@32}/40"
    struct = "{1.5, {{-1, {2, 65535}}, {3, {4, 5}}}, 1, 18446744073709551615, 1.0000000000000001e+300}"
    assert files == {
        "odd_name_.macah-101-0.txt": f"{where}:101: {layout}\n{struct}\n",
        "odd_name_.macah-101-0.txt.places": "dir with/odd name!.macah:103\n",
        "odd_name_.macah-104-0.txt": f"{where}:104: 16 bytes\n" + b"0123456789abcdef".hex() + "\n",
        "odd_name_.macah-104-0.txt.places": "dir with/odd name!.macah:105\n",
        "odd_name_.macah-107-0.txt": f"{where}:107: i16\n0\n0\n",
        "odd_name_.macah-107-0.txt.places": "dir with/odd name!.macah:108\ndir with/odd name!.macah:109\n",
        "odd_name_.macah-107-1.txt": f"{where}:107: i16\n-1\n1\n",
        "odd_name_.macah-107-1.txt.places": "dir with/odd name!.macah:108\ndir with/odd name!.macah:109\n",
    }


SCALED = """
struct pair { int a; signed char b; };
int main(void) {
  int n = 40;
  MACAH_STREAM(struct pair) in = macah_create(struct pair, n, "{i32@0 i8@4}/8");
  MACAH_STREAM(struct pair) out = macah_create(struct pair, n, "{i32@0 i8@4}/8");
  for (int i = 0; i < n; i++) macah_send(in, ((struct pair){i - 5, i}));
  uint32_t live_in[] = {n, 3}, live_out[1];
  macah_run_kernel(0, live_in, live_out, (macah_stream *[]){(macah_stream *)in, (macah_stream *)out}, NULL);
  macah_send(out, ((struct pair){1000, 0}));
}
"""


def test_what_simulators_send_is_traced_in_order(tmp_path: Path) -> None:
    design = scale((Word(0, 4, True), Word(4, 1, True)), 8)
    host = SCALED.replace("n, 3}", "2 * n, 3}").replace("create(struct pair, n", "create(struct pair, n + 1")
    files = traced(build(host, [design], tmp_path), tmp_path / "trace")
    given, made = (files[name].splitlines()[1:] for name in sorted(files))
    assert given == [f"{{{i - 5}, {i}}}" for i in range(40)]
    products = [((3 * i + 128) % 256) - 128 for i in range(40)]
    assert made == [*(f"{{{3 * (i - 5)}, {p}}}" for i, p in enumerate(products)), "{1000, 0}"]


@pytest.mark.parametrize("kind", ["a file", "in a file", "no parent"])
def test_a_directory_that_cannot_be_written_is_reported(tmp_path: Path, kind: str) -> None:
    executable = build(HOST, [], tmp_path)
    (tmp_path / "file").write_text("")
    places = {"a file": "file", "in a file": "file/trace", "no parent": "a/b"}
    name = str(tmp_path / places[kind])
    done = run(executable, env={**os.environ, "MACAH_TRACE": name})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"macah: MACAH_TRACE: cannot write to the directory '{name}': ")
    assert (tmp_path / "file").read_text() == ""
