/* What simulators of every kind have of their host: its memory, the request at hand, and an end that is theirs too. */
#define _GNU_SOURCE
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ports.h"
#include "waves.h"

struct macah_arena *macah_arena;
struct macah_execution *execution;
struct port *ports;
unsigned port_count;
int design_is_stalled;
void (*at_end_of_host)(void);
int host_has_gone;

enum { MOST_FILES = 256 };

struct macah_stream no_stream;
static int eager; /* never wait for polls */

/* The ports of each kernel; of those that take turns on a fabric, ports may be the same signals. */
struct port_set {
  struct port port[MACAH_STREAMS];
  unsigned count;
};
static struct port_set **sets;
static unsigned set_count;

void macah_die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  fflush(NULL);
  _exit(1);
}

static struct port_set *set_of(unsigned kernel) {
  if (kernel >= set_count) {
    sets = realloc(sets, (kernel + 1) * sizeof *sets);
    for (; sets && set_count <= kernel; set_count++) sets[set_count] = NULL;
  }
  if (sets && !sets[kernel]) sets[kernel] = calloc(1, sizeof **sets);
  if (!sets || !sets[kernel]) macah_die("out of memory");
  return sets[kernel];
}

struct port *new_port(unsigned kernel) {
  struct port_set *set = set_of(kernel);
  return &set->port[set->count++];
}

struct port *port_of(unsigned kernel, unsigned index) { return &set_of(kernel)->port[index]; }

void add_port(struct port *p) {
  p->element = calloc(1, p->size ? p->size : 1);
  if (!p->element) macah_die("out of memory");
}

/* What the signals show is known again. */
static void forget_shown(struct port *p) {
  put_bit(p->open, p->shown_open = 0);
  if (p->sends) return;
  put_bit(p->ended, p->shown_ended = 0);
  put(p->data, p->shown_data);
}

void choose_kernel(void) {
  struct port_set *set = set_of(execution->kernel);
  profile_kernel();
  if (ports == set->port) return;
  for (unsigned i = 0; i < port_count; i++) forget_shown(&ports[i]);
  ports = set->port;
  port_count = set->count;
  for (unsigned i = 0; i < port_count; i++) forget_shown(&ports[i]);
}

static struct macah_stream *stream_at(uint64_t offset) {
  return offset == MACAH_NO_STREAM ? &no_stream : (struct macah_stream *)((char *)macah_arena + offset);
}

static void check_port(unsigned i) {
  if (ports[i].stream != &no_stream && ports[i].stream->element_size != ports[i].size)
    macah_die("stream %u of the kernel has elements of %u bytes, the program's of %llu", i, ports[i].size,
              (unsigned long long)ports[i].stream->element_size);
}

/* Whether one of our files in this directory, of a name of so many bytes, was cut for want of room. */
static int one_was_cut(const char *folder, int bytes) {
  char link[32], file[PATH_MAX];
  for (int fd = 0; fd < MOST_FILES; fd++) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, file, sizeof file);
    struct stat is;
    if (length > bytes && strncmp(file, folder, (size_t)bytes) == 0 && file[bytes] == '/')
      if (fstat(fd, &is) == 0 && is.st_size && macah_was_cut(fd)) return 1;
  }
  return 0;
}

/* A waveform that lacks something would be taken for whole, as who writes it does not look. */
void check_waves(void) {
  const char *waves = getenv("MACAH_WAVE");
  if (!waves) return;
  int bytes = macah_wave_folder(waves);
  struct statvfs room;
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%.*s", bytes, waves);
  if (statvfs(folder, &room) || !room.f_blocks || room.f_bavail || !one_was_cut(folder, bytes)) return;
  macah_die("cannot write the waveform in '%s': %s", folder, strerror(ENOSPC));
}

void end_execution(void) {
  tell_all();
  check_waves();
}

void begin_execution(void) {
  execution->cycles = execution->stalls = 0;
  profile_run();
  begin_naps(eager);
  for (unsigned i = 0; i < port_count; i++) {
    struct port *p = &ports[i];
    p->stream = stream_at(execution->stream[i]);
    p->phase = p->owed = 0;
    p->known = 0;
    p->both = 0;
    for (unsigned k = 0; k < i; k++)
      if (ports[k].stream == p->stream) p->both = ports[k].both = 1;
    check_port(i);
  }
}

/* The host's end is ours. */
static void *keep_watch(void *data) {
  (void)data;
  struct pollfd ends[] = {{.fd = SOCKET_FD, .events = POLLRDHUP},
                          {.fd = (int)syscall(SYS_pidfd_open, execution->host, 0), .events = POLLIN}};
  if (ends[1].fd < 0 && errno == ESRCH) _exit(0);
  while (poll(ends, 2, -1) <= 0) continue;
  if (getenv("MACAH_WAVE")) {
    macah_store(&host_has_gone, 1);
    macah_step(&macah_arena->simulator[execution->number % MACAH_BELLS].rings, 1);
    macah_step(&macah_arena->clock.ticks, 1);
    macah_step(&macah_arena->clock.all_shown, 1);
    macah_step(&macah_arena->clock.mover, 1);
    sleep(2); /* to complete the file */
  }
  if (at_end_of_host) at_end_of_host();
  _exit(0);
}

void attach(void) {
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
  attach_profile();
  macah_store(&execution->attached, 1);
  pthread_t watchdog;
  if (pthread_create(&watchdog, NULL, keep_watch, NULL)) macah_die("cannot start the watchdog");
}
