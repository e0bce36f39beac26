/* The program's threads as far as they use streams, and memory accessors: threads at the other end of a stream. */
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

__thread struct macah_thread macah_me;
__thread const char *macah_kernel;
struct macah_thread *macah_threads;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static unsigned last_number;

void macah_lock_threads(void) { pthread_mutex_lock(&lock); }

void macah_unlock_threads(void) { pthread_mutex_unlock(&lock); }

static void forget(void *thread) {
  pthread_mutex_lock(&lock);
  struct macah_thread **link = &macah_threads;
  while (*link && *link != thread) link = &(*link)->next;
  if (*link) *link = (*link)->next;
  pthread_mutex_unlock(&lock);
  macah_me.number = 0;
}

unsigned macah_my_number(void) {
  if (macah_me.number) return macah_me.number;
  pthread_mutex_lock(&lock);
  macah_me.number = ++last_number;
  macah_me.id = (pid_t)syscall(SYS_gettid);
  macah_me.next = macah_threads;
  macah_threads = &macah_me;
  pthread_mutex_unlock(&lock);
  pthread_setspecific(key, &macah_me);
  return macah_me.number;
}

/* The others are the parent's. */
static void after_fork_in_child(void) {
  pthread_mutex_init(&lock, NULL);
  macah_me.next = NULL;
  macah_me.id = (pid_t)syscall(SYS_gettid);
  macah_threads = macah_me.number ? &macah_me : NULL;
}

__attribute__((constructor(101))) static void know_main_thread(void) {
  pthread_key_create(&key, forget);
  pthread_atfork(NULL, NULL, after_fork_in_child);
  macah_my_number();
}

void macah_note_user(macah_stream *s, int receives) {
  unsigned *users = s->about->users[receives], me = macah_my_number();
  for (int i = 0; i < MACAH_USERS; i++)
    if (users[i] == me) return;
  memmove(users + 1, users, (MACAH_USERS - 1) * sizeof *users);
  users[0] = me;
}

static void *run(void *argument) {
  struct accessor *accessor = argument;
  macah_me.accessor = accessor->name;
  macah_my_number();
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
