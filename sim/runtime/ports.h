/* The design's ports to streams, as the parts of a simulator's data plane see them: the VPI module of Icarus, or the
 * harness of a verilated design. */
#ifndef MACAH_PORTS_H
#define MACAH_PORTS_H

#include "cosim.h"
#include "harness.h"

struct port {
  void *data, *open, *ended; /* signals; `open` is what we drive: tvalid of a receiving port, tready of a sending one */
  int wanted, closing;         /* what the design drives: the other of the two, and `close`; kept up to date */
  int sends;
  unsigned size, words;
  const struct word *word;
  unsigned char *element;
  struct macah_stream *stream;
  unsigned phase; /* the next word */
  uint64_t count; /* elements that went through our end, with those owed */
  uint64_t known; /* the other end's count, when last looked at, which is not before all is used up */
  int held;       /* our end's lock is ours */
  uint32_t shown_data;
  int shown_open;
  int shown_ended;
  unsigned patience; /* if not 0: cycles until nothing moves but what waits for this port */
  int both;      /* the kernel has both ends of the stream */
  int moves;     /* a word moves at the coming edge */
  unsigned owed; /* elements moved that the other end does not know of, which then is locked */
};

/* What found nothing in a cycle. */
struct fruitless {
  unsigned polls;    /* at ports without patience */
  unsigned patience; /* the longest of the other ports that were polled; 0: none */
  int gone_on;       /* one of these has ended, so that the design goes on */
};

enum nap { NO_NAP, POLL_NAP, STALL_NAP };

extern struct macah_execution *execution;
extern struct macah_stream no_stream; /* what ports have whose stream is null */
extern struct port *ports; /* of the kernel that runs */
extern unsigned port_count;
extern int design_is_stalled; /* kept up to date */

/* vpi.c or harness.c: the value of a signal of 32 bits, where an unknown bit is 0, and new values. */
uint32_t get(void *signal);
void put(void *signal, uint32_t);
void put_bit(void *signal, int);

/* attach.c: once, finds the memory that is shared with the host; before each execution. */
void attach(void);
void begin_execution(void);
void end_execution(void);
/* Ends the simulator with a message if there is no room for the rest of a waveform. */
void check_waves(void);
/* Once for each stream of each kernel, in order; all is known of a port then but the stream. */
struct port *new_port(unsigned kernel);
struct port *port_of(unsigned kernel, unsigned index);
void add_port(struct port *);
/* Before each request is carried out: the ports are those of its kernel from now on. */
void choose_kernel(void);
/* What else to do if the host is gone; in a thread of its own. */
extern void (*at_end_of_host)(void);
/* It is, and a waveform shall be completed: nobody sleeps any more. */
extern int host_has_gone;

/* ports.c */
void show_ports(void);
/* Makes the transfers of the coming clock edge; 0, and no transfer, if the design must see new values first. */
int commit(void);
/* Locks are kept from one cycle to the next; others get them now. */
void let_go(void);
/* Shows the other ends what has moved. */
void show_moves(void);

/* naps.c: sleeping, and waking who sleeps at the other ends. */
void begin_naps(int never_for_polls);
/* After a cycle: whether a word moved, and what found nothing. Decides on a nap before the next. */
void note_cycle(int moved, const struct fruitless *);
/* An element has moved. Who looks at the other end sees it at once, but not where a cycle takes no longer than the
 * cache line of a count from one processor to the other. */
extern int cycles_are_short;
void owe(struct port *);
void tell_all(void);
void take_nap(void);
uint64_t awaited_ports(void); /* a bit for each */

/* ticks.c: time in lock step. Before a cycle, in which something may have moved; and before its transfers. */
void await_tick(int moved, int asleep);
void await_shown(void);
/* Around them, where others have the same ends: its turn. */
void await_place(void);
void leave_place(void);

/* profile.c: does nothing unless the host wants a profile. Once: finds its place, and the signals of what may wait and
 * of the slot, or null, which it keeps. */
extern int iteration_ends, turn; /* kept up to date where a design tells: see backend/watch.py */
void attach_profile(void);
/* The numbers of bodies of loops that have run, which change with `turn`. */
void profile_loops(void **counts, unsigned loops);
void profile_kernel(void); /* another kernel may begin, whose place is another */
void profile_watch(void *slot_signal, void **waiting, unsigned count);
/* What begins (profile.h: enum macah_phase); a word of it; the run, and its end. */
void profile_phase(unsigned phase);
void profile_word(void);
void profile_run(void);
void profile_end(void);
/* Around sleeping. */
void profile_sleep(int begins);
/* After each cycle. */
void profile_cycle(void);

#endif
