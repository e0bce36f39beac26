/* Deadlocks without any stream: threads that wait for streams look for them (waits.c), but where all wait for locks,
 * conditions and each other's ends, nobody would.
 *
 * So from the second thread on, which the linker leads here (--wrap), a thread of our own looks whenever the program
 * has done next to nothing for a while. Nothing is said of programs that handle signals, as these may wake a thread.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "host.h"

enum { PAUSE = 300000000, LITTLE = 2000000 };

struct beginning {
  void *(*body)(void *);
  void *argument;
};

pid_t macah_watcher;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* There where the linker leads calls here. */
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) __attribute__((weak));
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int macah_start_thread(pthread_t *thread, void *(*body)(void *)) {
  return (__real_pthread_create ? __real_pthread_create : pthread_create)(thread, NULL, body, NULL);
}

/* Handlers of faults and of the C library's own signals wake nobody. */
static int handles_signals(void) {
  static const int others[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, 32, 33};
  unsigned long long caught = 0;
  FILE *status = fopen("/proc/self/status", "re");
  int known = 0;
  for (char line[256]; status && !known && fgets(line, sizeof line, status);)
    known = sscanf(line, "SigCgt: %llx", &caught) == 1;
  if (status) fclose(status);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) caught &= ~(1ull << (others[i] - 1));
  return !known || caught;
}

static uint64_t work(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static __attribute__((noreturn)) void *watch(void *unused) {
  (void)unused;
  macah_store(&macah_watcher, (pid_t)syscall(SYS_gettid));
  for (uint64_t before = work(), now;; before = work()) {
    nanosleep(&(struct timespec){0, PAUSE}, NULL);
    now = work();
    if (now - before < LITTLE && !handles_signals()) macah_look_for_deadlock();
  }
}

static void start(void) {
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are for its own threads */
  if (macah_start_thread(&thread, watch) == 0) {
    pthread_detach(thread);
    while (!macah_load(&macah_watcher)) sched_yield();
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void *begin(void *given) {
  struct beginning beginning = *(struct beginning *)given;
  free(given);
  macah_my_number(); /* for reports */
  return beginning.body(beginning.argument);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  struct beginning *beginning = malloc(sizeof *beginning);
  if (!beginning) return EAGAIN;
  *beginning = (struct beginning){body, argument};
  pthread_once(&once, start);
  int error = __real_pthread_create(thread, attributes, begin, beginning);
  if (error) free(beginning);
  return error;
}

static void forget(void) {
  macah_watcher = 0;
  once = (pthread_once_t)PTHREAD_ONCE_INIT;
}

__attribute__((constructor(101))) static void prepare(void) { pthread_atfork(NULL, NULL, forget); }
