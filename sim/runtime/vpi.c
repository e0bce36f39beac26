/* The data plane, inside the simulator: the bench's system tasks move words between the design's ports and the
 * host's streams, which are mapped here.
 *
 *   $macah_port(index, sends, data, valid, ready, flag, size, {offset, bytes, signed}...)   once for each stream
 *   $macah_status(stalled)          once
 *   $macah_begin                    before an execution
 *   $macah_word_in(index, reg)      reg := word of the execution
 *   $macah_word_out(index, value)   word of the execution := value
 *   $macah_drive                    shows the design what its streams have; sleeps first if it was stalled
 *   $macah_end                      after an execution
 *   $macah_commit(again)            makes the transfers of the coming clock edge; again := 1 if another party was
 *                                   faster, and the design must see new values first
 *
 * Who sleeps at the other end is not woken for each element but for several, as that takes longer than a cycle.
 *
 * An element is taken from its stream or promised a place with its first word, in the cycle of that word's handshake.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <vpi_user.h>

#include "cosim.h"

enum { LONGEST_DEBT = 32, EAGER_POLLS = 16, SHORTEST_NAP = 50000, LONGEST_NAP = 1000000, WATCH_SPINS = 1000 };

struct word {
  unsigned offset, bytes;
  int is_signed;
};

struct port {
  vpiHandle data, open, ended; /* `open` is what we drive: tvalid of a receiving port, tready of a sending one */
  int wanted, closing;         /* what the design drives: the other of the two, and `close`; kept up to date */
  int sends;
  unsigned size, words;
  struct word *word;
  unsigned char *element;
  struct macah_stream *stream;
  unsigned phase; /* the next word */
  uint64_t seen;  /* elements received by all when `shown_data` was read */
  uint32_t shown_data;
  int shown_open;
  int shown_ended;
  int moves;     /* a word moves at the coming edge */
  unsigned owed; /* elements moved that the other end has not been told of */
};

enum nap { NO_NAP, POLL_NAP, STALL_NAP };

struct macah_arena *macah_arena;
static struct macah_execution *execution;
static struct port ports[MACAH_STREAMS];
static unsigned port_count;
static int stalled;
static enum nap nap;
static unsigned fruitless; /* polls since the last transfer */
static unsigned debt_age;  /* cycles since the other ends were told */
static int eager;

void macah_die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  fflush(NULL);
  _exit(1);
}

static uint32_t get(vpiHandle handle) {
  s_vpi_value value = {.format = vpiIntVal};
  vpi_get_value(handle, &value);
  return (uint32_t)value.value.integer;
}

static void put(vpiHandle handle, uint32_t number) {
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

/* ---- words and elements ---- */

static uint32_t word_of(const struct port *p, const unsigned char *element, unsigned k) {
  const struct word *w = &p->word[k];
  uint32_t value = 0;
  for (unsigned i = 0; i < w->bytes; i++) value |= (uint32_t)element[w->offset + i] << 8 * i;
  unsigned unused = 32 - 8 * w->bytes;
  return w->is_signed && unused ? (uint32_t)((int32_t)(value << unused) >> unused) : value;
}

static void set_word(struct port *p, unsigned k, uint32_t value) {
  const struct word *w = &p->word[k];
  for (unsigned i = 0; i < w->bytes; i++) p->element[w->offset + i] = (unsigned char)(value >> 8 * i);
}

/* ---- showing ---- */

static void show(struct port *p, int open, int ended) {
  if (open != p->shown_open) put(p->open, (uint32_t)(p->shown_open = open));
  if (ended != p->shown_ended) put(p->ended, (uint32_t)(p->shown_ended = ended));
}

/* Looks without the lock: `commit` checks that the element is still the next one. */
static void show_receiver(struct port *p) {
  struct macah_stream *s = p->stream;
  int closed = (int)atomic_load(&s->closed);
  p->seen = atomic_load(&s->received);
  int open = p->phase || atomic_load(&s->sent) != p->seen;
  if (open) {
    const unsigned char *element = p->phase ? p->element : s->elements + p->seen % s->depth * s->element_size;
    uint32_t data = word_of(p, element, p->phase);
    if (data != p->shown_data) put(p->data, p->shown_data = data);
  }
  show(p, open, !open && closed);
}

static void show_port(struct port *p) {
  if (p->sends)
    show(p, p->phase || !macah_is_full(p->stream), 0);
  else
    show_receiver(p);
}

/* ---- telling the other ends ---- */

static void tell(struct port *p) {
  if (p->owed) macah_notify(p->stream, p->sends ? &p->stream->readable : &p->stream->writable, (int)p->owed);
  p->owed = 0;
}

static void tell_all(void) {
  debt_age = 0;
  for (unsigned i = 0; i < port_count; i++) tell(&ports[i]);
}

static void owe(struct port *p) {
  if (++p->owed * 2 >= p->stream->depth) tell(p);
}

/* ---- sleeping ---- */

static int is_waiting(const struct port *p) { return !p->shown_open && !p->shown_ended; }

static int has_changed(const struct port *p) {
  if (p->sends) return !macah_is_full(p->stream);
  return atomic_load(&p->stream->closed) || !macah_is_empty(p->stream);
}

static int any_change(void) {
  for (unsigned i = 0; i < port_count; i++)
    if (is_waiting(&ports[i]) && has_changed(&ports[i])) return 1;
  return 0;
}

static void watch(int on) {
  uint64_t bit = (uint64_t)1 << execution->number;
  for (unsigned i = 0; i < port_count; i++) {
    if (on && is_waiting(&ports[i])) atomic_fetch_or(&ports[i].stream->watchers, bit);
    if (!on) atomic_fetch_and(&ports[i].stream->watchers, ~bit);
  }
}

/* Until a stream that was not ready is, or the time is over. */
static void sleep_for(const struct timespec *timeout) {
  struct macah_bell *bell = &macah_arena->simulator[execution->number];
  atomic_fetch_add(&bell->sleepers, 1);
  watch(1);
  for (;;) {
    uint32_t rings = atomic_load(&bell->rings);
    if (any_change()) break;
    if (!timeout) atomic_fetch_add(&macah_arena->blocked, 1);
    macah_futex_wait(&bell->rings, rings, timeout);
    if (!timeout) atomic_fetch_sub(&macah_arena->blocked, 1);
    if (timeout) break;
  }
  watch(0);
  atomic_fetch_sub(&bell->sleepers, 1);
}

static int anyone_waiting(void) {
  for (unsigned i = 0; i < port_count; i++)
    if (is_waiting(&ports[i])) return 1;
  return 0;
}

static void take_nap(void) {
  enum nap kind = nap;
  nap = NO_NAP;
  if (!anyone_waiting()) return;
  for (int spins = 0; spins < WATCH_SPINS; spins++)
    if (any_change()) return;
  if (kind == STALL_NAP) {
    sleep_for(NULL);
    return;
  }
  unsigned doublings = fruitless - EAGER_POLLS;
  long length = doublings > 5 ? LONGEST_NAP : (long)SHORTEST_NAP << doublings;
  struct timespec time = {0, length < LONGEST_NAP ? length : LONGEST_NAP};
  sleep_for(&time);
}

/* ---- transfers ---- */

static _Atomic uint32_t *lock_of(struct port *p) {
  return p->sends ? &p->stream->send_lock : &p->stream->receive_lock;
}

static int needs_claim(const struct port *p) { return p->moves && p->phase == 0; }

static void let_go(unsigned count) {
  for (unsigned i = 0; i < count; i++)
    if (needs_claim(&ports[i])) macah_unlock(lock_of(&ports[i]));
}

static int still_true(const struct port *p) {
  return p->sends ? !macah_is_full(p->stream) : atomic_load(&p->stream->received) == p->seen;
}

/* Locks the ends of all elements that move; all or none, so that two simulators cannot wait for each other. */
static int claim(void) {
  for (unsigned i = 0; i < port_count; i++) {
    if (!needs_claim(&ports[i])) continue;
    if (!macah_try_lock(lock_of(&ports[i]))) {
      let_go(i);
      sched_yield();
      i = (unsigned)-1;
    } else if (!still_true(&ports[i])) {
      let_go(i + 1);
      return 0;
    }
  }
  return 1;
}

static void receive_word(struct port *p) {
  if (p->phase == 0) {
    macah_pop(p->stream, p->element);
    macah_unlock(&p->stream->receive_lock);
    owe(p);
  }
}

static void send_word(struct port *p) {
  struct macah_stream *s = p->stream;
  if (atomic_load(&s->closed)) macah_die("send: stream %d of the kernel has been closed", (int)(p - ports));
  set_word(p, p->phase, get(p->data));
  int last = p->phase + 1 == p->words;
  if (p->phase == 0 && !last) atomic_fetch_add(&s->reserved, 1);
  if (p->phase != 0 && last) {
    macah_lock(&s->send_lock);
    atomic_fetch_sub(&s->reserved, 1);
  }
  if (last) macah_push(s, p->element);
  if (p->phase == 0 || last) macah_unlock(&s->send_lock);
  if (last) owe(p);
}

static void move_words(void) {
  for (unsigned i = 0; i < port_count; i++) {
    struct port *p = &ports[i];
    if (p->moves) {
      if (p->sends)
        send_word(p);
      else
        receive_word(p);
      if (++p->phase == p->words) p->phase = 0;
    }
    if (p->closing) macah_shut(p->stream); /* which wakes all */
  }
}

/* Sees which words the design is ready to move; 1 if one moves, and counts polls that found nothing. */
static int look_at_ports(unsigned *polls) {
  int any = 0;
  for (unsigned i = 0; i < port_count; i++) {
    struct port *p = &ports[i];
    p->moves = p->wanted && p->shown_open;
    any |= p->moves;
    *polls += p->wanted && !p->shown_open;
  }
  return any;
}

static int commit(void) {
  unsigned polls = 0;
  int moving = look_at_ports(&polls), frozen = stalled;
  if (moving && !claim()) {
    for (unsigned i = 0; i < port_count; i++) show_port(&ports[i]);
    return 0;
  }
  move_words();
  if (frozen)
    execution->stalls++;
  else
    execution->cycles++;
  if (moving) fruitless = 0;
  if (++debt_age >= LONGEST_DEBT || (polls && !moving)) tell_all();
  if (frozen && !moving)
    nap = STALL_NAP;
  else if (!moving && polls && !eager && ++fruitless >= EAGER_POLLS)
    nap = POLL_NAP;
  return 1;
}

/* ---- system tasks ---- */

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

static PLI_INT32 do_status(PLI_BYTE8 *data) {
  (void)data;
  unsigned count;
  vpiHandle *a = arguments_of(&count);
  follow(a[0], &stalled);
  free(a);
  return 0;
}

static void check_port(unsigned i) {
  if (ports[i].stream->element_size != ports[i].size)
    macah_die("stream %u of the kernel has elements of %u bytes, the program's of %llu", i, ports[i].size,
              (unsigned long long)ports[i].stream->element_size);
  for (unsigned j = 0; j < i; j++)
    if (ports[j].stream == ports[i].stream && ports[j].sends == ports[i].sends)
      macah_die("streams %u and %u of the kernel are the same stream", j, i);
}

static PLI_INT32 do_begin(PLI_BYTE8 *data) {
  (void)data;
  execution->cycles = execution->stalls = 0;
  nap = NO_NAP;
  fruitless = 0;
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

static PLI_INT32 do_drive(PLI_BYTE8 *data) {
  (void)data;
  if (nap != NO_NAP) {
    tell_all();
    take_nap();
  }
  for (unsigned i = 0; i < port_count; i++) show_port(&ports[i]);
  return 0;
}

static PLI_INT32 do_commit(PLI_BYTE8 *data) {
  (void)data;
  static int again;
  int now = !commit();
  if (now != again) put(arguments()[0], (uint32_t)(again = now));
  return 0;
}

/* ---- the host's end is ours ---- */

static void *keep_watch(void *data) {
  (void)data;
  struct pollfd ends[] = {{.fd = SOCKET_FD, .events = POLLRDHUP},
                          {.fd = (int)syscall(SYS_pidfd_open, execution->host, 0), .events = POLLIN}};
  if (ends[1].fd < 0 && errno == ESRCH) _exit(0);
  while (poll(ends, 2, -1) <= 0) continue;
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
  add_task("$macah_begin", do_begin, NULL);
  add_task("$macah_end", do_end, NULL);
  add_task("$macah_word_in", do_word_in, keep_arguments);
  add_task("$macah_word_out", do_word_out, keep_arguments);
  add_task("$macah_drive", do_drive, NULL);
  add_task("$macah_commit", do_commit, keep_arguments);
  start();
}

void (*vlog_startup_routines[])(void) = {add_tasks, NULL};
