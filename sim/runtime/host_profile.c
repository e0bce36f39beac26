/* Profiles, the host's part: where each thread waits, and for how long. MACAH_PROFILE is the number of an open file
 * that becomes the arena, so that who started the program can read it when the program is gone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

#include "cosim.h"
#include "profile.h"

static struct macah_profile *profile;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static unsigned thread_logs;
static __thread struct macah_thread_log *mine;
static __thread int has_no_log;
static __thread uint64_t began;

static uint64_t offset_of(const void *place) { return (uint64_t)((const char *)place - (const char *)macah_arena); }

static uint64_t kept(const char *text) {
  if (!text) return 0;
  char *copy = macah_allocate(strlen(text) + 1);
  return offset_of(strcpy(copy, text));
}

/* As sim/profile_memory.py has it. */
_Static_assert(offsetof(struct macah_arena, profile) == 568, "the place of the profile");
_Static_assert(sizeof(struct macah_thread_log) == 8 * (8 + 8 * MACAH_SITES + 5 * MACAH_THREAD_EVENTS), "a thread's log");
_Static_assert(sizeof(struct macah_simulator_log) ==
                   8 * (9 + 2 * MACAH_PHASES + 6 + MACAH_LOOPS + 3 * MACAH_TURNS + 2 * 64 + MACAH_STALL_WORDS +
                        5 * MACAH_KERNEL_EVENTS),
               "a simulator's log");

/* The thread's log; null where there are too many, or in a child of the program. */
static struct macah_thread_log *my_log(void) {
  if (mine || has_no_log || !profile) return mine;
  pthread_mutex_lock(&lock);
  has_no_log = thread_logs == MACAH_THREAD_LOGS;
  if (has_no_log) {
    profile->unlogged++;
  } else {
    thread_logs++;
    mine = macah_allocate(sizeof *mine);
    mine->number = macah_my_number();
    mine->name = kept(macah_me.accessor);
    mine->began = macah_now();
    mine->next = profile->threads;
    mine->sites = 1;
    macah_store(&profile->threads, offset_of(mine));
  }
  pthread_mutex_unlock(&lock);
  if (mine) pthread_setspecific(key, mine);
  return mine;
}

static void note_end(void *log) {
  struct macah_thread_log *ended = log;
  if (profile) ended->ended = macah_now();
  mine = NULL;
  has_no_log = 1;
}

/* What the texts of a log's sites were copied from. */
struct origin {
  const char *file, *text, *created;
};

static __thread struct origin origins[MACAH_SITES];

static uint64_t site_of(struct macah_thread_log *log) {
  int for_kernel = macah_me.kind == MACAH_FOR_KERNEL;
  const struct macah_stream *s = macah_me.stream;
  struct macah_place place = macah_me.place, created = {0};
  if (for_kernel) place.text = macah_me.entered->kernel;
  if (s) created = s->about->created;
  for (uint64_t i = 1; i < log->sites; i++) {
    const struct macah_site *at = &log->site[i];
    if (at->kind == macah_me.kind && at->line == (uint64_t)place.line && at->created_line == (uint64_t)created.line &&
        origins[i].file == place.file && origins[i].text == place.text && origins[i].created == created.file)
      return i;
  }
  if (log->sites == MACAH_SITES) return 0;
  uint64_t number = log->sites;
  origins[number] = (struct origin){place.file, place.text, created.file};
  log->site[number] = (struct macah_site){macah_me.kind,      kept(place.file),       (uint64_t)place.line,
                                          kept(place.text),   kept(created.file),     (uint64_t)created.line, 0, 0};
  macah_store(&log->sites, number + 1);
  return number;
}

static __thread uint64_t site;
static __thread int has_event;

static void begin_wait(void) {
  struct macah_thread_log *log = my_log();
  if (!log) return;
  site = site_of(log);
  began = macah_now();
  log->site[site].count++;
  has_event = log->events < MACAH_THREAD_EVENTS;
  if (!has_event) {
    log->lost++;
    return;
  }
  log->event[log->events] = (struct macah_event){began, 0, site, 0, 0};
  macah_store(&log->events, log->events + 1);
}

static void end_wait(void) {
  struct macah_thread_log *log = mine;
  if (!log || !profile || !began) return;
  uint64_t now = macah_now();
  log->site[site].time += now - began;
  if (has_event) log->event[log->events - 1].end = now;
  began = 0;
}

uint64_t macah_profile_simulator(uint32_t kernel, uint32_t ordinal) {
  if (!profile) return 0;
  struct macah_simulator_log *log = macah_allocate(sizeof *log);
  log->kernel = kernel;
  log->ordinal = ordinal;
  log->event[0].begin = macah_now();
  log->events = 1;
  pthread_mutex_lock(&lock);
  log->next = profile->simulators;
  macah_store(&profile->simulators, offset_of(log));
  pthread_mutex_unlock(&lock);
  return offset_of(log);
}

/* A child of the program has an arena of its own, which nobody reads. */
static void forget(void) {
  profile = NULL;
  mine = NULL;
  macah_wait_begins = macah_wait_ends = NULL;
}

/* Behind the arena's constructor. */
__attribute__((constructor(102))) static void prepare(void) {
  if (!macah_arena_is_given) return;
  profile = macah_allocate(sizeof *profile);
  profile->began = macah_now();
  macah_arena->profile = offset_of(profile);
  pthread_key_create(&key, note_end);
  pthread_atfork(NULL, NULL, forget);
  macah_wait_begins = begin_wait;
  macah_wait_ends = end_wait;
  my_log(); /* of the main thread */
}
