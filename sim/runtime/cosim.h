/* What a program with simulators consists of: the image that sim/cosim.py writes, and the parts of cosim.c. */
#ifndef MACAH_COSIM_H
#define MACAH_COSIM_H

#include <stddef.h>
#include <stdint.h>

#include "host.h"

/* The simulator's open files. Everything it reads is a file without a name, so nothing can be left over. */
enum { SOCKET_FD = 3, ARENA_FD, DESIGN_FD, MODULE_FD, CONTROL_FD };

/* One array of a kernel; after its first contents come zeros. */
struct macah_memory {
  uint32_t words;
  int captured_in, captured_out;
  const uint32_t *initial;
  uint32_t initial_words;
};

struct macah_kernel {
  const char *name;
  const char *design, *design_end;
  uint32_t live_ins, live_outs, streams, memories;
  const struct macah_memory *memory;
  const char *const *assertions;
  uint32_t assertion_count;
  const struct macah_port *port;
  /* Kernels that take turns on a fabric have the same hardware, and are numbered there. */
  uint32_t hardware, number;
  const uint32_t *configuration; /* addresses and words, in turns */
  uint32_t configuration_words;  /* pairs of them */
};

extern const unsigned long long macah_stall_cycles;

/* What an execution may take at most, for those that begin from now on; 0: any. */
extern uint64_t macah_most_cycles;

/* Of the image. Lists of strings end with a null. */
extern const struct macah_kernel macah_kernels[];
extern const unsigned macah_kernel_count;
extern const char macah_module[], macah_module_end[], macah_control[], macah_control_end[];
extern const char *const macah_simulator_command[], *const macah_simulator_environment[];

/* Why a simulator gave up, if it did. */
enum macah_given_up { MACAH_HAS_NOT, MACAH_NOTHING_MOVES, MACAH_TOO_LONG, MACAH_CLOSED, MACAH_IS_NULL };

/* The offset of a null stream, which a kernel may have as long as it does not use it. */
#define MACAH_NO_STREAM UINT64_MAX

/* What host and simulator share for one execution at a time; a place in the arena.
 * `words` holds live-ins, live-outs, memories and a configuration, in this order. */
struct macah_execution {
  uint64_t cycles, stalls;
  uint64_t patience;        /* cycles in which no element moves, after which the simulator gives up; 0: any */
  uint64_t limit;           /* cycles after which it gives up in any case; 0: any */
  uint64_t given_up;        /* an enum macah_given_up */
  uint64_t unusable;        /* the closed or null stream that it was to use, by its number in the kernel */
  uint64_t asleep, waiting; /* see host.h: macah_entered */
  uint64_t stream[64]; /* offsets in the arena */
  uint64_t profile;    /* of the simulator (profile.h), or 0 */
  uint32_t attached;   /* the simulator has started */
  uint32_t process;    /* its number */
  uint32_t number;     /* which tells the bell that it sleeps on */
  uint32_t host;       /* process that must be alive */
  uint32_t place;      /* in lock step: in this cycle, among the executions that share ends; from 1, or 0 */
  uint64_t shared;     /* a bit for each of its ports that another execution has, too */
  uint64_t served;     /* the tick at which an element last went through one of these */
  uint32_t ordinal;    /* among the simulators of its kernel */
  uint32_t kernel;     /* its number there */
  uint32_t first;      /* the simulator had another kernel before, or none, and loads its configuration: */
  uint32_t configuration, configuration_words; /* from where in `words` on, so many addresses and words */
  uint32_t words[];
};

enum { MACAH_STREAMS = 64 };

/* The simulator's answer when an execution has ended. */
struct macah_answer {
  uint32_t failed, assertion;
};

/* A simulator: the host's end of its socket, its log, and a descriptor that tells its end, or -1. */
struct macah_simulator {
  struct macah_simulator *next;
  struct macah_execution *execution;
  const struct macah_kernel *holds; /* whose configuration it has, or null */
  size_t execution_size;
  int socket, log, process;
  uint64_t profile[]; /* by kernel */
};

extern int macah_arena_fd;
/* arena.c: bytes that a file may have here; a longer one would be the program's end, without a word. */
size_t macah_file_limit(void);
extern int macah_arena_is_given; /* by who started the program, and reads it afterwards */

/* host_profile.c: a simulator's place for its profile, or 0. */
uint64_t macah_profile_simulator(uint32_t kernel, uint32_t ordinal);

/* lockstep.c: around each execution, and in the child after fork(). */
extern const int macah_lockstep; /* of the image */
extern uint32_t macah_host_computes; /* whatever its threads seem to do, so that no time passes */
void macah_start_time(void);
void macah_enter_time(void);
void macah_leave_time(void);
void macah_forget_time(void);
/* A simulator has died: as cycles never end any more, nobody waits for that, so that the program can end. */
void macah_end_time(void);
/* Whether all executions have arrived at their next cycle; and wakes the referee, which looks at all that waits. */
int macah_all_are_here(void);
void macah_call_referee(void);

/* rest.c. */
int macah_host_is_at_rest(void);
/* The caller uses a stream or a kernel. */
void macah_note_use(void);
uint64_t macah_read_clock(clockid_t); /* in nanoseconds */

/* sharers.c: before a cycle, gives executions that share ends their places; and after fork(). */
void macah_place_executions(void);
void macah_forget_sharers(void);
/* Some execution has begun or ended. */
void macah_note_execution(void);

/* turns.c. Whether a thread was created before another. */
int macah_is_older(pid_t, pid_t);
/* For the referee, with the host at rest: gives a thread its turn, or all that look in vain the right to one;
 * 0 if there is none. And no order from now on; 0 if there was none. */
int macah_give_turn(void);
int macah_let_look(void);
/* Not at rest, too: of those who look in vain, wakes who no longer does; 0 if there is none. */
int macah_wake_lookers(void);
int macah_give_up_turns(void);

/* launch.c: starts a simulator of a kernel. Errors end the program. */
void macah_launch(struct macah_simulator *, const struct macah_kernel *);
/* converse.c: sends the request and waits for the answer; 0 if the simulator is gone, or never came. */
int macah_converse(const struct macah_simulator *, struct macah_answer *);
/* Says what happened with the end of the simulator's log, and exits with status 1. */
void macah_simulator_failed(const struct macah_simulator *, const struct macah_kernel *, const char *what)
    __attribute__((noreturn));


#endif
