/* Whether the program waits for nothing but itself.
 *
 * It does if every thread waits for a stream that nobody else can serve, for a kernel that does, or sleeps in
 * another way from which only threads wake it: in pthread_join(), for a mutex or condition. A thread that waits
 * for a stream looks at all of them from time to time. One look is not enough, as the threads are looked at one
 * after the other; but if none has moved between a first look and a second, none could move in between.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>

#include "host.h"

static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
static uint64_t waits;
static uint64_t last_look, last_time; /* what was seen then; 0 if not all were asleep */

void (*macah_wait_begins)(void), (*macah_wait_ends)(void);

void macah_begin_wait(enum macah_kind kind, macah_stream *s, struct macah_place place) {
  macah_my_number();
  macah_me.kind = kind;
  macah_me.stream = s;
  macah_me.place = place;
  macah_me.kernel = macah_kernel;
  if (macah_wait_begins) macah_wait_begins();
  macah_store(&macah_me.wait, macah_add(&waits, 1) + 1);
}

void macah_end_wait(void) {
  macah_store(&macah_me.wait, 0);
  if (macah_wait_ends) macah_wait_ends();
}

int macah_must_wait(enum macah_kind kind, const macah_stream *s) {
  if (macah_load(&s->magic) != MACAH_LIVE) return 0;
  return kind == MACAH_TO_SEND ? macah_is_full(s) : macah_is_empty(s) && !macah_load(&s->closed);
}

int macah_port_waits(const struct macah_entered *entered, unsigned port) {
  if (!(macah_load(entered->waiting) >> port & 1)) return 0;
  return macah_must_wait(entered->port[port].sends ? MACAH_TO_SEND : MACAH_TO_RECEIVE, entered->stream[port]);
}

uint64_t macah_kernel_sleep(const struct macah_entered *entered) {
  uint64_t asleep = macah_load(entered->asleep), waiting = macah_load(entered->waiting);
  for (unsigned p = 0; p < entered->ports; p++)
    if (waiting >> p & 1 && !macah_port_waits(entered, p)) return 0;
  return asleep;
}

static uint64_t sleep_of(const struct macah_thread *thread, uint64_t wait) {
  if (thread->kind == MACAH_FOR_TIME || macah_load(&thread->turn) == MACAH_HAS_TURN) return 0;
  if (thread->kind != MACAH_FOR_KERNEL) return macah_must_wait(thread->kind, thread->stream) ? wait : 0;
  uint64_t asleep = macah_kernel_sleep(thread->entered);
  return asleep ? wait ^ asleep << 40 : 0;
}

/* What tells this sleep of a thread from others; 0 if it is awake. */
static uint64_t task_sleep(const struct macah_task *task) {
  for (struct macah_thread *t = macah_threads; t; t = t->next) {
    uint64_t wait = macah_load(&t->wait);
    if (t->id == task->id && wait) return sleep_of(t, wait);
  }
  return task->futex && !macah_is_foreign(task->futex) ? task->switches + 1 : 0;
}

/* A number for what all threads wait for, with the threads locked; 0 if not all are asleep. */
static uint64_t look(const struct macah_task *tasks, int count) {
  uint64_t sum = 14695981039346656037u;
  for (int i = 0; i < count; i++) {
    uint64_t asleep = task_sleep(&tasks[i]);
    if (!asleep) return 0;
    sum = (sum ^ (uint64_t)tasks[i].id) * 1099511628211u;
    sum = (sum ^ asleep) * 1099511628211u;
  }
  return count > 0 ? sum | 1 : 0;
}

/* A signal may wake a thread, too. */
static int alarm_is_set(void) {
  struct itimerval timer;
  return getitimer(ITIMER_REAL, &timer) < 0 || timer.it_value.tv_sec || timer.it_value.tv_usec;
}

static void stop(const struct macah_task *tasks, int count) {
  char *text = NULL;
  size_t size = 0;
  FILE *report = open_memstream(&text, &size);
  if (report) {
    macah_report_deadlock(report, tasks, count);
    fclose(report);
  }
  if (ftrylockfile(stdout) == 0) fflush(stdout);
  for (const char *at = text; size;) {
    ssize_t written = write(2, at, size);
    if (written < 0 && errno != EINTR) break;
    if (written > 0) at += written, size -= (size_t)written;
  }
  abort();
}

void macah_look_for_deadlock(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  uint64_t now = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
  if (pthread_mutex_trylock(&looking)) return;
  if (now - last_time >= MACAH_LOOK / 2) {
    struct macah_task *tasks;
    int count = macah_list_tasks(&tasks);
    macah_lock_threads();
    uint64_t seen = look(tasks, count);
    if (seen && seen == last_look && !alarm_is_set()) stop(tasks, count);
    macah_unlock_threads();
    last_look = seen;
    last_time = now;
    free(tasks);
  }
  pthread_mutex_unlock(&looking);
}
