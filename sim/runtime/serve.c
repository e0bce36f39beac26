/* The host program of kernel number 0 when Python runs it (sim/session.py), which says over a socket what happens.
 *
 * Each stream has a thread at its other end, which takes orders: to send these elements, to receive so many. Orders
 * and what came of them go through streams, too. So all threads but the main one, which reads Python's requests,
 * wait for streams or for the kernel, and deadlocks are found as in any program; while Python computes, the main
 * thread reads, and there is none.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <fcntl.h>

#include "cosim.h"
#include "macah.h"
#include "trace.h"

enum { REQUESTS = 0 };
static const uint64_t ALL = UINT64_MAX;

/* What Python asks for, and what it is told; `size` bytes may follow. */
enum { BEGIN = 1, SEND, SEND_AND_CLOSE, TAKE, WAIT };
enum { SENT = 1, TAKEN, ENDED, DONE };
struct message {
  uint32_t kind, port;
  uint64_t size;
};

struct order {
  uint64_t count;
  char *data;
  uint32_t close;
};

struct event {
  uint32_t kind, port;
  uint64_t count; /* elements taken; places that are free after sending */
  char *data;
};

/* The other end of one of the kernel's ports. */
struct lane {
  macah_stream *stream, *orders;
  uint32_t port, size;
  const char *name;
  int sends; /* the kernel does */
  int inner; /* the kernel has the stream's other end, too */
  int busy;  /* with an order */
};

struct run {
  uint32_t *live_in, *live_out, **memories;
  macah_stream **streams;
};

static const struct macah_kernel *kernel = &macah_kernels[0];
static struct lane *lanes;
static macah_stream *events;
static struct run now;
static const char *place_file = "?";
static int place_line;

static void *get_memory(size_t size) {
  void *memory = calloc(size ? size : 1, 1);
  if (!memory) macah_die("out of memory");
  return memory;
}

/* --- The socket. Its end is ours. */

static void see_end(int signal) {
  (void)signal;
  struct pollfd end = {.fd = REQUESTS, .events = POLLRDHUP};
  if (poll(&end, 1, 0) > 0 && end.revents & (POLLRDHUP | POLLHUP | POLLERR)) _exit(0);
}

static void watch_end(void) {
  struct sigaction action = {.sa_handler = see_end, .sa_flags = SA_RESTART};
  sigaction(SIGIO, &action, NULL);
  fcntl(REQUESTS, F_SETOWN, getpid());
  fcntl(REQUESTS, F_SETFL, fcntl(REQUESTS, F_GETFL) | O_ASYNC);
  see_end(0);
}

static void get(void *to, size_t size) {
  for (char *next = to; size > 0;) {
    ssize_t got = recv(REQUESTS, next, size, 0);
    if (got == 0 || (got < 0 && errno != EINTR)) _exit(0);
    if (got > 0) next += got, size -= (size_t)got;
  }
}

static void put(const void *from, size_t size) {
  for (const char *next = from; size > 0;) {
    ssize_t sent = send(REQUESTS, next, size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) _exit(0);
    if (sent > 0) next += sent, size -= (size_t)sent;
  }
}

static void tell(uint32_t kind, uint32_t port, const void *data, uint64_t size) {
  put(&(struct message){kind, port, size}, sizeof(struct message));
  put(data, size);
}

/* --- The other ends of streams. */

static void report(uint32_t kind, const struct lane *lane, uint64_t count, char *data) {
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

static void start_thread(void *(*body)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, argument)) macah_die("cannot start a thread");
  pthread_detach(thread);
}

static void order(uint32_t port, uint64_t count, char *data, uint32_t close) {
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

static void make_lanes(void) {
  events = inner_stream(sizeof(struct event));
  lanes = get_memory(kernel->streams * sizeof *lanes);
  for (uint32_t p = 0; p < kernel->streams; p++) {
    lanes[p] = (struct lane){.orders = inner_stream(sizeof(struct order)), .port = p};
    lanes[p].sends = kernel->port[p].sends;
    lanes[p].name = kernel->port[p].name;
    start_thread(attend, &lanes[p]);
  }
}

/* --- Executions. */

/* A file's name; it is kept for reports. */
static const char *place_of(uint64_t size) {
  char *name = get_memory(size + 1);
  get(name, size);
  if (strcmp(name, place_file) != 0) return name;
  free(name);
  return place_file;
}

static void *run_kernel(void *unused) {
  (void)unused;
  macah_run_kernel(0, now.live_in, now.live_out, now.streams, now.memories);
  report(ENDED, NULL, 0, NULL);
  return NULL;
}

/* A place of the test, its line as the port; the cycles that the kernel may take; for each port the number of its
 * stream, element size and depth; the words of live-ins and of the memories that are copied in. */
static void begin(const struct message *request) {
  place_file = place_of(request->size);
  place_line = (int)request->port;
  get(&macah_most_cycles, sizeof macah_most_cycles);
  now.live_in = get_memory(4 * (size_t)kernel->live_ins);
  now.live_out = get_memory(4 * (size_t)kernel->live_outs);
  now.memories = get_memory(kernel->memories * sizeof *now.memories);
  now.streams = get_memory(kernel->streams * sizeof *now.streams);
  for (uint32_t p = 0; p < kernel->streams; p++) {
    uint32_t shape[4]; /* number, element size, depth in two halves */
    get(shape, sizeof shape);
    uint64_t depth = shape[2] | (uint64_t)shape[3] << 32;
    lanes[p].size = shape[1];
    lanes[p].busy = 0;
    now.streams[p] = shape[0] < p ? now.streams[shape[0]]
                                  : macah_stream_create(shape[1], depth, "", place_file, place_line);
    lanes[p].stream = now.streams[p];
    lanes[p].inner = shape[0] < p;
    if (shape[0] < p) lanes[shape[0]].inner = 1;
  }
  get(now.live_in, 4 * (size_t)kernel->live_ins);
  for (uint32_t m = 0; m < kernel->memories; m++) {
    now.memories[m] = get_memory(4 * (size_t)kernel->memory[m].words);
    if (kernel->memory[m].captured_in) get(now.memories[m], 4 * (size_t)kernel->memory[m].words);
  }
  start_thread(run_kernel, NULL);
}

static void tell_event(const struct event *event) {
  struct lane *lane = &lanes[event->port];
  lane->busy = 0;
  if (event->kind == TAKEN)
    tell(TAKEN, event->port, event->data, event->count * lane->size);
  else
    tell(SENT, event->port, &event->count, sizeof event->count);
  free(event->data);
}

static struct event next_event(void) {
  struct event event;
  macah_stream_receive(events, &event, place_file, place_line, "what happens");
  return event;
}

/* What a port's lane has not come to: elements that the kernel did not take, or those that nobody took from it. */
static uint64_t finish_lane(struct lane *lane) {
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

static void free_run(void) {
  for (uint32_t m = 0; m < kernel->memories; m++) free(now.memories[m]);
  for (uint32_t p = 0; p < kernel->streams; p++) {
    int again = 0;
    for (uint32_t q = 0; q < p; q++) again |= now.streams[q] == now.streams[p];
    if (!again) macah_free(now.streams[p]);
  }
  free(now.live_in), free(now.live_out), free(now.memories), free(now.streams);
}

/* Cycles and stalled ones; for each port what was left, or whether the kernel closed it; live-outs and memories. */
static void finish(void) {
  static uint64_t cycles, stalls; /* up to here */
  size_t fact_count = 2 + (size_t)kernel->streams;
  uint64_t *facts = get_memory(fact_count * sizeof *facts);
  facts[0] = macah_cycles() - cycles, facts[1] = macah_stalls() - stalls;
  cycles += facts[0], stalls += facts[1];
  for (uint32_t p = 0; p < kernel->streams; p++)
    if (lanes[p].sends) facts[2 + p] = macah_load(&lanes[p].stream->closed);
  for (uint32_t p = 0; p < kernel->streams; p++) {
    uint64_t left = finish_lane(&lanes[p]);
    if (!lanes[p].sends) facts[2 + p] = left;
  }
  uint64_t size = fact_count * sizeof *facts + 4 * (uint64_t)kernel->live_outs;
  for (uint32_t m = 0; m < kernel->memories; m++)
    if (kernel->memory[m].captured_out) size += 4 * (uint64_t)kernel->memory[m].words;
  put(&(struct message){ENDED, 0, size}, sizeof(struct message));
  put(facts, fact_count * sizeof *facts);
  put(now.live_out, 4 * (size_t)kernel->live_outs);
  for (uint32_t m = 0; m < kernel->memories; m++)
    if (kernel->memory[m].captured_out) put(now.memories[m], 4 * (size_t)kernel->memory[m].words);
  free(facts);
  free_run();
}

/* Until something happens at one of the ports, or the kernel ends. */
static void await_ports(uint64_t ports) {
  for (struct event event = {0}; event.kind != ENDED && !(event.kind && ports >> event.port & 1);) {
    event = next_event();
    if (event.kind == ENDED)
      finish();
    else
      tell_event(&event);
  }
  tell(DONE, 0, NULL, 0);
}

static void obey(const struct message *request) {
  uint32_t port = request->port;
  char *data = NULL;
  switch (request->kind) {
    case BEGIN: begin(request); break;
    case SEND:
    case SEND_AND_CLOSE:
      data = get_memory(request->size);
      get(data, request->size);
      order(port, request->size / lanes[port].size, data, request->kind == SEND_AND_CLOSE);
      break;
    case TAKE: order(port, request->size, NULL, 0); break;
    case WAIT:
      macah_host_computes = 0;
      await_ports(request->size);
      macah_store(&macah_host_computes, 1);
      break;
    default: macah_die("request %u is not known", request->kind);
  }
}

int main(void) {
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  watch_end();
  make_lanes();
  macah_host_computes = 1;
  for (;;) {
    struct message request;
    get(&request, sizeof request);
    obey(&request);
  }
}
