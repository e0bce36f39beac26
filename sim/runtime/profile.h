/* What a profiled run leaves in the arena, which `macahc run --profile` reads when the program has ended, however it
 * did: sim/profile_memory.py, which has the same fields. All are of 64 bits; times are nanoseconds of
 * CLOCK_MONOTONIC, places in the arena are offsets, and 0 is none. Each part has one writer.
 */
#ifndef MACAH_PROFILE_H
#define MACAH_PROFILE_H

#include <time.h>

#include "channel.h"

enum {
  MACAH_SITES = 128,          /* places where a thread waits, the first for all that are too many */
  MACAH_THREAD_EVENTS = 1 << 15,
  MACAH_KERNEL_EVENTS = 1 << 16,
  MACAH_THREAD_LOGS = 256,
  MACAH_STALL_WORDS = 1 << 13, /* of a table of entries: cycles, time, slot, then a bit for each place that waits */
  MACAH_LOOPS = 64,
  MACAH_TURNS = 64,            /* ways in which an iteration has work for loops, the first for all that are too many */
};

/* What a simulator does for an execution, in this order. */
enum macah_phase { MACAH_STARTS, MACAH_CONFIGURES, MACAH_FILLS, MACAH_RUNS_KERNEL, MACAH_FETCHES, MACAH_PHASES };

/* From `begin` to `end`, which is 0 while it goes on. `what` is a thread's site, a simulator's phase, or MACAH_PHASES
 * and the place of an entry in the table of stalls or, for a
 * simulator that sleeps without being stalled, MACAH_STALL_WORDS; `cycle` and `cycles` are the kernel's. */
struct macah_event {
  uint64_t begin, end, what, cycle, cycles;
};

struct macah_site {
  uint64_t kind, file, line, text, created_file, created_line, count, time;
};

struct macah_thread_log {
  uint64_t next, number, name, began, ended, sites, events, lost;
  struct macah_site site[MACAH_SITES];
  struct macah_event event[MACAH_THREAD_EVENTS];
};

struct macah_port_log {
  uint64_t words, in_vain; /* moved; cycles in which a port asked that was not ready and the kernel went on */
};

struct macah_turn_log {
  uint64_t loops, count, cycles; /* a bit for each loop whose body ran, iterations with just these, their cycles */
};

struct macah_simulator_log {
  uint64_t next, kernel, ordinal, entries, finished;
  uint64_t finished_active; /* cycles of finished executions, but for stalls */
  uint64_t active, stalled; /* of all executions */
  uint64_t iterations;      /* complete ones, where the design tells */
  uint64_t words[MACAH_PHASES], time[MACAH_PHASES];
  uint64_t stride, stall_words; /* of the table of stalls: words of an entry, words used */
  uint64_t asleep; /* time without being stalled */
  uint64_t turns, events, lost;
  uint64_t body[MACAH_LOOPS];
  struct macah_turn_log turn[MACAH_TURNS];
  struct macah_port_log port[64];
  uint64_t stall[MACAH_STALL_WORDS];
  struct macah_event event[MACAH_KERNEL_EVENTS];
};

struct macah_profile {
  uint64_t began, threads, simulators, unlogged;
};

static inline uint64_t macah_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

#endif
