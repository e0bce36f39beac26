/* The order among executions of kernels that share an end of a stream in lock step.
 *
 * All see what streams hold when a cycle begins, and then move elements, those that share ends one after the other: who
 * has moved none at such an end for longest, or whose thread was created first. So it is among threads (turns.c).
 */
#include <stdlib.h>

#include "cosim.h"

struct sharer {
  pid_t thread;
  struct macah_execution *execution;
};

static uint32_t noted, placed;
static struct sharer *sharers; /* in the order of the last cycle */
static unsigned count, room;

void macah_note_execution(void) { macah_add(&noted, 1); }

void macah_forget_sharers(void) { count = 0; }

static uint64_t bit(unsigned port) { return (uint64_t)1 << port; }

static int is_in_kernel(const struct macah_thread *t) { return macah_load(&t->wait) && t->kind == MACAH_FOR_KERNEL; }

static void mark_shared(const struct macah_entered *a, const struct macah_entered *b) {
  for (unsigned p = 0; p < a->ports; p++)
    for (unsigned q = 0; q < b->ports; q++)
      if (a->stream[p] && a->stream[p] == b->stream[q] && a->port[p].sends == b->port[q].sends) {
        a->execution->shared |= bit(p);
        b->execution->shared |= bit(q);
      }
}

static void add(const struct macah_thread *t) {
  if (count == room) sharers = realloc(sharers, (room = 2 * room + 4) * sizeof *sharers);
  if (!sharers) macah_die("out of memory");
  sharers[count++] = (struct sharer){t->id, t->entered->execution};
}

/* With the threads locked, all that are in kernels waiting there. */
static void find_sharers(void) {
  const struct macah_thread *t;
  for (t = macah_threads; t; t = t->next)
    if (is_in_kernel(t)) t->entered->execution->shared = t->entered->execution->place = 0;
  for (t = macah_threads; t; t = t->next)
    for (const struct macah_thread *u = t->next; u && is_in_kernel(t); u = u->next)
      if (is_in_kernel(u)) mark_shared(t->entered, u->entered);
  count = 0;
  for (t = macah_threads; t; t = t->next)
    if (is_in_kernel(t) && t->entered->execution->shared) add(t);
}

static int comes_before(const struct sharer *a, const struct sharer *b) {
  uint64_t one = macah_load(&a->execution->served), other = macah_load(&b->execution->served);
  return one != other ? one < other : macah_is_older(a->thread, b->thread);
}

/* Few, and nearly sorted. */
static void sort(void) {
  for (unsigned i = 1; i < count; i++)
    for (unsigned k = i; k > 0 && comes_before(&sharers[k], &sharers[k - 1]); k--) {
      struct sharer moved = sharers[k];
      sharers[k] = sharers[k - 1];
      sharers[k - 1] = moved;
    }
}

void macah_place_executions(void) {
  uint32_t now = macah_load(&noted);
  if (now != placed) {
    macah_lock_threads();
    find_sharers();
    macah_unlock_threads();
    placed = now;
  }
  sort();
  for (unsigned i = 0; i < count; i++) macah_store(&sharers[i].execution->place, i + 1);
  macah_store(&macah_arena->clock.mover, 1);
}
