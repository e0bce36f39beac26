"""Short loops are unrolled together, and without those of them that would hold up all iterations."""

from __future__ import annotations

from pathlib import Path

from macah.loop_trips import loop_trips
from macah.lower import lower
from macah.program import parse_program
from macah.whole import parts, short_loops

ROUNDS = """void f(const int a[100], int c[4]) {
  kernel {
    int m[4], s[4];
    for (int k = 0; k < 4; k++) m[k] = a[k];
    for (int r = 0; r < 3; r++) {
      for (int k = 0; k < 4; k++) s[k] = 0;
      for (int i = 0; i < 100; i++)
        for (int k = 0; k < 4; k++) s[k] += abs(a[i] - m[k]);
      for (int k = 0; k < 4; k++)
        for (int j = 0; j < 2; j++) m[k] += s[k] >> j;
    }
    for (int k = 0; k < 4; k++) c[k] = m[k];
  }
}
"""


def test_what_runs_rarely_need_not_become_one_iteration_with_what_runs_often() -> None:
    program = parse_program(ROUNDS, Path("t.macah"))
    loops = loop_trips(lower(program, program.kernels[0]))
    found = list(parts(loops, short_loops(loops, {}, 64)))
    assert [[place.line for place in part] for part in found] == [
        [4, 6, 8, 9, 10, 12],
        [6, 8, 9, 10],  # what is in no other loop is done once
        [8],  # that is 1200 of 1244 iterations
    ]
