"""Canonical Macah text as plain C, by rewriting lines: a reference that shares nothing with the compiler.

Canonical: one Macah statement on a line, a kernel's `name: kernel {` and its `}` on lines of the same indent,
and shiftable arrays with numbers as extents. Streams are queues without bounds that keep all elements; what a
kernel sees when it begins and ends is recorded on standard error (see `stage_runner.recorder`).
"""

from __future__ import annotations

import re

PRELUDE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct fifo { size_t size, head, tail, room; int closed; char *data; };
static struct fifo *fifo_create(size_t size) {
  struct fifo *f = calloc(1, sizeof *f);
  f->size = size;
  return f;
}
static int fifo_send(void *s, const void *element) {
  struct fifo *f = s;
  if (f->closed) { fprintf(stderr, "send after close\n"); exit(96); }
  if (f->tail == f->room) f->data = realloc(f->data, f->size * (f->room = f->room * 2 + 16));
  memcpy(f->data + f->size * f->tail++, element, f->size);
  return 1;
}
static int fifo_receive(void *s, void *element) {
  struct fifo *f = s;
  if (f->head == f->tail) return 0;
  memcpy(element, f->data + f->size * f->head++, f->size);
  return 1;
}
static void fifo_wait(void *s) {
  struct fifo *f = s;
  if (f->head == f->tail && !f->closed) { fprintf(stderr, "waits for ever\n"); exit(97); }
}
static void fifo_record(void *s) {
  struct fifo *f = s;
  fprintf(stderr, "S %d %zu %zu", f->closed, f->head, f->tail);
  for (size_t i = 0; i < f->tail; i++) {
    fputc(' ', stderr);
    for (size_t k = 0; k < f->size; k++) fprintf(stderr, "%02x", (unsigned char)f->data[i * f->size + k]);
  }
  fputc('\n', stderr);
}
static void shift_rows(void *array, size_t rows, size_t count, size_t size, long long by) {
  for (char *row = array; rows-- > 0; row += count * size) {
    char *old = malloc(count * size);
    memcpy(old, row, count * size);
    for (long long i = 0; i < (long long)count; i++)
      if (i - by >= 0 && i - by < (long long)count) memcpy(row + i * size, old + (i - by) * size, size);
    free(old);
  }
}
#define SHIFT(array, rows, count, by) \
  shift_rows((array), (rows), (count), sizeof (array) / ((rows) * (count)), (by))
#define pstream_create(T, ...) ((T *)fifo_create(sizeof(T)))
#define pstream_close(s) ((void)(((struct fifo *)(s))->closed = 1))
#define FIFO(s) ((struct fifo *)(s))
#define pstream_ended(s) (FIFO(s)->closed && FIFO(s)->head == FIFO(s)->tail)
#define stream *
#define FOR for
#define EXPECT(condition, probability) (condition)
#define min(x, y) ({ __auto_type min_x = (x); __auto_type min_y = (y); min_x < min_y ? min_x : min_y; })
#define max(x, y) ({ __auto_type max_x = (x); __auto_type max_y = (y); max_x > max_y ? max_x : max_y; })
#define abs(x) ({ __auto_type abs_x = +(x); abs_x < 0 ? -abs_x : abs_x; })
"""

_KERNEL = re.compile(r"^(\s*)(\w+): kernel \{$")
_SEND = re.compile(r"^(\s*)(?:(.+) :: )?(\w+(?:\[.*\])?) <! (.*);$")
_RECEIVE = re.compile(r"^(\s*)(?:(.+) :: )?(.+) <\? (\w+(?:\[.*\])?);$")
_DIMENSIONS = re.compile(r"\b(z\w*)((?:\[\^?\d+\^?\])*\[\^\d+\^\](?:\[\^?\d+\^?\])*)")
_SHIFT = re.compile(r"^(\s*)(z\w*)((?:\[.*\])?) (<<|>>)= (.*);$")


def plain_c(text: str, recorder: str = "") -> str:
    """The program in C; `recorder` defines `RECORD_name(when)` for each kernel, else nothing is recorded."""
    lines, closing = [], []
    shapes: dict[str, list[str]] = {}
    for line in text.splitlines():
        for name, extents in _DIMENSIONS.findall(line):
            shapes[name] = re.findall(r"\[(\^?\d+)", extents)
        line = re.sub(r"\[\^(\d+)\^\]", r"[\1]", line)
        if found := _KERNEL.match(line):
            indent, name = found.groups()
            closing.append((indent + "}", name))
            line = f"{indent}{{ {f'RECORD_{name}(0)' if recorder else ''} {{"
        elif closing and line == closing[-1][0]:
            indent, name = closing.pop()
            line = f"{indent} {f'RECORD_{name}(1)' if recorder else ''} }}"
        lines.append(_statement(line, shapes))
    return PRELUDE + recorder + "\n".join(lines) + "\n"


def _statement(line: str, shapes: dict[str, list[str]]) -> str:
    if found := _SEND.match(line):
        indent, worked, stream, value = found.groups()
        set_worked = f"{worked} = " if worked else ""
        return (
            f"{indent}{{ __typeof__(*({stream})) sent_ = {value}; {set_worked}fifo_send({stream}, &sent_); }}"
        )
    if found := _RECEIVE.match(line):
        indent, worked, target, stream = found.groups()
        take = f"int took_ = fifo_receive({stream}, &got_); if (took_) {target} = got_;"
        wait = f"{worked} = took_;" if worked else ""
        before = "" if worked else f"fifo_wait({stream}); "
        return f"{indent}{{ {before}__typeof__(*({stream})) got_; {take} {wait} }}"
    found = _SHIFT.match(line)
    if found and found[2] in shapes and len(_indices(found[3])) < len(shapes[found[2]]):
        indent, name, indices, operator, amount = found.groups()
        return f"{indent}{_shift(name, indices, operator, amount, shapes[name])}"
    return line


def _shift(name: str, indices: str, operator: str, amount: str, shape: list[str]) -> str:
    first = len(_indices(indices))
    moved = next(d for d in range(first, len(shape)) if shape[d].startswith("^"))
    extents = [extent.lstrip("^") for extent in shape]
    rows = " * ".join(extents[first:moved]) or "1"
    by = f"(long long)({amount})"
    return f"SHIFT({name}{indices}, {rows}, {extents[moved]}, {by if operator == '>>' else '-' + by});"


def _indices(text: str) -> list[str]:
    """`[a[1]][2]` as `a[1]` and `2`."""
    found, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character == "[":
            depth += 1
            start = position + 1 if depth == 1 else start
        elif character == "]":
            depth -= 1
            found += [text[start:position]] if depth == 0 else []
    return found
