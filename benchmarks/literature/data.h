/* Inputs that are the same everywhere, and what is printed of results. */
#include <stdio.h>

static unsigned seed = 1;

/* A number from low to high. */
static int draw(int low, int high)
{
  seed = seed * 1103515245u + 12345u;
  return low + (int)(seed >> 16) % (high - low + 1);
}

static void fill(int *a, int n, int low, int high)
{
  for (int i = 0; i < n; i++) a[i] = draw(low, high);
}

static void show(const char *name, const int *a, int n)
{
  unsigned sum = 0;
  for (int i = 0; i < n; i++) sum = sum * 31 + (unsigned)a[i];
  printf("%s %u %d %d\n", name, sum, a[0], a[n - 1]);
}
