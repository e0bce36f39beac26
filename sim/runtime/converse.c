/* A request to a simulator and its answer, however late it comes, and whether it comes at all. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "cosim.h"

enum { START = 60 };

/* Whether a simulator has not begun to run for so many seconds since `since`. */
static int is_late(const struct macah_simulator *simulator, time_t since) {
  const char *wanted = getenv("MACAH_START_SECONDS");
  long limit = wanted && atoi(wanted) > 0 ? atoi(wanted) : START;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return !macah_load(&simulator->execution->attached) && now.tv_sec - since > limit;
}

/* The socket alone does not tell that a simulator has gone: a child that the program forked while it started has a copy of
 * the simulator's end. What a process sent before its end is there when its end is seen. */
int macah_converse(const struct macah_simulator *simulator, struct macah_answer *answer) {
  struct pollfd ends[] = {{.fd = simulator->socket, .events = POLLIN}, {.fd = simulator->process, .events = POLLIN}};
  struct timespec begun;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  while (send(simulator->socket, "r", 1, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) return 0;
  char *next = (char *)answer, *end = next + sizeof *answer;
  while (next < end) {
    int ready = poll(ends, 2, MACAH_LOOK / 1000000);
    if (ready == 0) macah_look_for_deadlock();
    if (ready == 0 && is_late(simulator, begun.tv_sec)) return 0;
    if (ready <= 0) continue;
    ssize_t got = recv(simulator->socket, next, (size_t)(end - next), MSG_DONTWAIT);
    if (got > 0)
      next += got;
    else if (got == 0 || ends[1].revents || (errno != EINTR && errno != EAGAIN))
      return 0;
  }
  return 1;
}
