/* Cursors: places of a ring that their thread fills or empties before it tells the other end. See batch.h. */
#define _GNU_SOURCE
#include "host.h"

enum { LONGEST = 128 };

static struct macah_end *end_of(const struct macah_cursor *c) {
  return c->receives ? &c->channel->receiver : &c->channel->sender;
}

static void publish(struct macah_cursor *c) {
  struct macah_end *end = end_of(c);
  struct macah_bell *bell = c->receives ? &c->channel->writable : &c->channel->readable;
  uint32_t moved = c->size ? (uint32_t)((size_t)(c->at - c->begin) / c->size) : 0;
  __atomic_store_n(&end->count, end->count + moved, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (moved && __atomic_load_n(&bell->sleepers, __ATOMIC_RELAXED)) macah_ring(bell, moved);
  __atomic_store_n(&end->busy, 0, __ATOMIC_RELEASE);
  c->begin = c->at = c->limit = NULL;
}

void macah_publish(struct macah_cursor *all) {
  for (struct macah_cursor *c = all; c; c = c->next)
    if (c->begin) publish(c);
}

/* How many elements the cursor's end, which is ours, may move. */
static uint64_t ready(const struct macah_cursor *c, struct macah_end *end) {
  const macah_stream *s = c->channel;
  const uint64_t *other = c->receives ? &s->sender.count : &s->receiver.count;
  end->seen = __atomic_load_n(other, __ATOMIC_ACQUIRE);
  return c->receives ? end->seen - end->count : s->depth - (end->count - end->seen);
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Opens the cursor if its thread owns the end and something can be moved. Where a stream has two names, another
 * cursor may have been open at the same end; all have been published before. */
static int open_cursor(struct macah_cursor *c) {
  macah_stream *s = c->channel;
  struct macah_end *end = s && c->size ? end_of(c) : NULL;
  if (!end || !macah_enter(end)) return 0;
  uint64_t count = ready(c, end), place = end->count & s->mask;
  for (int looks = MACAH_LOOKS; !count && looks > 0; looks--) {
    macah_pause(1);
    count = ready(c, end);
  }
  if (!count) {
    __atomic_store_n(&end->busy, 0, __ATOMIC_RELEASE);
    return 0;
  }
  /* A part of the depth at a time, so that both ends can be at work. */
  count = least(least(count, (s->depth + 1) / 2), least(LONGEST, s->mask + 1 - place));
  c->begin = c->at = (char *)s + s->places + place * c->size;
  c->limit = c->at + count * c->size;
  return 1;
}

int macah_send_now(struct macah_cursor *c, struct macah_cursor *all, const void *element, const char *file, int line,
                   const char *text) {
  macah_publish(all);
  if (open_cursor(c)) return 0;
  macah_stream_send(c->channel, element, file, line, text);
  return 1;
}

int macah_receive_now(struct macah_cursor *c, struct macah_cursor *all, void *element, const char *file, int line,
                      const char *text) {
  macah_publish(all);
  if (open_cursor(c)) return 0;
  return macah_stream_receive(c->channel, element, file, line, text) ? 1 : -1;
}
