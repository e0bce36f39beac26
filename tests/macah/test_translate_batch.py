"""Blocks of elements in translated C: where they are used, and that nobody can tell but by the time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from macah.program import read_program
from macah.translate import to_c


def translated(text: str, directory: Path) -> str:
    """The C of a program, from its first own line on."""
    source = directory / "program.macah"
    source.write_text(text)
    return to_c(read_program(source))


def output(text: str, directory: Path, *arguments: str, status: int = 0, **environment: str) -> str:
    """What a program prints in mode c."""
    source = directory / "program.macah"
    source.write_text(text)
    command = [sys.executable, "-m", "macah", "run", "-w", "--mode", "c", str(source), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == status, done.stderr
    return done.stdout


BATCHED = [
    "void f(int stream s, int *p, int n) { for (int i = 0; i < n; i++) s <! p[i]; }",
    "void f(int stream s, int *p, int n) { while (n--) { *p++ <? s; } }",
    "struct t { int a; }; void f(int stream s, struct t *p) { for (int i = 0; i < 9; i++) s <! p->a + i; }",
    "void f(int stream s, int n) { kernel { int x; for (int i = 0; i < n; i++) x <? s; } }",
    "static int g(int x) { return x; } void f(int stream s) { kernel { for (;;) s <! g(1); } }",
    "void f(int stream s) { kernel { int x; while (!pstream_ended(s)) x <? s; } }",
]
WORD_BY_WORD = [
    "void f(int stream s) { s <! 1; }",
    "void f(int stream s, int *p) { int w; for (int i = 0; i < 9; i++) w :: s <! p[i]; }",
    "void f(int stream s, volatile int *p) { for (int i = 0; i < 9; i++) s <! *p; }",
    "typedef volatile int v; void f(int stream s, v *p) { for (int i = 0; i < 9; i++) s <! p[i]; }",
    "struct t { volatile int a; }; void f(int stream s, struct t *p) { for (;;) s <! p->a; }",
    "int g(void); void f(int stream s) { for (int i = 0; i < 9; i++) s <! g(); }",
    "int g(void); void f(int stream s) { while (g()) s <! 1; }",
    "void f(int stream s[2]) { for (int i = 0; i < 2; i++) s[i] <! 1; }",
    "void f(int stream s, int stream t) { int x; for (x <? t; x; x <? t) s <! x; }",
    "void f(int stream s, int n) { kernel { int w, x; for (int i = 0; i < n; i++) w :: x <? s; } }",
    "void f(int stream s, int n) { kernel { s <! n; } }",
    "static void g(int stream s) { s <! 1; } void f(int stream s) { kernel { for (;;) { s <! 1; g(s); } } }",
]


@pytest.mark.parametrize("text", BATCHED)
def test_plain_loops_and_kernels_move_blocks(tmp_path: Path, text: str) -> None:
    assert "MACAH_BATCH" in translated(text, tmp_path).split("void f(")[1]


@pytest.mark.parametrize("text", WORD_BY_WORD)
def test_whatever_could_be_told_apart_goes_word_by_word(tmp_path: Path, text: str) -> None:
    assert "MACAH_BATCH" not in translated(text, tmp_path).split("void f(")[1]


PIPELINE = """
#include <stdio.h>
#include <stdlib.h>
enum { N = 5000 };
static int square(int x) { return x * x; }
static void feed(int stream s, const int *p, int n) {
  for (int i = 0; i < n; i++) s <! p[i];
  pstream_close(s);
}
static void drain(int stream s, int *p, int n) { while (n--) *p++ <? s; }
int main(int count, char **arguments) {
  (void)count;
  static int p[2 * N], q[N];
  for (int i = 0; i < 2 * N; i++) p[i] = i;
  int d = atoi(arguments[1]);
  int stream in = mem_reader_spawn_depth(d, feed, p, 2 * N);
  int stream out = mem_writer_spawn_depth(d, drain, q, N);
  kernel {
    int a, b;
    for (int i = 0; i < N; i++) { a <? in; b <? in; out <! square(a) + b; }
  }
  mem_writer_join(out);
  mem_reader_join(in);
  for (int i = 0; i < N; i++) if (q[i] != 4 * i * i + 2 * i + 1) return 1;
  int stream s = pstream_create(int, 100), t = pstream_create(int, 100);
  for (int i = 0; i < 5; i++) s <! i;
  pstream_close(s);
  kernel {
    int x;
    while (!pstream_ended(s)) { x <? s; if (!pstream_ended(s)) t <! x; t <! -x; }
    pstream_close(t);
  }
  for (int x = 0; !pstream_ended(t);) { x <? t; printf("%d ", x); }
}
"""


@pytest.mark.parametrize("depth", [1, 2, 16, 33, 64, 1000])
def test_nothing_is_lost_at_any_depth(tmp_path: Path, depth: int) -> None:
    assert output(PIPELINE, tmp_path, str(depth)) == "0 0 1 -1 2 -2 3 -3 -4 "


LOCK_STEP = """
#include <pthread.h>
#include <stdio.h>
static int stream to, from, twice;
static void *answer(void *unused) {
  for (int i = 0, x; i < 1000; i++) { x <? to; from <! x + 1; }
  return unused;
}
int main(void) {
  to = pstream_create(int, 64), from = pstream_create(int, 64), twice = pstream_create(int, 64);
  pthread_t thread;
  pthread_create(&thread, 0, answer, 0);
  int x = 0;
  kernel { for (int i = 0; i < 1000; i++) { to <! x; x <? from; } }
  pthread_join(thread, 0);
  int stream one = twice, other = twice;
  kernel { for (int i = 0; i < 10; i++) { one <! i; other <! -i; } }
  printf("%d", x);
  for (int i = 0, y; i < 20; i++) { y <? twice; printf(" %d", y); }
}
"""


def test_sends_are_seen_before_anybody_waits_and_two_names_keep_their_order(tmp_path: Path) -> None:
    pairs = " ".join(f"{i} {-i}" for i in range(10))
    assert output(LOCK_STEP, tmp_path) == f"1000 {pairs}"


def test_blocks_are_traced(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    output(PIPELINE, tmp_path, "64", MACAH_TRACE=str(trace))
    lengths = [len(path.read_text().splitlines()) - 1 for path in trace.iterdir()]
    assert sorted(lengths) == [5, 9, 5000, 10000]


OTHER_NAMES = """
#include <stdio.h>
#define TO s
#define FROM ((s))
#define IN in
#define OUT (out)
static int stream s;
static void negate(int stream in, int stream out) {
  kernel {
    int x;
    while (!pstream_ended(IN)) { x <? IN; OUT <! (pstream_ended((in)) ? -4 : -x); }
    pstream_close(OUT);
  }
}
int main(void) {
  int got[4], *p = got;
  s = pstream_create(int);
  int stream t = pstream_create(int);
  for (int n = 0; n < 2; n++) TO <! n;
  for (int n = 2; n < 4; n++) (s) <! n;
  pstream_close(s);
  negate(s, t);
  s = t;
  for (int n = 0; n < 2; n++) got[n] <? FROM;
  for (int n = 2; n < 4; n++) *(p + n) <? TO;
  for (int n = 0; n < 4; n++) printf("%d ", got[n]);
}
"""


def test_the_stream_of_a_block_may_be_named_by_a_macro(tmp_path: Path) -> None:
    assert OTHER_NAMES.count("TO") == 3 and translated(OTHER_NAMES, tmp_path).count("MACAH_BATCH;") == 5
    assert output(OTHER_NAMES, tmp_path) == "0 -1 -2 -4 "
