/* The data plane, inside the simulator: the bench's system tasks move words between the design's ports and the
 * host's streams, which are mapped here.
 *
 *   $macah_port(kernel, index, sends, data, valid, ready, flag, size, {offset, bytes, signed}...)   once for each stream
 *   $macah_patience(kernel, index, cycles)  for streams that iterations wait for without stalling: after so many cycles
 *                                   in which nothing moved, nothing will until the stream has something
 *   $macah_status(stalled)          once
 *   $macah_ordinal(reg)             reg := how many simulators its kernel had before
 *   $macah_kernel(kernel, first, from, many)
 *                                   once for each request, sets these: the number of the kernel among those of the
 *                                   simulator, whether another one or none had been there before, and where in the
 *                                   words of the execution its configuration is, so many addresses and words
 *   $macah_begin                    before an execution
 *   $macah_word_in(index, reg)      reg := word of the execution
 *   $macah_pair_in(index, address, word)
 *                                   the same for two words of a configuration
 *   $macah_word_out(index, value)   word of the execution := value
 *   $macah_drive                    shows the design what its streams have; sleeps first if it was stalled
 *   $macah_end                      after an execution
 *   $macah_commit(again)            makes the transfers of the coming clock edge; again := 1 if another party was
 *                                   faster, and the design must see new values first
 *   $macah_watch(slot, complete, {waiting}...), $macah_loops(turn, {count}...), $macah_phase(number)
 *                                   for profiles (ports.h)
 *
 * An element is taken from its stream or promised a place with its first word, in the cycle of that word's handshake.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <vpi_user.h>

#include "ports.h"

uint32_t get(void *handle) {
  s_vpi_value value = {.format = vpiIntVal};
  vpi_get_value(handle, &value);
  return (uint32_t)value.value.integer;
}

void put(void *handle, uint32_t number) {
  s_vpi_value value = {.format = vpiIntVal, .value.integer = (PLI_INT32)number};
  vpi_put_value(handle, &value, NULL, vpiNoDelay);
}

void put_bit(void *handle, int bit) { put(handle, (uint32_t)bit); }

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
  struct port *p = new_port(get(a[0]));
  p->sends = (int)get(a[2]);
  p->data = a[3];
  p->open = a[p->sends ? 5 : 4];
  follow(a[p->sends ? 4 : 5], &p->wanted);
  if (p->sends)
    follow(a[6], &p->closing);
  else
    p->ended = a[6];
  p->size = get(a[7]);
  p->words = (count - 8) / 3;
  struct word *word = calloc(p->words, sizeof *p->word);
  if (!word) macah_die("out of memory");
  for (unsigned k = 0; k < p->words; k++) word[k] = (struct word){get(a[8 + 3 * k]), get(a[9 + 3 * k]), (int)get(a[10 + 3 * k])};
  p->word = word;
  add_port(p);
  free(a);
  return 0;
}

static PLI_INT32 do_patience(PLI_BYTE8 *data) {
  (void)data;
  unsigned count;
  vpiHandle *a = arguments_of(&count);
  port_of(get(a[0]), get(a[1]))->patience = get(a[2]);
  free(a);
  return 0;
}

static PLI_INT32 do_status(PLI_BYTE8 *data) {
  (void)data;
  unsigned count;
  vpiHandle *a = arguments_of(&count);
  follow(a[0], &design_is_stalled);
  free(a);
  return 0;
}

static PLI_INT32 do_kernel(PLI_BYTE8 *data) {
  (void)data;
  vpiHandle *a = arguments();
  choose_kernel();
  put(a[0], execution->kernel);
  put(a[1], execution->first);
  put(a[2], execution->configuration);
  put(a[3], execution->configuration_words);
  return 0;
}

static PLI_INT32 do_begin(PLI_BYTE8 *data) {
  (void)data;
  begin_execution();
  return 0;
}

static PLI_INT32 do_end(PLI_BYTE8 *data) {
  (void)data;
  profile_end();
  end_execution();
  return 0;
}

static PLI_INT32 do_word_in(PLI_BYTE8 *data) {
  (void)data;
  vpiHandle *a = arguments();
  put(a[1], execution->words[get(a[0])]);
  profile_word();
  return 0;
}

static PLI_INT32 do_pair_in(PLI_BYTE8 *data) {
  (void)data;
  vpiHandle *a = arguments();
  const uint32_t *word = &execution->words[get(a[0])];
  put(a[1], word[0]);
  put(a[2], word[1]);
  profile_word();
  return 0;
}

static PLI_INT32 do_word_out(PLI_BYTE8 *data) {
  (void)data;
  vpiHandle *a = arguments();
  execution->words[get(a[0])] = get(a[1]);
  profile_word();
  return 0;
}

static PLI_INT32 do_ordinal(PLI_BYTE8 *data) {
  (void)data;
  unsigned count;
  vpiHandle *a = arguments_of(&count);
  put(a[0], execution->ordinal);
  free(a);
  return 0;
}

static PLI_INT32 do_drive(PLI_BYTE8 *data) {
  (void)data;
  take_nap();
  if (macah_load(&host_has_gone)) vpi_control(vpiFinish, 0);
  show_ports();
  return 0;
}

static PLI_INT32 do_commit(PLI_BYTE8 *data) {
  (void)data;
  static int again;
  int now = !commit();
  if (now != again) put(arguments()[0], (uint32_t)(again = now));
  return 0;
}

/* A constant stands for no signal. */
static void *signal_of(vpiHandle argument) { return vpi_get(vpiType, argument) == vpiConstant ? NULL : argument; }

static PLI_INT32 do_watch(PLI_BYTE8 *data) {
  (void)data;
  unsigned count;
  vpiHandle *a = arguments_of(&count);
  if (signal_of(a[1])) follow(a[1], &iteration_ends);
  profile_watch(signal_of(a[0]), (void **)(a + 2), count - 2);
  return 0;
}

static PLI_INT32 do_phase(PLI_BYTE8 *data) {
  (void)data;
  profile_phase(get(arguments()[0]));
  return 0;
}

static PLI_INT32 do_loops(PLI_BYTE8 *data) {
  (void)data;
  unsigned count;
  vpiHandle *a = arguments_of(&count);
  follow(a[0], &turn);
  profile_loops((void **)(a + 1), count - 1);
  return 0;
}

static void add_task(const char *name, PLI_INT32 (*call)(PLI_BYTE8 *), PLI_INT32 (*compile)(PLI_BYTE8 *)) {
  s_vpi_systf_data task = {.type = vpiSysTask, .tfname = name, .calltf = call, .compiletf = compile};
  vpi_register_systf(&task);
}

static void add_tasks(void) {
  add_task("$macah_port", do_port, NULL);
  add_task("$macah_status", do_status, NULL);
  add_task("$macah_patience", do_patience, NULL);
  add_task("$macah_ordinal", do_ordinal, NULL);
  add_task("$macah_kernel", do_kernel, keep_arguments);
  add_task("$macah_begin", do_begin, NULL);
  add_task("$macah_end", do_end, NULL);
  add_task("$macah_word_in", do_word_in, keep_arguments);
  add_task("$macah_pair_in", do_pair_in, keep_arguments);
  add_task("$macah_word_out", do_word_out, keep_arguments);
  add_task("$macah_drive", do_drive, NULL);
  add_task("$macah_commit", do_commit, keep_arguments);
  add_task("$macah_watch", do_watch, NULL);
  add_task("$macah_phase", do_phase, keep_arguments);
  add_task("$macah_loops", do_loops, NULL);
  attach();
}

__attribute__((visibility("default"))) void (*vlog_startup_routines[])(void) = {add_tasks, NULL};
