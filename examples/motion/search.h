/* Which vectors of a block are compared: full search, and enhanced hexagonal search (C. Zhu, X. Lin, L. Chau and
 * L.-M. Po, Enhanced hexagonal search for fast block motion estimation, IEEE Transactions on Circuits and Systems
 * for Video Technology 14(10), 2004). A search never waits: what it knows of a block is in a table of distortions, and
 * asked for the next vector it says which entry it needs, or that it needs entries that are being computed. */
#ifndef SEARCH_H
#define SEARCH_H

#include "frames.h"

enum { RADIUS = 15, SPAN = 2 * RADIUS + 1, MOST_STARTS = 8 };
enum { POOR = 8 * BLOCK * BLOCK }; /* a distortion of more than 8 for each pixel asks for a wider search */
enum { NOT_COMPUTED = -1, IN_PROG = -2 }; /* instead of a distortion */

typedef struct {
  int dx, dy;
} Vector;

typedef enum { START, COARSE, FINE, LAST, WIDE, AGAIN, FINISHED } Phase;
typedef enum { COMPARE, WAIT, NOTHING } Answer;

typedef struct Search {
  int x, y;                             /* of the block, in pixels */
  const Vector *found;                  /* what is known of the blocks of the frame; this one's is next */
  int across;                           /* blocks in a row */
  int left, right, up, down;            /* how far it may move without leaving the frame, at most RADIUS */
  int distortion[SPAN][SPAN];           /* of each vector */
  int starts, compared, pending, asked; /* comparisons done, under way; `asked`: how far full search has come */
  Vector start[MOST_STARTS], centre;    /* where to begin; around which vectors are compared */
  Vector best;                          /* of those compared */
  int widened, again;                   /* whether the wider search, and that from the neighbours' vectors, are done */
  Phase phase;
} Search;

static int *entry(Search *s, Vector v) { return &s->distortion[v.dy + RADIUS][v.dx + RADIUS]; }

static int inside(const Search *s, Vector v) { return v.dx >= -s->left && v.dx <= s->right && v.dy >= -s->up && v.dy <= s->down; }

static Vector plus(Vector a, Vector b) { return (Vector){ a.dx + b.dx, a.dy + b.dy }; }

static int same(Vector a, Vector b) { return a.dx == b.dx && a.dy == b.dy; }

static int length(Vector v) { return abs(v.dx) + abs(v.dy); }

static int least(int a, int b) { return a < b ? a : b; }

static void begin_search(Search *s, const Frame *frame, const Vector *found, int block)
{
  int across = frame->columns / BLOCK;
  memset(s, 0, sizeof *s);
  s->found = found + block;
  s->across = across;
  s->x = block % across * BLOCK;
  s->y = block / across * BLOCK;
  s->left = least(s->x, RADIUS);
  s->up = least(s->y, RADIUS);
  s->right = least(frame->columns - BLOCK - s->x, RADIUS);
  s->down = least(frame->rows - BLOCK - s->y, RADIUS);
  for (int i = 0; i < SPAN * SPAN; i++) s->distortion[i / SPAN][i % SPAN] = NOT_COMPUTED;
  s->start[s->starts++] = (Vector){ 0, 0 };
}

/* Where to begin, too: the nearest vector within the frame. */
static void add_start(Search *s, Vector v)
{
  v.dx = v.dx < -s->left ? -s->left : v.dx > s->right ? s->right : v.dx;
  v.dy = v.dy < -s->up ? -s->up : v.dy > s->down ? s->down : v.dy;
  for (int i = 0; i < s->starts; i++)
    if (same(s->start[i], v)) return;
  if (s->starts < MOST_STARTS) s->start[s->starts++] = v;
}

/* The blocks on the left, above and on the right above probably move likewise. */
static void add_neighbours(Search *s)
{
  if (s->x) add_start(s, s->found[-1]);
  if (s->y) add_start(s, s->found[-s->across]);
  if (s->y && s->x + BLOCK < s->across * BLOCK) add_start(s, s->found[-s->across + 1]);
}

static void take_distortion(Search *s, Vector v, int distortion)
{
  *entry(s, v) = distortion;
  int best = *entry(s, s->best);
  if (best < 0 || distortion < best || (distortion == best && length(v) < length(s->best))) s->best = v;
  s->compared++;
  s->pending--;
}

/* The first of some vectors that is in the frame and has not been compared; WAIT if all others are being compared. */
static Answer first_open(Search *s, Vector around, const Vector *vectors, int count, Vector *next)
{
  Answer answer = NOTHING;
  for (int i = 0; i < count; i++) {
    Vector v = plus(around, vectors[i]);
    if (!inside(s, v)) continue;
    if (*entry(s, v) == NOT_COMPUTED) {
      *next = v;
      return COMPARE;
    }
    if (*entry(s, v) == IN_PROG) answer = WAIT;
  }
  return answer;
}

/* Corners of the hexagon, in turn around it, and behind each side the vectors within that are nearest to it. */
static const Vector corners[6] = { { 2, 0 }, { 1, 2 }, { -1, 2 }, { -2, 0 }, { -1, -2 }, { 1, -2 } };
static const Vector within[6][3] = {
  { { 1, 0 }, { 1, 1 } },  { { -1, 1 }, { 0, 1 }, { 1, 1 } },    { { -1, 0 }, { -1, 1 } },
  { { -1, 0 }, { -1, -1 } }, { { -1, -1 }, { 0, -1 }, { 1, -1 } }, { { 1, 0 }, { 1, -1 } },
};
static const Vector neighbours[8] = { { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 }, { 1, 1 }, { -1, 1 }, { 1, -1 }, { -1, -1 } };

/* All over the radius, a distance of 7 apart. */
static const Vector wide[24] = {
  { -7, -7 },   { 0, -7 },   { 7, -7 },  { -7, 0 },  { 7, 0 },   { -7, 7 },   { 0, 7 },   { 7, 7 },
  { -14, -14 }, { -7, -14 }, { 0, -14 }, { 7, -14 }, { 14, -14 }, { -14, -7 }, { 14, -7 }, { -14, 0 },
  { 14, 0 },    { -14, 7 },  { 14, 7 },  { -14, 14 }, { -7, 14 }, { 0, 14 },   { 7, 14 },  { 14, 14 },
};

/* The side of the hexagon whose corners fit best: there the distortion probably falls. */
static int best_side(Search *s)
{
  int best = 0, least_sum = -1; /* a side out of the frame is none */
  for (int side = 0; side < 6; side++) {
    Vector one = plus(s->centre, corners[side]), other = plus(s->centre, corners[(side + 1) % 6]);
    if (!inside(s, one) || !inside(s, other)) continue;
    int sum = *entry(s, one) + *entry(s, other);
    if (least_sum >= 0 && sum >= least_sum) continue;
    least_sum = sum;
    best = side;
  }
  return best;
}

/* What follows when all that a phase asks for is known. */
static Phase next_phase(Search *s)
{
  int moved = !same(s->centre, s->best);
  switch (s->phase) {
  case START: return COARSE;
  case COARSE: return moved ? COARSE : FINE;
  case FINE: return LAST;
  case LAST:
    if (!s->widened && *entry(s, s->best) > POOR) {
      s->widened = 1;
      return WIDE;
    }
    if (s->again) return FINISHED;
    s->again = 1;
    add_neighbours(s);
    return AGAIN;
  case WIDE: return moved ? COARSE : LAST;
  default: return moved ? COARSE : FINISHED;
  }
}

/* Around a centre that stays until all that is asked there is known: the hexagon, moved as long as one of its corners
 * is better than its centre; what is within, behind the best side; the neighbours of the best. Where that ends with
 * little, once more from the best of vectors all over the radius; and from what the neighbours have found since. */
static Answer next_of_hexagons(Search *s, Vector *next)
{
  Answer answer;
  for (;; s->centre = s->best) {
    switch (s->phase) {
    case START:
    case AGAIN: answer = first_open(s, (Vector){ 0, 0 }, s->start, s->starts, next); break;
    case COARSE: answer = first_open(s, s->centre, corners, 6, next); break;
    case FINE: answer = first_open(s, s->centre, within[best_side(s)], 3, next); break;
    case LAST: answer = first_open(s, s->centre, neighbours, 8, next); break;
    case WIDE: answer = first_open(s, (Vector){ 0, 0 }, wide, 24, next); break;
    default: return NOTHING;
    }
    if (answer != NOTHING) return answer;
    s->phase = next_phase(s);
  }
}

/* All vectors, row by row. */
static Answer next_of_all(Search *s, Vector *next)
{
  for (; s->asked < SPAN * SPAN; s->asked++) {
    *next = (Vector){ s->asked % SPAN - RADIUS, s->asked / SPAN - RADIUS };
    if (inside(s, *next) && *entry(s, *next) == NOT_COMPUTED) return COMPARE;
  }
  return s->pending ? WAIT : NOTHING;
}

#endif
