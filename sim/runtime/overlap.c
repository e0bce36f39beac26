/* Memory that a kernel gets twice: it works on copies, so what it writes to one would be lost in the other. */
#include <stdio.h>
#include <stdlib.h>

#include "macah.h"

static int overlap(const struct macah_extent *a, const struct macah_extent *b) {
  return a->owner != b->owner && (a->reached || b->reached) && (a->written || b->written) && a->from < b->to &&
         b->from < a->to;
}

static void refuse(const char *kernel, const char *where, const char *a, const char *b) {
  fflush(stdout);
  fprintf(stderr,
          "%s: error: kernel '%s' writes to memory that it gets both as '%s' and as '%s' [same-memory]\n"
          "%s: note: it works on a copy of each; pass the memory once, or pass a copy of it\n",
          where, kernel, a, b, where);
  abort();
}

void macah_keep_apart(const char *kernel, const char *where, const struct macah_extent *extents, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    for (unsigned j = i + 1; j < count; j++)
      if (overlap(&extents[i], &extents[j])) refuse(kernel, where, extents[i].name, extents[j].name);
}
