"""How fast a stream moves 32-bit words from one thread to another, against a ring written by hand in C.

    python benchmarks/streams.py

All ways run in one process, in turns, so that they suffer the same disturbances, and in short runs, most of
which nothing else on the machine interrupts; the median of many counts. The two threads are pinned to two
processors, for all ways the same (`--free` leaves them to the system). The ring written by hand is what a C
programmer would write for one sender and one receiver: indices in cache lines of their own, each side with a
copy of the other's, waiting by looking again. `words` are sent and received one by one by the runtime's
macros, as in translated programs; `blocks` as in loops that macah/translate_batch.py finds. Ratios are speeds
relative to the ring's; more is better. On a busy machine, run it before all others: `chrt -f 1 python ...`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from sim.cosim import RUNTIME_FLAGS, RUNTIME_SOURCES  # noqa: E402

AIM = 0.8
WAYS = ("ring", "words", "blocks")

HOST = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <macah.h>

static int words, depth, processor[2];

/* The ring written by hand. */
static struct {
  _Alignas(64) uint32_t sent, seen_received;
  _Alignas(64) uint32_t received, seen_sent;
  _Alignas(64) uint32_t mask;
  _Alignas(64) uint32_t data[1 << 16];
} ring;

static void pin(int which) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor[which], &set);
  if (processor[which] >= 0) sched_setaffinity(0, sizeof set, &set);
}

static void wait(int *spins) {
  if (++*spins % 1024 == 0) sched_yield();
  else __builtin_ia32_pause();
}

static void ring_send(uint32_t x) {
  uint32_t sent = ring.sent;
  for (int spins = 0; sent - ring.seen_received > ring.mask;) {
    ring.seen_received = __atomic_load_n(&ring.received, __ATOMIC_ACQUIRE);
    if (sent - ring.seen_received > ring.mask) wait(&spins);
  }
  ring.data[sent & ring.mask] = x;
  __atomic_store_n(&ring.sent, sent + 1, __ATOMIC_RELEASE);
}

static uint32_t ring_receive(void) {
  uint32_t received = ring.received;
  for (int spins = 0; received == ring.seen_sent;) {
    ring.seen_sent = __atomic_load_n(&ring.sent, __ATOMIC_ACQUIRE);
    if (received == ring.seen_sent) wait(&spins);
  }
  uint32_t x = ring.data[received & ring.mask];
  __atomic_store_n(&ring.received, received + 1, __ATOMIC_RELEASE);
  return x;
}

static MACAH_STREAM(uint32_t) s;

static void *send_ring(void *p) { pin(0); for (int i = 0; i < words; i++) ring_send(i); return p; }
static void *send_words(void *p) { pin(0); for (int i = 0; i < words; i++) macah_send(s, i); return p; }
static void *send_blocks(void *p) {
  pin(0);
  MACAH_BATCH; MACAH_TO(s);
  for (int i = 0; i < words; i++) macah_batch_send(macah_to_s, s, i);
  macah_publish(macah_all);
  return p;
}

static uint64_t receive(const char *way) {
  uint64_t sum = 0;
  if (*way == 'r') for (int i = 0; i < words; i++) sum += ring_receive();
  if (*way == 'w') for (int i = 0; i < words; i++) { uint32_t x; macah_receive(x, s); sum += x; }
  if (*way == 'b') {
    MACAH_BATCH; MACAH_FROM(s);
    for (int i = 0; i < words; i++) { uint32_t x; macah_batch_receive(macah_from_s, x, s); sum += x; }
    macah_publish(macah_all);
  }
  return sum;
}

static double seconds(const char *way) {
  pthread_t sender;
  struct timespec begin, end;
  ring.sent = ring.received = ring.seen_sent = ring.seen_received = 0;
  ring.mask = depth - 1;
  s = macah_create(uint32_t, depth, "u32");
  clock_gettime(CLOCK_MONOTONIC, &begin);
  pthread_create(&sender, NULL, *way == 'r' ? send_ring : *way == 'w' ? send_words : send_blocks, NULL);
  uint64_t sum = receive(way);
  pthread_join(sender, NULL);
  clock_gettime(CLOCK_MONOTONIC, &end);
  macah_free(s);
  if (sum != (uint64_t)words * (words - 1) / 2) abort();
  return end.tv_sec - begin.tv_sec + 1e-9 * (end.tv_nsec - begin.tv_nsec);
}

int main(int count, char **arguments) {
  depth = atoi(arguments[1]), words = atoi(arguments[2]);
  processor[0] = atoi(arguments[4]), processor[1] = atoi(arguments[5]);
  pin(1);
  for (int r = atoi(arguments[3]); r > 0; r--)
    for (int w = 6; w < count; w++) printf("%s %.9f\n", arguments[w], words / seconds(arguments[w]));
}
"""


def built(directory: Path) -> str:
    """The program that measures."""
    host, executable = directory / "host.c", directory / "host"
    host.write_text(HOST)
    sources = [str(source) for source in (host, *RUNTIME_SOURCES)]
    subprocess.run(["cc", "-std=gnu11", "-O2", *RUNTIME_FLAGS, *sources, "-o", str(executable)], check=True)
    return str(executable)


def processors(free: bool) -> tuple[int, int]:
    """Where the sender and the receiver run; -1 for anywhere."""
    usable = sorted(os.sched_getaffinity(0))
    return (-1, -1) if free or len(usable) < 2 else (usable[0], usable[1])


def rates(program: str, depth: int, words: int, repeat: int, where: tuple[int, int]) -> dict[str, float]:
    """Words per second of each way."""
    command = [program, *map(str, (depth, words, repeat, *where)), *WAYS]
    found: dict[str, list[float]] = defaultdict(list)
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        way, rate = line.split()
        found[way].append(float(rate))
    return {way: statistics.median(all_rates) for way, all_rates in found.items()}


def main() -> int:
    """0 if words move as fast as aimed at, and blocks faster."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--repeat", type=int, default=41)
    parser.add_argument("--free", action="store_true", help="do not pin the threads")
    options = parser.parse_args()
    good = True
    print(f"{'depth':>6} {'ring':>9} {'words':>9} {'ratio':>6} {'aim':>5} {'blocks':>9} {'ratio':>6} (M/s)")
    with tempfile.TemporaryDirectory() as name:
        program = built(Path(name))
        for depth in (4, 16, 64, 1024):
            rate = rates(program, depth, options.words, options.repeat, processors(options.free))
            ring, words, blocks = (rate[way] / 1e6 for way in WAYS)
            print(f"{depth:6} {ring:9.1f} {words:9.1f} {words / ring:6.2f} {AIM:5.2f}", end=" ")
            print(f"{blocks:9.1f} {blocks / ring:6.2f}")
            good = good and words >= AIM * ring and blocks > words
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
