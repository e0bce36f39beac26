/* Runs both versions of each kernel by turns, and prints the least time of each in microseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sizes.h"

static short in16[SAMPLES], out16[2][SAMPLES], coeff[TAPS];
static int in32[SAMPLES], a[SIDE][SIDE], b[SIDE][SIDE], c[2][SIDE][SIDE], result[2];
static unsigned char frame[ROWS][WIDTH], block[BLOCK][BLOCK], text[BYTES];

void macah_fir_samples(const short *, short *, const short *), hand_fir_samples(const short *, short *, const short *);
void macah_matmul(const int (*)[SIDE], const int (*)[SIDE], int (*)[SIDE]);
void hand_matmul(const int (*)[SIDE], const int (*)[SIDE], int (*)[SIDE]);
int macah_sad(const unsigned char (*)[WIDTH], const unsigned char (*)[BLOCK]);
int hand_sad(const unsigned char (*)[WIDTH], const unsigned char (*)[BLOCK]);
unsigned macah_crc(const unsigned char *), hand_crc(const unsigned char *);
int macah_window(const int *), hand_window(const int *), macah_divide(const int *), hand_divide(const int *);

static void fir(int hand) { (hand ? hand_fir_samples : macah_fir_samples)(in16, out16[hand], coeff); }
static void matmul(int hand) { (hand ? hand_matmul : macah_matmul)(a, b, c[hand]); }
static void sad(int hand) { result[hand] = (hand ? hand_sad : macah_sad)(frame, block); }
static void crc(int hand) { result[hand] = (hand ? hand_crc : macah_crc)(text); }
static void window(int hand) { result[hand] = (hand ? hand_window : macah_window)(in32); }
static void divide(int hand) { result[hand] = (hand ? hand_divide : macah_divide)(in32); }

static double seconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void fill(void *memory, size_t size)
{
  unsigned char *bytes = memory;
  for (size_t i = 0; i < size; i++) bytes[i] = rand() >> 8;
}

int main(int argc, char **argv)
{
  static const struct { const char *name; void (*run)(int hand); } kernels[] = {
    {"fir", fir}, {"matmul", matmul}, {"sad", sad}, {"crc", crc}, {"window", window}, {"divide", divide}};
  int rounds = argc > 1 ? atoi(argv[1]) : 100;
  srand(1);
  for (int i = 0; i < SAMPLES; i++) in16[i] = in32[i] = rand() & 32767;
  for (int i = 0; i < TAPS; i++) coeff[i] = rand() & 2047;
  fill(a, sizeof a);
  fill(b, sizeof b);
  fill(frame, sizeof frame);
  fill(block, sizeof block);
  fill(text, sizeof text);
  for (unsigned k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
    double least[2] = {1e9, 1e9};
    for (int i = 0; i < 2 * rounds; i++) {
      double begin = seconds();
      kernels[k].run(i & 1);
      double spent = seconds() - begin;
      if (spent < least[i & 1]) least[i & 1] = spent;
    }
    if (memcmp(out16[0], out16[1], sizeof out16[0]) || memcmp(c[0], c[1], sizeof c[0]) || result[0] != result[1]) {
      fprintf(stderr, "%s: results differ\n", kernels[k].name);
      return 1;
    }
    printf("%s %.2f %.2f\n", kernels[k].name, 1e6 * least[0], 1e6 * least[1]);
  }
  return 0;
}
