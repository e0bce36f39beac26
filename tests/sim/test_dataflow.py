"""Whole programs in mode dataflow: what the mode must do that no single circuit shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MANY = """
#include <stdio.h>
static int fifth(int x, int stream out) { kernel { for (int i = 0; i < 5; i++) x += i; out <! x; } return x; }
static long long wide(long long x) { kernel { for (int i = 0; i < 3; i++) x = x * 1000003 + i; } return x; }
int main(void)
{
  int stream s = pstream_create(int, 4);
  int x, sum = 0;
  long long last = 1;
  for (int i = 0; i < 300; i++) { sum += fifth(i, s); x <? s; sum ^= x; last = wide(last); }
  printf("%d %lld\\n", sum, last);
}
"""
POLLS = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int stream in, out;
static void *late(void *unused)
{
  for (int i = 0; i < 20; i++) { usleep(1000); in <! i; }
  pstream_close(in);
  return unused;
}
int main(void)
{
  pthread_t other;
  int got = 0, sum = 0, w, x = 7;
  in = pstream_create(int, 2), out = pstream_create(int, 3);
  pthread_create(&other, 0, late, 0);
  kernel {
    while (!pstream_ended(in)) {
      w :: x <? in;
      if (w) { got++; sum += x; w :: out <! x; }
    }
    pstream_close(out);
  }
  pthread_join(other, 0);
  int sent = 0;
  while (!pstream_ended(out)) { x <? out; sent++; }
  printf("%d %d %d\\n", got, sum, sent);
}
"""
STUCK = """int main(void)
{
  int stream s = pstream_create(int, 2);
  int x = 0;
  stuck: kernel {
    for (int i = 0; i < 9; i++) s <! i / 3;
  }
  x <? s;
  return x;
}
"""


def macahc(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "macah", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **environment},
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "p.macah"


@pytest.mark.slow
def test_kernels_are_entered_again_and_again(source: Path) -> None:
    source.write_text(MANY)
    expected = macahc("run", "--mode", "c", source).stdout
    for overlap in ((), ("--overlap=3",)):
        done = macahc("run", "--mode", "dataflow", *overlap, source, MACAH_STATS="1")
        assert done.stdout == expected and done.returncode == 0
        rows = [line.split() for line in done.stderr.splitlines()[1:]]
        assert [row[:2] for row in rows] == [["fifth_kernel", "300"], ["wide_kernel", "300"]]
        assert all(int(row[2]) > 300 for row in rows)


def test_operations_that_do_not_wait(source: Path) -> None:
    source.write_text(POLLS)
    done = macahc("run", "-w", "--mode", "dataflow", source)
    assert (done.stdout, done.stderr) == ("20 190 3\n", "")


@pytest.mark.parametrize("overlap", [(), ("--overlap",)])
def test_a_deadlock_is_found_and_told(source: Path, overlap: tuple[str, ...]) -> None:
    source.write_text(STUCK)
    done = macahc("run", "-w", "--mode", "dataflow", *overlap, source)
    assert done.returncode == -6
    assert "is in kernel 'stuck', which waits in its cycle" in done.stderr
    assert f"to send to 's' at {source}:6, which is full (2 of 2)" in done.stderr


def test_a_stream_that_nobody_will_empty_is_said_to_be_closed(source: Path) -> None:
    source.write_text(
        "int main(void) {\n  int stream s = pstream_create(int, 1);\n  s <! 1;\n  pstream_close(s);\n"
        "  kernel { s <! 2; }\n}\n"
    )
    done = macahc("run", "-w", "--mode", "dataflow", source)
    assert done.returncode == -6
    assert f"to send to 's' at {source}:5, which is full (1 of 1) and closed" in done.stderr


def test_modes_are_compared(source: Path) -> None:
    source.write_text(MANY)
    done = macahc("diff-modes", "--modes", "dataflow,mapped", source)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_overlap_saves_cycles_and_is_bounded(source: Path) -> None:
    source.write_text(STUCK.replace("i < 9", "i < 200").replace("int, 2", "int, 200"))

    def cycles(*overlap: str) -> int:
        done = macahc("run", "--mode", "dataflow", *overlap, source, MACAH_STATS="1")
        assert done.returncode == 0
        return int(done.stderr.splitlines()[-1].split()[2])

    alone = cycles()
    assert alone > 1.8 * cycles("--overlap=2") > 3 * cycles("--overlap=32")
    assert cycles("--overlap=1") == alone


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--overlap",), "--overlap goes with --mode dataflow"),
        (("--mode", "dataflow", "--overlap=0"), "'0' is not a number from 1 to 64"),
        (("--mode", "dataflow", "--overlap=999"), "'999' is not a number from 1 to 64"),
        (("--mode", "dataflow", "--report"), "leave out --mode dataflow"),
    ],
)
def test_wrong_usage(source: Path, words: tuple[str, ...], said: str) -> None:
    source.write_text(STUCK)
    done = macahc(*words, source)
    assert done.returncode == 2 and said in done.stderr


def test_what_the_bridge_cannot_address_is_refused(source: Path) -> None:
    array = "static int a[1 << 25];\nvoid f(int i) {\n  kernel { a[i & 0xffff] = i; }\n}\n"
    ends = "int stream s[80];\nvoid f(int i) {\n  kernel { FOR (int k = 0; k < 80; k++) s[k] <! i; }\n}\n"
    for given, said in ((array, "words of array 'a'"), (ends, "ends of streams")):
        source.write_text(given)
        done = macahc("--mode", "dataflow", "--emit", "verilog", "-w", source)
        assert done.returncode == 1 and done.stdout == ""
        assert f"p.macah:3:3: error: kernel 'f_kernel' cannot be simulated: {said}: " in done.stderr
