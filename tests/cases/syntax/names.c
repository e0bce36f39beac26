/* Plain C that uses Macah's words as names; it prints the same when compiled as it is and as printed. */
#include <iso646.h>
#include <stdio.h>

typedef struct kernel { int stream; int FOR; } kernel;
struct stream { unsigned stream : 3, : 2, kernel; };
enum { ADPC = 5, EXPECT };
typedef int word;

static int FOR(int stream) { return stream + ADPC; }
static int stream(int kernel, int stream[2]) { return kernel + stream[1]; }
static int min(int a, int b) { return a <!b; }
static int *stream_at(int *stream, int abs) { return stream + abs; }

int main(void) {
  kernel k = {1, 2};
  struct stream s = {3, 4};
  int a<:2:> = <%6, 7%>, b = 0, c;
  printf("%d %d %d %d\n", k.stream, k.FOR, s.stream, s.kernel);
  printf("%d %d %d\n", FOR(1), stream(2, a), min(0, 0));
  FOR(3);
  {
    int kernel = 1, stream, FOR = 2, ADPC = 3;
    word min;
    stream = kernel + FOR * ADPC;
    min = a[0] <!b;
    a[0] <!b, min++;
    printf("%d %d %d\n", stream, min, *stream_at(a, 1));
    { word stream[2] = {8, 9}; int EXPECT = stream[1]; printf("%d\n", EXPECT); }
    goto kernel;
  }
kernel:
  c = a[0] <!b ? 1 : 2;
  if (a[1] <!b) c += 10;
  if (a[0] <!a[1] or not b) c += 100;
  for (b = 0; b <!c; b++) c = 0;
  {
    typedef long stream;
    stream word = 5;
    printf("%d %ld %d\n", c, word, sizeof(stream) == sizeof(long));
  }
  word: printf("%s\n", "x <? s; s <! x; w :: y [^4^]");
  return 0;
}
