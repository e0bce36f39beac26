/* Whether the host is at rest, for time in lock step: no thread does anything until an execution or another thread does.
 *
 * A thread that sleeps, reads or writes counts as computing, but not for longer than the patience that keeps a program
 * alive whose input depends on its own output, or that sleeps until a kernel has done something.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cosim.h"

/* Once, and for all sleeps of a run. Of the time between two looks no more than LONGEST counts: the referee may have
 * waited for something else meanwhile, as for a simulator that starts, or for a processor. */
static const uint64_t PATIENCE = 100000000, BUDGET = 5000000000, LONGEST = 1000000;

uint64_t macah_read_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* What tells the rest of a thread from others; 0 if it does something, or will. */
static uint64_t rest_of(const struct macah_thread *t) {
  uint64_t wait = macah_load(&t->wait);
  if (!wait || t->kind == MACAH_FOR_KERNEL) return wait;
  uint32_t turn = macah_load(&t->turn);
  if (turn) return turn == MACAH_HAS_TURN ? 0 : wait;
  if (!macah_must_wait(t->kind, t->stream)) return 0;
  return macah_order->holds(t, t->stream, t->kind == MACAH_TO_RECEIVE) ? wait : 0;
}

static uint64_t mix(uint64_t sum, uint64_t value) { return (sum ^ value) * 1099511628211u; }

static struct macah_thread *known(pid_t id) {
  struct macah_thread *t = macah_threads;
  while (t && t->id != id) t = t->next;
  return t;
}

/* What is seen of the threads that wait for nothing of ours. */
struct others {
  int sleep;       /* some do, for a time or for something outside of the program */
  uint64_t since;  /* when the last of them was first seen asleep */
  uint64_t moving; /* a number for those that read or write */
};

/* Since when a thread has slept, but for moments in which it used nothing. We do not know strangers, who never do. */
static uint64_t asleep_since(struct macah_thread *t, uint64_t now) {
  static uint64_t strangers;
  if (!t) return strangers ? strangers : (strangers = now);
  if (!t->since || t->slept != t->looked) t->since = now;
  t->slept = t->looked;
  return t->since;
}

/* A number for what a thread does that does not wait for anything of ours; 0 if it computes. */
static uint64_t look_at_other(const struct macah_task *task, struct macah_thread *t, uint64_t now,
                              struct others *others) {
  /* Who waits by now did something after we looked. */
  if (task->blocked == MACAH_RUNS || (t && macah_load(&t->wait))) return 0;
  int sleeps = task->blocked == MACAH_SLEEPS && !task->futex;
  uint64_t number = mix(task->switches + 1, (uint64_t)task->id);
  if (task->blocked == MACAH_MOVES_DATA) others->moving = mix(others->moving, number) | 1;
  uint64_t since = sleeps ? asleep_since(t, now) : 0;
  if (since > others->since) others->since = since;
  others->sleep |= sleeps;
  return number;
}

/* Adds the threads that did not wait when we looked; 0 if one computes. */
static uint64_t look_at_others(uint64_t sum, uint64_t now, struct others *others) {
  struct macah_task *tasks;
  int count = macah_list_tasks(&tasks);
  for (int i = 0; sum && i < count; i++) {
    struct macah_thread *t = known(tasks[i].id);
    if (t && t->rests) continue;
    uint64_t number = look_at_other(&tasks[i], t, now, others);
    sum = number ? mix(sum, number) : 0;
  }
  free(tasks);
  return sum;
}

/* A number for what the threads wait for; 0 if one does not. */
static uint64_t look(uint64_t now, struct others *others) {
  struct stat tasks;
  uint64_t sum = 14695981039346656037u, resting = 0;
  *others = (struct others){0};
  macah_lock_threads();
  for (struct macah_thread *t = macah_threads; t; t = t->next) t->looked = macah_load(&t->uses);
  for (struct macah_thread *t = macah_threads; t && sum; t = t->next) {
    uint64_t rest = rest_of(t);
    resting += rest != 0;
    t->rests = rest != 0;
    if (rest || macah_load(&t->wait)) sum = rest ? mix(sum, rest) : 0;
    if (macah_load(&t->resumes)) sum = 0;
  }
  /* The directory has a link for each thread, ourselves and the watcher among them. */
  uint64_t links = resting + 3 + (macah_load(&macah_watcher) != 0);
  if (sum && (stat("/proc/self/task", &tasks) || tasks.st_nlink != links)) sum = look_at_others(sum, now, others);
  macah_unlock_threads();
  return sum;
}

void macah_note_use(void) { macah_store(&macah_me.uses, macah_me.uses + 1); }

/* Whether those that read or write do nothing else for long. */
static int data_is_awaited(uint64_t now, uint64_t moving) {
  static uint64_t last, since;
  if (moving != last) since = now;
  last = moving;
  return !moving || now - since > PATIENCE;
}

static int held; /* by sleepers, at the last look */

/* Whether all that sleep do so for long, or have slept for long in all. */
static int sleep_is_long(uint64_t now, const struct others *others) {
  static uint64_t before, run, in_all;
  uint64_t passed = now - before < LONGEST ? now - before : LONGEST;
  if (held) in_all += passed;
  run += passed;
  before = now;
  held = others->sleep && now - others->since <= PATIENCE && (in_all < BUDGET || in_all < run / 2);
  return !held;
}

/* Two looks that find the same: nobody has moved in between. */
int macah_host_is_at_rest(void) {
  static uint64_t last;
  struct others others;
  uint64_t now = macah_read_clock(CLOCK_MONOTONIC), seen = look(now, &others), before = last;
  last = seen;
  macah_store(&macah_arena->clock.loose, (uint32_t)others.sleep);
  if (!seen) held = 0;
  return seen && (data_is_awaited(now, others.moving) & sleep_is_long(now, &others)) && seen == before;
}
