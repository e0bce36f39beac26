/* A thread at the other end of each stream of a kernel that Python runs. It takes orders through a stream, and tells
 * what came of them through another. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

#include "serve.h"
#include "trace.h"

static const uint64_t ALL = UINT64_MAX;

struct order {
  uint64_t count;
  char *data;
  uint32_t close;
};

struct lane *lanes;
static macah_stream *events;

void report(uint32_t kind, const struct lane *lane, uint64_t count, char *data) {
  struct event event = {kind, lane ? lane->port : 0, count, data};
  macah_stream_send(events, &event, place_file, place_line, "what happens");
}

static void feed(const struct lane *lane, const struct order *order) {
  macah_stream *s = lane->stream;
  const char *element = order->data;
  for (uint64_t i = 0; i < order->count; i++, element += lane->size)
    if (!macah_fast_send(s, element, lane->size, MACAH_LOOKS))
      macah_stream_send(s, element, place_file, place_line, lane->name);
  free(order->data);
  if (order->close) macah_close(s);
  report(SENT, lane, s->depth - macah_held(s), NULL);
}

static void drain(const struct lane *lane, const struct order *order) {
  char *data = NULL;
  uint64_t count = 0, room = 0;
  for (; count < order->count; count++) {
    if (count == room) {
      room = room ? 2 * room : order->count < 4096 ? order->count : 4096;
      data = realloc(data, room * lane->size);
      if (!data) macah_die("out of memory");
    }
    char *element = data + count * lane->size;
    if (!macah_fast_receive(lane->stream, element, lane->size, MACAH_LOOKS) &&
        !macah_stream_receive(lane->stream, element, place_file, place_line, lane->name))
      break;
  }
  report(TAKEN, lane, count, data);
}

static void *attend(void *argument) {
  struct lane *lane = argument;
  macah_my_number();
  macah_me.accessor = lane->name;
  for (;;) {
    struct order order;
    macah_stream_receive(lane->orders, &order, place_file, place_line,
                         lane->sends ? "what the test receives" : "what the test sends");
    if (lane->sends)
      drain(lane, &order);
    else
      feed(lane, &order);
  }
  return NULL;
}

void order(uint32_t port, uint64_t count, char *data, uint32_t close) {
  struct order order = {count, data, close};
  lanes[port].busy = 1;
  macah_stream_send(lanes[port].orders, &order, place_file, place_line, "orders");
}

/* A stream that is none of the program's, and not traced. */
static macah_stream *inner_stream(size_t size) {
  int tracing = macah_tracing;
  macah_tracing = 0;
  macah_stream *made = macah_stream_create(size, MACAH_STREAMS + 1, "", "serve.c", __LINE__);
  macah_tracing = tracing;
  return made;
}

void make_lanes(const struct macah_kernel *kernel) {
  events = inner_stream(sizeof(struct event));
  lanes = get_memory(kernel->streams * sizeof *lanes);
  for (uint32_t p = 0; p < kernel->streams; p++) {
    lanes[p] = (struct lane){.orders = inner_stream(sizeof(struct order)), .port = p};
    lanes[p].sends = kernel->port[p].sends;
    lanes[p].name = kernel->port[p].name;
    start_thread(attend, &lanes[p]);
  }
}

void tell_event(const struct event *event) {
  struct lane *lane = &lanes[event->port];
  lane->busy = 0;
  if (event->kind == TAKEN)
    tell(TAKEN, event->port, event->data, event->count * lane->size);
  else
    tell(SENT, event->port, &event->count, sizeof event->count);
  free(event->data);
}

struct event next_event(void) {
  struct event event;
  macah_stream_receive(events, &event, place_file, place_line, "what happens");
  return event;
}

uint64_t finish_lane(struct lane *lane) {
  uint64_t left = 0;
  if (lane->inner) return 0;
  if (lane->sends) {
    macah_close(lane->stream);
    if (!lane->busy) order(lane->port, ALL, NULL, 0);
  } else {
    char element[lane->size ? lane->size : 1];
    while (lane->busy || !macah_is_empty(lane->stream)) {
      if (macah_stream_try_receive(lane->stream, element, place_file, place_line, lane->name)) {
        left++;
        continue;
      }
      struct event event;
      if (macah_stream_try_receive(events, &event, place_file, place_line, "what happens"))
        tell_event(&event);
      else
        sched_yield();
    }
  }
  while (lane->busy) {
    struct event event = next_event();
    tell_event(&event);
  }
  return left;
}
