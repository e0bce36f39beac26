/* What the parts of the runtime in the host process know of each other. */
#ifndef MACAH_HOST_H
#define MACAH_HOST_H

#include <pthread.h>
#include <stdio.h>

#include "channel.h"

/* A place of the program that uses a stream; `text` is the stream as it stands there. */
struct macah_place {
  const char *file;
  int line;
  const char *text;
};

/* What kernels in simulators have taken so far; for `macah_cycles` and `macah_stalls`. */
extern uint64_t macah_spent_cycles, macah_spent_stalls;

enum { MACAH_USERS = 4 };

/* What only the host knows of a stream. `users` are the latest threads at its sending and its receiving end. */
struct macah_about {
  struct macah_place created; /* `text` is the layout of elements */
  unsigned users[2][MACAH_USERS];
  unsigned holder[2]; /* in lock step, the thread that alone uses that end, by its number (turns.c), or 0 */
  struct accessor *accessor;
};

/* A stream of a kernel: its name and the places that use it, as "file:line, file:line". */
struct macah_port {
  const char *name, *places;
  int sends;
};

/* A kernel that a thread has entered, as its simulator keeps it up to date: while it sleeps until a stream
 * changes, `asleep` is the number of this sleep, and `waiting` has a bit for each such stream. */
struct macah_entered {
  const char *kernel;
  struct macah_execution *execution;
  const uint64_t *asleep, *waiting, *cycles;
  unsigned ports;
  const struct macah_port *port;
  macah_stream *const *stream;
};

enum macah_kind { MACAH_TO_SEND = 1, MACAH_TO_RECEIVE, MACAH_FOR_KERNEL, MACAH_FOR_TIME };

/* What a thread waits for in lock step: its turn; or, having looked at a stream in vain, that it changes or a cycle is
 * over, and, when it is over, its turn. */
enum macah_turn { MACAH_NO_TURN, MACAH_WANTS_TURN, MACAH_WANTS_CYCLE, MACAH_HAS_CYCLE, MACAH_HAS_TURN };

/* A thread of the program that has used a stream or entered a kernel. */
struct macah_thread {
  unsigned number; /* from 1, the main thread */
  pid_t id;
  const char *accessor;
  struct macah_thread *next;
  /* What it waits for, while `wait`, the number of this waiting, is not 0. */
  uint64_t wait;
  enum macah_kind kind;
  macah_stream *stream;
  struct macah_place place;
  const char *kernel; /* that it runs as C, or null */
  const struct macah_entered *entered;
  uintptr_t call; /* where it waits for another thread: the address behind the call, or 0 */
  uint32_t turn;   /* an enum macah_turn */
  int receives;    /* the end of the stream that it waits for a turn at */
  uint64_t served; /* the number of its last turn */
  uint32_t resumes; /* what it waited for is there, but the cycle is not over */
  /* In lock step, for rest.c: uses of streams and kernels; as many when all were looked at last, and when this sleep,
   * or the first of several without a use between, was first seen; and when that was. */
  uint64_t uses, looked, slept, since;
  int rests; /* for rest.c: at the look at hand, it waited, and for what was not there */
};

/* ends.c. Makes the caller the only thread at an end, until macah_unlock(). */
void macah_take(macah_stream *, struct macah_end *);
/* No thread will use the end without its lock again. */
void macah_disown(struct macah_end *);
/* All that owners of ends wrote before is visible to the caller, and the other way round. */
void macah_fence(void);

/* threads.c. The number of the calling thread, which is known to the others from now on. */
unsigned macah_my_number(void);
/* The threads that are known; with them locked. */
extern struct macah_thread *macah_threads;
void macah_lock_threads(void);
void macah_unlock_threads(void);
/* Notes that the caller uses a stream's end. */
void macah_note_user(macah_stream *, int receives);

/* waits.c. What a thread waits for is told before it sleeps and after. While it sleeps, it looks every
 * MACAH_LOOK nanoseconds whether it waits in vain, which ends the program. */
enum { MACAH_LOOK = 150000000 };
void macah_begin_wait(enum macah_kind, macah_stream *, struct macah_place);
void macah_end_wait(void);
void macah_look_for_deadlock(void);
/* Called inside the two, if not null: macah_me says what is waited for. */
extern void (*macah_wait_begins)(void), (*macah_wait_ends)(void);
int macah_must_wait(enum macah_kind, const macah_stream *);
/* Whether a port of a kernel that its simulator waits for cannot be served. */
int macah_port_waits(const struct macah_entered *, unsigned port);
/* The number of a kernel's sleep, or 0. */
uint64_t macah_kernel_sleep(const struct macah_entered *);

/* A thread other than the known ones, or what a known one waits for outside streams, as /proc has it. */
struct macah_task {
  pid_t id;
  uint64_t switches;
  uintptr_t futex; /* it sleeps on, for ever; 0 if it does not */
  enum macah_block { MACAH_RUNS, MACAH_SLEEPS, MACAH_MOVES_DATA } blocked; /* in which kind of system call */
};

/* tasks.c. What the process's threads do; -1 if that cannot be told. Release with free(). */
int macah_list_tasks(struct macah_task **);
/* Whether another process may wake who waits there. */
int macah_is_foreign(uintptr_t futex);

/* turns.c: the order among threads in lock step; null if time passes by itself. */
struct macah_order {
  /* Returns when the caller alone uses an end of the stream; and, if it is to send or to receive, need not wait. */
  void (*hold)(macah_stream *, int receives, enum macah_kind, struct macah_place);
  /* Whether it still does. */
  int (*holds)(const struct macah_thread *, const macah_stream *, int receives);
  /* Returns when an end of the stream, if it is not null, is ready, or a cycle is over. */
  void (*look_again)(macah_stream *, int receives);
  /* Returns when the cycle that has ended a wait is over. */
  void (*resume)(void);
};
extern const struct macah_order *macah_order;
/* lockstep.c. The thread that lets time pass, or 0: no thread of the program. */
extern pid_t macah_referee;
/* watcher.c. The thread that looks for deadlocks where no other does, or 0: no thread of the program either. */
extern pid_t macah_watcher;
/* Starts a thread of ours: pthread_create(), past the watcher. */
int macah_start_thread(pthread_t *, void *(*body)(void *));

/* calls.c. The line of the program that a call comes back to, and its file in `place`; 0 if nobody knows. */
int macah_find_line(uintptr_t call, char *place, size_t size);

/* report.c. */
void macah_report_deadlock(FILE *, const struct macah_task *, int count);

/* Ends the program unless `s` is a stream. */
void macah_check(const macah_stream *s, const char *what);

#endif
