/* Streams of a program without simulators live on the heap. arena.c, where linked, takes the place of all this. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "channel.h"

static struct macah_arena alone;
__attribute__((weak)) struct macah_arena *macah_arena = &alone;

__attribute__((weak)) void *macah_allocate(size_t size) {
  size_t rounded = (size + 63) & ~(size_t)63;
  void *memory = aligned_alloc(64, rounded);
  if (!memory) macah_die("out of memory");
  return memset(memory, 0, rounded);
}

__attribute__((weak)) void macah_release(void *memory, size_t size) {
  (void)size;
  free(memory);
}
