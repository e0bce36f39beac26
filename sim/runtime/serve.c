/* The host program of kernel number 0 when Python runs it (sim/session.py), which says over a socket what happens.
 *
 * Each stream has a thread at its other end, which takes orders: to send these elements, to receive so many. Orders
 * and what came of them go through streams, too. So all threads but the main one, which reads Python's requests,
 * wait for streams or for the kernel, and deadlocks are found as in any program; while Python computes, the main
 * thread reads, and there is none.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "serve.h"

struct run {
  uint32_t *live_in, *live_out, **memories;
  macah_stream **streams;
};

static const struct macah_kernel *kernel = &macah_kernels[0];
static struct run now;
const char *place_file = "?";
int place_line;

void *get_memory(size_t size) {
  void *memory = calloc(size ? size : 1, 1);
  if (!memory) macah_die("out of memory");
  return memory;
}

void start_thread(void *(*body)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, argument)) macah_die("cannot start a thread");
  pthread_detach(thread);
}

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
  make_lanes(kernel);
  macah_host_computes = 1;
  for (;;) {
    struct message request;
    get(&request, sizeof request);
    obey(&request);
  }
}
