/* Where traces are written: for each stream a file named for the place that created it, and counted there. */
#define _GNU_SOURCE
#include <ctype.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "host.h"
#include "trace.h"

/* How many streams a place has created. */
struct place {
  struct place *next;
  unsigned count;
  char name[];
};

int macah_tracing;

static char *directory;
static int with_places;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place *places;
static uint32_t last_number;

static int is_set(const char *variable) {
  const char *value = getenv(variable);
  return value && *value && strcmp(value, "0") != 0;
}

static void refuse(const char *name) {
  fprintf(stderr, "macah: MACAH_TRACE: cannot write to the directory '%s': %s\n", name, strerror(errno));
  exit(1);
}

__attribute__((constructor(101))) static void prepare(void) {
  const char *name = getenv("MACAH_TRACE");
  if (!name || !*name) return;
  if (mkdir(name, 0777) < 0 && errno != EEXIST) refuse(name);
  int file = open(name, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600); /* which needs all the rights that files will */
  if (file < 0 && errno != EOPNOTSUPP && errno != EISDIR) refuse(name);
  if (file >= 0) close(file);
  directory = realpath(name, NULL);
  if (!directory) refuse(name);
  with_places = is_set("MACAH_TRACE_PLACES");
  macah_tracing = 1;
}

/* "fir.macah-33", of characters that are safe everywhere. */
static void safe_name(char *name, size_t size, const char *file, int line) {
  const char *slash = strrchr(file, '/');
  snprintf(name, size, "%.200s-%d", slash ? slash + 1 : file, line);
  for (char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '_';
  if (*name == '.') *name = '_';
}

/* With the lock. */
static unsigned count_at(const char *name) {
  struct place *p = places;
  while (p && strcmp(p->name, name) != 0) p = p->next;
  if (p) return p->count++;
  p = calloc(1, sizeof *p + strlen(name) + 1);
  if (!p) macah_die("out of memory");
  strcpy(p->name, name);
  p->next = places;
  places = p;
  return p->count++;
}

static void begin_file(const char *path, const char *head) {
  int file = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0666);
  size_t size = strlen(head);
  if (file < 0 || write(file, head, size) != (ssize_t)size)
    macah_die("cannot write the trace '%s': %s", path, strerror(errno));
  close(file);
}

void macah_begin_trace(macah_stream *s, const char *layout, const char *file, int line) {
  char name[256], path[4200], head[4800];
  safe_name(name, sizeof name, file, line);
  pthread_mutex_lock(&lock);
  unsigned ordinal = count_at(name);
  uint32_t number = ++last_number;
  pthread_mutex_unlock(&lock);
  snprintf(path, sizeof path, "%.3900s/%s-%u.txt", directory, name, ordinal);
  if (*layout && *layout != 'm')
    snprintf(head, sizeof head, "# %s:%d: %.4000s\n", file, line, layout);
  else
    snprintf(head, sizeof head, "# %s:%d: %llu bytes\n", file, line, (unsigned long long)s->element_size);
  begin_file(path, head);
  size_t length = strlen(path) + 1;
  struct macah_trace *trace = macah_allocate(sizeof *trace + length + strlen(layout) + 1);
  trace->number = number;
  trace->places = (uint32_t)with_places;
  strcpy(trace->kernel_place, "?");
  strcpy(trace->text, path);
  strcpy(trace->text + length, layout);
  if (with_places) begin_file(strcat(path, ".places"), "");
  s->sender.trace = (uint64_t)((char *)trace - (char *)macah_arena);
}

void macah_end_trace(macah_stream *s) {
  struct macah_trace *trace = macah_trace_of(s);
  if (!trace) return;
  size_t length = strlen(trace->text) + 1;
  macah_release(trace, sizeof *trace + length + strlen(trace->text + length) + 1);
}
