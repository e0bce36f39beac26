/* The control thread: sends commands to the kernel and takes its answers, for several blocks at a time. */
#ifndef CONTROL_H
#define CONTROL_H

#include "search.h"

enum { MOST_ASKED = 24 }; /* comparisons under way */

typedef struct Control {
  /* To and from the kernel. */
  unsigned stream commands;
  unsigned short stream results;
  unsigned char stream current_pixels;
  unsigned char stream reference_pixels[4];
  /* What to do, and how. */
  Answer (*next_vector)(Search *, Vector *);
  int ordered; /* take answers only when there is nothing to send: then timing decides nothing */
  const Frame *previous, *current;
  Vector *vectors; /* of each block, as far as known: those of the last frame to begin with */
  int *distortions;
  /* How far it is. Blocks are numbered row by row. */
  Search searches[STRIPS];         /* of block b at b % STRIPS */
  int across, blocks, begun, done; /* blocks; all before `done` are finished */
  int loads, since;                /* loads begun; commands since the last one */
  struct {
    int block;
    Vector vector;
  } asked[MOST_ASKED]; /* in order; the answer to the first one is next */
  int first, count;
  /* Statistics, of all frames. */
  unsigned iterations;
  long frames, all_blocks, compared, wrong, bytes, all_iterations;
} Control;

static Search *search_of(Control *c, int block) { return &c->searches[block % STRIPS]; }

/* Loads in the order in which pixels are sent: the first strip of a row, then each block with the strip after it. */
static int load_of(const Control *c, int block) { return block + block / c->across + 1; }

static void begin_frame(Control *c, const Frame *previous, const Frame *current)
{
  c->previous = previous;
  c->current = current;
  c->across = current->columns / BLOCK;
  c->blocks = c->across * (current->rows / BLOCK);
  c->begun = c->done = c->loads = c->since = c->first = c->count = 0;
  if (c->vectors) return;
  c->vectors = calloc(c->blocks, sizeof *c->vectors);
  c->distortions = calloc(c->blocks, sizeof *c->distortions);
  if (!c->vectors || !c->distortions) fail("vectors", "out of memory");
}

static void send(Control *c, unsigned command)
{
  c->commands <! command;
  c->since++;
  c->bytes += sizeof command;
}

/* Whether there is room for the next load: what is still searched must not leave the buffers. */
static int can_load(const Control *c)
{
  int total = c->blocks + c->blocks / c->across;
  return c->loads < total && (!c->loads || c->since >= LINES - 1) &&
         (c->done == c->blocks || load_of(c, c->done) >= c->loads - (STRIPS - 3));
}

static void send_load(Control *c)
{
  int row = c->loads / (c->across + 1), block = c->loads % (c->across + 1) - 1, y = row * BLOCK;
  int rows = block + 1 < c->across ? row_count(c->previous, y) : 0, lines = block >= 0 ? LINES : 0;
  send(c, NEXT_BLOCK | lines << LINES_SHIFT | (unsigned)rows << ROWS_SHIFT);
  c->bytes += (lines + rows) * BLOCK;
  c->loads++;
  c->since = 0;
}

/* What is known of its neighbours, and its own vector in the last frame, say where to begin. */
static void begin_block(Control *c)
{
  int b = c->begun++;
  Search *s = search_of(c, b);
  begin_search(s, c->current, c->vectors, b);
  add_neighbours(s);
  add_start(s, c->vectors[b]);
}

/* Sends the next comparison of the first block that has one; 0 if none has. */
static int send_comparison(Control *c)
{
  for (int b = c->done; b < c->blocks; b++) {
    int place = c->loads - 1 - load_of(c, b);
    if (place < 0 || (place == 0 && c->since < LINES - 1)) return 0;
    if (b == c->begun) begin_block(c);
    Search *s = search_of(c, b);
    Vector v;
    if (c->next_vector(s, &v) != COMPARE) continue;
    int column = v.dx + BLOCK, strip = place + 2 - column / BLOCK, row = s->y + v.dy - first_row(s->y);
    send(c, COMPARE_BLOCKS | column % BLOCK | place << BLOCK_SHIFT | (unsigned)(strip * ROWS + row) << FIRST_SHIFT);
    *entry(s, v) = IN_PROG;
    s->pending++;
    int last = (c->first + c->count++) % MOST_ASKED;
    c->asked[last].block = b;
    c->asked[last].vector = v;
    return 1;
  }
  return 0;
}

/* What the kernel should find. */
static int plain_distortion(const Control *c, const Search *s, Vector v)
{
  int sum = 0;
  for (int y = s->y; y < s->y + BLOCK; y++)
    for (int x = s->x; x < s->x + BLOCK; x++)
      sum += abs(c->current->pixels[y * c->current->columns + x] -
                 c->previous->pixels[(y + v.dy) * c->previous->columns + x + v.dx]);
  return sum;
}

static void take(Control *c, int distortion)
{
  int b = c->asked[c->first].block;
  Vector v = c->asked[c->first].vector, next;
  Search *s = search_of(c, b);
  c->first = (c->first + 1) % MOST_ASKED;
  c->count--;
  c->compared++;
  c->bytes += sizeof(unsigned short);
  c->wrong += distortion != plain_distortion(c, s, v);
  take_distortion(s, v, distortion);
  c->vectors[b] = s->best;
  c->distortions[b] = *entry(s, s->best);
  while (c->done < c->begun && c->next_vector(search_of(c, c->done), &next) == NOTHING) c->done++;
}

/* All searches of a frame. */
static void control(Control *c)
{
  while (c->done < c->blocks) {
    unsigned short distortion;
    int worked = 0;
    if (!c->ordered && c->count) worked :: distortion <? c->results;
    if (worked) take(c, distortion);
    else if (can_load(c)) send_load(c);
    else if (c->count < MOST_ASKED && send_comparison(c)) continue;
    else if (c->count) {
      if (c->since < LINES - 1) send(c, PASS); /* the next load need not wait for what is answered now */
      distortion <? c->results;
      take(c, distortion);
    } else
      send(c, PASS);
  }
  send(c, DONE);
}

#endif
