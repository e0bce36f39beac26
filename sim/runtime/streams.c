/* Streams as the host sees them: what is not done by the fast way in macah.h. The protocol is in channel.h. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "host.h"
#include "trace.h"

const struct macah_order *macah_order;
pid_t macah_referee;

static const struct macah_place nowhere;

/* Before a look at a stream that does not wait. */
static void hold(macah_stream *s, int receives, struct macah_place place) {
  if (macah_order) macah_order->hold(s, receives, MACAH_FOR_TIME, place);
}

/* Whether to look once more at a stream where nothing was found: in lock step, another thread of the host, or the
 * cycle at hand, may not have come to it. */
static int look_again(macah_stream *s, int receives, int *looked) {
  if (!macah_order || *looked) return 0;
  int may_change = !macah_load(&s->closed);
  macah_order->look_again(may_change ? s : NULL, receives);
  return *looked = 1;
}

void macah_die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("macah: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  abort();
}

void macah_check(const macah_stream *s, const char *what) {
  if (!s) macah_die("%s: the stream is null", what);
  uint32_t magic = __atomic_load_n(&s->magic, __ATOMIC_RELAXED);
  if (magic == MACAH_LIVE) return;
  macah_die(magic == MACAH_FREED ? "%s: the stream has been freed" : "%s: this is not a stream", what);
}

/* As macah_check, with the place in the program. */
static void check_at(const macah_stream *s, const char *what, struct macah_place place) {
  char text[512];
  if (s && __atomic_load_n(&s->magic, __ATOMIC_RELAXED) == MACAH_LIVE) return;
  snprintf(text, sizeof text, "%s:%d: %s", place.file, place.line, what);
  macah_check(s, text);
}

/* Few small elements are in the cache line of the sender's count, and reach the receiver with it. Otherwise, the ends
 * of a shallow stream go through so many bytes of places, more than are in use at once, so that they meet in the
 * same cache line less often. */
enum { LINE = 64, ROOM = 1024 };

static size_t stream_size(const macah_stream *s) { return sizeof *s + s->element_size * (s->mask + 1); }

macah_stream *macah_stream_create(size_t element_size, size_t depth, const char *layout, const char *file, int line) {
  if (depth == 0) macah_die("pstream_create: a stream must hold at least one element");
  if (depth > SIZE_MAX / 8 / (element_size + 1))
    macah_die("pstream_create: %zu elements of %zu bytes are too many", depth, element_size);
  macah_stream head = {.element_size = element_size, .depth = depth};
  head.mask = depth == 1 ? 0 : UINT64_MAX >> __builtin_clzll(depth - 1);
  head.places = offsetof(macah_stream, sender.count) + sizeof head.sender.count;
  if ((head.mask + 1) * element_size > LINE - sizeof head.sender.count) {
    head.places = sizeof head;
    while ((head.mask + 1) * element_size < ROOM && head.mask < ROOM) head.mask = 2 * head.mask + 1;
  }
  macah_stream *s = macah_allocate(stream_size(&head));
  *s = head;
  s->about = malloc(sizeof *s->about);
  if (!s->about) macah_die("out of memory");
  *s->about = (struct macah_about){.created = {file, line, layout}};
  if (macah_tracing) macah_begin_trace(s, layout, file, line);
  macah_store(&s->magic, MACAH_LIVE);
  return s;
}

void macah_free(void *stream) {
  macah_stream *s = stream;
  if (!s) return;
  macah_check(s, "pstream_free");
  macah_store(&s->magic, MACAH_FREED);
  macah_disown(&s->sender); /* and wait for who still is at work there */
  macah_disown(&s->receiver);
  macah_notify(s, &s->readable, UINT_MAX); /* who still waits is told instead of hanging */
  macah_ring(&s->writable, UINT_MAX);
  macah_end_trace(s);
  free(s->about);
  macah_release(s, stream_size(s));
}

void macah_stream_wake(struct macah_bell *bell) { macah_ring(bell, 1); }

static int others_run; /* while this thread does: there is more than one processor */

__attribute__((constructor(101))) static void count_processors(void) {
  cpu_set_t set;
  others_run = sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
}

static int must_doze(enum macah_kind kind, const macah_stream *s) {
  return macah_must_wait(kind, s) && (!macah_order || macah_order->holds(&macah_me, s, kind == MACAH_TO_RECEIVE));
}

/* Sleeps until the stream may be ready. */
static void doze(macah_stream *s, struct macah_bell *bell, enum macah_kind kind) {
  static const struct timespec a_while = {0, MACAH_LOOK};
  uint32_t rings;
  do {
    rings = macah_load(&bell->rings);
    macah_add(&bell->sleepers, 1);
    macah_fence();
    while (must_doze(kind, s) && macah_load(&bell->rings) == rings)
      if (!macah_futex_wait(&bell->rings, rings, &a_while)) macah_look_for_deadlock();
  } while (must_doze(kind, s));
}

static void await(macah_stream *s, enum macah_kind kind, struct macah_place place) {
  if (others_run)
    for (int spins = 0; spins < MACAH_SPINS; spins++) {
      if (!macah_must_wait(kind, s)) return;
      macah_pause(3 + MACAH_REST(s->depth));
    }
  macah_begin_wait(kind, s, place);
  doze(s, kind == MACAH_TO_SEND ? &s->writable : &s->readable, kind);
  if (macah_order) macah_order->resume();
  macah_end_wait();
  check_at(s, kind == MACAH_TO_SEND ? "send" : "receive", place);
}

static void trace(const macah_stream *s, const void *element, struct macah_place place) {
  char text[512];
  snprintf(text, sizeof text, "%s:%d", place.file, place.line);
  macah_trace(s, element, text);
}

static int send_now(macah_stream *s, const void *element, struct macah_place place) {
  macah_take(s, &s->sender);
  if (macah_load(&s->closed)) macah_die("%s:%d: send: the stream has been closed", place.file, place.line);
  int possible = !macah_is_full(s);
  if (possible) {
    if (macah_tracing) trace(s, element, place);
    macah_push(s, element);
    macah_notify(s, &s->readable, 1);
  }
  macah_unlock(&s->sender);
  return possible;
}

static int receive_now(macah_stream *s, void *element) {
  macah_take(s, &s->receiver);
  int possible = !macah_is_empty(s);
  if (possible) {
    macah_pop(s, element);
    macah_notify(s, &s->writable, 1);
  }
  macah_unlock(&s->receiver);
  return possible;
}

void macah_stream_send(macah_stream *s, const void *element, const char *file, int line, const char *text) {
  struct macah_place place = {file, line, text};
  check_at(s, "send", place);
  for (;;) {
    if (macah_order) macah_order->hold(s, 0, MACAH_TO_SEND, place);
    if (send_now(s, element, place)) return;
    await(s, MACAH_TO_SEND, place);
  }
}

int macah_stream_try_send(macah_stream *s, const void *element, const char *file, int line, const char *text) {
  struct macah_place place = {file, line, text};
  int looked = 0;
  check_at(s, "send", place);
  do {
    hold(s, 0, place);
    if (send_now(s, element, place)) return 1;
  } while (look_again(s, 0, &looked));
  return 0;
}

int macah_stream_receive(macah_stream *s, void *element, const char *file, int line, const char *text) {
  struct macah_place place = {file, line, text};
  check_at(s, "receive", place);
  for (;;) {
    if (macah_order) macah_order->hold(s, 1, MACAH_TO_RECEIVE, place);
    if (receive_now(s, element)) return 1;
    if (macah_is_ended(s)) return 0;
    await(s, MACAH_TO_RECEIVE, place);
  }
}

int macah_stream_try_receive(macah_stream *s, void *element, const char *file, int line, const char *text) {
  struct macah_place place = {file, line, text};
  int looked = 0;
  check_at(s, "receive", place);
  do {
    hold(s, 1, place);
    if (!macah_is_empty(s) && receive_now(s, element)) return 1;
  } while (look_again(s, 1, &looked));
  return 0;
}

void macah_close(void *stream) {
  macah_stream *s = stream;
  macah_check(s, "pstream_close");
  hold(s, 0, nowhere);
  macah_disown(&s->sender); /* so that sends look whether it is closed */
  macah_shut(s);
}

int macah_ended(void *stream) {
  int looked = 0, ended;
  macah_check(stream, "pstream_ended");
  do {
    hold(stream, 1, nowhere);
    ended = macah_is_ended(stream);
  } while (!ended && macah_is_empty(stream) && look_again(stream, 1, &looked));
  return ended;
}

int macah_empty(void *stream) {
  int looked = 0;
  macah_check(stream, "pstream_empty");
  do {
    hold(stream, 1, nowhere);
    if (!macah_is_empty(stream)) return 0;
  } while (look_again(stream, 1, &looked));
  return 1;
}

int macah_full(void *stream) {
  int looked = 0;
  macah_check(stream, "pstream_full");
  do {
    hold(stream, 0, nowhere);
    if (!macah_is_full(stream)) return 0;
  } while (look_again(stream, 0, &looked));
  return 1;
}

uint64_t macah_spent_cycles, macah_spent_stalls;

unsigned long long macah_cycles(void) { return __atomic_load_n(&macah_spent_cycles, __ATOMIC_RELAXED); }

unsigned long long macah_stalls(void) { return __atomic_load_n(&macah_spent_stalls, __ATOMIC_RELAXED); }
