/* The report of a deadlock: who waits where and for what, and who for whom. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "host.h"

enum { STACK_OF_THREAD = 1 << 12 };

static const struct macah_task *tasks;
static int task_count;

static struct macah_thread *thread_of(pid_t id) {
  struct macah_thread *t = macah_threads;
  while (t && t->id != id) t = t->next;
  return t;
}

static struct macah_thread *numbered(unsigned number) {
  struct macah_thread *t = macah_threads;
  while (t && t->number != number) t = t->next;
  return t;
}

static void name_thread(FILE *out, pid_t id) {
  const struct macah_thread *t = thread_of(id);
  if (!t)
    fprintf(out, "the thread with id %d", (int)id);
  else if (t->number == 1)
    fprintf(out, "thread 1 (main)");
  else if (t->accessor)
    fprintf(out, "thread %u (accessor %s)", t->number, t->accessor);
  else
    fprintf(out, "thread %u", t->number);
}

/* The task that holds a mutex, or whose end pthread_join() waits for: as the C library of GNU lays it out. */
static pid_t awaited(const struct macah_task *task) {
  const int *words = (const int *)task->futex;
  for (int i = 0; i < task_count; i++) {
    if (words[0] == tasks[i].id) return tasks[i].id;
    if (words[0] == 2 && (task->futex & 0xfff) < 0xff8 && words[2] == tasks[i].id) return tasks[i].id;
  }
  return 0;
}

static const char *left_open; /* a stream that somebody waits for, though all who have sent to it have ended */

static void show_stream(FILE *out, const macah_stream *s, int full) {
  const struct macah_place *created = &s->about->created;
  unsigned long long held = macah_held(s);
  if (full)
    fprintf(out, ", which is full (%llu of %llu)%s", held, (unsigned long long)s->depth,
            macah_load(&s->closed) ? " and closed" : "");
  else
    fprintf(out, ", which is empty (%llu of %llu) and open", held, (unsigned long long)s->depth);
  fprintf(out, "\n    created at %s:%d\n", created->file, created->line);
}

/* `name`: the stream as who waits for it calls it. */
static void show_users(FILE *out, const macah_stream *s, int receives, const char *name) {
  const unsigned *users = s->about->users[receives];
  int left = 0;
  if (!users[0]) fprintf(out, "    no thread has %s it yet\n", receives ? "received from" : "sent to");
  for (int i = 0; i < MACAH_USERS && users[i]; i++) {
    const struct macah_thread *t = numbered(users[i]);
    fprintf(out, "    its other end: ");
    if (t)
      name_thread(out, t->id);
    else
      fprintf(out, "thread %u, which has ended", users[i]);
    fprintf(out, "\n");
    left |= t != NULL;
  }
  if (users[0] && !left && !receives && !left_open) left_open = name;
}

static void show_port(FILE *out, const struct macah_entered *entered, unsigned p) {
  const struct macah_port *port = &entered->port[p];
  fprintf(out, "    %s'%s' at %s", port->sends ? "to send to " : "to receive from ", port->name, port->places);
  show_stream(out, entered->stream[p], port->sends);
  show_users(out, entered->stream[p], port->sends, port->name);
}

static void show_kernel(FILE *out, const struct macah_entered *entered) {
  fprintf(out, " is in kernel '%s', which waits in its cycle %llu\n", entered->kernel,
          (unsigned long long)macah_load(entered->cycles));
  for (unsigned p = 0; p < entered->ports; p++)
    if (macah_port_waits(entered, p)) show_port(out, entered, p);
}

static void show_task(FILE *out, const struct macah_task *task) {
  const struct macah_thread *t = thread_of(task->id);
  int on_stream = t && t->wait && t->kind != MACAH_FOR_KERNEL;
  char file[4096];
  int line = t && !t->wait && macah_load(&t->call) ? macah_find_line(t->call, file, sizeof file) : 0;
  fprintf(out, "  ");
  if (on_stream) fprintf(out, "%s:%d: ", t->place.file, t->place.line);
  if (line) fprintf(out, "%s:%d: ", file, line);
  name_thread(out, task->id);
  if (on_stream) {
    int sends = t->kind == MACAH_TO_SEND;
    if (t->kernel) fprintf(out, " is in kernel '%s', which", t->kernel);
    fprintf(out, " waits to %s '%s'", sends ? "send to" : "receive from", t->place.text);
    show_stream(out, t->stream, sends);
    show_users(out, t->stream, sends, t->place.text);
  } else if (t && t->wait) {
    show_kernel(out, t->entered);
  } else {
    pid_t other = awaited(task);
    fprintf(out, other ? " waits for " : " waits for a lock, a condition or the end of a thread");
    if (other) name_thread(out, other);
    fprintf(out, "\n");
  }
}

static const struct macah_task *task_of_number(unsigned number) {
  const struct macah_thread *t = numbered(number);
  for (int i = 0; t && i < task_count; i++)
    if (tasks[i].id == t->id) return &tasks[i];
  return NULL;
}

/* The k-th task that `task` waits for, or null. */
static const struct macah_task *waits_for(const struct macah_task *task, int k) {
  const struct macah_thread *t = thread_of(task->id);
  if (!t || !t->wait) {
    pid_t other = k == 0 ? awaited(task) : 0;
    for (int i = 0; other && i < task_count; i++)
      if (tasks[i].id == other) return &tasks[i];
    return NULL;
  }
  if (t->kind != MACAH_FOR_KERNEL)
    return k < MACAH_USERS ? task_of_number(t->stream->about->users[t->kind == MACAH_TO_SEND][k]) : NULL;
  for (unsigned p = 0; p < t->entered->ports; p++)
    if (macah_port_waits(t->entered, p) && k-- == 0)
      return task_of_number(t->entered->stream[p]->about->users[t->entered->port[p].sends][0]);
  return NULL;
}

/* Extends a path until it meets itself; the number of tasks on it, or 0. */
static int find_cycle(const struct macah_task **path, int length) {
  for (int i = 0; i < length - 1; i++)
    if (path[i] == path[length - 1]) {
      memmove(path, path + i, (size_t)(length - i) * sizeof *path);
      return length - i;
    }
  for (int k = 0; k < MACAH_USERS; k++) {
    const struct macah_task *next = waits_for(path[length - 1], k);
    path[length] = next;
    int found = next ? find_cycle(path, length + 1) : 0;
    if (found) return found;
  }
  return 0;
}

static void show_cycle(FILE *out) {
  const struct macah_task **path = calloc((size_t)task_count + 2, sizeof *path);
  int length = 0;
  for (int i = 0; path && !length && i < task_count; i++) {
    path[0] = &tasks[i];
    length = find_cycle(path, 1);
  }
  for (int i = 0; i < length; i++) {
    fprintf(out, i == 0 ? "  cycle: " : i == 1 ? " waits for " : ", which waits for ");
    name_thread(out, path[i]->id);
  }
  if (length) fprintf(out, "\n");
  free(path);
}

void macah_report_deadlock(FILE *out, const struct macah_task *all, int count) {
  tasks = all, task_count = count, left_open = NULL;
  int kernels = 0, streams = 0;
  fprintf(out, "macah: deadlock: every thread of the program waits for another\n");
  for (int i = 0; i < count; i++) {
    const struct macah_thread *t = thread_of(all[i].id);
    kernels += t && t->wait && t->kind == MACAH_FOR_KERNEL;
    streams += t && t->wait;
    show_task(out, &all[i]);
  }
  show_cycle(out);
  if (left_open)
    fprintf(out, "hint: all who sent to '%s' have ended: let the last one close it (pstream_close), and ask "
            "pstream_ended\n", left_open);
  if (!streams) return;
  fprintf(out, "hint: make a stream on the way deeper, or receive without waiting ('w :: x <? s')");
  fprintf(out, kernels ? "; where a kernel answers element by element, compile with --bubbles or --ordered-streams\n" : "\n");
}
