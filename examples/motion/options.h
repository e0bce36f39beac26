/* The command line, and what is printed and written. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <getopt.h>

#include "control.h"
#include "picture.h"

extern unsigned long long macah_cycles(void);
extern unsigned long long macah_stalls(void);

typedef void Estimate(Control *, const Frame *previous, const Frame *current);

typedef struct {
  const char *vectors, *prediction, *picture;
  int full, ordered, statistics, frames, width, height;
} Options;

static const char usage[] =
  "usage: motion [OPTIONS] PREVIOUS.pgm CURRENT.pgm | VIDEO.y4m | --size WxH VIDEO.yuv\n"
  "  --search ehs|full   enhanced hexagonal search (default), or all vectors\n"
  "  --ordered           take the kernel's answers in an order that does not depend on timing\n"
  "  --frames N          stop after N pairs of frames\n"
  "  --vectors FILE      write the vectors as text (- is standard output)\n"
  "  --prediction FILE   write the frames predicted from the previous ones, as PGM or .y4m\n"
  "  --picture FILE      draw the vectors of the last frame over it, as PNG\n"
  "  --statistics        print what it cost\n";

__attribute__((noreturn)) static void wrong_usage(void)
{
  fputs(usage, stderr);
  exit(2);
}

static int number(const char *text)
{
  char *end;
  long value = strtol(text, &end, 10);
  if (*end || end == text || value < 1 || value > 1000000) wrong_usage();
  return value;
}

static Options read_options(int argc, char **argv)
{
  static const struct option known[] = {
    { "search", 1, 0, 's' },  { "ordered", 0, 0, 'o' }, { "frames", 1, 0, 'n' },     { "vectors", 1, 0, 'v' },
    { "size", 1, 0, 'z' },    { "picture", 1, 0, 'g' }, { "prediction", 1, 0, 'p' }, { "statistics", 0, 0, 't' },
    { 0 },
  };
  Options o = { .frames = 1000000 };
  for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    char more;
    switch (c) {
    case 's':
      o.full = !strcmp(optarg, "full");
      if (!o.full && strcmp(optarg, "ehs")) wrong_usage();
      break;
    case 'o': o.ordered = 1; break;
    case 'n': o.frames = number(optarg); break;
    case 'v': o.vectors = optarg; break;
    case 'p': o.prediction = optarg; break;
    case 'g': o.picture = optarg; break;
    case 't': o.statistics = 1; break;
    case 'z':
      if (sscanf(optarg, "%dx%d%c", &o.width, &o.height, &more) != 2 || o.width < 1 || o.height < 1) wrong_usage();
      break;
    default: wrong_usage();
    }
  }
  if (argc - optind < 1 || argc - optind > 2) wrong_usage();
  return o;
}

/* The frames of one video, or of several files in turn. */
static int next_frame(Video *videos, int count, Frame *frame)
{
  for (int v = 0; v < count; v++)
    if (read_frame(&videos[v], frame)) return 1;
  return 0;
}

static Frame predicted(const Control *c)
{
  Frame made = new_frame(c->current->width, c->current->height);
  for (int y = 0; y < made.rows; y++)
    for (int x = 0; x < made.columns; x++) {
      Vector v = c->vectors[y / BLOCK * c->across + x / BLOCK];
      made.pixels[y * made.columns + x] = c->previous->pixels[(y + v.dy) * made.columns + x + v.dx];
    }
  return made;
}

static void write_vectors(FILE *file, const Control *c, int frame)
{
  if (!file) return;
  for (int b = 0; b < c->blocks; b++)
    fprintf(file, "frame %d block %d,%d: vector %d,%d distortion %d\n", frame, b % c->across, b / c->across, c->vectors[b].dx,
            c->vectors[b].dy, c->distortions[b]);
}

static void draw(const char *path, const Control *c)
{
  signed char(*vectors)[2] = malloc(c->blocks * sizeof *vectors);
  if (!vectors) fail(path, "out of memory");
  for (int b = 0; b < c->blocks; b++) {
    vectors[b][0] = c->vectors[b].dx;
    vectors[b][1] = c->vectors[b].dy;
  }
  write_picture(path, c->current, vectors);
  free(vectors);
}

/* Cycles are those of the simulated accelerator; in mode c there are none. */
static void print_statistics(const Control *c)
{
  unsigned long long cycles = macah_cycles(), stalls = macah_stalls();
  double blocks = c->all_blocks;
  printf("comparisons per block      %.2f\n", c->compared / blocks);
  printf("bytes per block            %.1f (%.3f of 1024)\n", c->bytes / blocks, c->bytes / blocks / 1024);
  printf("iterations per block       %.1f\n", c->all_iterations / blocks);
  printf("busy with comparisons      %.1f %%\n", 100.0 * BLOCK * c->compared / c->all_iterations);
  if (!cycles) return;
  printf("initiation interval        %.0f\n", floor((double)cycles / c->all_iterations));
  printf("cycles per frame           %.0f\n", (double)cycles / c->frames);
  printf("cycles per block           %.1f\n", cycles / blocks);
  printf("stalled cycles per frame   %.0f\n", (double)stalls / c->frames);
}

static int run(int argc, char **argv, Estimate *estimate)
{
  Options o = read_options(argc, argv);
  Video videos[2];
  int count = argc - optind;
  for (int v = 0; v < count; v++) videos[v] = open_video(argv[optind + v], o.width, o.height);
  if (count == 2 && (videos[0].width != videos[1].width || videos[0].height != videos[1].height))
    fail(videos[1].path, "differs in size from the file before");
  Frame previous, current;
  if (!next_frame(videos, count, &previous)) fail(videos[0].path, "has no frame");
  Control c = { .next_vector = o.full ? next_of_all : next_of_hexagons, .ordered = o.ordered };
  Output vectors, prediction;
  create(&vectors, o.vectors);
  create(&prediction, o.prediction);
  int y4m = o.prediction && strlen(o.prediction) > 4 && !strcmp(o.prediction + strlen(o.prediction) - 4, ".y4m");
  double noise = 0;
  while (c.frames < o.frames && next_frame(videos, count, &current)) {
    estimate(&c, &previous, &current);
    c.frames++;
    c.all_blocks += c.blocks;
    c.all_iterations += c.iterations;
    Frame made = predicted(&c);
    noise += psnr(&current, &made);
    printf("frame %ld: PSNR %.2f dB, %.2f without motion\n", c.frames, psnr(&current, &made), psnr(&current, &previous));
    write_vectors(vectors.file, &c, c.frames);
    if (prediction.file) write_frame(prediction.file, &made, y4m, c.frames == 1);
    free(made.pixels);
    free(previous.pixels);
    previous = current;
  }
  if (!c.frames) fail(videos[count - 1].path, "has only one frame");
  c.current = &previous; /* the last one */
  if (o.picture) draw(o.picture, &c);
  printf("%s search: mean PSNR %.3f dB, %ld comparisons, %ld wrong\n", o.full ? "full" : "hexagonal", noise / c.frames, c.compared, c.wrong);
  if (o.statistics) print_statistics(&c);
  finish(&vectors);
  finish(&prediction);
  for (int v = 0; v < count; v++) fclose(videos[v].file);
  free(previous.pixels);
  free(c.vectors);
  free(c.distortions);
  return c.wrong != 0;
}

#endif
