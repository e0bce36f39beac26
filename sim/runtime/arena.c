/* Streams of a program with simulators live in memory that has no name and is shared with the simulators.
 *
 * Sizes are rounded up to powers of two, with one free list for each. Only touched pages cost anything.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "channel.h"
#include "cosim.h"

/* The mark of a freed stream stays readable before the link. */
struct piece {
  uint64_t mark;
  struct piece *next;
};

struct macah_arena *macah_arena;
int macah_arena_fd = -1;

static size_t capacity, used;
static struct piece *pieces[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Before any constructor of the program. */
__attribute__((constructor(101))) static void reserve(void) {
  macah_arena_fd = memfd_create("macah-arena", MFD_CLOEXEC);
  if (macah_arena_fd < 0) macah_die("cannot get shared memory: %s", strerror(errno));
  void *memory = MAP_FAILED;
  for (capacity = (size_t)1 << 36; memory == MAP_FAILED && capacity >= (size_t)1 << 24; capacity /= 2)
    if (ftruncate(macah_arena_fd, (off_t)capacity) == 0)
      memory = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, macah_arena_fd, 0);
  if (memory == MAP_FAILED) macah_die("cannot get shared memory: %s", strerror(errno));
  capacity *= 2; /* the step of the round that succeeded */
  macah_arena = memory;
  macah_arena->capacity = capacity;
  used = (sizeof *macah_arena + 63) & ~(size_t)63;
}

static int size_class(size_t size) { return size <= 64 ? 6 : 64 - __builtin_clzll(size - 1); }

void *macah_allocate(size_t size) {
  int class = size_class(size);
  size_t rounded = (size_t)1 << class;
  pthread_mutex_lock(&lock);
  struct piece *piece = pieces[class];
  if (piece)
    pieces[class] = piece->next;
  else if (rounded <= capacity - used) {
    piece = (void *)((char *)macah_arena + used);
    used += rounded;
  }
  pthread_mutex_unlock(&lock);
  if (!piece) macah_die("the streams need more memory than can be shared with the simulator");
  return memset(piece, 0, size);
}

void macah_release(void *memory, size_t size) {
  int class = size_class(size);
  struct piece *piece = memory;
  pthread_mutex_lock(&lock);
  piece->next = pieces[class];
  pieces[class] = piece;
  pthread_mutex_unlock(&lock);
}
