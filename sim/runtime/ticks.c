/* The simulator's part of time in lock step (lockstep.c). */
#define _GNU_SOURCE
#include "ports.h"

static int unseen; /* in the coming cycle, others may not have seen what streams have */

/* Not at all once the host has gone: the step that tells of it may have come before `seen`. */
static void wait_until_changed(uint32_t *word, uint32_t seen) {
  while (macah_load(word) == seen && !macah_load(&host_has_gone)) macah_futex_wait(word, seen, NULL);
}

/* While a design can do nothing by itself, it is asleep. Alone, and if nothing has moved, it need not wait: the host
 * is still at rest. */
void await_tick(int moved, int asleep) {
  static uint64_t sleeps;
  struct macah_clock *c = &macah_arena->clock;
  unseen = 1;
  if (!moved && !asleep && macah_load(&c->active) == 1 && !macah_load(&c->callers)) {
    macah_store(&c->present, 1);
    execution->place = 0;
    return;
  }
  if (asleep) {
    macah_store(&execution->waiting, awaited_ports());
    macah_store(&execution->asleep, ++sleeps);
  }
  uint32_t tick = macah_load(&c->ticks);
  macah_step(&c->arrived, 1);
  wait_until_changed(&c->ticks, tick);
  macah_store(&execution->asleep, 0);
}

void await_shown(void) {
  struct macah_clock *c = &macah_arena->clock;
  uint32_t present = macah_load(&c->present), seen = macah_load(&c->all_shown);
  if (present < 2 || !unseen) return;
  unseen = 0;
  if (macah_add(&c->shown, 1) + 1 == present) {
    macah_store(&c->shown, 0);
    macah_step(&c->all_shown, 1);
  } else {
    wait_until_changed(&c->all_shown, seen);
  }
}

void await_place(void) {
  uint32_t *mover = &macah_arena->clock.mover, now;
  if (!execution->place) return;
  while ((now = macah_load(mover)) != execution->place && !macah_load(&host_has_gone)) macah_futex_wait(mover, now, NULL);
}

void leave_place(void) {
  struct macah_clock *c = &macah_arena->clock;
  if (!execution->place) return;
  for (unsigned i = 0; i < port_count; i++)
    if (ports[i].moves && execution->shared >> i & 1) macah_store(&execution->served, c->ticks);
  macah_step(&c->mover, 1);
}
