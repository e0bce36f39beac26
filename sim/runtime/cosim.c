/* Kernel entry: takes an idle simulator of the kernel or starts one, hands over its inputs, waits for the end. */
#define _GNU_SOURCE
#include "cosim.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "trace.h"
#include "waves.h"

/* The simulators of a hardware, and what has been counted for a kernel. */
struct pool {
  struct macah_simulator *idle;
  uint32_t simulators;
  uint64_t entries, cycles, stalls, loads, load_cycles;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool *pools;

uint64_t macah_most_cycles;

static void show_statistics(void) {
  int loaded = 0;
  for (unsigned k = 0; k < macah_kernel_count; k++) loaded |= macah_kernels[k].configuration != NULL;
  fprintf(stderr, "%-24s %10s %14s %14s", "kernel", "entries", "cycles", "stalled");
  fprintf(stderr, loaded ? " %10s %14s\n" : "\n", "loads", "load cycles");
  for (unsigned k = 0; k < macah_kernel_count; k++) {
    struct pool none = {0}, *p = pools ? &pools[k] : &none;
    fprintf(stderr, "%-24s %10llu %14llu %14llu", macah_kernels[k].name, (unsigned long long)p->entries,
            (unsigned long long)p->cycles, (unsigned long long)p->stalls);
    if (loaded) fprintf(stderr, " %10llu %14llu", (unsigned long long)p->loads, (unsigned long long)p->load_cycles);
    fputc('\n', stderr);
  }
}

__attribute__((constructor)) static void prepare_statistics(void) {
  const char *wanted = getenv("MACAH_STATS");
  if (wanted && *wanted && strcmp(wanted, "0") != 0) atexit(show_statistics);
}

/* After fork(), the simulators are the parent's. */
static void forget_simulators(void) {
  for (unsigned k = 0; pools && k < macah_kernel_count; k++) {
    for (struct macah_simulator *s = pools[k].idle; s; s = s->next) close(s->socket), close(s->process);
    pools[k] = (struct pool){0};
  }
  macah_arena->simulators = 0;
  macah_forget_time();
}

__attribute__((constructor)) static void prepare_fork(void) { pthread_atfork(NULL, NULL, forget_simulators); }

static size_t word_count(const struct macah_kernel *kernel) {
  size_t words = (size_t)kernel->live_ins + kernel->live_outs;
  for (uint32_t m = 0; m < kernel->memories; m++) words += kernel->memory[m].words;
  return words;
}

/* The words that an execution of any kernel on this hardware may have. */
static size_t most_words(uint32_t hardware) {
  size_t most = 0;
  for (unsigned k = 0; k < macah_kernel_count; k++) {
    if (macah_kernels[k].hardware != hardware) continue;
    size_t words = word_count(&macah_kernels[k]) + 2 * (size_t)macah_kernels[k].configuration_words;
    if (words > most) most = words;
  }
  return most;
}

/* The simulator counts for the kernel, if there is a profile. */
static void choose_profile(struct macah_simulator *simulator, const struct macah_kernel *kernel) {
  unsigned k = (unsigned)(kernel - macah_kernels);
  uint64_t *place = &simulator->profile[k];
  if (!*place) *place = macah_profile_simulator(k, simulator->execution->ordinal);
  simulator->execution->profile = *place;
}

static struct macah_simulator *new_simulator(const struct macah_kernel *kernel) {
  struct macah_simulator *simulator = calloc(1, sizeof *simulator + macah_kernel_count * sizeof *simulator->profile);
  if (!simulator) macah_die("out of memory");
  simulator->execution_size = sizeof *simulator->execution + 4 * most_words(kernel->hardware);
  simulator->execution = macah_allocate(simulator->execution_size);
  simulator->execution->number = macah_add(&macah_arena->simulators, 1);
  simulator->execution->host = (uint32_t)getpid();
  simulator->execution->patience = macah_stall_cycles;
  simulator->execution->ordinal = macah_add(&pools[kernel->hardware].simulators, 1);
  choose_profile(simulator, kernel);
  macah_launch(simulator, kernel);
  return simulator;
}

/* Of the idle simulators one that has the kernel's configuration, else the one that has been idle for longest. */
static struct macah_simulator *take_idle(const struct macah_kernel *kernel) {
  struct macah_simulator **link = &pools[kernel->hardware].idle;
  while (*link && (*link)->holds != kernel && (*link)->next) link = &(*link)->next;
  struct macah_simulator *found = *link;
  if (found) *link = found->next;
  return found;
}

static struct macah_simulator *take_simulator(const struct macah_kernel *kernel) {
  pthread_mutex_lock(&lock);
  if (!pools) pools = calloc(macah_kernel_count, sizeof *pools);
  if (!pools) macah_die("out of memory");
  struct macah_simulator *simulator = take_idle(kernel);
  pthread_mutex_unlock(&lock);
  return simulator ? simulator : new_simulator(kernel);
}

/* What the simulator does before the kernel runs: if another one was there last, it is told the configuration. */
static void configure(struct macah_simulator *simulator, const struct macah_kernel *kernel) {
  struct macah_execution *execution = simulator->execution;
  execution->kernel = kernel->number;
  execution->first = simulator->holds != kernel;
  execution->served = 0;
  execution->configuration = (uint32_t)word_count(kernel);
  execution->configuration_words = execution->first ? kernel->configuration_words : 0;
  if (execution->configuration_words)
    memcpy(&execution->words[execution->configuration], kernel->configuration, 8 * (size_t)kernel->configuration_words);
  simulator->holds = kernel;
  choose_profile(simulator, kernel);
}

static void give_back(unsigned k, struct macah_simulator *simulator) {
  struct pool *hardware = &pools[macah_kernels[k].hardware];
  pthread_mutex_lock(&lock);
  pools[k].entries++;
  pools[k].cycles += simulator->execution->cycles;
  pools[k].stalls += simulator->execution->stalls;
  __atomic_fetch_add(&macah_spent_cycles, simulator->execution->cycles, __ATOMIC_RELAXED);
  __atomic_fetch_add(&macah_spent_stalls, simulator->execution->stalls, __ATOMIC_RELAXED);
  pools[k].loads += simulator->execution->configuration_words != 0;
  pools[k].load_cycles += simulator->execution->configuration_words;
  simulator->next = hardware->idle;
  hardware->idle = simulator;
  pthread_mutex_unlock(&lock);
}

static uint32_t *memory_words(const struct macah_kernel *kernel, struct macah_execution *execution) {
  return execution->words + kernel->live_ins + kernel->live_outs;
}

static void check_stream(const struct macah_kernel *kernel, macah_stream *const *streams, uint32_t s) {
  const struct macah_port *port = &kernel->port[s];
  uint32_t magic = macah_load(&streams[s]->magic);
  if (magic == MACAH_FREED) macah_die("kernel '%s': the stream '%s' has been freed", kernel->name, port->name);
  if (magic != MACAH_LIVE) macah_die("kernel '%s': '%s' is not a stream", kernel->name, port->name);
  for (uint32_t t = 0; t < s; t++)
    if (streams[t] == streams[s] && kernel->port[t].sends == port->sends)
      macah_die("kernel '%s' %s one stream by two names, '%s' and '%s', so the order of what it %s is not known;"
                " use one name",
                kernel->name, port->sends ? "sends to" : "receives from", kernel->port[t].name, port->name,
                port->sends ? "sends" : "receives");
}

/* Where a kernel's sends come from is known if there is one place only. */
static void note_place(const macah_stream *s, const char *places) {
  struct macah_trace *trace = macah_trace_of(s);
  const char *place = strstr(places, ", ") || !*places ? "?" : places;
  snprintf(trace->kernel_place, sizeof trace->kernel_place, "%s", place);
}

static void hand_over(const struct macah_kernel *kernel, struct macah_execution *execution, const uint32_t *live_in,
                      macah_stream *const *streams, uint32_t *const *memories) {
  if (kernel->live_ins) memcpy(execution->words, live_in, 4 * (size_t)kernel->live_ins);
  for (uint32_t s = 0; s < kernel->streams; s++) {
    execution->stream[s] = MACAH_NO_STREAM;
    if (!streams[s]) continue;
    check_stream(kernel, streams, s);
    macah_disown(&streams[s]->sender);
    macah_disown(&streams[s]->receiver);
    macah_note_user(streams[s], !kernel->port[s].sends);
    if (kernel->port[s].sends && streams[s]->sender.trace) note_place(streams[s], kernel->port[s].places);
    execution->stream[s] = (uint64_t)((char *)streams[s] - (char *)macah_arena);
  }
  uint32_t *words = memory_words(kernel, execution);
  for (uint32_t m = 0; m < kernel->memories; words += kernel->memory[m++].words) {
    const struct macah_memory *memory = &kernel->memory[m];
    if (memory->captured_in) {
      memcpy(words, memories[m], 4 * (size_t)memory->words);
    } else if (memory->initial_words) {
      memcpy(words, memory->initial, 4 * (size_t)memory->initial_words);
      memset(words + memory->initial_words, 0, 4 * (size_t)(memory->words - memory->initial_words));
    }
  }
}

static void take_results(const struct macah_kernel *kernel, struct macah_execution *execution, uint32_t *live_out,
                         uint32_t *const *memories) {
  if (kernel->live_outs) memcpy(live_out, execution->words + kernel->live_ins, 4 * (size_t)kernel->live_outs);
  uint32_t *words = memory_words(kernel, execution);
  for (uint32_t m = 0; m < kernel->memories; words += kernel->memory[m++].words)
    if (kernel->memory[m].captured_out) memcpy(memories[m], words, 4 * (size_t)kernel->memory[m].words);
}

static void fail(const struct macah_kernel *kernel, uint32_t assertion) {
  const char *text = assertion < kernel->assertion_count ? kernel->assertions[assertion] : "an assertion failed";
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
  abort();
}

__attribute__((noreturn)) static void give_up(const struct macah_kernel *kernel, const struct macah_execution *execution) {
  if (execution->given_up == MACAH_CLOSED) {
    const struct macah_port *port = &kernel->port[execution->unusable];
    macah_die("kernel '%s' sends to '%s' at %s, which has been closed", kernel->name, port->name, port->places);
  }
  if (execution->given_up == MACAH_IS_NULL)
    macah_die("kernel '%s': the stream '%s' is null", kernel->name, kernel->port[execution->unusable].name);
  if (execution->given_up == MACAH_TOO_LONG) {
    fprintf(stderr, "macah: kernel '%s' has not ended after %llu cycles, of them %llu stalled\n", kernel->name,
            (unsigned long long)(execution->cycles + execution->stalls), (unsigned long long)execution->stalls);
    abort();
  }
  fprintf(stderr, "macah: kernel '%s' has moved no element in its last %llu cycles, up to cycle %llu (--stall-cycles)\n",
          kernel->name, (unsigned long long)execution->patience, (unsigned long long)execution->cycles);
  abort();
}

__attribute__((noreturn)) static void end_without_answer(const struct macah_simulator *simulator,
                                                         const struct macah_kernel *kernel) {
  macah_end_time();
  if (simulator->execution->given_up) give_up(kernel, simulator->execution);
  int started = (int)macah_load(&simulator->execution->attached);
  macah_simulator_failed(simulator, kernel, started ? "ended unexpectedly" : "did not start");
}

/* The waveforms that are written, as waves.h has them, or null. */
static const char *wave_names(void) {
  static const char name[] = "MACAH_WAVE=";
  for (const char *const *v = macah_simulator_environment; *v; v++)
    if (strncmp(*v, name, strlen(name)) == 0) return *v + strlen(name);
  return NULL;
}

enum { WAVE_ENDS = 2000 };

/* Waveforms are whole when their simulators have ended, which nobody hears who find no room for the rest. */
__attribute__((destructor)) static void complete_waves(void) {
  const char *waves = wave_names();
  int ended = 0;
  if (!waves || !pools || pthread_mutex_trylock(&lock)) return;
  for (unsigned k = 0; k < macah_kernel_count; k++) {
    for (struct macah_simulator *s = pools[k].idle; s; s = s->next, ended++) {
      shutdown(s->socket, SHUT_WR);
      if (s->process >= 0) poll(&(struct pollfd){.fd = s->process, .events = POLLIN}, 1, WAVE_ENDS);
    }
  }
  if (ended && !macah_waves_are_whole(waves)) {
    int folder = macah_wave_folder(waves);
    fprintf(stderr, "macah: cannot write the waveform in '%.*s': %s\n", folder, waves, strerror(ENOSPC));
    fflush(NULL);
    _exit(1);
  }
}

int macah_run_kernel(unsigned k, const uint32_t *live_in, uint32_t *live_out, macah_stream *const *streams,
                     uint32_t *const *memories) {
  const struct macah_kernel *kernel = &macah_kernels[k];
  macah_enter_time(); /* which does not pass while a simulator starts, though the thread sleeps then */
  struct macah_simulator *simulator = take_simulator(kernel);
  configure(simulator, kernel);
  hand_over(kernel, simulator->execution, live_in, streams, memories);
  simulator->execution->limit = macah_most_cycles;
  struct macah_execution *execution = simulator->execution;
  struct macah_entered entered = {kernel->name,       execution,       &execution->asleep, &execution->waiting,
                                  &execution->cycles, kernel->streams, kernel->port,       streams};
  struct macah_answer answer;
  macah_me.entered = &entered;
  macah_begin_wait(MACAH_FOR_KERNEL, NULL, (struct macah_place){0});
  int answered = macah_converse(simulator, &answer);
  macah_end_wait();
  if (!answered) end_without_answer(simulator, kernel);
  macah_leave_time();
  if (answer.failed) fail(kernel, answer.assertion);
  take_results(kernel, simulator->execution, live_out, memories);
  give_back(k, simulator);
  return 0;
}
