/* Who uses an end of a stream without its lock.
 *
 * The first thread that uses an end becomes its owner and needs no atomic operation from then on (macah.h). When
 * another thread wants the end, it takes it away and waits until the owner is not busy: a barrier in all threads
 * (membarrier) makes sure that either the owner sees that it lost the end, or the other that it is busy. After
 * some transfers, or where the system has no such barrier, nobody owns the end and all use the lock.
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>

#include "host.h"
#include "trace.h"

enum { TRANSFERS = 16 };

static const char nobody, between; /* for good, and with the lock, while an end passes from one owner to the next */
static int has_barrier;

static void register_barrier(void) {
  has_barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

__attribute__((constructor(101))) static void prepare(void) {
  register_barrier();
  pthread_atfork(NULL, NULL, register_barrier);
}

void macah_fence(void) {
  if (has_barrier) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* With the lock, and if the owner is another thread. */
static void take_away(struct macah_end *end, const void *next) {
  macah_store(&end->owner, next);
  macah_fence();
  while (__atomic_load_n(&end->busy, __ATOMIC_ACQUIRE)) sched_yield();
  end->transfers++;
}

void macah_take(macah_stream *s, struct macah_end *end) {
  macah_lock(end);
  macah_note_user(s, end == &s->receiver);
  const void *owner = __atomic_load_n(&end->owner, __ATOMIC_RELAXED);
  if (owner == &macah_me || owner == &nobody) return;
  if (owner) take_away(end, &between);
  int own = has_barrier && !macah_tracing && !macah_order && end->transfers < TRANSFERS && !(end == &s->sender && macah_load(&s->closed));
  __atomic_store_n(&end->owner, own ? (const void *)&macah_me : &nobody, __ATOMIC_RELEASE);
}

void macah_disown(struct macah_end *end) {
  if (__atomic_load_n(&end->owner, __ATOMIC_ACQUIRE) == &nobody) return; /* for good */
  macah_lock(end);
  const void *owner = __atomic_load_n(&end->owner, __ATOMIC_RELAXED);
  if (owner != &macah_me && owner != &nobody && owner)
    take_away(end, &nobody);
  else
    macah_store(&end->owner, &nobody);
  macah_unlock(end);
}
