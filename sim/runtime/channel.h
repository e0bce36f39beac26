/* What streams.c and the simulator's side (vpi.c) share: a stream's layout and its protocol.
 *
 * Everything lives in one arena that host and simulators map at different addresses, so nothing shared
 * is a pointer. A stream is a ring with one lock for each end. Who finds it full or empty sleeps on a bell;
 * a simulator, which may wait for several streams at once, sleeps on a bell of its own and leaves its
 * number in each stream's `watchers`.
 */
#ifndef MACAH_CHANNEL_H
#define MACAH_CHANNEL_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MACAH_SIMULATORS = 64, MACAH_SPINS = 200 };

/* An event count: sleepers announce themselves, look once more, and sleep until it is rung. */
struct macah_bell {
  _Atomic uint32_t sleepers, rings;
};

/* The start of the arena. `blocked` counts the threads and simulators that sleep on a stream. */
struct macah_arena {
  uint64_t capacity;
  _Atomic uint32_t blocked;
  struct macah_bell simulator[MACAH_SIMULATORS];
};

extern struct macah_arena *macah_arena;

#define MACAH_LIVE 0x4d414341u
#define MACAH_FREED 0xdeadc0deu

struct macah_stream {
  _Atomic uint32_t magic, closed;
  uint64_t element_size, depth;
  void *accessor; /* the host's alone */
  _Atomic uint64_t watchers;
  struct macah_bell readable, writable;

  _Alignas(64) _Atomic uint32_t send_lock;
  _Atomic uint64_t reserved; /* places promised to a simulator that has sent a part of an element */
  _Atomic uint64_t sent;
  uint64_t send_place;

  _Alignas(64) _Atomic uint32_t receive_lock;
  _Atomic uint64_t received;
  uint64_t receive_place;

  _Alignas(64) unsigned char elements[];
};

static inline void macah_futex_wait(_Atomic uint32_t *word, uint32_t seen, const struct timespec *timeout) {
  syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout, NULL, 0);
}

static inline void macah_ring(struct macah_bell *bell, int how_many) {
  if (atomic_load(&bell->sleepers)) {
    atomic_fetch_add(&bell->rings, 1);
    syscall(SYS_futex, &bell->rings, FUTEX_WAKE, how_many, NULL, NULL, 0);
  }
}

static inline int macah_try_lock(_Atomic uint32_t *lock) {
  return !atomic_load_explicit(lock, memory_order_relaxed) && !atomic_exchange_explicit(lock, 1, memory_order_acquire);
}

static inline void macah_lock(_Atomic uint32_t *lock) {
  for (int spins = 0; !macah_try_lock(lock); spins++)
    if (spins >= MACAH_SPINS) sched_yield();
}

static inline void macah_unlock(_Atomic uint32_t *lock) { atomic_store_explicit(lock, 0, memory_order_release); }

/* `received` is read first, so that the difference is never negative. Exact with the lock of the asker's end. */
static inline uint64_t macah_held(const struct macah_stream *s) {
  uint64_t received = atomic_load(&s->received);
  return atomic_load(&s->sent) - received;
}

static inline int macah_is_empty(const struct macah_stream *s) { return macah_held(s) == 0; }

static inline int macah_is_full(const struct macah_stream *s) {
  return macah_held(s) + atomic_load(&s->reserved) >= s->depth;
}

/* `closed` is read first: what was sent before the close is then seen too. */
static inline int macah_is_ended(const struct macah_stream *s) { return atomic_load(&s->closed) && macah_is_empty(s); }

static inline void macah_notify(struct macah_stream *s, struct macah_bell *bell, int how_many) {
  macah_ring(bell, how_many);
  uint64_t watchers = atomic_load(&s->watchers);
  for (; watchers; watchers &= watchers - 1) macah_ring(&macah_arena->simulator[__builtin_ctzll(watchers)], INT_MAX);
}

/* With the lock of its end, and after looking: add or remove an element. */
static inline void macah_push(struct macah_stream *s, const void *element) {
  memcpy(s->elements + s->send_place * s->element_size, element, s->element_size);
  s->send_place = s->send_place + 1 == s->depth ? 0 : s->send_place + 1;
  atomic_fetch_add(&s->sent, 1);
}

static inline void macah_pop(struct macah_stream *s, void *element) {
  memcpy(element, s->elements + s->receive_place * s->element_size, s->element_size);
  s->receive_place = s->receive_place + 1 == s->depth ? 0 : s->receive_place + 1;
  atomic_fetch_add(&s->received, 1);
}

static inline void macah_shut(struct macah_stream *s) {
  atomic_store(&s->closed, 1);
  macah_notify(s, &s->readable, INT_MAX);
}

/* Where streams live: heap.c or arena.c. Memory is zeroed and aligned to 64 bytes. */
void *macah_allocate(size_t size);
void macah_release(void *memory, size_t size);
void macah_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
