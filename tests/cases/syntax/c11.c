/* A little of everything in C11; it prints the same when compiled as it is and as printed. */
#include <assert.h>
#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

_Static_assert(sizeof(char) == 1, "char");
typedef int (*binary)(int, int);
struct tree { struct tree *left, *right; int key; };
union both { float f; uint32_t u; struct { uint16_t low, high; }; };
static _Thread_local int counter = 1;
static _Noreturn void stop(int status) { exit(status); }
static inline int add(int a, int b) { return a + b; }
static int sub(a, b) int a, b; { return a - b; }
static int sum(int n, ...) {
  va_list list;
  int total = 0;
  va_start(list, n);
  while (n-- > 0) total += va_arg(list, int);
  va_end(list);
  return total;
}
static binary choose(int which) { return which ? add : sub; }
static int vla(int n, int a[static 2], int m[n][*]);
static int vla(int n, int a[static 2], int m[n][n]) { return a[1] + m[n - 1][0] + (int)(sizeof(int[n]) / sizeof(int)); }
#define KIND(x) _Generic((x), int: 'i', double: 'd', char *: 's', default: '?')

int main(void) {
  int i = 3, j = 0, *p = &i, **pp = &p, grid[2][2] = {{1, 2}, [1] = {[0] = 3}};
  unsigned long long big = 0xffffffffffffffffull;
  const char *text = "tab\there \"quoted\" \x41\101" "1";
  struct tree leaf = {.key = 4, .left = NULL}, root = {&leaf, .right = &leaf, 5};
  union both b = {.f = 1.5f};
  _Atomic int shared = 2;
  alignas(16) char aligned[16];
  double values[] = {1., .5, 1e3, 0x1.8p1, 1.5e-2};
  printf("%d %d %d %d\n", add(i, **pp), sub(i, 1), sum(3, 1, 2, 3), choose(0)(7, 2));
  printf("%d %c %c %c %c\n", vla(2, grid[0], grid), KIND(1), KIND(1.), KIND((char *)0), KIND(1u));
  printf("%d %" PRIu32 " %x %d\n", root.left->key, b.u, (unsigned)b.high, (int)offsetof(struct tree, key));
  printf("%llu %d %d %d\n", big >> 60, 'a', '\n', L'\x20ac' == u'\u20ac');
  printf("%g %g %d %g\n", values[3], values[4], (int)(sizeof values / sizeof *values), cabs(3 + 4 * I));
  printf("%d %d\n", atomic_fetch_add(&shared, 3), (int)alignof(aligned[0]) + ((uintptr_t)aligned % 16 != 0));
  printf("%s %zu %ls\n", text, sizeof "abc" "def", L"wide" L"r");
  for (int k = 0, *q = &k; k < 4; ++*q) {
    switch (k) {
    case 0: case 1: j += 1;
    case 2: j += 10; break;
    default: { j += 100; }
    }
    if (k == 0) continue; else if (k == 3) goto out;
  }
out:
  do { i -= 1; } while (i > 0 && !(i == 1));
  printf("%d %d %d %d\n", i, j, -(-i), - -i + ~i - !i);
  printf("%d %d %d\n", i ? j ? 1 : 2 : 3, (i, j), ((struct tree){.key = 9}).key);
  i = j = 7, i += j -= 2, i <<= 2, i >>= 1, i ^= 5, i |= 64, i &= ~1, i %= 50;
  printf("%d %d %d\n", i, j, i & 1 | j ^ 3 && i < j || (i == j) + 2 * 3 % 4);
  { int add = 1; typedef double tree; tree x = add / 2.; printf("%g %d\n", x, 'ab' == 'a' * 256 + 'b'); }
  assert(strlen(text) > 0);
  if (counter) stop(0);
  return 1;
}
