/* Time in lock step: simulated time does not pass while the host computes.
 *
 * A thread of our own, the referee, lets a cycle begin when all executions have arrived at it and all threads of the
 * program wait for streams, for kernels or for each other. So whatever the speed of the host, a kernel sees the same
 * streams in the same cycle. A thread that looks at a stream in vain waits for one cycle, as it may look for ever.
 * One that reads or writes counts as computing, but not for longer than the patience that keeps a program alive whose
 * input depends on its own output. While one sleeps, time passes, as it may wait for what a kernel does.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cosim.h"

enum { PATIENCE = 100000000, YIELDS = 50, PAUSE = 20000, SLOW = 1000000 };

static pthread_once_t once = PTHREAD_ONCE_INIT;

uint32_t macah_host_computes;

static struct macah_clock *the_clock(void) { return &macah_arena->clock; }

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* What tells the rest of a thread from others; 0 if it does something, or will. */
static uint64_t rest_of(const struct macah_thread *t) {
  uint64_t wait = macah_load(&t->wait);
  if (!wait) return 0;
  switch (t->kind) {
    case MACAH_FOR_KERNEL: return wait;
    case MACAH_FOR_TIME: return macah_load(&the_clock()->looks) == t->looks ? wait : 0;
    default: return macah_must_wait(t->kind, t->stream) ? wait : 0;
  }
}

static uint64_t mix(uint64_t sum, uint64_t value) { return (sum ^ value) * 1099511628211u; }

static int wait_is_known(pid_t id) {
  for (const struct macah_thread *t = macah_threads; t; t = t->next)
    if (t->id == id) return macah_load(&t->wait) != 0;
  return 0;
}

/* What is seen of the threads that wait for nothing of ours. */
struct others {
  int sleep;        /* some do, for a time or for something outside of the program */
  uint64_t moving; /* a number for those that read or write */
};

/* Adds these threads; 0 if one computes. */
static uint64_t look_at_others(uint64_t sum, struct others *others) {
  struct macah_task *tasks;
  int count = macah_list_tasks(&tasks);
  for (int i = 0; sum && i < count; i++) {
    if (wait_is_known(tasks[i].id)) continue;
    if (tasks[i].blocked == MACAH_RUNS) sum = 0;
    uint64_t number = mix(tasks[i].switches + 1, (uint64_t)tasks[i].id);
    if (tasks[i].blocked == MACAH_MOVES_DATA) others->moving = mix(others->moving, number) | 1;
    others->sleep |= !tasks[i].futex;
    if (sum) sum = mix(sum, number);
  }
  free(tasks);
  return sum;
}

/* A number for what the threads wait for; 0 if one does not. */
static uint64_t look(struct others *others) {
  struct stat tasks;
  uint64_t sum = 14695981039346656037u, known = 0;
  *others = (struct others){0};
  macah_lock_threads();
  for (const struct macah_thread *t = macah_threads; t && sum; t = t->next) {
    uint64_t rest = rest_of(t);
    known += rest != 0;
    if (rest || macah_load(&t->wait)) sum = rest ? mix(sum, rest) : 0;
  }
  /* The directory has a link for each thread, ourselves among them. */
  if (sum && (stat("/proc/self/task", &tasks) || tasks.st_nlink != known + 3)) sum = look_at_others(sum, others);
  macah_unlock_threads();
  return sum;
}

/* Two looks that find the same: nobody has moved in between. */
static int host_is_at_rest(void) {
  static uint64_t last, moving, since;
  if (macah_load(&macah_host_computes)) return 0;
  struct others others;
  uint64_t seen = look(&others), before = last;
  last = seen;
  if (others.moving != moving) since = now();
  moving = others.moving;
  macah_store(&the_clock()->loose, (uint32_t)others.sleep);
  return seen && seen == before && (!moving || now() - since > PATIENCE);
}

/* Whether some execution can go on, or somebody wants time to pass. */
static int time_is_wanted(void) {
  int wanted = macah_load(&the_clock()->lookers) != 0;
  macah_lock_threads();
  for (const struct macah_thread *t = macah_threads; t && !wanted; t = t->next)
    if (macah_load(&t->wait) && t->kind == MACAH_FOR_KERNEL) wanted = !macah_kernel_sleep(t->entered);
  macah_unlock_threads();
  return wanted;
}

static int all_are_here(void) {
  uint32_t active = macah_load(&the_clock()->active);
  return active && macah_load(&the_clock()->arrived) == active;
}

static void pause_for(long nanoseconds) { nanosleep(&(struct timespec){0, nanoseconds}, NULL); }

/* Until a cycle can begin; 0 if another execution must be waited for first. */
static int await_rest(void) {
  for (unsigned tries = 0;; tries++) {
    if (host_is_at_rest()) {
      if (!all_are_here()) return 0;
      if (time_is_wanted()) return 1;
      pause_for(SLOW);
    } else if (tries < YIELDS) {
      sched_yield();
    } else {
      pause_for(PAUSE);
    }
  }
}

static __attribute__((noreturn)) void *let_time_pass(void *unused) {
  (void)unused;
  macah_referee = (pid_t)syscall(SYS_gettid);
  struct macah_clock *c = the_clock();
  for (;;) {
    uint32_t arrived = macah_load(&c->arrived);
    if (!all_are_here()) {
      macah_futex_wait(&c->arrived, arrived, &(struct timespec){0, SLOW});
      continue;
    }
    if (!await_rest()) continue;
    if (macah_load(&c->lookers)) {
      macah_step(&c->looks, 1);
      if (!await_rest()) continue;
    }
    macah_store(&c->present, macah_load(&c->active));
    macah_store(&c->arrived, 0);
    macah_step(&c->ticks, 1);
  }
}

static void pass_time(void) {
  struct macah_clock *c = the_clock();
  uint32_t looks = macah_load(&c->looks);
  macah_me.looks = looks;
  if (!macah_load(&c->active)) return;
  macah_add(&c->lookers, 1);
  macah_begin_wait(MACAH_FOR_TIME, NULL, (struct macah_place){0});
  while (macah_load(&c->looks) == looks && macah_load(&c->active)) macah_futex_wait(&c->looks, looks, NULL);
  macah_end_wait();
  macah_add(&c->lookers, (uint32_t)-1);
}

static void start(void) {
  const char *wanted = getenv("MACAH_TIME");
  if (wanted && *wanted ? strcmp(wanted, "lockstep") != 0 : !macah_lockstep) return;
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are for its own threads */
  if (pthread_create(&thread, NULL, let_time_pass, NULL)) macah_die("cannot start a thread");
  pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  while (!macah_load(&macah_referee)) sched_yield();
  macah_pass_time = pass_time;
  macah_store(&the_clock()->on, 1);
}

void macah_enter_time(void) {
  pthread_once(&once, start);
  if (the_clock()->on) macah_add(&the_clock()->active, 1);
}

void macah_leave_time(void) {
  if (!the_clock()->on) return;
  if (macah_add(&the_clock()->active, (uint32_t)-1) == 1) macah_step(&the_clock()->looks, 1);
  macah_step(&the_clock()->arrived, 0);
}

void macah_forget_time(void) {
  *the_clock() = (struct macah_clock){0};
  macah_pass_time = NULL;
  macah_referee = 0;
  once = (pthread_once_t)PTHREAD_ONCE_INIT;
}
