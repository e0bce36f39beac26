"""What every translated program begins with: the runtime's interface and the shapes of Macah's types in C.

The program's text has been preprocessed already, so including a header again could declare the same thing
twice; only built-in types are used here. It is marked as a system header, for compilers to be silent on it.
"""

from __future__ import annotations

import re

_STREAMS = """\
typedef struct macah_stream macah_stream;
/* A stream of T is a handle that the type system keeps apart from streams of other elements. */
#define MACAH_STREAM(...) __typeof__(__VA_ARGS__ (**)(macah_stream *))
#define MACAH_ELEMENT(stream) __typeof__((**(stream))((macah_stream *)0))
macah_stream *macah_stream_create(__SIZE_TYPE__ element_size, __SIZE_TYPE__ depth);
void macah_stream_free(macah_stream *);
void macah_send(macah_stream *, const void *element);
int macah_try_send(macah_stream *, const void *element);
int macah_receive(macah_stream *, void *element);
int macah_try_receive(macah_stream *, void *element);
void macah_close(macah_stream *);
int macah_ended(macah_stream *);
int macah_empty(macah_stream *);
int macah_full(macah_stream *);
"""

_ACCESSORS = """\
void macah_spawn(macah_stream *, void (*body)(void *), const void *frame, __SIZE_TYPE__ size, int is_writer);
void macah_reader_join(macah_stream *);
void macah_writer_join(macah_stream *);
"""

# A variable is often assigned by receives alone, which leave it as it is only where the stream has ended.
_RECEIVE = """\
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
"""

_SHIFT = """\
/* Shifts each of `rows` arrays of `count` elements of `size` bytes by `by` places, upwards if positive. */
static inline __attribute__((always_inline, unused)) void macah_shift(
    void *array, __SIZE_TYPE__ rows, __SIZE_TYPE__ count, __SIZE_TYPE__ size, long long by) {
  __SIZE_TYPE__ places = by < 0 ? 0ull - (unsigned long long)by : (unsigned long long)by;
  if (places >= count) return;
  for (char *row = (char *)array; rows > 0; rows--, row += count * size)
    if (by < 0) __builtin_memmove(row, row + places * size, (count - places) * size);
    else __builtin_memmove(row + places * size, row, (count - places) * size);
}
"""

_KERNEL = """\
int macah_run_kernel(unsigned kernel, const __UINT32_TYPE__ *live_in, __UINT32_TYPE__ *live_out,
                     macah_stream *const *streams, __UINT32_TYPE__ *const *memories);
"""


def prelude(text: str) -> str:
    """The declarations that the translated `text` uses, with a line marker in front."""
    parts = [_STREAMS]
    parts += [_RECEIVE] * bool(re.search(r"\bmacah_receive\b", text))
    parts += [_ACCESSORS] * bool(re.search(r"\bmacah_(spawn|reader_join|writer_join)\b", text))
    parts += [_SHIFT] * bool(re.search(r"\bmacah_shift\b", text))
    parts += [_KERNEL] * bool(re.search(r"\bmacah_run_kernel\b", text))
    return '# 1 "macah.h" 3\n' + "".join(parts)
