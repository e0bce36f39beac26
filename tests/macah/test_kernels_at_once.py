"""Kernels that many threads are in at once, and kernels that wait for each other, in modes c and mapped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CROWD = """
#include <pthread.h>
#include <stdio.h>
enum { THREADS = %d };
static int stream ring[THREADS];
static int sums[THREADS];
static void *turn(void *argument) {
  int me = (int)(long)argument, sum = 0;
  int stream in = ring[me], out = ring[(me + 1) %% THREADS];
  pass: kernel {
    int x;
    for (int i = 0; i < 20; i++) { x <? in; sum += x; out <! x + 1; }
  }
  sums[me] = sum;
  return 0;
}
int main(void) {
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; t++) ring[t] = pstream_create(int, 4);
  printf("%%d%%d ", pstream_empty(ring[0]), pstream_full(ring[0]));
  for (int i = 0; i < 4; i++) ring[0] <! 0;
  printf("%%d%%d\\n", pstream_empty(ring[0]), pstream_full(ring[0]));
  for (long t = 0; t < THREADS; t++) pthread_create(&threads[t], 0, turn, (void *)t);
  int sum = 0;
  for (int t = 0; t < THREADS; t++) pthread_join(threads[t], 0), sum += sums[t];
  printf("%%d\\n", sum);
}
"""


@pytest.mark.quick(1)
@pytest.mark.parametrize(("mode", "threads"), [("c", 100), ("mapped", 3), ("dataflow", 3)])
def test_each_thread_in_a_kernel_has_its_own_execution(tmp_path: Path, mode: str, threads: int) -> None:
    """All must run at once: four elements go round through all of them five times."""
    source = tmp_path / "crowd.macah"
    source.write_text(CROWD % threads)
    options = ["-w", "--ordered-streams", "--mode", mode]
    command = [sys.executable, "-m", "macah", "run", *options, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    hops = 5 * threads
    assert (done.stdout, done.stderr) == (f"10 01\n{4 * sum(range(hops))}\n", "")
    assert done.returncode == 0
