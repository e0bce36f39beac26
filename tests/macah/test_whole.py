"""Short loops are unrolled together, and without those of them that would hold up all iterations."""

from __future__ import annotations

from pathlib import Path

from arch.describe import load_fabric
from macah.loop_trips import loop_trips
from macah.lower import lower
from macah.program import parse_program
from macah.spread import spread
from macah.trials import Choice
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


WINDOW = """void f(int stream in, int stream out) {
  kernel {
    int p[2][3];
    for (int i = 0; i < 6; i++) p[i / 3][i % 3] = 0;
    for (int i = 0; i < 100; i++) {
      int v; v <? in;
      FOR (int r = 0; r < 2; r++) { p[r][0] = p[r][1]; p[r][1] = p[r][2]; }
      p[0][2] = p[1][0]; p[1][2] = v;
      out <! p[0][0] + p[0][1] - p[0][2] + p[1][1];
    }
  }
}
"""
LINES = """void f(int stream in, int stream out) {
  kernel {
    int line[2][20];
    for (int r = 0; r < 2; r++)
      for (int x = 0; x < 20; x++) line[r][x] = r;
    for (int y = 0; y < 30; y++)
      for (int x = 0; x < 20; x++) {
        int v; v <? in;
        out <! v - line[0][x];
        line[0][x] = line[1][x]; line[1][x] = v;
      }
  }
}
"""
ALONE = """void f(int stream out) {
  kernel { int p[6]; for (int i = 0; i < 6; i++) { p[i] = i; out <! p[i / 2]; } }
}
"""


def test_what_is_done_once_becomes_one_iteration_where_arrays_become_variables_by_that() -> None:
    choice, alone = (chosen(source) for source in (WINDOW, ALONE))
    assert {place.line for place, _ in choice.kernel.unroll} == {4}
    assert not choice.dfg.memories and choice.bounds.mii == 1
    assert not alone.kernel.unroll


def test_so_does_a_loop_that_goes_through_arrays_that_are_apart_otherwise() -> None:
    choice = chosen(LINES)
    assert [place.line for place, _ in choice.kernel.unroll] == [4]
    assert len(choice.dfg.memories) == 2 and choice.bounds.mii == 1


def chosen(source: str) -> Choice:
    program = parse_program(source, Path("t.macah"))
    choice = spread(lower(program, program.kernels[0]), load_fabric("grid8x8"))
    assert choice is not None
    return choice


TRIANGLE = """void f(const unsigned char in[200], unsigned char out[200]) {
  kernel {
    for (int i = 2; i < 198; i++) {
      int p[5];
      for (int k = 0; k < 5; k++) p[k] = in[i + k - 2];
      for (int k = 0; k < 3; k++) {
        int least = k;
        for (int j = k + 1; j < 5; j++) if (p[j] < p[least]) least = j;
        int t = p[k]; p[k] = p[least]; p[least] = t;
      }
      out[i] = p[2];
    }
  }
}
"""


def test_loops_that_run_less_each_time_may_be_one_iteration_of_the_loop_around() -> None:
    program = parse_program(TRIANGLE, Path("t.macah"))
    assert spread(lower(program, program.kernels[0]), load_fabric("grid8x8")) is not None
