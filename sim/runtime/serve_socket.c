/* The socket between Python and the host program that runs a kernel for it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "serve.h"

enum { REQUESTS = 0 };

static void see_end(int signal) {
  (void)signal;
  struct pollfd end = {.fd = REQUESTS, .events = POLLRDHUP};
  if (poll(&end, 1, 0) > 0 && end.revents & (POLLRDHUP | POLLHUP | POLLERR)) _exit(0);
}

void watch_end(void) {
  struct sigaction action = {.sa_handler = see_end, .sa_flags = SA_RESTART};
  sigaction(SIGIO, &action, NULL);
  fcntl(REQUESTS, F_SETOWN, getpid());
  fcntl(REQUESTS, F_SETFL, fcntl(REQUESTS, F_GETFL) | O_ASYNC);
  see_end(0);
}

void get(void *to, size_t size) {
  for (char *next = to; size > 0;) {
    ssize_t got = recv(REQUESTS, next, size, 0);
    if (got == 0 || (got < 0 && errno != EINTR)) _exit(0);
    if (got > 0) next += got, size -= (size_t)got;
  }
}

void put(const void *from, size_t size) {
  for (const char *next = from; size > 0;) {
    ssize_t sent = send(REQUESTS, next, size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) _exit(0);
    if (sent > 0) next += sent, size -= (size_t)sent;
  }
}

void tell(uint32_t kind, uint32_t port, const void *data, uint64_t size) {
  put(&(struct message){kind, port, size}, sizeof(struct message));
  put(data, size);
}
