/* GNU C as it comes from system headers and from users; compiled as printed it prints the same. */
#include <stdio.h>

__extension__ typedef long long wide __attribute__((aligned(8)));
typedef __typeof__(sizeof(0)) size;
static __inline__ __attribute__((always_inline, unused)) int twice(__const int x) { return 2 * x; }
extern int renamed(const char *__restrict text) __asm__("puts");
int add(int, int) __attribute__((const)), unused __attribute__((__unused__)) = 1;
struct __attribute__((packed)) odd { char c; int i; } __attribute__((aligned(4)));
__asm__(".globl macah_test_symbol");
static __thread int local = 4;

int add(int a, int b) {
  int result = a;
  __asm__ volatile ("" : "+r"(result) :: "memory");
  asm("nop");
  if (b) __asm__("" :: "r"(b)); else asm volatile("nop");
  return result + b;
}

int main(void) {
  wide w = ({ int x = 3; twice(x) + 1; });
  _Float64 f = 0.5;
  __float128 q = 2;
  __int128 h = 1;
  __auto_type t = w;
  typeof(t) u = t * 2;
  enum { FIRST __attribute__((deprecated)) = 1 };
#pragma GCC diagnostic push
#pragma GCC diagnostic pop
  goto done;
done: __attribute__((unused));
  renamed("renamed");
  printf("%lld %g %d %d %lld %d\n", w, (double)f * 2, (int)q, (int)h, u, local);
  printf("%d %d %d\n", add(1, 2), __builtin_types_compatible_p(int, wide), (int)sizeof(size));
  return 0;
}
