/* Streams as the host sees them. The protocol is in channel.h. */
#define _GNU_SOURCE
#include "macah.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "channel.h"

void macah_die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("macah: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  abort();
}

static void check(const macah_stream *s, const char *what) {
  if (!s) macah_die("%s: the stream is null", what);
  uint32_t magic = atomic_load_explicit(&s->magic, memory_order_relaxed);
  if (magic == MACAH_LIVE) return;
  macah_die(magic == MACAH_FREED ? "%s: the stream has been freed" : "%s: this is not a stream", what);
}

static size_t stream_size(size_t element_size, size_t depth) { return sizeof(macah_stream) + element_size * depth; }

macah_stream *macah_stream_create(size_t element_size, size_t depth) {
  if (depth == 0) macah_die("pstream_create: a stream must hold at least one element");
  if (element_size && depth > (SIZE_MAX / 2 - sizeof(macah_stream)) / element_size)
    macah_die("pstream_create: %zu elements of %zu bytes are too many", depth, element_size);
  macah_stream *s = macah_allocate(stream_size(element_size, depth));
  s->element_size = element_size;
  s->depth = depth;
  atomic_store(&s->magic, MACAH_LIVE);
  return s;
}

void macah_stream_free(macah_stream *s) {
  if (!s) return;
  check(s, "pstream_free");
  atomic_store(&s->magic, MACAH_FREED);
  macah_notify(s, &s->readable, INT_MAX); /* who still waits is told instead of hanging */
  macah_ring(&s->writable, INT_MAX);
  macah_release(s, stream_size(s->element_size, s->depth));
}

static int must_wait_to_send(const macah_stream *s) { return macah_is_full(s); }

static int must_wait_to_receive(const macah_stream *s) { return macah_is_empty(s) && !atomic_load(&s->closed); }

static void await(macah_stream *s, struct macah_bell *bell, int (*must_wait)(const macah_stream *), const char *what) {
  for (int spins = 0; spins < MACAH_SPINS; spins++)
    if (!must_wait(s)) return;
  atomic_fetch_add(&bell->sleepers, 1);
  uint32_t rings = atomic_load(&bell->rings);
  while (must_wait(s) && atomic_load(&s->magic) == MACAH_LIVE) {
    atomic_fetch_add(&macah_arena->blocked, 1);
    macah_futex_wait(&bell->rings, rings, NULL);
    atomic_fetch_sub(&macah_arena->blocked, 1);
    rings = atomic_load(&bell->rings);
  }
  check(s, what);
  atomic_fetch_sub(&bell->sleepers, 1);
}

static int send_now(macah_stream *s, const void *element) {
  macah_lock(&s->send_lock);
  int possible = !macah_is_full(s);
  if (possible) macah_push(s, element);
  macah_unlock(&s->send_lock);
  if (possible) macah_notify(s, &s->readable, 1);
  return possible;
}

static int receive_now(macah_stream *s, void *element) {
  macah_lock(&s->receive_lock);
  int possible = !macah_is_empty(s);
  if (possible) macah_pop(s, element);
  macah_unlock(&s->receive_lock);
  if (possible) macah_notify(s, &s->writable, 1);
  return possible;
}

static void refuse_closed(macah_stream *s) {
  if (atomic_load(&s->closed)) macah_die("send: the stream has been closed");
}

void macah_send(macah_stream *s, const void *element) {
  check(s, "send");
  for (;;) {
    refuse_closed(s);
    if (send_now(s, element)) return;
    await(s, &s->writable, must_wait_to_send, "send");
  }
}

int macah_try_send(macah_stream *s, const void *element) {
  check(s, "send");
  refuse_closed(s);
  return send_now(s, element);
}

int macah_receive(macah_stream *s, void *element) {
  check(s, "receive");
  for (;;) {
    if (receive_now(s, element)) return 1;
    if (macah_is_ended(s)) return 0;
    await(s, &s->readable, must_wait_to_receive, "receive");
  }
}

int macah_try_receive(macah_stream *s, void *element) {
  check(s, "receive");
  return !macah_is_empty(s) && receive_now(s, element);
}

void macah_close(macah_stream *s) {
  check(s, "pstream_close");
  macah_shut(s);
}

int macah_ended(macah_stream *s) {
  check(s, "pstream_ended");
  return macah_is_ended(s);
}

int macah_empty(macah_stream *s) {
  check(s, "pstream_empty");
  return macah_is_empty(s);
}

int macah_full(macah_stream *s) {
  check(s, "pstream_full");
  return macah_is_full(s);
}
