/* Motion vectors drawn over a frame, as PNG. */
#ifndef PICTURE_H
#define PICTURE_H

#include "frames.h"

enum { ZOOM = 4, STORED = 65535 };

typedef struct {
  FILE *file;
  unsigned crc;
} Chunk;

static void put_bytes(Chunk *chunk, const unsigned char *bytes, size_t count)
{
  fwrite(bytes, 1, count, chunk->file);
  for (size_t i = 0; i < count; i++) {
    chunk->crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) chunk->crc = chunk->crc >> 1 ^ (chunk->crc & 1 ? 0xedb88320u : 0);
  }
}

static void put_word(Chunk *chunk, unsigned word)
{
  unsigned char bytes[] = { word >> 24, word >> 16, word >> 8, word };
  put_bytes(chunk, bytes, 4);
}

static Chunk begin_chunk(FILE *file, const char *type, unsigned size)
{
  Chunk chunk = { file, 0 };
  put_word(&chunk, size);
  chunk.crc = ~0u;
  put_bytes(&chunk, (const unsigned char *)type, 4);
  return chunk;
}

static void end_chunk(Chunk *chunk) { put_word(chunk, ~chunk->crc); }

/* The data of an image as zlib's format without compression: blocks of up to 65535 bytes, each with its length. */
static void put_stored(Chunk *chunk, const unsigned char *data, size_t size)
{
  unsigned low = 1, high = 0;
  put_bytes(chunk, (const unsigned char[]){ 0x78, 0x01 }, 2);
  for (size_t at = 0; at < size; at += STORED) {
    unsigned length = size - at < STORED ? size - at : STORED;
    unsigned char head[] = { at + length == size, length, length >> 8, ~length, ~length >> 8 };
    put_bytes(chunk, head, 5);
    put_bytes(chunk, data + at, length);
  }
  for (size_t i = 0; i < size; i++) {
    low = (low + data[i]) % 65521;
    high = (high + low) % 65521;
  }
  put_word(chunk, high << 16 | low);
}

/* `rows` of 1 + 3 * width bytes: a filter, which is 0, and the colours of the pixels. */
static void write_png(FILE *file, const unsigned char *rows, unsigned width, unsigned height)
{
  size_t size = (size_t)height * (1 + 3 * width), blocks = (size + STORED - 1) / STORED;
  fwrite("\x89PNG\r\n\x1a\n", 1, 8, file);
  Chunk chunk = begin_chunk(file, "IHDR", 13);
  put_word(&chunk, width);
  put_word(&chunk, height);
  put_bytes(&chunk, (const unsigned char[]){ 8, 2, 0, 0, 0 }, 5);
  end_chunk(&chunk);
  chunk = begin_chunk(file, "IDAT", 2 + 5 * blocks + size + 4);
  put_stored(&chunk, rows, size);
  end_chunk(&chunk);
  chunk = begin_chunk(file, "IEND", 0);
  end_chunk(&chunk);
}

static void dot(unsigned char *rows, const Frame *frame, int x, int y, int red, int green, int blue)
{
  int width = ZOOM * frame->width;
  if (x < 0 || y < 0 || x >= width || y >= ZOOM * frame->height) return;
  memcpy(rows + (size_t)y * (1 + 3 * width) + 1 + 3 * x, (const unsigned char[]){ red, green, blue }, 3);
}

/* The frame, enlarged and paler, and from the middle of each block a line to where it was, which ends in a dot;
 * `vectors` holds dx and dy of each block. */
static void write_picture(const char *path, const Frame *frame, const signed char (*vectors)[2])
{
  int width = ZOOM * frame->width, height = ZOOM * frame->height, across = frame->columns / BLOCK;
  unsigned char *rows = calloc(height, 1 + 3 * width);
  if (!rows) fail(path, "out of memory");
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      int grey = 64 + 3 * frame->pixels[y / ZOOM * frame->columns + x / ZOOM] / 4;
      dot(rows, frame, x, y, grey, grey, grey);
    }
  for (int b = 0; b < across * (frame->rows / BLOCK); b++) {
    int x = ZOOM * (b % across * BLOCK + BLOCK / 2), y = ZOOM * (b / across * BLOCK + BLOCK / 2);
    int dx = ZOOM * vectors[b][0], dy = ZOOM * vectors[b][1], steps = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
    for (int s = 0; s <= steps; s++) dot(rows, frame, x + (steps ? dx * s / steps : 0), y + (steps ? dy * s / steps : 0), 220, 30, 30);
    for (int v = -1; v <= 1; v++)
      for (int u = -1; u <= 1; u++) dot(rows, frame, x + dx + u, y + dy + v, 30, 60, 220);
  }
  Output output;
  create(&output, path);
  write_png(output.file, rows, width, height);
  finish(&output);
  free(rows);
}

#endif
