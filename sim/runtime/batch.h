/* Blocks of elements: included by macah.h, for the plain cases that macah/translate_batch.py finds.
 *
 * A cursor keeps an end of a stream to its thread while elements are written to or read from places of the ring
 * that the other end knows nothing of yet. Before its thread may wait for anything, all of its cursors are
 * published, so that nobody waits for what has long been done. Where the thread does not own the end, elements go
 * one by one.
 */
#ifndef MACAH_BATCH_H
#define MACAH_BATCH_H

struct macah_cursor {
  macah_stream *channel;
  int receives;
  __SIZE_TYPE__ size;
  char *begin, *at, *limit;
  struct macah_cursor *next;
};

/* Declares the cursors of a block or loop: this, then one for each end used. Nothing is published late behind
 * macah_publish(macah_all). */
#define MACAH_BATCH struct macah_cursor *macah_all = 0
#define MACAH_TO(stream) MACAH_CURSOR(macah_to_##stream, stream, 0)
#define MACAH_FROM(stream) MACAH_CURSOR(macah_from_##stream, stream, 1)
#define MACAH_CURSOR(name, stream, receives) \
  struct macah_cursor name = macah_cursor((macah_stream *)(stream), receives, sizeof(MACAH_ELEMENT(stream)), macah_all); \
  macah_all = &name
MACAH_INLINE struct macah_cursor macah_cursor(macah_stream *macah_s, int receives, __SIZE_TYPE__ size,
                                              struct macah_cursor *all) {
  struct macah_cursor cursor = {macah_s, receives, size, 0, 0, 0, all};
  return cursor;
}

/* As macah_send() and macah_receive(), of a stream with a cursor here. Cursors are named apart, as a macro may name
 * the stream. */
#define macah_batch_send(cursor, stream, ...)                                                                \
  __extension__({                                                                                            \
    MACAH_ELEMENT(stream) macah_e = __VA_ARGS__;                                                             \
    struct macah_cursor *macah_c = &cursor;                                                                  \
    if (__builtin_expect(macah_c->at != macah_c->limit, 1) ||                                                \
        !macah_send_now(macah_c, macah_all, &macah_e, MACAH_HERE, #stream)) {                                \
      __builtin_memcpy(macah_c->at, &macah_e, sizeof macah_e);                                               \
      macah_c->at += sizeof macah_e;                                                                         \
    }                                                                                                        \
  })
#define macah_batch_receive(cursor, lvalue, stream)                                                          \
  __extension__({                                                                                            \
    MACAH_ELEMENT(stream) macah_e;                                                                           \
    struct macah_cursor *macah_c = &cursor;                                                                  \
    int macah_w = 1;                                                                                         \
    if (__builtin_expect(macah_c->at != macah_c->limit, 1) ||                                                \
        !(macah_w = macah_receive_now(macah_c, macah_all, &macah_e, MACAH_HERE, #stream))) {                 \
      __builtin_memcpy(&macah_e, macah_c->at, sizeof macah_e);                                               \
      macah_c->at += sizeof macah_e;                                                                         \
      macah_w = 1;                                                                                           \
    }                                                                                                        \
    if (macah_w >= 0) lvalue = macah_e;                                                                      \
  })
#define macah_batch_receive_at(cursor, pointer, stream)                                                           \
  __extension__({                                                                                                 \
    __auto_type macah_x = (pointer);                                                                              \
    macah_batch_receive(cursor, *macah_x, stream);                                                                \
  })
/* As macah_ended() of a stream with a receiving cursor here, and macah_close() of any. */
#define macah_batch_ended(cursor, stream) \
  ((cursor).at == (cursor).limit && (macah_publish(macah_all), macah_ended(stream)))
#define macah_batch_close(stream) (macah_publish(macah_all), macah_close(stream))

void macah_publish(struct macah_cursor *all);
/* 0 if there is a place at the cursor now; else the element is on its way. */
int macah_send_now(struct macah_cursor *, struct macah_cursor *all, const void *element, const char *file, int line,
                   const char *text);
/* 0 if there is an element at the cursor now, 1 if it is where `element` points, -1 if the stream has ended. */
int macah_receive_now(struct macah_cursor *, struct macah_cursor *all, void *element, const char *file, int line,
                      const char *text);

#endif
