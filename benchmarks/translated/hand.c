/* What the kernels of kernels.macah would be in plain C. */
#include <stdlib.h>

#include "sizes.h"

void hand_fir_samples(const short in[SAMPLES], short out[SAMPLES], const short coeff[TAPS])
{
  short d[TAPS];
  for (int t = 0; t < TAPS; t++) d[t] = 0;
  for (int i = 0; i < SAMPLES; i++) {
    for (int t = TAPS - 1; t > 0; t--) d[t] = d[t - 1];
    d[0] = in[i];
    int acc = 0;
    for (int t = 0; t < TAPS; t++) acc += coeff[t] * d[t];
    out[i] = (short)(acc >> 15);
  }
}

void hand_matmul(const int a[SIDE][SIDE], const int b[SIDE][SIDE], int c[SIDE][SIDE])
{
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) {
      int sum = 0;
      for (int k = 0; k < SIDE; k++) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
}

int hand_sad(const unsigned char frame[ROWS][WIDTH], const unsigned char block[BLOCK][BLOCK])
{
  int best = -1, least = 1 << 30;
  for (int y = 0; y <= ROWS - BLOCK; y++)
    for (int x = 0; x <= WIDTH - BLOCK; x++) {
      int sum = 0;
      for (int v = 0; v < BLOCK; v++)
        for (int u = 0; u < BLOCK; u++) sum += abs(frame[y + v][x + u] - block[v][u]);
      if (sum < least) {
        least = sum;
        best = y * WIDTH + x;
      }
    }
  return best;
}

unsigned hand_crc(const unsigned char text[BYTES])
{
  unsigned crc = ~0u;
  for (int i = 0; i < BYTES; i++) {
    crc ^= text[i];
    for (int bit = 0; bit < 8; bit++) crc = (crc & 1) ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  return ~crc;
}

/* A ring, as nobody would move so many words by hand. */
int hand_window(const int in[SAMPLES])
{
  int window[DEEP], most = 0, at = 0;
  for (int i = 0; i < DEEP; i++) window[i] = 0;
  for (int i = 0; i < SAMPLES; i++) {
    at = at == 0 ? DEEP - 1 : at - 1;
    window[at] = in[i];
    int last = window[at == 0 ? DEEP - 1 : at - 1];
    most = most > in[i] - last ? most : in[i] - last;
  }
  return most;
}

int hand_divide(const int in[SAMPLES])
{
  int sum = 0;
  for (int i = 0; i < SAMPLES; i++) {
    int divisor = in[SAMPLES - 1 - i] & 31;
    sum += (divisor ? in[i] / divisor : -1) + (in[i] >> (i & 15));
  }
  return sum;
}
