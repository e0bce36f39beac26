/* Memory accessors: a thread at the other end of a stream. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "host.h"

struct accessor {
  pthread_t thread;
  int is_writer;
  const char *name;
  void (*body)(void *frame);
  _Alignas(max_align_t) unsigned char frame[];
};

static void *run(void *argument) {
  struct accessor *accessor = argument;
  accessor->body(accessor->frame);
  return NULL;
}

void macah_spawn(void *stream, const char *name, void (*body)(void *frame), const void *frame, size_t frame_size,
                 int is_writer) {
  macah_stream *s = stream;
  const char *what = is_writer ? "mem_writer_spawn" : "mem_reader_spawn";
  macah_check(s, what);
  struct accessor *accessor = malloc(sizeof *accessor + frame_size);
  if (!accessor) macah_die("%s: out of memory", what);
  accessor->is_writer = is_writer;
  accessor->name = name;
  accessor->body = body;
  if (frame_size) memcpy(accessor->frame, frame, frame_size);
  s->about->accessor = accessor;
  int error = pthread_create(&accessor->thread, NULL, run, accessor);
  if (error) macah_die("%s: %s", what, strerror(error));
}

static void join(macah_stream *s, int is_writer) {
  const char *what = is_writer ? "mem_writer_join" : "mem_reader_join";
  macah_check(s, what);
  struct accessor *accessor = s->about->accessor;
  if (!accessor || accessor->is_writer != is_writer) macah_die("%s: the stream was not made by %.10s_spawn", what, what);
  if (is_writer) macah_close(s);
  pthread_join(accessor->thread, NULL);
  free(accessor);
  macah_free(s);
}

void macah_reader_join(void *stream) { join(stream, 0); }

void macah_writer_join(void *stream) { join(stream, 1); }
