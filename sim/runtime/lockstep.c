/* Time in lock step: simulated time does not pass while the host computes.
 *
 * A thread of our own, the referee, lets a cycle begin when all executions have arrived at it and all threads of the
 * program wait for streams, for kernels or for each other. So whatever the speed of the host, a kernel sees the same
 * streams in the same cycle. Before that, threads get their turns (turns.c). A thread that looks at a stream in vain
 * waits for one cycle, as it may look for ever.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "cosim.h"

enum { YIELDS = 50, PAUSE = 20000, SLOW = 1000000, NEVER = 10 };

static pthread_once_t once = PTHREAD_ONCE_INIT;

uint32_t macah_host_computes;

static struct macah_clock *the_clock(void) { return &macah_arena->clock; }

static uint32_t calls;

/* Whether some execution can go on, or somebody wants time to pass. */
static int time_is_wanted(void) {
  int wanted = macah_load(&the_clock()->lookers) != 0;
  macah_lock_threads();
  for (const struct macah_thread *t = macah_threads; t && !wanted; t = t->next)
    if (macah_load(&t->wait) && t->kind == MACAH_FOR_KERNEL) wanted = !macah_kernel_sleep(t->entered);
  macah_unlock_threads();
  return wanted;
}

static uint32_t time_is_over;

int macah_all_are_here(void) {
  return macah_load(&time_is_over) || macah_load(&the_clock()->arrived) == macah_load(&the_clock()->active);
}

void macah_call_referee(void) { macah_step(&calls, 1); }

static void pause_for(long nanoseconds) { nanosleep(&(struct timespec){0, nanoseconds}, NULL); }

/* What the program has computed, without the caller. */
static int64_t work(void) {
  return (int64_t)(macah_read_clock(CLOCK_PROCESS_CPUTIME_ID) - macah_read_clock(CLOCK_THREAD_CPUTIME_ID));
}

/* Seconds of work after which the host is not expected to rest. */
static int64_t never(void) {
  const char *wanted = getenv("MACAH_REST_SECONDS");
  return wanted && atoi(wanted) > 0 ? atoi(wanted) : NEVER;
}

/* With the host not at rest, so many looks after it has been. */
static void wait_for_rest(unsigned looks) {
  static int64_t before;
  if (looks < YIELDS) {
    sched_yield();
    return;
  }
  if (looks == YIELDS) before = work();
  if (macah_load(&the_clock()->callers) && (work() - before) / 1000000000 >= never() && macah_give_up_turns())
    fprintf(stderr, "macah: lock step: but another computes without rest (if it waits in a loop, that should sleep); from"
            " here on, threads take no turns, and runs may differ\n");
  pause_for(PAUSE);
}

static void begin_cycle(struct macah_clock *c) {
  macah_place_executions();
  macah_store(&c->present, macah_load(&c->active));
  macah_store(&c->arrived, 0);
  macah_step(&c->ticks, 1);
}

/* With the host at rest, and all executions here; 0 if nothing can go on by itself. */
static int go_on(struct macah_clock *c) {
  static int have_looked; /* since the cycle began */
  if (macah_give_turn()) return 1;
  if (!have_looked && macah_let_look()) return have_looked = 1;
  int again = have_looked;
  have_looked = 0;
  if (!macah_load(&c->active) || macah_load(&time_is_over)) return again;
  if (macah_load(&macah_host_computes) || !time_is_wanted()) return 0;
  begin_cycle(c);
  return 1;
}

static __attribute__((noreturn)) void *let_time_pass(void *unused) {
  (void)unused;
  macah_referee = (pid_t)syscall(SYS_gettid);
  struct macah_clock *c = the_clock();
  for (unsigned looks = 0;;) {
    uint32_t called = macah_load(&calls), arrived = macah_load(&c->arrived);
    if (!macah_load(&c->active) && !macah_load(&c->callers))
      macah_futex_wait(&calls, called, NULL);
    else if (!macah_all_are_here())
      macah_futex_wait(&c->arrived, arrived, &(struct timespec){0, SLOW});
    else if (macah_wake_lookers())
      looks = 0;
    else if (!macah_host_is_at_rest())
      wait_for_rest(looks++);
    else if (looks = 0, !go_on(c))
      pause_for(SLOW);
  }
}

static void start(void) {
  if (!macah_order) return;
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are for its own threads */
  if (macah_start_thread(&thread, let_time_pass)) macah_die("cannot start a thread");
  pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  while (!macah_load(&macah_referee)) sched_yield();
  macah_store(&the_clock()->on, 1);
}

void macah_start_time(void) { pthread_once(&once, start); }

void macah_enter_time(void) {
  macah_start_time();
  if (!the_clock()->on) return;
  macah_note_use();
  macah_note_execution();
  macah_add(&the_clock()->active, 1);
  macah_call_referee();
}

void macah_leave_time(void) {
  if (!the_clock()->on) return;
  macah_note_use();
  macah_note_execution();
  macah_add(&the_clock()->callers, 1); /* before another execution is alone, and might go on by itself */
  macah_add(&the_clock()->active, (uint32_t)-1);
  macah_step(&the_clock()->arrived, 0);
  macah_order->resume();
  macah_add(&the_clock()->callers, (uint32_t)-1);
}

void macah_end_time(void) {
  macah_store(&time_is_over, 1);
  macah_call_referee();
}

void macah_forget_time(void) {
  *the_clock() = (struct macah_clock){0};
  macah_forget_sharers();
  macah_referee = 0;
  once = (pthread_once_t)PTHREAD_ONCE_INIT;
}
