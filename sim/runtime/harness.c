/* The simulator of a verilated design: what bench, control plane and VPI module are to Icarus, without their cost.
 *
 * One request of the host, a byte, is one execution; the answer is a struct macah_answer. Words and streams are in the
 * memory that is shared with the host, and cycles are those of sim/bench.py, signal by signal.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "ports.h"
#include "profile.h"

static const struct design *designs, *design; /* of all kernels, and of the one that runs */

uint32_t get(void *signal) { return *(const uint32_t *)signal; }
void put(void *signal, uint32_t value) { *(uint32_t *)signal = value; }
void put_bit(void *signal, int bit) { *(uint8_t *)signal = (uint8_t)bit; }

static void settle_and_record(void) {
  settle();
  record();
}

static void tick(void) {
  *design->clk = 1;
  settle_and_record();
  *design->clk = 0;
  settle_and_record();
}

static void add_ports(unsigned kernel) {
  const struct design *design = &designs[kernel];
  for (unsigned s = 0; s < design->streams; s++) {
    const struct stream_pins *pins = &design->stream[s];
    struct port *p = new_port(kernel);
    p->sends = pins->sends;
    p->data = pins->data;
    p->open = pins->sends ? pins->ready : pins->valid;
    p->ended = pins->flag;
    p->size = pins->size;
    p->patience = pins->patience;
    p->words = pins->words;
    p->word = pins->word;
    add_port(p);
  }
}

/* What the design drives. */
static void look_at_pins(void) {
  design_is_stalled = *design->stalled;
  if (design->wait) {
    iteration_ends = (int)*design->complete;
    turn = (int)*design->turn;
  }
  for (unsigned s = 0; s < port_count; s++) {
    const struct stream_pins *pins = &design->stream[s];
    ports[s].wanted = *(pins->sends ? pins->valid : pins->ready);
    if (pins->sends) ports[s].closing = *pins->flag;
  }
}

static void fill(const struct transfer *t) {
  *design->ctl_write = 1;
  for (uint32_t k = 0; k < t->count; k++) {
    *design->ctl_wdata = execution->words[t->index + k];
    *design->ctl_address = t->address + k;
    profile_word();
    tick();
  }
  *design->ctl_write = 0;
}

static void fetch(const struct transfer *t) {
  for (uint32_t k = 0; k < t->count; k++) {
    *design->ctl_address = t->address + k;
    settle_and_record();
    execution->words[t->index + k] = *design->ctl_rdata;
    profile_word();
  }
}

static void pulse(uint8_t *pin) {
  *pin = 1;
  tick();
  *pin = 0;
}

static void cycle(void) {
  take_nap();
  show_ports();
  do {
    settle();
    look_at_pins();
  } while (!commit());
  record();
  *design->clk = 1;
  settle_and_record();
  *design->clk = 0; /* which the next cycle settles */
  cycle_ends();
}

/* Loads a fabric with the configuration of the kernel that begins, if it has another's. */
static void configure(void) {
  const uint32_t *word = &execution->words[execution->configuration];
  *design->ctl_write = 1;
  for (uint32_t k = 0; k < execution->configuration_words; k++) {
    *design->ctl_address = word[2 * k];
    *design->ctl_wdata = word[2 * k + 1];
    profile_word();
    tick();
  }
  *design->ctl_write = 0;
}

static void execute(void) {
  choose_kernel();
  design = &designs[execution->kernel];
  if (design->which) *design->which = execution->kernel;
  profile_phase(execution->configuration_words ? MACAH_CONFIGURES : MACAH_FILLS);
  pulse(design->rst);
  if (execution->configuration_words) {
    configure();
    profile_phase(MACAH_FILLS);
  }
  for (unsigned k = 0; k < design->stores; k++)
    if (execution->first || !design->store[k].once) fill(&design->store[k]);
  begin_execution();
  pulse(design->start);
  while (!*design->done && !*design->fail) cycle();
  settle_and_record();
  look_at_pins();
  end_execution();
  profile_end();
  for (unsigned k = 0; k < design->fetches && !*design->fail; k++) fetch(&design->fetch[k]);
  if (!*design->fail) profile_phase(MACAH_STARTS);
  flush_wave();
}

static int request(void) {
  char byte;
  ssize_t got;
  do got = recv(SOCKET_FD, &byte, 1, 0);
  while (got < 0 && errno == EINTR);
  return got == 1;
}

static void answer(void) {
  struct macah_answer a = {*design->fail, *design->fail ? *design->fail_index : 0};
  while (send(SOCKET_FD, &a, sizeof a, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) _exit(0);
}

/* A simulation that sleeps for ever will not complete its record by itself. */
static void complete_wave(void) {
  if (macah_load(&execution->asleep)) end_wave();
}

void design_failed(const char *message) {
  check_waves();
  macah_die("%s", message);
}

int main(void) {
  prctl(PR_SET_NAME, "macah-kernel");
  at_end_of_host = complete_wave;
  cycles_are_short = 1;
  attach();
  if (!execution) macah_die("this is a part of a program, which starts it");
  unsigned kernels;
  design = designs = create_designs(&kernels);
  begin_wave(execution->ordinal);
  if (design->wait) profile_watch(design->slot, design->wait, design->waits);
  profile_loops(design->count, design->counts);
  for (unsigned k = 0; k < kernels; k++) add_ports(k);
  while (request()) {
    execute();
    answer();
  }
  end_wave();
  _exit(0);
}
