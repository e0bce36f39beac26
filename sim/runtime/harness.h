/* A verilated design, as the C++ that sim/verilator.py writes around it shows it to the harness. */
#ifndef MACAH_HARNESS_H
#define MACAH_HARNESS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A word of an element: where it is in the element, and how it becomes 32 bits wide. */
struct word {
  unsigned offset, bytes;
  int is_signed;
};

/* A port to a stream. `flag` is the design's `close` where it sends, else our `ended`. For `patience`, see ports.h. */
struct stream_pins {
  int sends;
  uint32_t *data;
  uint8_t *valid, *ready, *flag;
  unsigned size, patience, words;
  const struct word *word;
};

/* Words between the word port, from `address` on, and those of an execution; `once`: only at the first execution since
 * another kernel's. */
struct transfer {
  uint32_t address, index, count;
  int once;
};

/* A kernel on a design; several kernels may take turns on one. */
struct design {
  uint8_t *clk, *rst, *start, *ctl_write;
  const uint8_t *done, *fail, *stalled;
  uint32_t *ctl_address, *ctl_wdata;
  const uint32_t *ctl_rdata, *fail_index;
  unsigned streams, stores, fetches;
  const struct stream_pins *stream;
  const struct transfer *store, *fetch;
  /* For a profile (ports.h), or null. */
  uint32_t *slot, *complete, *turn, *which;
  void **wait, **count;
  unsigned waits, counts;
};

/* Of the design. `begin_wave` gets the number of simulators that its kernel had before; `record` is called when
 * signals have settled, `cycle_ends` after each cycle. */
const struct design *create_designs(unsigned *kernels);
void settle(void);
void begin_wave(uint32_t ordinal);
void record(void);
void cycle_ends(void);
void flush_wave(void);
void end_wave(void);

/* Of the harness: ends the simulator with a message. */
void design_failed(const char *message) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif
#endif
