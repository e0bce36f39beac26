/* What the parts of the host program for Python (serve.c) know of each other. */
#ifndef MACAH_SERVE_H
#define MACAH_SERVE_H

#include "cosim.h"
#include "macah.h"

/* What Python asks for, and what it is told; `size` bytes may follow. */
enum request { BEGIN = 1, SEND, SEND_AND_CLOSE, TAKE, WAIT };
enum answer { SENT = 1, TAKEN, ENDED, DONE };
struct message {
  uint32_t kind, port;
  uint64_t size;
};

struct event {
  uint32_t kind, port;
  uint64_t count; /* elements taken; places that are free after sending */
  char *data;
};

/* The other end of one of the kernel's ports. */
struct lane {
  macah_stream *stream, *orders;
  uint32_t port, size;
  const char *name;
  int sends; /* the kernel does */
  int inner; /* the kernel has the stream's other end, too */
  int busy;  /* with an order */
};

/* The place of the test that has begun the execution. */
extern const char *place_file;
extern int place_line;

void *get_memory(size_t size);
void start_thread(void *(*body)(void *), void *argument);

/* serve_socket.c. The end of the socket is ours. */
void watch_end(void);
void get(void *to, size_t size);
void put(const void *from, size_t size);
void tell(uint32_t kind, uint32_t port, const void *data, uint64_t size);

/* serve_lanes.c. */
extern struct lane *lanes;
void make_lanes(const struct macah_kernel *);
void order(uint32_t port, uint64_t count, char *data, uint32_t close);
/* Says what has happened: the lane is null for the kernel itself. */
void report(uint32_t kind, const struct lane *, uint64_t count, char *data);
struct event next_event(void);
void tell_event(const struct event *);
/* What the lane has not come to: elements that the kernel did not take, or those that nobody took from it. */
uint64_t finish_lane(struct lane *);

#endif
