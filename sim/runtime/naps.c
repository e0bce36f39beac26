/* Waiting without using the processor, and waking others.
 *
 * A stalled design sleeps until a stream that was not ready is, and so does one whose pipeline holds nothing but
 * iterations that wait for a stream. One that only polls sleeps too, ever longer, up to a millisecond, but wakes
 * when a polled stream changes. Who sleeps at the other end of a stream is not woken for each element but for
 * several, as that takes longer than a cycle.
 */
#define _GNU_SOURCE
#include "ports.h"

enum { LONGEST_DEBT = 32, EAGER_POLLS = 16, SHORTEST_NAP = 50000, LONGEST_NAP = 1000000, WATCH_SPINS = 1000 };

static enum nap nap;
static unsigned fruitless; /* polls since the last transfer */
static unsigned patient;   /* cycles since the first fruitless poll at a port with patience, after which nothing moved */
static unsigned debt_age;  /* cycles since the other ends were told */
static int eager;
int cycles_are_short;
static int moving; /* in the last cycle, or before the first */
static uint64_t sleeps;

void begin_naps(int never_for_polls) {
  nap = NO_NAP;
  moving = 1;
  fruitless = patient = debt_age = 0;
  eager = never_for_polls;
}

/* The count that has changed must be visible before it is known who sleeps. */
static void tell(struct port *p) {
  if (!p->owed) return;
  show_moves();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  macah_notify(p->stream, p->sends ? &p->stream->readable : &p->stream->writable, p->owed);
  p->owed = 0;
}

void tell_all(void) {
  debt_age = 0;
  let_go();
  for (unsigned i = 0; i < port_count; i++) tell(&ports[i]);
}

void owe(struct port *p) {
  if (++p->owed * 2 >= p->stream->depth || macah_arena->clock.on)
    tell(p);
  else if (!cycles_are_short || p->both || p->words > 1) /* of which a part was promised to others */
    show_moves();
}

void note_cycle(int moved, const struct fruitless *found) {
  moving = moved;
  if (moved) fruitless = 0;
  if (moved || found->gone_on)
    patient = 0;
  else if (patient || found->patience)
    patient++;
  if (++debt_age >= LONGEST_DEBT || ((found->polls || found->patience) && !moved)) tell_all();
  if (!moved && (design_is_stalled || (found->patience && patient > found->patience)))
    nap = STALL_NAP;
  else if (!moved && found->polls && !eager && ++fruitless >= EAGER_POLLS)
    nap = POLL_NAP;
}

static int is_waiting(const struct port *p) { return !p->shown_open && !p->shown_ended; }

/* For which it waits: those that a stalled design wants; else the next turn of a pipeline may want any. */
uint64_t awaited_ports(void) {
  uint64_t waiting = 0, wanted = 0;
  for (unsigned i = 0; i < port_count; i++) {
    waiting |= (uint64_t)is_waiting(&ports[i]) << i;
    wanted |= (uint64_t)(is_waiting(&ports[i]) && ports[i].wanted) << i;
  }
  return design_is_stalled && wanted ? wanted : waiting;
}

static int has_changed(const struct port *p) {
  if (p->sends) return !macah_is_full(p->stream);
  return macah_load(&p->stream->closed) || !macah_is_empty(p->stream);
}

static int any_change(void) {
  for (unsigned i = 0; i < port_count; i++)
    if (is_waiting(&ports[i]) && has_changed(&ports[i])) return 1;
  return 0;
}

static void watch(int on) {
  uint64_t bit = (uint64_t)1 << execution->number % MACAH_BELLS;
  for (unsigned i = 0; i < port_count; i++) {
    uint64_t *watchers = &ports[i].stream->watchers;
    if (on && is_waiting(&ports[i])) __atomic_fetch_or(watchers, bit, __ATOMIC_SEQ_CST);
    if (!on) __atomic_fetch_and(watchers, ~bit, __ATOMIC_SEQ_CST);
  }
  macah_store(&execution->waiting, awaited_ports());
}

/* Until a stream that was not ready is, or the time is over. */
static void sleep_for(const struct timespec *timeout) {
  struct macah_bell *bell = &macah_arena->simulator[execution->number % MACAH_BELLS];
  do {
    uint32_t rings = macah_load(&bell->rings);
    macah_add(&bell->sleepers, 1);
    watch(1);
    if (any_change() || macah_load(&host_has_gone)) break;
    if (!timeout) macah_store(&execution->asleep, ++sleeps);
    macah_futex_wait(&bell->rings, rings, timeout);
  } while (!timeout && !macah_load(&host_has_gone));
  macah_store(&execution->asleep, 0);
  watch(0);
  /* Who shares the bell may need the bit that is gone now, and sets it again. */
  if (macah_load(&macah_arena->simulators) > MACAH_BELLS) macah_ring(bell, UINT_MAX);
}

static int anyone_waiting(void) {
  for (unsigned i = 0; i < port_count; i++)
    if (is_waiting(&ports[i])) return 1;
  return 0;
}

static void go_to_sleep(enum nap kind) {
  if (kind == STALL_NAP) {
    sleep_for(NULL);
    return;
  }
  unsigned doublings = fruitless - EAGER_POLLS;
  long length = doublings > 5 ? LONGEST_NAP : (long)SHORTEST_NAP << doublings;
  struct timespec time = {0, length < LONGEST_NAP ? length : LONGEST_NAP};
  sleep_for(&time);
}

void take_nap(void) {
  enum nap kind = nap;
  nap = NO_NAP;
  if (macah_arena->clock.on) await_tick(moving, kind == STALL_NAP);
  if (kind == NO_NAP || (macah_arena->clock.on && (kind != POLL_NAP || !macah_load(&macah_arena->clock.loose)))) return;
  tell_all();
  if (!anyone_waiting()) return;
  for (int spins = 0; spins < WATCH_SPINS; spins++)
    if (any_change()) return;
  profile_sleep(1);
  go_to_sleep(kind);
  profile_sleep(0);
}
