/* Writes elements as text, in the host and in simulators.
 *
 * The layout of an element is a scalar, as i16, u8, f32; an array [4]i16; or a struct {i8@0 u16@2}/4, its members
 * with their offsets and its size. What has no layout is written as its bytes, in hexadecimal digits, and of those
 * the bits of a mask, m07ff, if there is one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace.h"

enum { FILES = 32 };

struct file {
  uint32_t number;
  int elements, places;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file files[FILES];

static unsigned long number_at(const char **at) {
  char *end;
  unsigned long number = strtoul(*at, &end, 10);
  *at = end;
  return number;
}

/* The size of the element whose layout begins at `*at`, which is moved behind it. */
static size_t skip(const char **at) {
  if (**at == '[') {
    ++*at;
    size_t count = number_at(at);
    ++*at;
    return count * skip(at);
  }
  if (**at != '{') {
    ++*at;
    return number_at(at) / 8;
  }
  ++*at;
  while (**at && **at != '}') {
    skip(at);
    ++*at;
    number_at(at);
    *at += **at == ' ';
  }
  *at += 2;
  return number_at(at);
}

static void show_scalar(FILE *out, char kind, unsigned long bits, const unsigned char *bytes) {
  int64_t number = 0;
  float single;
  double real;
  memcpy(&number, bytes, bits / 8);
  unsigned unused = 64 - (unsigned)bits;
  if (kind == 'f') {
    memcpy(&single, bytes, sizeof single);
    if (bits == 32)
      fprintf(out, "%.9g", (double)single);
    else
      fprintf(out, "%.17g", (memcpy(&real, bytes, sizeof real), real));
  } else if (kind == 'i')
    fprintf(out, "%lld", (long long)((int64_t)((uint64_t)number << unused) >> unused));
  else
    fprintf(out, "%llu", (unsigned long long)((uint64_t)number << unused >> unused));
}

static void show(FILE *out, const char **at, const unsigned char *bytes) {
  const char *separator = "";
  fprintf(out, **at == '[' || **at == '{' ? "{" : "");
  if (**at == '[') {
    ++*at;
    size_t count = number_at(at);
    const char *element = ++*at;
    size_t size = skip(at);
    for (size_t i = 0; i < count; i++, separator = ", ") {
      const char *again = element;
      fprintf(out, "%s", separator);
      show(out, &again, bytes + i * size);
    }
  } else if (**at == '{') {
    for (++*at; **at && **at != '}'; separator = ", ") {
      const char *member = *at;
      skip(at);
      ++*at;
      size_t offset = number_at(at);
      *at += **at == ' ';
      fprintf(out, "%s", separator);
      show(out, &member, bytes + offset);
    }
    *at += 2;
    number_at(at);
  } else {
    char kind = *(*at)++;
    show_scalar(out, kind, number_at(at), bytes);
    return;
  }
  fprintf(out, "}");
}

static int append(const char *path, const char *suffix) {
  char name[4352];
  snprintf(name, sizeof name, "%s%s", path, suffix);
  int file = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) macah_die("cannot write the trace '%s': %s", name, strerror(errno));
  return file;
}

/* The open files of a stream; those of another in the same place are closed. */
static const struct file *files_of(const struct macah_trace *trace) {
  struct file *f = &files[trace->number % FILES];
  if (f->number == trace->number) return f;
  if (f->number) {
    close(f->elements);
    if (f->places >= 0) close(f->places);
  }
  *f = (struct file){trace->number, append(trace->text, ""), trace->places ? append(trace->text, ".places") : -1};
  return f;
}

static void write_all(int file, const char *text, size_t size, const char *path) {
  while (size) {
    ssize_t written = write(file, text, size);
    if (written < 0 && errno != EINTR) macah_die("cannot write the trace '%s': %s", path, strerror(errno));
    if (written > 0) text += written, size -= (size_t)written;
  }
}

void macah_trace(const macah_stream *s, const void *element, const char *place) {
  const struct macah_trace *trace = macah_trace_of(s);
  const char *layout = trace->text + strlen(trace->text) + 1;
  const unsigned char *bytes = element;
  char *line = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&line, &size);
  if (!out) macah_die("out of memory");
  if (*layout && *layout != 'm')
    show(out, &layout, bytes);
  else
    for (uint64_t i = 0; i < s->element_size; i++) {
      unsigned mask = 0xff;
      if (*layout) sscanf(layout + 1 + 2 * i, "%2x", &mask);
      fprintf(out, "%02x", bytes[i] & mask);
    }
  putc('\n', out);
  fclose(out);
  pthread_mutex_lock(&lock);
  const struct file *f = files_of(trace);
  write_all(f->elements, line, size, trace->text);
  if (f->places >= 0) {
    char text[600];
    snprintf(text, sizeof text, "%s\n", place ? place : trace->kernel_place);
    write_all(f->places, text, strlen(text), trace->text);
  }
  pthread_mutex_unlock(&lock);
  free(line);
}
