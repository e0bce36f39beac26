/* The data plane, inside the simulator: the bench's system tasks move words between the design's ports and the
 * host's streams, which are mapped here.
 *
 *   $macah_port(index, sends, data, valid, ready, flag, size, {offset, bytes, signed}...)   once for each stream
 *   $macah_patience(index, cycles)  for streams that iterations wait for without stalling: after so many cycles
 *                                   in which nothing moved, nothing will until the stream has something
 *   $macah_status(stalled)          once
 *   $macah_ordinal(reg)             reg := how many simulators its kernel had before
 *   $macah_begin                    before an execution
 *   $macah_word_in(index, reg)      reg := word of the execution
 *   $macah_word_out(index, value)   word of the execution := value
 *   $macah_drive                    shows the design what its streams have; sleeps first if it was stalled
 *   $macah_end                      after an execution
 *   $macah_commit(again)            makes the transfers of the coming clock edge; again := 1 if another party was
 *                                   faster, and the design must see new values first
 *
 * An element is taken from its stream or promised a place with its first word, in the cycle of that word's handshake.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ports.h"

struct macah_arena *macah_arena;
struct macah_execution *execution;
struct port ports[MACAH_STREAMS];
unsigned port_count;
int design_is_stalled;
static int eager; /* never wait for polls */

void macah_die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  fflush(NULL);
  _exit(1);
}

uint32_t get(vpiHandle handle) {
  s_vpi_value value = {.format = vpiIntVal};
  vpi_get_value(handle, &value);
  return (uint32_t)value.value.integer;
}

void put(vpiHandle handle, uint32_t number) {
  s_vpi_value value = {.format = vpiIntVal, .value.integer = (PLI_INT32)number};
  vpi_put_value(handle, &value, NULL, vpiNoDelay);
}

static PLI_INT32 note_change(p_cb_data change) {
  *(int *)change->user_data = change->value->value.integer;
  return 0;
}

/* Keeps `value` equal to a wire: on Icarus, much cheaper than to read it every cycle. */
static void follow(vpiHandle wire, int *value) {
  s_vpi_time time = {.type = vpiSuppressTime};
  s_vpi_value format = {.format = vpiIntVal};
  s_cb_data change = {.reason = cbValueChange, .cb_rtn = note_change, .obj = wire, .time = &time, .value = &format};
  change.user_data = (PLI_BYTE8 *)value;
  *value = (int)get(wire);
  vpi_register_cb(&change);
}

static vpiHandle *arguments_of(unsigned *count) {
  vpiHandle call = vpi_handle(vpiSysTfCall, NULL), iterator = vpi_iterate(vpiArgument, call), argument;
  vpiHandle *found = NULL;
  *count = 0;
  while (iterator && (argument = vpi_scan(iterator)) != NULL) {
    found = realloc(found, (*count + 1) * sizeof *found);
    if (!found) macah_die("out of memory");
    found[(*count)++] = argument;
  }
  return found;
}

/* A call's handles are found once, when the design is compiled. */
static PLI_INT32 keep_arguments(PLI_BYTE8 *data) {
  (void)data;
  unsigned count;
  vpi_put_userdata(vpi_handle(vpiSysTfCall, NULL), arguments_of(&count));
  return 0;
}

static vpiHandle *arguments(void) { return vpi_get_userdata(vpi_handle(vpiSysTfCall, NULL)); }

static PLI_INT32 do_port(PLI_BYTE8 *data) {
  (void)data;
  unsigned count;
  vpiHandle *a = arguments_of(&count);
  struct port *p = &ports[get(a[0])];
  p->sends = (int)get(a[1]);
  p->data = a[2];
  p->open = a[p->sends ? 4 : 3];
  follow(a[p->sends ? 3 : 4], &p->wanted);
  if (p->sends)
    follow(a[5], &p->closing);
  else
    p->ended = a[5];
  p->size = get(a[6]);
  p->words = (count - 7) / 3;
  p->word = calloc(p->words, sizeof *p->word);
  p->element = calloc(1, p->size ? p->size : 1);
  if (!p->word || !p->element) macah_die("out of memory");
  for (unsigned k = 0; k < p->words; k++)
    p->word[k] = (struct word){get(a[7 + 3 * k]), get(a[8 + 3 * k]), (int)get(a[9 + 3 * k])};
  port_count++;
  free(a);
  return 0;
}

static PLI_INT32 do_patience(PLI_BYTE8 *data) {
  (void)data;
  unsigned count;
  vpiHandle *a = arguments_of(&count);
  ports[get(a[0])].patience = get(a[1]);
  free(a);
  return 0;
}

static PLI_INT32 do_status(PLI_BYTE8 *data) {
  (void)data;
  unsigned count;
  vpiHandle *a = arguments_of(&count);
  follow(a[0], &design_is_stalled);
  free(a);
  return 0;
}

static void check_port(unsigned i) {
  if (ports[i].stream->element_size != ports[i].size)
    macah_die("stream %u of the kernel has elements of %u bytes, the program's of %llu", i, ports[i].size,
              (unsigned long long)ports[i].stream->element_size);
}

static PLI_INT32 do_begin(PLI_BYTE8 *data) {
  (void)data;
  execution->cycles = execution->stalls = 0;
  begin_naps(eager);
  for (unsigned i = 0; i < port_count; i++) {
    struct port *p = &ports[i];
    p->stream = (struct macah_stream *)((char *)macah_arena + execution->stream[i]);
    p->phase = p->owed = 0;
    check_port(i);
  }
  return 0;
}

static PLI_INT32 do_end(PLI_BYTE8 *data) {
  (void)data;
  tell_all();
  return 0;
}

static PLI_INT32 do_word_in(PLI_BYTE8 *data) {
  (void)data;
  vpiHandle *a = arguments();
  put(a[1], execution->words[get(a[0])]);
  return 0;
}

static PLI_INT32 do_word_out(PLI_BYTE8 *data) {
  (void)data;
  vpiHandle *a = arguments();
  execution->words[get(a[0])] = get(a[1]);
  return 0;
}

static PLI_INT32 do_ordinal(PLI_BYTE8 *data) {
  (void)data;
  unsigned count;
  vpiHandle *a = arguments_of(&count);
  put(a[0], execution->ordinal);
  free(a);
  return 0;
}

static PLI_INT32 do_drive(PLI_BYTE8 *data) {
  (void)data;
  take_nap();
  show_ports();
  return 0;
}

static PLI_INT32 do_commit(PLI_BYTE8 *data) {
  (void)data;
  static int again;
  int now = !commit();
  if (now != again) put(arguments()[0], (uint32_t)(again = now));
  return 0;
}

/* The host's end is ours. */
static void *keep_watch(void *data) {
  (void)data;
  struct pollfd ends[] = {{.fd = SOCKET_FD, .events = POLLRDHUP},
                          {.fd = (int)syscall(SYS_pidfd_open, execution->host, 0), .events = POLLIN}};
  if (ends[1].fd < 0 && errno == ESRCH) _exit(0);
  while (poll(ends, 2, -1) <= 0) continue;
  if (getenv("MACAH_WAVE")) sleep(2); /* to complete the file */
  _exit(0);
}

static void start(void) {
  const char *offset = getenv("MACAH_EXECUTION"), *polls = getenv("MACAH_POLL");
  if (!offset) return; /* loaded by iverilog to learn the tasks' names */
  eager = polls && strcmp(polls, "eager") == 0;
  struct macah_arena *head = mmap(NULL, sizeof *head, PROT_READ, MAP_SHARED, ARENA_FD, 0);
  if (head == MAP_FAILED) macah_die("cannot map the streams: %s", strerror(errno));
  size_t size = head->capacity;
  macah_arena = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, ARENA_FD, 0);
  if (macah_arena == MAP_FAILED) macah_die("cannot map the streams: %s", strerror(errno));
  munmap(head, sizeof *head);
  execution = (struct macah_execution *)((char *)macah_arena + strtoull(offset, NULL, 10));
  pthread_t watchdog;
  if (pthread_create(&watchdog, NULL, keep_watch, NULL)) macah_die("cannot start the watchdog");
}

static void add_task(const char *name, PLI_INT32 (*call)(PLI_BYTE8 *), PLI_INT32 (*compile)(PLI_BYTE8 *)) {
  s_vpi_systf_data task = {.type = vpiSysTask, .tfname = name, .calltf = call, .compiletf = compile};
  vpi_register_systf(&task);
}

static void add_tasks(void) {
  add_task("$macah_port", do_port, NULL);
  add_task("$macah_status", do_status, NULL);
  add_task("$macah_patience", do_patience, NULL);
  add_task("$macah_ordinal", do_ordinal, NULL);
  add_task("$macah_begin", do_begin, NULL);
  add_task("$macah_end", do_end, NULL);
  add_task("$macah_word_in", do_word_in, keep_arguments);
  add_task("$macah_word_out", do_word_out, keep_arguments);
  add_task("$macah_drive", do_drive, NULL);
  add_task("$macah_commit", do_commit, keep_arguments);
  start();
}

__attribute__((visibility("default"))) void (*vlog_startup_routines[])(void) = {add_tasks, NULL};
