/* What the host's part (streams.c, ends.c) and the simulator's (vpi.c) share: the protocol of streams.
 *
 * Everything lives in one arena that host and simulators map at different addresses, so nothing shared
 * is a pointer that both follow. Each end has a lock, and may have an owner, a thread of the host that does
 * without it (macah.h); streams that a simulator uses have none. Who finds a stream full or empty sleeps on a
 * bell; a simulator, which may wait for several streams at once, sleeps on a bell of its own and leaves its
 * number in each stream's `watchers`.
 */
#ifndef MACAH_CHANNEL_H
#define MACAH_CHANNEL_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "macah.h"

enum { MACAH_BELLS = 64, MACAH_SPINS = 100, MACAH_PATIENT_SPINS = 10 };
/* Why simulators are shy: somebody else wants a lock, from then on; and while a process is copied. */
enum { MACAH_WANTED = 1, MACAH_COPIED = 2 };

/* Time in lock step (lockstep.c): a cycle of all `active` executions begins when all have `arrived` at it and the
 * host is at rest. */
struct macah_clock {
  uint32_t on, active, arrived, ticks;
  uint32_t loose;   /* a thread sleeps, and time passes all the same */
  uint32_t callers; /* threads of the host that wait until all have arrived */
  uint32_t lookers; /* of these, threads that have looked for something in vain, and want another cycle */
  uint32_t present, shown, all_shown; /* of a cycle's executions: how many have seen what streams have */
  uint32_t mover;   /* the place of the execution that moves elements now, among those that share ends */
};

/* The start of the arena. Simulators share bells where there are more than that. */
struct macah_arena {
  uint64_t capacity;
  uint32_t simulators;
  struct macah_clock clock;
  struct macah_bell simulator[MACAH_BELLS];
  uint64_t profile; /* profile.h; or 0 */
  uint32_t keepers, shy; /* simulators that keep locks from one cycle to the next; if not 0, none may */
};

extern struct macah_arena *macah_arena;

#define MACAH_LIVE 0x4d414341u
#define MACAH_FREED 0xdeadc0deu

#define macah_load(place) __atomic_load_n(place, __ATOMIC_SEQ_CST)
#define macah_store(place, value) __atomic_store_n(place, value, __ATOMIC_SEQ_CST)
#define macah_add(place, value) __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST)

/* 0 if the time was over. */
static inline int macah_futex_wait(uint32_t *word, uint32_t seen, const struct timespec *timeout) {
  return syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout, NULL, 0) == 0 || errno != ETIMEDOUT;
}

/* Changes a word, and wakes all who wait for that. */
static inline void macah_step(uint32_t *word, uint32_t by) {
  macah_add(word, by);
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Wakes up to `how_many` sleepers. A sleeper announces itself again whenever it sleeps again, so a bell may count
 * more of them than there are, never fewer. */
static inline void macah_ring(struct macah_bell *bell, uint32_t how_many) {
  uint32_t sleepers = macah_load(&bell->sleepers), woken;
  do {
    if (!sleepers) return;
    woken = sleepers < how_many ? sleepers : how_many;
  } while (!__atomic_compare_exchange_n(&bell->sleepers, &sleepers, sleepers - woken, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST));
  macah_add(&bell->rings, 1);
  syscall(SYS_futex, &bell->rings, FUTEX_WAKE, woken < INT_MAX ? (int)woken : INT_MAX, NULL, NULL, 0);
}

static inline int macah_try_lock(struct macah_end *end) {
  return !__atomic_load_n(&end->lock, __ATOMIC_RELAXED) && !__atomic_exchange_n(&end->lock, 1, __ATOMIC_ACQUIRE);
}

static inline void macah_want_lock(int spins) {
  if (spins == MACAH_PATIENT_SPINS) __atomic_fetch_or(&macah_arena->shy, MACAH_WANTED, __ATOMIC_SEQ_CST);
}

static inline void macah_lock(struct macah_end *end) {
  for (int spins = 0; !macah_try_lock(end); spins++) {
    macah_want_lock(spins);
    if (spins >= MACAH_SPINS) sched_yield();
  }
}

static inline void macah_unlock(struct macah_end *end) { __atomic_store_n(&end->lock, 0, __ATOMIC_RELEASE); }

/* The receiver's count is read first, so that the difference is never negative. Exact at the asker's own end. */
static inline uint64_t macah_held(const macah_stream *s) {
  uint64_t received = macah_load(&s->receiver.count);
  return macah_load(&s->sender.count) - received;
}

static inline int macah_is_empty(const macah_stream *s) { return macah_held(s) == 0; }

static inline int macah_is_full(const macah_stream *s) {
  return macah_held(s) + macah_load(&s->sender.reserved) >= s->depth;
}

/* `closed` is read first: what was sent before the close is then seen too. */
static inline int macah_is_ended(const macah_stream *s) { return macah_load(&s->closed) && macah_is_empty(s); }

static inline void macah_notify(macah_stream *s, struct macah_bell *bell, uint32_t how_many) {
  macah_ring(bell, how_many);
  uint64_t watchers = macah_load(&s->watchers);
  for (; watchers; watchers &= watchers - 1) macah_ring(&macah_arena->simulator[__builtin_ctzll(watchers)], UINT_MAX);
}

static inline unsigned char *macah_element(macah_stream *s, uint64_t number) {
  return (unsigned char *)s + s->places + (number & s->mask) * s->element_size;
}

/* With its end to oneself, and after looking: add or remove an element. */
static inline void macah_push(macah_stream *s, const void *element) {
  memcpy(macah_element(s, s->sender.count), element, s->element_size);
  macah_store(&s->sender.count, s->sender.count + 1);
}

static inline void macah_pop(macah_stream *s, void *element) {
  s->receiver.seen = macah_load(&s->sender.count); /* never behind the own count, as the fast way relies on */
  memcpy(element, macah_element(s, s->receiver.count), s->element_size);
  macah_store(&s->receiver.count, s->receiver.count + 1);
}

static inline void macah_shut(macah_stream *s) {
  macah_store(&s->closed, 1);
  macah_notify(s, &s->readable, UINT_MAX);
}

/* Where streams live: heap.c or arena.c. Memory is zeroed and aligned to 64 bytes. */
void *macah_allocate(size_t size);
void macah_release(void *memory, size_t size);
void macah_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
