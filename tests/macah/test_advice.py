"""What would help a kernel is found by compiling it with changes: who makes them gets what was promised."""

from __future__ import annotations

from pathlib import Path

import pytest

from arch.describe import load_fabric
from arch.fabric import Fabric
from macah.advice import Advice, advice
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.source_bound import source_bound
from macah.todfg import build_dfg
from macah.why import why

FABRIC, SMALL = load_fabric("grid8x8"), load_fabric("grid4x4")


def advised(text: str, directory: Path, fabric: Fabric = FABRIC) -> tuple[int, Advice]:
    """The bound of a kernel, without copies of loops' bodies, and what is said of it."""
    source = directory / "p.macah"
    source.write_text(text)
    program = read_program(source)
    kernel = lower(program, program.kernels[0])
    dfg = build_dfg(optimize(kernel), fabric)
    found = why(dfg, fabric)
    interval = max((-(-r.cycles // r.distance) for r in found.recurrences), default=1)
    interval = max((interval, *(r.interval for r in found.resources)))
    return interval, advice(kernel, dfg, fabric, found, source_bound(kernel, fabric))


STREAM = """void f(int stream in, int stream out, int n) {
  kernel { for (int i = 0; i < n; i++) { int a, b, c; a <? in; b <? in; c <? in; out <! a * b + c; } }
}
"""
STREAMS = """void f(int stream in, int stream in2, int stream in3, int stream out, int n) {
  kernel { for (int i = 0; i < n; i++) { int a, b, c; a <? in; b <? in2; c <? in3; out <! a * b + c; } }
}
"""

OUTSIDE = """int f(int a[256], int n) { int i = 0;
  kernel {
    int pivot = a[n - 1];
    for (int j = 0; j < n - 1; j++)
      if (a[j] < pivot) { int t = a[i]; a[i] = a[j]; a[j] = t; i++; }
    int t = a[i];
    a[i] = a[n - 1];
    a[n - 1] = t;
    a[0] = pivot; a[1] = n; a[2] = i; a[3] = t;
  } return i; }
"""
INSIDE = """int f(int a[256], int n, int pivot) { int i = 0;
  kernel {
    for (int j = 0; j < n - 1; j++)
      if (a[j] < pivot) { int t = a[i]; a[i] = a[j]; a[j] = t; i++; }
  } return i; }
"""

DIVISION = """int f(int x, int d, int n) { kernel {
    for (int i = 0; i < n; i++)
      x = (x + 1000) / d;
  } return x; }
"""
CONSTANT = DIVISION.replace("/ d", "/ 10")

WALK = """void f(unsigned seed, int h[64], int n) { kernel {
    int x = 16;
    for (int i = 0; i < n; i++) {
      seed = seed * 5;
      switch (seed >> 30) { case 0: x++; break; case 1: x--; break; case 2: x += 8; break; default: x -= 8; }
      h[x & 63]++;
    }
} }
"""
TWO = """void f(unsigned seed, int h[2][64], int n) { kernel {
    int x = 16;
    for (int i = 0; i < n; i++) FOR (int k = 0; k < 2; k++) {
      seed = seed * 5;
      switch (seed >> 30) { case 0: x++; break; case 1: x--; break; case 2: x += 8; break; default: x -= 8; }
      h[k][x & 63]++;
    }
} }
"""

EDITS = """int f(const char a[60], const char b[50]) { int left = 0;
  kernel {
    unsigned char row[51];
    for (int j = 0; j <= 50; j++) row[j] = j;
    for (int i = 1; i <= 60; i++) {
      int corner = row[0];
      row[0] = i;
      for (int j = 1; j <= 50; j++) {
        int up = row[j], best = min(corner + (a[i - 1] != b[j - 1]), up + 1);
        row[j] = min(best, row[j - 1] + 1);
        corner = up;
      }
    }
    left = row[50];
  } return left; }
"""
WIDE_EDITS = EDITS.replace("unsigned char row", "int row")
LEVEL = """void f(short stream in, short stream out, int n) { short level = 0;
  kernel { for (int i = 0; i < n; i++) { short x; x <? in; level = min(level + x, 900); out <! level; } } }
"""
WIDE_LEVEL = LEVEL.replace("short level", "int level")

LEVELS = """void f(short stream in, int stream out, int n) {
  short level[16];
  FOR (int k = 0; k < 16; k++) level[k] = 0;
  kernel {
    for (int i = 0; i < n; i++) {
      int sum = 0;
      short x;
      x <? in;
      FOR (int k = 0; k < 16; k++) level[k] = max(level[k] + x, k) / 2;
      FOR (int k = 0; k < 16; k++) sum += level[k];
      out <! sum;
    }
  } }
"""

LIST = """int f(const int next[100], int n) { int p = 5; unsigned s = 0;
  kernel { for (int i = 0; i < n; i++) { s ^= p; p = next[p] ^ 1; } } return s; }
"""
LISTS = """int f(const int next[100], int n) { int p = 5, q = 6; unsigned s = 0;
  kernel { for (int i = 0; i < n; i++) { s ^= p; int t = next[p] ^ 1; p = q; q = t; } } return s; }
"""


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("text", "kinds", "said", "changed"),
    [
        (STREAM, ("stream",), "stream 'in' moves 3 words in an iteration, one in a cycle (line 2)", STREAMS),
        (OUTSIDE, ("outside",), "used outside the innermost loop, too (lines 3, 6, 7, 8, 9)", INSIDE),
        (DIVISION, ("division",), "the division (line 3) is on the way", CONSTANT),
        (
            EDITS,
            ("width",),
            "'row' is of a narrow type, which each value is made to fit (line 10)",
            WIDE_EDITS,
        ),
        (LEVEL, ("width",), "'level' is of a narrow type, which each value", WIDE_LEVEL),
        (WALK, ("together",), "make two iterations one (FOR), each with an array", TWO),
        (LIST, ("turns",), "'p' (line 2) is made of what it was in the iteration before: let two", LISTS),
    ],
)
def test_who_makes_the_change_gets_the_interval(
    text: str, kinds: tuple[str, ...], said: str, changed: str, tmp_path: Path
) -> None:
    before, found = advised(text, tmp_path)
    assert found.kinds == kinds
    assert said in found.text
    after, _ = advised(changed, tmp_path)
    assert after == found.interval
    assert after < before * found.iterations


def test_where_units_bind_fewer_operations_are_told_before_more_units(tmp_path: Path) -> None:
    before, found = advised(LEVELS, tmp_path, SMALL)
    after, then = advised(LEVELS.replace("short level", "int level"), tmp_path, SMALL)
    assert (before, after, found.interval, found.kinds) == (6, 5, 5, ("width",))
    assert "'level' is of a narrow type, which each value is made to fit (line 9)" in found.text
    assert (then.interval, then.kinds) == (None, ("units",))
    assert then.text.endswith("on 16 units: choose a larger accelerator with --arch")


def test_divisions_are_told_where_they_wait_for_units_only(tmp_path: Path) -> None:
    text = """void f(int stream in, int stream out, const int d[12], int n) { kernel {
        for (int i = 0; i < n; i++) {
          int x, y = 0;
          x <? in;
          FOR (int k = 0; k < 12; k++) y ^= x / d[k];
          out <! y;
        }
    } }
    """
    before, found = advised(text, tmp_path, SMALL)
    assert (before, found.kinds) == (3, ("division",))
    assert found.text.startswith("the division (line 5) is more than few units do in time: divide by")
    assert found.interval == advised(text.replace("d[k]", "10"), tmp_path, SMALL)[0]


def test_nothing_is_promised_that_does_not_help(tmp_path: Path) -> None:
    """The receives alone do not hold the lines up: what follows them takes as long."""
    text = """void f(int stream in, int stream out, unsigned map[64], int n) { kernel {
        for (int i = 0; i < n; i++) {
          int x;
          x <? in;
          out <! map[x & 63] >> (x >> 6 & 31) & 1;
          map[x & 63] |= 1u << (x >> 6 & 31);
        }
    } }
    """
    before, found = advised(text, tmp_path)
    assert before == 2
    assert found.interval is None
    assert found.tried
    assert found.text.startswith("no small change is known to help (not enough: ")


def test_streams_of_an_array_are_other_streams_already(tmp_path: Path) -> None:
    once = """void f(int stream in[3], int stream out) { kernel {
        unsigned char turn = 0;
        for (;;) {
          int done = 1;
          FOR (int k = 0; k < 3; k++) {
            int w = 0, d;
            if (turn == k) { w :: d <? in[k]; if (w) out <! d; }
            if (w || !pstream_ended(in[k])) done = 0;
          }
          if (done) break;
          turn = turn == 2 ? 0 : turn + 1;
        }
    } }
    """
    assert "use another stream" not in advised(once, tmp_path)[1].text
    twice = STREAM.replace("stream in,", "stream in[2],").replace("<? in", "<? in[1]")
    before, found = advised(twice, tmp_path)
    assert (before, found.interval, found.kinds) == (3, 1, ("stream",))
    assert "stream 'in[1]' moves 3 words in an iteration" in found.text


def test_several_changes_are_told_if_they_help_together_only(tmp_path: Path) -> None:
    text = """void f(int stream in, int stream out, int n) { kernel {
        for (int i = 0; i < n; i++) { int a, b; a <? in; b <? in; out <! a; out <! b; }
    } }
    """
    before, found = advised(text, tmp_path)
    assert (before, found.interval, found.kinds) == (2, 1, ("stream", "stream"))
    assert found.text.endswith("The interval could be 1 then")
    assert "stream 'in'" in found.text
    assert "stream 'out'" in found.text
