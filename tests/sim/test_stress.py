"""Streams under many threads: owners that change, streams that come and go, many kernels at once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from sim_kernels import HEAD, build, run, scale

from sim.cosim import RUNTIME_FLAGS, RUNTIME_SOURCES

# Threads take turns at both ends, in phases of one user and of several; every element arrives once, and those
# of one sender in order as long as there is one receiver.
OWNERS = """
#include <pthread.h>
enum { THREADS = 4, ROUNDS = 300, EACH = 40 };
static MACAH_STREAM(int) s;
static unsigned char seen[THREADS * ROUNDS * EACH];
static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER, receiving = PTHREAD_MUTEX_INITIALIZER;
static void send_some(int me, int round) {
  for (int i = 0; i < EACH; i++) {
    int x = (me * ROUNDS + round) * EACH + i;
    if (i % 5) macah_send(s, x); else while (!macah_try_send(s, x)) sched_yield();
  }
}
static void *sender(void *argument) {
  int me = (int)(size_t)argument;
  for (int round = 0; round < ROUNDS; round++) {
    int alone = round % 3 == 0;
    if (alone) pthread_mutex_lock(&sending);
    send_some(me, round);
    if (alone) pthread_mutex_unlock(&sending);
  }
  return NULL;
}
static void receive_some(int count) {
  for (int i = 0; i < count; i++) {
    int x = -1;
    if (i % 7) macah_receive(x, s); else while (!macah_try_receive(x, s)) sched_yield();
    __atomic_fetch_add(&seen[x], 1, __ATOMIC_RELAXED);
  }
}
static void *receiver(void *unused) {
  for (int round = 0; round < ROUNDS; round++) {
    int alone = round % 2;
    if (alone) pthread_mutex_lock(&receiving);
    receive_some(EACH);
    if (alone) pthread_mutex_unlock(&receiving);
  }
  return unused;
}
int main(void) {
  pthread_t thread[2 * THREADS];
  s = macah_create(int, DEPTH, "i32");
  for (size_t t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, sender, (void *)t);
  for (size_t t = 0; t < THREADS; t++) pthread_create(&thread[THREADS + t], NULL, receiver, NULL);
  for (int t = 0; t < 2 * THREADS; t++) pthread_join(thread[t], NULL);
  for (int i = 0; i < THREADS * ROUNDS * EACH; i++) if (seen[i] != 1) return 2;
  return !macah_empty(s);
}
"""


@pytest.mark.parametrize("depth", [1, 5, 64])
def test_ends_that_change_owners_lose_nothing(tmp_path: Path, depth: int) -> None:
    done = run(build(f"#include <sched.h>\n#define DEPTH {depth}\n{OWNERS}", [], tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


SHORT_LIVES = """
#include <pthread.h>
static void feed(void *frame) {
  MACAH_STREAM(int) s = *(MACAH_STREAM(int) *)frame;
  MACAH_BATCH; MACAH_TO(s);
  for (int i = 0; i < 100; i++) macah_batch_send(macah_to_s, s, i);
  macah_publish(macah_all);
  macah_close(s);
}
static void *work(void *unused) {
  for (int round = 0; round < 150; round++) {
    MACAH_STREAM(int) s = macah_create(int, 1 + round, "i32");
    macah_spawn(s, "feed", feed, &s, sizeof s, 0);
    int sum = 0;
    for (int x = 0; !macah_ended(s); sum += x, x = 0) macah_receive(x, s);
    if (sum != 4950) exit(1);
    macah_reader_join(s);
  }
  return unused;
}
int main(void) {
  pthread_t thread[4];
  for (int t = 0; t < 4; t++) pthread_create(&thread[t], NULL, work, NULL);
  for (int t = 0; t < 4; t++) pthread_join(thread[t], NULL);
}
"""


def test_streams_come_and_go(tmp_path: Path) -> None:
    done = run(build(SHORT_LIVES, [], tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("host", ["#include <sched.h>\n#define DEPTH 5\n" + OWNERS, SHORT_LIVES])
def test_the_thread_sanitizer_finds_no_race(tmp_path: Path, host: str) -> None:
    source, executable = tmp_path / "host.c", tmp_path / "host"
    source.write_text(HEAD + host.replace("ROUNDS = 300", "ROUNDS = 60").replace("< 150", "< 20"))
    sources = [str(s) for s in (source, *RUNTIME_SOURCES)]
    flags = ["-std=gnu11", "-O1", "-g", "-w", "-fsanitize=thread", *RUNTIME_FLAGS]
    built = subprocess.run(["cc", *flags, *sources, "-o", str(executable)], capture_output=True, text=True)
    if "libtsan" in built.stderr:
        pytest.skip("no thread sanitizer here")
    done = run(executable)
    assert (done.returncode, done.stderr) == (0, "")


MANY = """
#include <pthread.h>
static void *enter(void *argument) {
  int n = 20;
  MACAH_STREAM(int) in = macah_create(int, n, "i32"), out = macah_create(int, n, "i32");
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < n; i++) macah_send(in, i);
    uint32_t live_in[] = {n, (size_t)argument}, live_out[1];
    macah_run_kernel(0, live_in, live_out, (macah_stream *[]){(macah_stream *)in, (macah_stream *)out}, NULL);
    if (live_out[0] != 190) exit(1);
    for (int i = 0, x; i < n; i++) {
      macah_receive(x, out);
      if (x != i * (int)(size_t)argument) exit(2);
    }
  }
  return NULL;
}
int main(void) {
  pthread_t thread[4];
  for (size_t t = 0; t < 4; t++) pthread_create(&thread[t], NULL, enter, (void *)t);
  for (int t = 0; t < 4; t++) pthread_join(thread[t], NULL);
}
"""


def test_threads_in_one_kernel_on_simulators_of_their_own(tmp_path: Path) -> None:
    done = run(build(MANY, [scale()], tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
