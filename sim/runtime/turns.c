/* The order among the host's threads in lock step.
 *
 * An end of a stream is held by one thread at a time. What that thread finds there, others cannot undo, so it goes on;
 * whoever wants an end that it does not hold waits for its turn, and so does who finds nothing where it need not wait,
 * unless there is something before all others are at rest: when it looked is a matter of speed. The referee (lockstep.c) gives one turn at a time, when all executions have arrived at their next cycle and all
 * threads are at rest: a state in which nothing happens by itself, and so the same in every run. The turn is that of
 * the thread that had none for longest, or of the one that was created first.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>

#include "cosim.h"

static uint64_t turns;
static int given_up;

static int holds(const struct macah_thread *t, const macah_stream *s, int receives) {
  return macah_load(&given_up) || macah_load(&s->magic) != MACAH_LIVE ||
         macah_load(&s->about->holder[receives]) == t->number;
}

static void wait_for_turn(enum macah_turn wanted, enum macah_kind kind, macah_stream *s, int receives,
                          struct macah_place place) {
  static const struct timespec a_while = {0, MACAH_LOOK};
  uint32_t turn;
  macah_me.receives = receives;
  macah_store(&macah_me.turn, wanted);
  macah_add(&macah_arena->clock.callers, 1); /* before the caller seems to be at rest, as all changes are */
  macah_begin_wait(kind, s, place);
  macah_call_referee();
  while ((turn = macah_load(&macah_me.turn)) != MACAH_HAS_TURN)
    if (!macah_futex_wait(&macah_me.turn, turn, &a_while)) macah_look_for_deadlock();
  macah_add(&macah_arena->clock.callers, (uint32_t)-1);
  macah_end_wait();
  macah_store(&macah_me.turn, MACAH_NO_TURN);
}

static void hold(macah_stream *s, int receives, enum macah_kind kind, struct macah_place place) {
  macah_my_number();
  macah_start_time();
  macah_note_use();
  if (holds(&macah_me, s, receives)) return;
  wait_for_turn(MACAH_WANTS_TURN, kind, s, receives, place);
}

static void look_again(macah_stream *s, int receives) {
  macah_start_time();
  if (macah_load(&given_up) && !macah_load(&macah_arena->clock.active)) return;
  macah_add(&macah_arena->clock.lookers, 1);
  wait_for_turn(MACAH_WANTS_CYCLE, MACAH_FOR_TIME, s, receives, (struct macah_place){0});
  macah_add(&macah_arena->clock.lookers, (uint32_t)-1);
}

/* Simulators wake others in the middle of a cycle. */
static void resume(void) {
  struct macah_clock *c = &macah_arena->clock;
  macah_store(&macah_me.resumes, 1);
  macah_add(&c->callers, 1);
  for (uint32_t seen; seen = macah_load(&c->arrived), !macah_all_are_here();)
    macah_futex_wait(&c->arrived, seen, &(struct timespec){0, 1000000});
  macah_add(&c->callers, (uint32_t)-1);
  macah_store(&macah_me.resumes, 0);
}

/* The first of the two in the list of the process's threads, or 0. */
static pid_t first_of(pid_t a, pid_t b, DIR *threads) {
  for (struct dirent *entry; (entry = readdir(threads));) {
    pid_t id = atoi(entry->d_name);
    if (id == a || id == b) return id;
  }
  return 0;
}

/* The system lists threads in the order in which they were created; where one ends just then, the list ends with it. */
int macah_is_older(pid_t a, pid_t b) {
  pid_t found = 0;
  while (!found) {
    DIR *threads = opendir("/proc/self/task");
    if (!threads) return a < b;
    found = first_of(a, b, threads);
    closedir(threads);
  }
  return found == a;
}

static int comes_before(const struct macah_thread *a, const struct macah_thread *b) {
  return a->served != b->served ? a->served < b->served : macah_is_older(a->id, b->id);
}

static int wants_turn(const struct macah_thread *t) {
  uint32_t turn = macah_load(&t->turn);
  return macah_load(&t->wait) && (turn == MACAH_WANTS_TURN || turn == MACAH_HAS_CYCLE);
}

static int wants(const struct macah_thread *t, enum macah_turn turn) {
  return macah_load(&t->wait) && macah_load(&t->turn) == turn;
}

static void give(struct macah_thread *t) {
  macah_store(&t->turn, MACAH_HAS_TURN);
  macah_step(&t->turn, 0);
}

/* Takes the end that the thread waits for from its holder, who then waits for a turn, too. */
static void pass_end(const struct macah_thread *t, unsigned holder) {
  macah_stream *s = t->stream;
  if (!s || macah_load(&s->magic) != MACAH_LIVE) return;
  unsigned before = __atomic_exchange_n(&s->about->holder[t->receives], holder, __ATOMIC_SEQ_CST);
  if (before && before != holder) macah_ring(t->receives ? &s->readable : &s->writable, UINT_MAX);
}

int macah_give_turn(void) {
  struct macah_thread *next = NULL;
  macah_lock_threads();
  for (struct macah_thread *t = macah_threads; t; t = t->next) {
    if (!wants_turn(t)) continue;
    pass_end(t, 0);
    if (t->kind != MACAH_FOR_TIME && macah_must_wait(t->kind, t->stream)) continue;
    if (!next || comes_before(t, next)) next = t;
  }
  if (next) {
    next->served = ++turns;
    pass_end(next, next->number);
    give(next);
  }
  macah_unlock_threads();
  return next != NULL;
}

int macah_let_look(void) {
  int any = 0;
  macah_lock_threads();
  for (struct macah_thread *t = macah_threads; t; t = t->next) {
    if (!wants(t, MACAH_WANTS_CYCLE)) continue;
    macah_store(&t->turn, MACAH_HAS_CYCLE);
    any = 1;
  }
  macah_unlock_threads();
  return any;
}

int macah_wake_lookers(void) {
  int any = 0;
  macah_lock_threads();
  for (struct macah_thread *t = macah_threads; t; t = t->next) {
    if (!wants(t, MACAH_WANTS_CYCLE) || !t->stream) continue;
    if (macah_must_wait(t->receives ? MACAH_TO_RECEIVE : MACAH_TO_SEND, t->stream)) continue;
    give(t);
    any = 1;
  }
  macah_unlock_threads();
  return any;
}

int macah_give_up_turns(void) {
  int before = given_up;
  macah_lock_threads();
  macah_store(&given_up, 1);
  for (struct macah_thread *t = macah_threads; t; t = t->next) {
    if (wants(t, MACAH_WANTS_TURN) && t->stream) {
      const char *file = t->place.file ? t->place.file : t->stream->about->created.file;
      int line = t->place.file ? t->place.line : t->stream->about->created.line;
      fprintf(stderr, "macah: lock step: %s:%d: thread %u waits for its turn at a stream\n", file, line, t->number);
    }
    if (wants_turn(t) || (wants(t, MACAH_WANTS_CYCLE) && !macah_load(&macah_arena->clock.active))) give(t);
  }
  macah_unlock_threads();
  return !before;
}

static const struct macah_order order = {hold, holds, look_again, resume};

/* Behind the arena's constructor. */
__attribute__((constructor(102))) static void prepare(void) {
  const char *wanted = getenv("MACAH_TIME");
  if (wanted && *wanted ? strcmp(wanted, "lockstep") == 0 : macah_lockstep) macah_order = &order;
}
