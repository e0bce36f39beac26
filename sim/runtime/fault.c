/* What checked programs report (kernel.h): the program goes on. */
#include <stdio.h>

#include "macah.h"

void macah_fault(const char *what, const char *file, int line) {
  fflush(stdout);
  fprintf(stderr, "%s:%d: runtime error: %s\n", file, line, what);
}
