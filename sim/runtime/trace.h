/* Traces of what is sent through streams, as text: MACAH_TRACE=directory.
 *
 * Host and simulators append to the same files, each line in one write with the sending end to themselves, so
 * that nothing is lost or out of order however the program ends.
 */
#ifndef MACAH_TRACE_H
#define MACAH_TRACE_H

#include "channel.h"

/* What all who send need to write a stream's trace; a piece of the arena. `text` is the path of the file, and
 * behind its end the layout of elements. */
struct macah_trace {
  uint32_t number; /* never used twice */
  uint32_t places;
  char kernel_place[256]; /* of what a kernel sends, or "?" */
  char text[];
};

/* host_trace.c: whether streams are traced; begins a stream's trace, which is to be found through its sender. */
extern int macah_tracing;
void macah_begin_trace(macah_stream *, const char *layout, const char *file, int line);
void macah_end_trace(macah_stream *);

/* trace.c: adds an element, with the sending end to oneself. */
void macah_trace(const macah_stream *, const void *element, const char *place);

static inline struct macah_trace *macah_trace_of(const macah_stream *s) {
  return s->sender.trace ? (struct macah_trace *)((char *)macah_arena + (intptr_t)s->sender.trace) : NULL;
}

#endif
