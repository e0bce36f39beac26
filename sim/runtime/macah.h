/* The runtime of translated Macah programs: streams, memory accessors and kernel entry.
 *
 * A `T stream` of the language is a `macah_stream *` here. Every function may be called by any
 * thread; several threads may share one end of a stream. A null or freed stream is reported and aborts.
 */
#ifndef MACAH_H
#define MACAH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct macah_stream macah_stream;

/* A stream that holds exactly `depth` elements of `element_size` bytes. */
macah_stream *macah_stream_create(size_t element_size, size_t depth);
/* Ends a stream's life; null is allowed, as for free(). */
void macah_stream_free(macah_stream *);

/* Wait while the stream is full. */
void macah_send(macah_stream *, const void *element);
/* Never wait; 1 if it happened. */
int macah_try_send(macah_stream *, const void *element);
/* Wait while the stream is empty and open; 0 if it has ended, which leaves `element` alone. */
int macah_receive(macah_stream *, void *element);
/* Never wait; 1 if it happened, else `element` is left alone. */
int macah_try_receive(macah_stream *, void *element);

/* No more sends; what was sent is still received. Closing twice is allowed. */
void macah_close(macah_stream *);
/* 1 if the stream is closed and nothing is left in it. */
int macah_ended(macah_stream *);
int macah_empty(macah_stream *);
int macah_full(macah_stream *);

/* Runs body(copy of frame) in a thread of its own, which serves the stream. */
void macah_spawn(macah_stream *, void (*body)(void *frame), const void *frame, size_t frame_size, int is_writer);
/* Waits for the thread and frees the stream; the writer's stream is closed first. */
void macah_reader_join(macah_stream *);
void macah_writer_join(macah_stream *);

/* Runs kernel number `kernel` of the program on a simulator and returns 0 when it has ended.
 * `memories[m]` is copied in before and out after, as the kernel's graph says. Mapped mode only. */
int macah_run_kernel(unsigned kernel, const uint32_t *live_in, uint32_t *live_out, macah_stream *const *streams,
                     uint32_t *const *memories);

#ifdef __cplusplus
}
#endif

#endif
