/* Words between ports and streams. */
#define _GNU_SOURCE
#include "ports.h"
#include "trace.h"

/* Most elements and words have one of these sizes. */
static inline void copy(void *to, const void *from, size_t size) {
  switch (size) {
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, size);
  }
}

/* A processor waits long for a number that has been stored in parts, so each size is loaded as a whole. */
static uint32_t narrow(const unsigned char *from, unsigned bytes) {
  uint8_t byte;
  uint16_t half;
  uint32_t word = 0;
  switch (bytes) {
    case 1: memcpy(&byte, from, 1); return byte;
    case 2: memcpy(&half, from, 2); return half;
    case 4: memcpy(&word, from, 4); return word;
    default: memcpy(&word, from, bytes); return word;
  }
}

static uint32_t word_of(const struct port *p, const unsigned char *element, unsigned k) {
  const struct word *w = &p->word[k];
  uint32_t value = narrow(element + w->offset, w->bytes);
  unsigned unused = 32 - 8 * w->bytes;
  return w->is_signed && unused ? (uint32_t)((int32_t)(value << unused) >> unused) : value;
}

static void set_word(struct port *p, unsigned k, uint32_t value) {
  const struct word *w = &p->word[k];
  copy(p->element + w->offset, &value, w->bytes);
}

static void show(struct port *p, int open, int ended) {
  if (open != p->shown_open) put_bit(p->open, p->shown_open = open);
  if (ended != p->shown_ended) put_bit(p->ended, p->shown_ended = ended);
}

static struct macah_end *end_of(struct port *p) { return p->sends ? &p->stream->sender : &p->stream->receiver; }

/* In lock step, from when a cycle's first element may move on: what a port sees is what was there before, without what
 * others at the same end have moved. */
static int is_moving;

/* Whether to look at the other end; always, where who shares this end may use it up before. */
static int may_look(int seems_in_vain) { return !is_moving && (seems_in_vain || execution->place); }

/* Without the lock, others may move elements: `commit` checks that the port's next one is still the same. */
static void count(struct port *p) {
  if (!p->held) p->count = macah_load(&end_of(p)->count);
}

static int is_empty(struct port *p) {
  if (may_look((int64_t)(p->known - p->count) <= 0)) p->known = macah_load(&p->stream->sender.count);
  return (int64_t)(p->known - p->count) <= 0;
}

static int is_full(struct port *p) {
  const struct macah_stream *s = p->stream;
  uint64_t sent = p->count + macah_load(&s->sender.reserved);
  if (may_look(sent - p->known >= s->depth)) p->known = macah_load(&s->receiver.count);
  return sent - p->known >= s->depth;
}

/* `closed` is read before the last look: what was sent before the close is seen then. */
static void show_receiver(struct port *p) {
  struct macah_stream *s = p->stream;
  int open = p->phase || !is_empty(p);
  int ended = is_moving ? p->shown_ended : !open && macah_load(&s->closed) && is_empty(p);
  if (open) {
    const unsigned char *element = p->phase ? p->element : macah_element(s, p->count);
    uint32_t data = word_of(p, element, p->phase);
    if (data != p->shown_data) put(p->data, p->shown_data = data);
  }
  show(p, open, ended);
}

/* A null stream seems to be ready, so that nothing waits for it, and is reported when the kernel uses it. */
static void show_port(struct port *p) {
  if (p->stream == &no_stream) {
    show(p, 1, 0);
    return;
  }
  count(p);
  if (p->sends)
    show(p, p->phase || !is_full(p), 0);
  else
    show_receiver(p);
}

void show_ports(void) {
  for (unsigned i = 0; i < port_count; i++) show_port(&ports[i]);
}

/* An element is taken with its first word, and given with its last one. */
static int needs_claim(const struct port *p) {
  return p->moves && !p->held && (p->phase == 0 || (p->sends && p->phase + 1 == p->words));
}

static int keeping; /* locks from one cycle to the next */

static struct port *moved[1024]; /* what nobody has seen yet: a port for each element */
static unsigned moves;

/* In the order in which elements moved, so that who has seen one sees all before it. Counts are ours with the lock. */
void show_moves(void) {
  for (unsigned i = 0; i < moves; i++) {
    struct macah_end *end = end_of(moved[i]);
    __atomic_store_n(&end->count, end->count + 1, __ATOMIC_RELEASE);
  }
  moves = 0;
}

void let_go(void) {
  show_moves();
  for (unsigned i = 0; i < port_count; i++) {
    if (ports[i].held) macah_unlock(end_of(&ports[i]));
    ports[i].held = 0;
  }
  if (keeping) macah_add(&macah_arena->keepers, -1);
  keeping = 0;
}

/* A lock costs more than many a cycle, and nearly always, nobody else wants it; who does says so in `shy`. */
static void keep_or_let_go(void) {
  if (macah_arena->clock.on || macah_load(&macah_arena->shy)) {
    let_go();
  } else if (!keeping) {
    keeping = 1;
    macah_add(&macah_arena->keepers, 1);
    if (macah_load(&macah_arena->shy)) let_go();
  }
}

/* With the lock, the count is ours. */
static int still_true(struct port *p) {
  uint64_t before = p->count;
  p->count = macah_load(&end_of(p)->count);
  if (p->phase != 0) return 1;
  return p->sends ? !is_full(p) : p->count == before;
}

/* Locks the ends of all elements that move; all or none, so that two simulators cannot wait for each other. */
static int claim(void) {
  int tries = 0;
  for (unsigned i = 0; i < port_count; i++) {
    struct port *p = &ports[i];
    if (!needs_claim(p)) continue;
    p->held = macah_try_lock(end_of(p));
    if (!p->held) {
      let_go();
      macah_want_lock(tries++);
      sched_yield();
      i = (unsigned)-1;
    } else if (!still_true(p)) {
      let_go();
      return 0;
    }
  }
  return 1;
}

static void step(struct port *p) {
  p->count++;
  moved[moves++] = p;
  owe(p);
  if (moves == sizeof moved / sizeof *moved) show_moves();
}

static void receive_word(struct port *p) {
  if (p->phase != 0) return;
  if (p->words > 1) copy(p->element, macah_element(p->stream, p->count), p->size);
  step(p);
}

static void give_up(enum macah_given_up reason) {
  execution->given_up = reason;
  _exit(1);
}

static void refuse(const struct port *p, enum macah_given_up reason) {
  execution->unusable = (uint64_t)(p - ports);
  give_up(reason);
}

static void send_word(struct port *p) {
  struct macah_stream *s = p->stream;
  if (macah_load(&s->closed)) refuse(p, MACAH_CLOSED);
  set_word(p, p->phase, get(p->data));
  int last = p->phase + 1 == p->words;
  if (p->phase == 0 && !last) macah_add(&s->sender.reserved, 1);
  if (p->phase != 0 && last) macah_add(&s->sender.reserved, -1);
  if (!last) return;
  if (s->sender.trace) macah_trace(s, p->element, NULL);
  copy(macah_element(s, p->count), p->element, p->size);
  step(p);
}

static void move_words(void) {
  for (unsigned i = 0; i < port_count; i++) {
    struct port *p = &ports[i];
    if (p->moves) {
      if (p->sends)
        send_word(p);
      else
        receive_word(p);
      if (++p->phase == p->words) p->phase = 0;
    }
    if (!p->closing) continue;
    show_moves(); /* as nothing is received behind the end */
    macah_shut(p->stream); /* which wakes all */
  }
}

/* Sees which words the design is ready to move; 1 if one moves, and notes what finds nothing. */
static int look_at_ports(struct fruitless *found) {
  int any = 0;
  for (unsigned i = 0; i < port_count; i++) {
    struct port *p = &ports[i];
    if (p->stream == &no_stream && (p->wanted || p->closing)) refuse(p, MACAH_IS_NULL);
    p->moves = p->wanted && p->shown_open;
    any |= p->moves | p->closing;
    if (!p->wanted || p->shown_open) continue;
    if (!p->patience)
      found->polls++;
    else if (p->shown_ended)
      found->gone_on = 1;
    else if (p->patience > found->patience)
      found->patience = p->patience;
  }
  return any;
}

/* Ends a simulation in which nothing has moved for too long, or that takes too long. */
static void keep_patience(int moving) {
  static uint64_t idle;
  idle = moving || execution->cycles <= 1 ? 0 : idle + 1;
  int over = execution->limit && execution->cycles + execution->stalls > execution->limit;
  if (!over && (!execution->patience || idle < execution->patience)) return;
  give_up(over ? MACAH_TOO_LONG : MACAH_NOTHING_MOVES);
}

int commit(void) {
  struct fruitless found = {0, 0, 0};
  is_moving = (int)macah_arena->clock.on;
  if (is_moving) {
    await_shown();
    await_place();
  }
  int moving = look_at_ports(&found);
  if (moving && !claim()) {
    show_ports();
    return 0;
  }
  move_words();
  if (moving) keep_or_let_go();
  if (is_moving) leave_place();
  is_moving = 0;
  if (design_is_stalled)
    execution->stalls++;
  else
    execution->cycles++;
  profile_cycle();
  keep_patience(moving);
  note_cycle(moving, &found);
  return 1;
}
