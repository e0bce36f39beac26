"""Time in lock step: runs repeat cycle by cycle, and programs still come to an end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# A kernel that polls sees, and tells by its sum, in which of its turns each element comes.
POLLS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int stream in, middle, out;
static int work;
static void waste(void) { for (volatile int k = rand() %% 1000 * work; k > 0; k--) ; }
static void *feed(void *unused)
{
  for (int i = 0; i < 60; i++) { waste(); in <! i; }
  pstream_close(in);
  return unused;
}
static void *pass_on(void *unused)
{
  pass: kernel { int x; while (!pstream_ended(in)) { x <? in; middle <! x; } pstream_close(middle); }
  return unused;
}
static void *take(void *unused)
{
  unsigned *sum = unused, x = 0, w, looks = 0;
  x <? out; /* before kernels run there is no time to be in step with */
  while (!pstream_ended(out)) {
    looks++;
    waste();
    w :: x <? out;
    if (w) *sum = *sum * 31 + x + looks;
  }
  return unused;
}
int main(int argc, char **argv)
{
  pthread_t threads[3];
  unsigned polls = 0, sum = 0, taken = 0;
  int w, x;
  work = argc > 1 ? atoi(argv[1]) : 0;
  srand(work);
  in = pstream_create(int, 3), middle = pstream_create(int, 2), out = pstream_create(unsigned, 2);
  pthread_create(&threads[0], 0, feed, 0);
  pthread_create(&threads[1], 0, pass_on, 0);
  pthread_create(&threads[2], 0, take, &taken);
  count: kernel {
    x = 0;
    while (!pstream_ended(middle)) {
      polls++;
      w :: x <? middle;
      if (w) { sum = sum * 31 + polls; out <! sum; }
    }
    pstream_close(out);
  }
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  printf("%u %u %u\\n", polls, sum, taken);
}
"""
# The end is told by a variable; the other thread looks for it in its sleep.
SLEEPS = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int stream s;
static volatile int done;
static void *take(void *unused) { int x = 0; for (int i = 0; i < 50; i++) x <? s; done = x; return unused; }
int main(void)
{
  pthread_t thread;
  char c;
  s = pstream_create(int, 4);
  pthread_create(&thread, 0, take, 0);
  if (read(0, &c, 1) == 1) usleep(5000);
  kernel { for (int i = 1; i <= 50; i++) s <! i; }
  while (!done) usleep(1000);
  printf("%d%c\\n", done, c);
}
"""
# Input that depends on output: `cat` gives back what is printed.
ECHO = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int stream s, t;
static void *send_back(void *unused)
{
  char c;
  while (read(0, &c, 1) == 1 && c != '.') { t <! c; }
  pstream_close(t);
  return unused;
}
static void *print(void *unused)
{
  int x;
  for (;;) { x <? s; if (pstream_ended(s)) return unused; char c = x; if (write(1, &c, 1) != 1) return 0; }
}
int main(void)
{
  pthread_t in, out;
  int last = 0;
  s = pstream_create(int, 4), t = pstream_create(int, 4);
  pthread_create(&in, 0, send_back, 0);
  pthread_create(&out, 0, print, 0);
  #pragma macah ordered
  kernel { s <! 'a'; last <? t; s <! last + 1; last <? t; s <! '.'; }
  fprintf(stderr, "%c", last);
  _exit(0);
}
"""


def build(text: str, directory: Path, *options: str) -> Path:
    source, program = directory / "p.macah", directory / "p"
    source.write_text(text)
    command = [sys.executable, "-m", "macah", "-w", *options, "-o", str(program), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, *words: object, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "MACAH_TIME"} | {"MACAH_STATS": "1"}
    command = [str(program), *map(str, words)]
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        command, **{"capture_output": True, "text": True, "timeout": 60, "env": environment, **options}
    )


@pytest.mark.parametrize("mode", ["mapped", "dataflow"])
def test_runs_repeat_whatever_the_hosts_speed(mode: str, tmp_path: Path) -> None:
    program = build(POLLS.replace("%%", "%"), tmp_path, "--mode", mode, "--time", "lockstep")
    runs = [run(program, work) for work in (0, 1, 1000)]
    assert {done.returncode for done in runs} == {0}
    assert len({(done.stdout, done.stderr) for done in runs}) == 1, [
        done.stdout + done.stderr for done in runs
    ]


def test_a_host_that_sleeps_lets_time_pass(tmp_path: Path) -> None:
    done = run(build(SLEEPS, tmp_path, "--time=lockstep"), input="x")
    assert (done.stdout, done.returncode) == ("50x\n", 0)


def test_input_may_depend_on_output(tmp_path: Path) -> None:
    program = build(ECHO, tmp_path, "--time", "lockstep")
    ends = os.pipe()
    done = run(program, stdin=ends[0], stdout=ends[1], capture_output=False, stderr=subprocess.PIPE)
    os.close(ends[0]), os.close(ends[1])
    assert (done.stderr.splitlines()[0][:1], done.returncode) == ("b", 0)


def test_the_environment_says_which_time(tmp_path: Path) -> None:
    program = build(SLEEPS, tmp_path)
    for time in ("free", "lockstep", ""):
        assert run(program, input="x", env={**os.environ, "MACAH_TIME": time}).stdout == "50x\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--time", "lockstep", "--mode", "c"), "leave out --mode c"),
        (("--time=soon",), "invalid choice: 'soon'"),
    ],
)
def test_wrong_usage(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "macah", *words, "p.macah"], capture_output=True, text=True)
    assert done.returncode == 2 and said in done.stderr
