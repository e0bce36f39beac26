/* GNU C's own statements and operands; compiled as printed it prints the same. */
#include <stdio.h>

#ident "kept for the object file"
struct point { int x, y, z[4]; };
static struct point old = {x: 1, y: 2, z: {5}};
static int table[10] = {[0] 1, [2 ... 4] = 7, [9] = 9}, grid[4][4] = {[1 ... 2][0] = 3};
typedef int lanes __attribute__((vector_size(16)));
typedef float floats4 __attribute__((vector_size(16)));
static int calls;

static int next(void) { return ++calls; }

static int run(const unsigned char *code) {
  static void *const steps[] = {&&stop, &&add, [2] = &&twice};
  static const int offsets[] = {&&add - &&stop, 0};
  int value = offsets[1];
  goto *steps[*code];
add:
  value++;
  goto *steps[*++code];
twice:
  value *= 2;
  goto *(*++code ? steps[*code] : &&stop);
stop:
  return value;
}

static int kind(int c) {
  switch (c) {
    case '0' ... '9': return 1;
    case 'a' ... 'f': case 'A' ... 'F': return 2;
    default: return 0;
  }
}

int main(void) {
  int base = 10;
  auto int inner(int);
  int add(int x) { int base2 = x; return base2 + base; }
  int inner(int x) { return add(x) * 2; }
  int found = ({ __label__ again; int i = 0; again: if (++i < 5) goto again; i; });
  _Complex double z = 1.0 + 2.0i;
  _Decimal32 third = 0.5DF + 0.25df;
  __auto_type floats = __builtin_convertvector((lanes){1, 2, 3, 4}, floats4);
  printf("%d %d %d %d\n", old.x, table[3], grid[2][0], old.z[0]);
  printf("%d %d %d\n", run((unsigned char[]){1, 1, 2, 1, 0}), kind('7'), kind('C'));
  int chosen = next() ?: -1, other = 0 ?: 4, nested = 0 ?: 0 ?: next() + 1 ?: 9;
  printf("%d %d %d %d %d %d\n", chosen, other, nested, calls, inner(1), found);
  __real__ z = 3;
  printf("%g %g %d %g %d\n", __real__ z, __imag z, (int)(third * 4), (double)floats[2], table[0]);
  return 0;
}
