/* Frames of brightness: read from PGM, YUV4MPEG2 and raw YUV files, written as PGM or YUV4MPEG2. */
#ifndef FRAMES_H
#define FRAMES_H

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16, LARGEST = 8192 };

/* `width` and `height` are what the file has; rows are `columns` apart. Up to whole blocks, the last pixel of each
 * row and the last row go on, so that blocks at the right and at the bottom are like all others. */
typedef struct {
  int width, height, columns, rows;
  unsigned char *pixels;
} Frame;

typedef struct {
  const char *path;
  FILE *file;
  enum { PGM, Y4M, RAW } format;
  int width, height, count;
  long chroma; /* bytes behind the brightness of each frame */
} Video;

__attribute__((noreturn)) static void fail(const char *path, const char *why)
{
  fprintf(stderr, "motion: %s: %s\n", path, why);
  exit(1);
}

static int whole_blocks(int size) { return (size + BLOCK - 1) / BLOCK * BLOCK; }

static Frame new_frame(int width, int height)
{
  Frame frame = { width, height, whole_blocks(width), whole_blocks(height), NULL };
  frame.pixels = calloc(frame.columns, frame.rows);
  if (!frame.pixels) fail("frame", "out of memory");
  return frame;
}

static void extend_border(Frame *frame)
{
  for (int y = 0; y < frame->rows; y++) {
    unsigned char *row = frame->pixels + y * frame->columns;
    if (y >= frame->height) memcpy(row, row - frame->columns, frame->width);
    memset(row + frame->width, row[frame->width - 1], frame->columns - frame->width);
  }
}

/* A number with one more digit; beyond a million it stays as it is, which is too large for any frame. */
static int next_digit(int value, int digit)
{
  return value < 100000 ? 10 * value + digit - '0' : value;
}

/* The next number of a PGM header, after blanks and comments; -1 if there is none. */
static int header_number(FILE *file)
{
  int c = getc(file), value = 0;
  while (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '#') {
    if (c == '#')
      while (c != '\n' && c != EOF) c = getc(file);
    c = getc(file);
  }
  if (c < '0' || c > '9') return -1;
  for (; c >= '0' && c <= '9'; c = getc(file)) value = next_digit(value, c);
  return value;
}

static void check_size(const Video *video)
{
  if (video->width < 1 || video->height < 1) fail(video->path, "has no size");
  if (video->width > LARGEST || video->height > LARGEST) fail(video->path, "has frames larger than 8192 pixels");
}

static void read_pgm_header(Video *video)
{
  video->width = header_number(video->file);
  video->height = header_number(video->file);
  int most = header_number(video->file);
  if (video->width < 0 || video->height < 0 || most < 0) fail(video->path, "has a broken PGM header");
  if (most != 255) fail(video->path, "has more or fewer than 256 grey values");
}

/* The number that is a whole word; 0 if the word is none. */
static int parameter(const char *word)
{
  int value = 0;
  for (; *word >= '0' && *word <= '9'; word++) value = next_digit(value, *word);
  return *word ? 0 : value;
}

/* `YUV4MPEG2 W160 H96 C420jpeg ...`, up to the end of the line. */
static void read_y4m_header(Video *video)
{
  char line[1024], *rest = line;
  if (!fgets(line, sizeof line, video->file) || !strchr(line, '\n')) fail(video->path, "has a broken header");
  const char *colours = "420";
  for (char *word; (word = strtok_r(rest, " \r\n", &rest));) {
    if (*word == 'W') video->width = parameter(word + 1);
    if (*word == 'H') video->height = parameter(word + 1);
    if (*word == 'C') colours = word + 1;
  }
  check_size(video);
  long half_width = (video->width + 1) / 2, half_height = (video->height + 1) / 2;
  if (strstr(colours, "p1") || strstr(colours, "mono1")) fail(video->path, "has more than 8 bits for each sample");
  if (!strncmp(colours, "420", 3)) video->chroma = 2 * half_width * half_height;
  else if (!strcmp(colours, "422")) video->chroma = 2 * half_width * video->height;
  else if (!strcmp(colours, "444")) video->chroma = 2L * video->width * video->height;
  else if (strcmp(colours, "mono")) fail(video->path, "has colours of another form than 420, 422, 444 or mono");
}

/* Opens a file; what is neither PGM nor YUV4MPEG2 is raw YUV 4:2:0 of the size given, if one is. */
static Video open_video(const char *path, int width, int height)
{
  Video video = { .path = path, .file = fopen(path, "rb") };
  char magic[10] = "";
  if (!video.file) fail(path, strerror(errno));
  if (width) {
    video.format = RAW;
    video.width = width;
    video.height = height;
    video.chroma = 2L * ((width + 1) / 2) * ((height + 1) / 2);
  } else if (fread(magic, 1, 2, video.file) == 2 && !memcmp(magic, "P5", 2)) {
    video.format = PGM;
    read_pgm_header(&video);
  } else if (fread(magic + 2, 1, 7, video.file) == 7 && !memcmp(magic, "YUV4MPEG2", 9)) {
    video.format = Y4M;
    read_y4m_header(&video);
  } else
    fail(path, ferror(video.file) ? strerror(errno) : "is neither binary PGM nor YUV4MPEG2 (raw YUV needs --size)");
  check_size(&video);
  return video;
}

/* The next frame of a video, 0 at its end. */
static int read_frame(Video *video, Frame *frame)
{
  if (video->format == PGM && video->count) return 0;
  if (video->format == Y4M) {
    char line[1024];
    if (!fgets(line, sizeof line, video->file)) return 0;
    if (strncmp(line, "FRAME", 5) || !strchr(" \r\n", line[5]) || !strchr(line, '\n')) fail(video->path, "has something else where a frame should begin");
  }
  *frame = new_frame(video->width, video->height);
  for (int y = 0; y < frame->height; y++) {
    size_t got = fread(frame->pixels + y * frame->columns, 1, frame->width, video->file);
    if (got == (size_t)frame->width) continue;
    if (video->format == RAW && !y && !got) {
      free(frame->pixels);
      return 0;
    }
    fail(video->path, "ends within a frame");
  }
  for (long skip = video->chroma; skip > 0; skip--)
    if (getc(video->file) == EOF) fail(video->path, "ends within a frame");
  extend_border(frame);
  video->count++;
  return 1;
}

/* What is to be in a file: it is written when all is known, so that no half of it is left behind. */
typedef struct {
  const char *path;
  FILE *file; /* NULL if none is wanted */
  char *data;
  size_t size;
} Output;

static void create(Output *output, const char *path)
{
  output->path = path;
  output->file = path ? open_memstream(&output->data, &output->size) : NULL;
  if (path && !output->file) fail(path, strerror(errno));
}

/* Writes it; `-` is standard output. */
static void finish(Output *output)
{
  if (!output->file) return;
  if (fclose(output->file)) fail(output->path, "out of memory");
  int standard = !strcmp(output->path, "-");
  FILE *file = standard ? stdout : fopen(output->path, "wb");
  if (!file) fail(output->path, strerror(errno));
  size_t written = fwrite(output->data, 1, output->size, file);
  if (written != output->size || (standard ? fflush(file) : fclose(file))) fail(output->path, "could not be written");
  free(output->data);
}

/* Appends a frame: YUV4MPEG2 without colours, or one more PGM (a file may hold several). */
static void write_frame(FILE *file, const Frame *frame, int y4m, int first)
{
  if (!y4m) fprintf(file, "P5\n%d %d\n255\n", frame->width, frame->height);
  else if (first) fprintf(file, "YUV4MPEG2 W%d H%d F25:1 Ip A1:1 Cmono\n", frame->width, frame->height);
  if (y4m) fprintf(file, "FRAME\n");
  for (int y = 0; y < frame->height; y++) fwrite(frame->pixels + y * frame->columns, 1, frame->width, file);
}

/* Peak signal to noise ratio in decibels, 99 for equal frames. */
static double psnr(const Frame *one, const Frame *other)
{
  double sum = 0;
  for (int y = 0; y < one->height; y++)
    for (int x = 0; x < one->width; x++) {
      int d = one->pixels[y * one->columns + x] - other->pixels[y * other->columns + x];
      sum += d * d;
    }
  return sum ? 10 * log10(255.0 * 255 * one->width * one->height / sum) : 99;
}

#endif
