/* Whether the waveforms of a program's simulators are whole. Who writes them does not look, and a file that lacks its
 * end would be taken for a short one. What is left of the disk tells little: files that helped to write are gone. */
#define _GNU_SOURCE
#include "waves.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "cosim.h"

static struct timespec began;

__attribute__((constructor)) static void note_begin(void) { clock_gettime(CLOCK_REALTIME_COARSE, &began); }

enum { NOT_ENDED = 255, HIERARCHIES = 1 << 4 | 1 << 6 | 1 << 7, HEAD = 9 };

/* An FST file is blocks, each a byte that says what it is and eight for its length, itself included. */
static int fst_is_whole(int fd, uint64_t size) {
  unsigned found = 0;
  for (uint64_t at = 0; at < size;) {
    unsigned char head[HEAD];
    if (pread(fd, head, HEAD, (off_t)at) != HEAD || head[0] == NOT_ENDED) return 0;
    uint64_t length = 0;
    for (unsigned k = 1; k < HEAD; k++) length = length << 8 | head[k];
    if (length < HEAD - 1 || length > size - at - 1) return 0;
    if (head[0] < 8) found |= 1u << head[0];
    at += 1 + length;
  }
  return (found & HIERARCHIES) && lseek(fd, 0, SEEK_HOLE) == (off_t)size;
}

/* 1: it is there and whole, 0: it lacks something, -1: there is none of this run. */
static int is_whole(const char *path) {
  struct stat is;
  size_t length = strlen(path);
  int fd = open(path, O_RDONLY | O_CLOEXEC), fst = length > 4 && strcmp(path + length - 4, ".fst") == 0;
  if (fd < 0) return -1;
  int whole = -1;
  if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_mtim.tv_sec >= began.tv_sec)
    whole = is.st_size && (fst ? fst_is_whole(fd, (uint64_t)is.st_size) : !macah_was_cut(fd));
  close(fd);
  return whole;
}

/* A kernel's second simulator has written FILE.2.vcd, and so on. */
static int all_whole(const char *path) {
  const char *suffix = strrchr(path, '.');
  if (!suffix || is_whole(path) == 0) return !suffix;
  for (unsigned ordinal = 2;; ordinal++) {
    char *other;
    if (asprintf(&other, "%.*s.%u%s", (int)(suffix - path), path, ordinal, suffix) < 0) return 1;
    int whole = is_whole(other);
    free(other);
    if (whole <= 0) return whole != 0;
  }
}

int macah_waves_are_whole(const char *waves) {
  int whole = 1;
  char *names = strdup(waves), *rest = names, *name;
  while (names && (name = strsep(&rest, "\n"))) whole &= all_whole(name);
  free(names);
  return whole;
}
