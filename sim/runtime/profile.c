/* Profiles, the simulator's part: what becomes of each cycle. Nothing is done unless the host wants one. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "ports.h"
#include "profile.h"

static struct macah_simulator_log *log;

int iteration_ends, turn;

static void *slot;                    /* the design's, or null */
static void **signals;                /* of places that may wait */
static unsigned signal_count, stride; /* of entries of the table of stalls */
static uint64_t *stall;               /* the entry that the last cycle was counted in; null if it did not stall */
static uint64_t stall_event, stall_began;
static void **loop_counts;
static unsigned loops;
static uint64_t counted_until;        /* the active cycle of the last look */
static uint64_t count[MACAH_LOOPS];   /* as last seen */
static uint64_t cycle;                /* of the execution, with stalls */
static uint64_t active;               /* of the execution */
static enum macah_phase phase;
static uint64_t phase_began;

enum { NO_EVENT = MACAH_KERNEL_EVENTS, ENTRY = 3 };

static uint64_t begin_event(uint64_t what, uint64_t now) {
  uint64_t number = log->events;
  if (number == MACAH_KERNEL_EVENTS) {
    log->lost++;
    return NO_EVENT;
  }
  log->event[number] = (struct macah_event){now, 0, what, cycle, 0};
  macah_store(&log->events, number + 1);
  return number;
}

static void end_event(uint64_t number, uint64_t now) {
  if (number == NO_EVENT) return;
  log->event[number].cycles = cycle - log->event[number].cycle;
  macah_store(&log->event[number].end, now);
}

void profile_watch(void *slot_signal, void **waiting, unsigned count_of_signals) {
  slot = slot_signal;
  signals = waiting;
  signal_count = count_of_signals;
  stride = ENTRY + (signal_count + 63) / 64;
  if (log) log->stride = log->stall_words = stride;
}

/* The entry of what waits in this cycle; the first entry if there is no room for another. */
static uint64_t *entry_now(void) {
  uint64_t *next = &log->stall[log->stall_words];
  next[2] = slot ? get(slot) : 0;
  for (unsigned i = ENTRY; i < stride; i++) next[i] = 0;
  for (unsigned i = 0; i < signal_count; i++)
    if (get(signals[i]) & 1) next[ENTRY + i / 64] |= (uint64_t)1 << i % 64;
  for (uint64_t *e = log->stall + stride; e < next; e += stride)
    if (memcmp(e + 2, next + 2, (stride - 2) * sizeof *e) == 0) return e;
  if (log->stall_words + 2 * stride > MACAH_STALL_WORDS) return log->stall;
  next[0] = next[1] = 0;
  macah_store(&log->stall_words, log->stall_words + stride);
  return next;
}

static void end_stall(uint64_t now) {
  if (!stall) return;
  stall[1] += now - stall_began;
  end_event(stall_event, now);
  stall = NULL;
}

static void count_ports(void) {
  for (unsigned i = 0; i < port_count; i++) {
    log->port[i].words += (uint64_t)ports[i].moves;
    log->port[i].in_vain += ports[i].wanted && !ports[i].shown_open && !ports[i].shown_ended && !design_is_stalled;
  }
}

static struct macah_turn_log *turn_of(uint64_t loops) {
  for (uint64_t i = 1; i < log->turns; i++)
    if (log->turn[i].loops == loops) return &log->turn[i];
  if (log->turns == MACAH_TURNS) return &log->turn[0];
  log->turn[log->turns].loops = loops;
  log->turns++;
  return &log->turn[log->turns - 1];
}

void profile_loops(void **counts, unsigned count_of_loops) {
  loop_counts = counts;
  loops = count_of_loops < MACAH_LOOPS ? count_of_loops : MACAH_LOOPS;
}

/* What the iteration that has been counted since the last look was for. */
static void look_at_loops(void) {
  static int seen;
  if (turn == seen) return;
  seen = turn;
  uint64_t ran = 0;
  for (unsigned i = 0; i < loops; i++) {
    uint32_t now = get(loop_counts[i]);
    uint32_t more = now - (uint32_t)count[i];
    count[i] = now;
    log->body[i] += more;
    ran |= (uint64_t)(more != 0) << i;
  }
  struct macah_turn_log *t = turn_of(ran);
  t->count++;
  t->cycles += active - counted_until;
  counted_until = active;
}

void profile_cycle(void) {
  if (!log) return;
  look_at_loops();
  count_ports();
  if (!design_is_stalled) {
    if (stall) end_stall(macah_now());
    log->active++;
    log->iterations += (uint64_t)(iteration_ends & 1);
    active++;
  } else {
    uint64_t *entry = entry_now();
    if (entry != stall) {
      uint64_t now = macah_now();
      end_stall(now);
      stall_event = begin_event(MACAH_PHASES + (uint64_t)(entry - log->stall), now);
      stall = entry;
      stall_began = now;
    }
    ++*entry;
    log->stalled++;
  }
  cycle++;
}

/* MACAH_STARTS stands for what comes before the first execution and between executions. */
static void begin_phase(enum macah_phase next) {
  static uint64_t event;
  int started = log->entries != 0;
  uint64_t now = macah_now();
  if (phase != MACAH_STARTS || !started) {
    if (!started) phase_began = log->event[0].begin; /* which is the host's */
    log->time[phase] += now - phase_began;
    end_event(started ? event : 0, now);
  }
  if (phase == MACAH_STARTS) {
    log->entries++;
    cycle = active = 0;
  }
  if (next != MACAH_STARTS) event = begin_event(next, now);
  phase = next;
  phase_began = now;
}

void profile_phase(unsigned next) {
  if (!log || next >= MACAH_PHASES) return;
  begin_phase((enum macah_phase)next);
  if (next != MACAH_STARTS) return;
  log->finished++;
  log->finished_active += active;
}

void profile_word(void) {
  if (log) log->words[phase]++;
}

void profile_run(void) {
  if (!log) return;
  memset(count, 0, sizeof count);
  counted_until = 0;
  begin_phase(MACAH_RUNS_KERNEL);
}

void profile_end(void) {
  if (!log) return;
  look_at_loops();
  if (stall) end_stall(macah_now());
  begin_phase(MACAH_FETCHES);
}

void profile_sleep(int begins) {
  static uint64_t event, began;
  if (!log || (begins && design_is_stalled)) return;
  uint64_t now = macah_now();
  if (begins) {
    event = begin_event(MACAH_PHASES + MACAH_STALL_WORDS, now);
    began = now;
  } else if (began) {
    end_event(event, now);
    log->asleep += now - began;
    began = 0;
  }
}

static void take_log(void) {
  log = (struct macah_simulator_log *)((char *)macah_arena + execution->profile);
  if (log->turns) return;
  log->turns = 1;
  log->stride = log->stall_words = stride;
}

void attach_profile(void) {
  stride = ENTRY;
  if (execution->profile) take_log();
}

/* Kernels that take turns have a log each. */
void profile_kernel(void) {
  if (log) take_log();
}
