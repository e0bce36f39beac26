/* Streams of a program with simulators live in memory that has no name and is shared with the simulators.
 *
 * Sizes are rounded up to powers of two, with one free list for each. Only touched pages cost anything.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "channel.h"
#include "cosim.h"

/* The mark of a freed stream stays readable before the link. */
struct piece {
  uint64_t mark;
  struct piece *next;
};

struct macah_arena *macah_arena;
int macah_arena_fd = -1;
int macah_arena_is_given;

static size_t capacity, used;
static struct piece *pieces[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The file that who started the program has opened for it, or -1. */
static int given_file(void) {
  const char *number = getenv("MACAH_PROFILE");
  struct stat about;
  int fd = number && *number ? atoi(number) : -1;
  unsetenv("MACAH_PROFILE"); /* the program's own children are not meant */
  int usable = fd > 2 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && !about.st_size;
  return usable && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
}

static void *map_new(int *fd, int given) {
  *fd = given < 0 ? memfd_create("macah-arena", MFD_CLOEXEC) : fcntl(given, F_DUPFD_CLOEXEC, 0);
  if (*fd < 0) return MAP_FAILED;
  if (ftruncate(*fd, (off_t)capacity) < 0) {
    close(*fd);
    return MAP_FAILED;
  }
  void *memory = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
  if (memory == MAP_FAILED) close(*fd);
  return memory;
}

/* fork() gives the child the streams as they are, and its own from then on: the copy is made before, so
 * that the parent cannot change what the child gets. Where there is no memory for it, the child ends. */
static int copy_fd = -1;

/* What is copied must not have locks that a simulator of the parent keeps. One that was killed keeps them for ever. */
static void wait_for_keepers(void) {
  macah_add(&macah_arena->shy, MACAH_COPIED);
  for (int looks = 0; macah_load(&macah_arena->keepers) && looks < 5000; looks++)
    nanosleep(&(struct timespec){0, 100000}, NULL);
}

static void before_fork(void) {
  pthread_mutex_lock(&lock);
  wait_for_keepers();
  copy_fd = memfd_create("macah-arena", MFD_CLOEXEC);
  const char *next = (const char *)macah_arena, *end = next + used;
  while (copy_fd >= 0 && next < end) {
    ssize_t written = write(copy_fd, next, (size_t)(end - next));
    if (written < 0 && errno != EINTR) break;
    if (written > 0) next += written;
  }
}

static void after_fork_in_parent(void) {
  close(copy_fd);
  macah_add(&macah_arena->shy, -MACAH_COPIED);
  pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void) {
  int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
  if (copy_fd < 0 || ftruncate(copy_fd, (off_t)capacity) < 0 ||
      mmap(macah_arena, capacity, PROT_READ | PROT_WRITE, flags, copy_fd, 0) == MAP_FAILED)
    macah_die("cannot get shared memory after fork(): %s", strerror(errno));
  close(macah_arena_fd);
  macah_arena_fd = copy_fd;
  macah_arena->keepers = 0;
  macah_add(&macah_arena->shy, -MACAH_COPIED);
  pthread_mutex_unlock(&lock);
}

size_t macah_file_limit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < SIZE_MAX ? (size_t)limit.rlim_cur : SIZE_MAX;
}

/* Before any constructor of the program. */
__attribute__((constructor(101))) static void reserve(void) {
  void *memory = MAP_FAILED;
  errno = EFBIG;
  int given = given_file();
  macah_arena_is_given = given >= 0;
  for (size_t size = (size_t)1 << 36; memory == MAP_FAILED && size >= (size_t)1 << 20; size /= 2) {
    if (size > macah_file_limit()) continue;
    capacity = size;
    memory = map_new(&macah_arena_fd, given);
  }
  if (memory == MAP_FAILED)
    macah_die("cannot get shared memory: %s%s", strerror(errno), errno == EFBIG ? " (ulimit -f)" : "");
  macah_arena = memory;
  macah_arena->capacity = capacity;
  used = (sizeof *macah_arena + 63) & ~(size_t)63;
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static int size_class(size_t size) { return size <= 64 ? 6 : 64 - __builtin_clzll(size - 1); }

void *macah_allocate(size_t size) {
  int class = size_class(size);
  size_t rounded = (size_t)1 << class;
  pthread_mutex_lock(&lock);
  struct piece *piece = pieces[class];
  int fresh = !piece; /* and so of zeros, and not yet there */
  if (piece)
    pieces[class] = piece->next;
  else if (rounded <= capacity - used) {
    piece = (void *)((char *)macah_arena + used);
    used += rounded;
  }
  pthread_mutex_unlock(&lock);
  if (!piece) macah_die("the streams need more memory than can be shared with the simulator");
  return fresh ? piece : memset(piece, 0, size);
}

void macah_release(void *memory, size_t size) {
  int class = size_class(size);
  struct piece *piece = memory;
  pthread_mutex_lock(&lock);
  piece->next = pieces[class];
  pieces[class] = piece;
  pthread_mutex_unlock(&lock);
}
