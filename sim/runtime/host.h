/* What the parts of the runtime in the host process know of each other. */
#ifndef MACAH_HOST_H
#define MACAH_HOST_H

#include "channel.h"

/* A place of the program that uses a stream; `text` is the stream as it stands there. */
struct macah_place {
  const char *file;
  int line;
  const char *text;
};

enum { MACAH_NEVER_OWNED = 16 };

/* What only the host knows of a stream. */
struct macah_about {
  const char *file, *layout;
  int line;
  struct accessor *accessor;
};

/* A thread of the program, since it used a stream for the first time. */
struct macah_thread {
  unsigned number;
};

/* ends.c. Makes the caller the only thread at an end, until macah_unlock(). */
void macah_take(macah_stream *, struct macah_end *);
/* No thread will use the end without its lock again. */
void macah_disown(struct macah_end *);
/* All that the other threads of the program wrote before is visible to the caller, and the other way round. */
void macah_fence(void);

/* Ends the program unless `s` is a stream. */
void macah_check(const macah_stream *s, const char *what);

#endif
