/* The runtime of translated Macah programs: streams, memory accessors, shifts and kernel entry.
 *
 * A translation begins with this very text, behind which any system header may have come: it includes nothing,
 * and every name in it begins with macah_ or MACAH_. Every function may be called by any thread; several threads
 * may share one end of a stream. A null or freed stream is reported and aborts.
 */
#ifndef MACAH_H
#define MACAH_H

/* Compilers shall not warn of what is in here. */
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

#define MACAH_INLINE static inline __attribute__((always_inline, unused))
#define MACAH_COLD __attribute__((cold, noinline))
#define MACAH_HERE __FILE__, __LINE__
#define MACAH_LOOKS 50

/* One end of a stream. The owner is the thread that may use it without the lock, or null; `busy` says that it does
 * (ends.c). What the other end reads is in a cache line of its own, which then moves once for a step. */
struct macah_end {
  const void *owner;
  __UINT32_TYPE__ busy, lock;
  __UINT64_TYPE__ seen;     /* the other end's count when the owner last looked */
  __UINT64_TYPE__ reserved; /* places promised to a simulator that has sent a part of an element */
  __UINT64_TYPE__ trace;    /* of what is sent, where wanted (trace.h) */
  __UINT32_TYPE__ transfers;
  __UINT64_TYPE__ count __attribute__((aligned(64))); /* elements that went through */
} __attribute__((aligned(64)));

/* Where those wait who found a stream empty or full: `sleepers` have not been rung for yet. */
struct macah_bell {
  __UINT32_TYPE__ sleepers, rings;
};

/* A stream is a ring of `mask + 1` places, of which `depth` are used at once; they begin `places` bytes behind its
 * own begin. */
typedef struct macah_stream {
  __UINT32_TYPE__ magic, closed;
  __UINT64_TYPE__ element_size, depth, mask, places, watchers;
  struct macah_bell readable, writable;
  struct macah_about *about; /* the host's alone */
  struct macah_end sender, receiver;
} macah_stream;

/* Its address stands for the calling thread. */
extern __thread struct macah_thread macah_me;
/* The kernel that the calling thread runs as C, or null; for reports. */
extern __thread const char *macah_kernel;
MACAH_INLINE const char *macah_enter_kernel(const char *name) {
  const char *around = macah_kernel;
  macah_kernel = name;
  return around;
}
MACAH_INLINE void macah_leave_kernel(const char **around) { macah_kernel = *around; }
#define MACAH_KERNEL(name) \
  const char *macah_around __attribute__((cleanup(macah_leave_kernel), unused)) = macah_enter_kernel(name)

/* A stream of T is a handle that the type system keeps apart from streams of other elements. */
#define MACAH_STREAM(...) __typeof__(__VA_ARGS__ (**)(macah_stream *))
#define MACAH_ELEMENT(stream) __typeof__((**(stream))((macah_stream *)0))

/* A stream of exactly `depth` elements of a type; `layout` tells where its scalars are (trace.c). */
#define macah_create(type, depth, layout) \
  ((MACAH_STREAM(type))macah_stream_create(sizeof(type), (depth), layout, MACAH_HERE))

/* Statements of the language, as expressions. `stream`, `lvalue` and the element behind a stream stand here once
 * each, so that they are evaluated once; an lvalue is not evaluated where nothing is received, so one with side
 * effects is the matter of the _at forms, which take its address. */
#define macah_send(stream, ...)                                                           \
  __extension__({                                                                         \
    __auto_type macah_s = (stream);                                                       \
    MACAH_ELEMENT(macah_s) macah_e = __VA_ARGS__;                                         \
    if (!macah_fast_send((macah_stream *)macah_s, &macah_e, sizeof macah_e, MACAH_LOOKS)) \
      macah_stream_send((macah_stream *)macah_s, &macah_e, MACAH_HERE, #stream);          \
  })
#define macah_try_send(stream, ...)                                                    \
  __extension__({                                                                      \
    __auto_type macah_s = (stream);                                                    \
    MACAH_ELEMENT(macah_s) macah_e = __VA_ARGS__;                                      \
    macah_fast_send((macah_stream *)macah_s, &macah_e, sizeof macah_e, 0) ||           \
        macah_stream_try_send((macah_stream *)macah_s, &macah_e, MACAH_HERE, #stream); \
  })
#define macah_receive(lvalue, stream)                                                         \
  __extension__({                                                                             \
    __auto_type macah_s = (stream);                                                           \
    MACAH_ELEMENT(macah_s) macah_e;                                                           \
    if (macah_fast_receive((macah_stream *)macah_s, &macah_e, sizeof macah_e, MACAH_LOOKS) || \
        macah_stream_receive((macah_stream *)macah_s, &macah_e, MACAH_HERE, #stream))         \
      lvalue = macah_e;                                                                       \
  })
#define macah_try_receive(lvalue, stream)                                                           \
  __extension__({                                                                                   \
    __auto_type macah_s = (stream);                                                                 \
    MACAH_ELEMENT(macah_s) macah_e;                                                                 \
    int macah_w = macah_fast_receive((macah_stream *)macah_s, &macah_e, sizeof macah_e, 0) ||       \
                  macah_stream_try_receive((macah_stream *)macah_s, &macah_e, MACAH_HERE, #stream); \
    if (macah_w) lvalue = macah_e;                                                                  \
    macah_w;                                                                                        \
  })
#define macah_receive_at(pointer, stream) \
  __extension__({                         \
    __auto_type macah_x = (pointer);      \
    macah_receive(*macah_x, stream);      \
  })
#define macah_try_receive_at(pointer, stream) \
  __extension__({                             \
    __auto_type macah_x = (pointer);          \
    macah_try_receive(*macah_x, stream);      \
  })

macah_stream *macah_stream_create(__SIZE_TYPE__ element_size, __SIZE_TYPE__ depth, const char *layout,
                                  const char *file, int line);
/* Ends a stream's life; null is allowed, as for free(). */
void macah_free(void *stream);
/* No more sends; what was sent is still received. Closing twice is allowed. */
void macah_close(void *stream);
/* 1 if the stream is closed and nothing is left in it. */
int macah_ended(void *stream);
int macah_empty(void *stream);
int macah_full(void *stream);

/* The cycles, and among them the stalled ones, of all kernels that simulators have finished so far. */
unsigned long long macah_cycles(void);
unsigned long long macah_stalls(void);

/* What the statements come to where the fast way below is closed. `text` is the stream as the program has it. */
/* Wait while the stream is full. */
MACAH_COLD void macah_stream_send(macah_stream *, const void *element, const char *file, int line, const char *text);
/* Never wait; 1 if it happened. */
MACAH_COLD int macah_stream_try_send(macah_stream *, const void *element, const char *file, int line, const char *text);
/* Wait while the stream is empty and open; 0 if it has ended, which leaves `element` alone. */
MACAH_COLD int macah_stream_receive(macah_stream *, void *element, const char *file, int line, const char *text);
/* Never wait; 1 if it happened, else `element` is left alone. */
MACAH_COLD int macah_stream_try_receive(macah_stream *, void *element, const char *file, int line, const char *text);
MACAH_COLD void macah_stream_wake(struct macah_bell *);

/* An owner looks again after it has said that it is busy: who takes the end away does the same the other way
 * round, with a barrier in all threads between, so that none is needed here. */
MACAH_INLINE int macah_enter(struct macah_end *end) {
  if (__builtin_expect(__atomic_load_n(&end->owner, __ATOMIC_RELAXED) != (const void *)&macah_me, 0)) return 0;
  __atomic_store_n(&end->busy, 1, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (__builtin_expect(__atomic_load_n(&end->owner, __ATOMIC_RELAXED) == (const void *)&macah_me, 1)) return 1;
  __atomic_store_n(&end->busy, 0, __ATOMIC_RELEASE);
  return 0;
}

/* The other end's sleepers look at the count once more after a barrier in all threads, so none is needed here. */
MACAH_INLINE void macah_leave(struct macah_end *end, struct macah_bell *bell) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (__builtin_expect(__atomic_load_n(&bell->sleepers, __ATOMIC_RELAXED), 0)) macah_stream_wake(bell);
  __atomic_store_n(&end->busy, 0, __ATOMIC_RELEASE);
}

/* Long enough for the other end of a deep stream to move several elements: to look after each one would slow both
 * down. */
#define MACAH_REST(depth) ((depth) < 64 ? 1 : (depth) < 256 ? 1 + (int)(depth) / 32 : 17)
MACAH_INLINE void macah_pause(int times) {
  for (; times > 0; times--) {
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
  }
}

/* 1 if it happened, be it after some looks for the other end; 0 leaves it to the functions above. */
MACAH_INLINE int macah_fast_send(macah_stream *macah_s, const void *element, __SIZE_TYPE__ size, int looks) {
  if (!macah_s || !macah_enter(&macah_s->sender)) return 0;
  __UINT64_TYPE__ count = macah_s->sender.count;
  while (count - macah_s->sender.seen >= macah_s->depth) {
    macah_s->sender.seen = __atomic_load_n(&macah_s->receiver.count, __ATOMIC_ACQUIRE);
    if (count - macah_s->sender.seen < macah_s->depth) break;
    if (looks-- <= 0) {
      __atomic_store_n(&macah_s->sender.busy, 0, __ATOMIC_RELEASE);
      return 0;
    }
    macah_pause(MACAH_REST(macah_s->depth));
  }
  __builtin_memcpy((char *)macah_s + macah_s->places + (count & macah_s->mask) * size, element, size);
  __atomic_store_n(&macah_s->sender.count, count + 1, __ATOMIC_RELEASE);
  macah_leave(&macah_s->sender, &macah_s->readable);
  return 1;
}

MACAH_INLINE int macah_fast_receive(macah_stream *macah_s, void *element, __SIZE_TYPE__ size, int looks) {
  if (!macah_s || !macah_enter(&macah_s->receiver)) return 0;
  __UINT64_TYPE__ count = macah_s->receiver.count;
  while (count == macah_s->receiver.seen) {
    macah_s->receiver.seen = __atomic_load_n(&macah_s->sender.count, __ATOMIC_ACQUIRE);
    if (count != macah_s->receiver.seen) break;
    if (looks-- <= 0) {
      __atomic_store_n(&macah_s->receiver.busy, 0, __ATOMIC_RELEASE);
      return 0;
    }
    macah_pause(MACAH_REST(macah_s->depth));
  }
  __builtin_memcpy(element, (const char *)macah_s + macah_s->places + (count & macah_s->mask) * size, size);
  __atomic_store_n(&macah_s->receiver.count, count + 1, __ATOMIC_RELEASE);
  macah_leave(&macah_s->receiver, &macah_s->writable);
  return 1;
}

/* Runs body(copy of frame) in a thread of its own, which serves the stream; `name` is for reports. */
void macah_spawn(void *stream, const char *name, void (*body)(void *frame), const void *frame, __SIZE_TYPE__ frame_size,
                 int is_writer);
/* Waits for the thread and frees the stream; the writer's stream is closed first. */
void macah_reader_join(void *stream);
void macah_writer_join(void *stream);

/* Shifts each of `rows` arrays of `count` elements of `size` bytes by `by` places, upwards if positive. */
MACAH_INLINE void macah_shift(void *array, __SIZE_TYPE__ rows, __SIZE_TYPE__ count, __SIZE_TYPE__ size, long long by) {
  __SIZE_TYPE__ places = (__SIZE_TYPE__)(by < 0 ? 0ull - (unsigned long long)by : (unsigned long long)by);
  if (places >= count) return;
  for (char *row = (char *)array; rows > 0; rows--, row += count * size)
    if (by < 0)
      __builtin_memmove(row, row + places * size, (count - places) * size);
    else
      __builtin_memmove(row + places * size, row, (count - places) * size);
}

/* Memory that a kernel gets under one name: a part of variable number `owner`, which is `reached` through a pointer. */
struct macah_extent {
  const char *name;
  const volatile void *from, *to;
  unsigned owner, reached, written;
};
/* Ends the program if two variables of a kernel overlap, as it would work on a copy of each. Mapped mode only. */
void macah_keep_apart(const char *kernel, const char *where, const struct macah_extent *, unsigned count);

/* Runs kernel number `kernel` of the program on a simulator and returns 0 when it has ended.
 * `memories[m]` is copied in before and out after, as the kernel's graph says. Mapped mode only. */
int macah_run_kernel(unsigned kernel, const __UINT32_TYPE__ *live_in, __UINT32_TYPE__ *live_out,
                     macah_stream *const *streams, __UINT32_TYPE__ *const *memories);

#include "batch.h"
#include "kernel.h"

#ifdef __cplusplus
}
#endif

#endif
