"""Nests with iterations between the rows of their inner loops, in which the next row's start is computed."""

from dataclasses import replace
from pathlib import Path

import pytest
from nest_checks import agrees, differs, lowered
from nest_kernels import random_nest

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah import ir
from macah.iterations import count_iterations
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.run import run_kernel
from macah.spread import spread
from macah.todfg import build_dfg
from macah.trials import GROWS

FABRIC = load_fabric("grid8x8")
SIEVE = "for (int i = 2; i * i < 64; i++) if (!y[i]) for (int j = i * i; j < 64; j += i) y[j] = 1;"
SEARCH = """int head = 0, tail = 1;
            while (head < tail) {
              int u = b[head++];
              for (int e = u & 7; e < 8; e++)
                if (!y[a[e]]) { y[a[e]] = y[u] + 1; b[tail++ & 63] = a[e]; } }"""
DIVIDED = "for (int i = 1; i < n; i++) for (int k = a[i] / i; k > 0; k--) x += b[k & 7] ^ x;"
CHAINS = """for (int i = 0; i < n; i++) {
              int k = a[i];
              while (k > 0) { x += b[k & 63]; k = k - a[k & 7] - 1; }
              y[i] = x; }"""
DEEP = """for (int k = 0; k < n; k++) {
            int m = b[k] % (k + 3);
            for (int i = 0; i < m; i++) for (int j = a[i & 7]; j < 9; j++) x += (a[j] ^ k) * b[i];
            y[k & 63] = x; }"""
KMP = """static const unsigned char pat[8] = "abcabcab", fail[9] = {0, 0, 0, 0, 1, 2, 3, 4, 5};
void search(unsigned char stream in, unsigned stream out) {
  kernel {
    int q = 0, c = -1;
    unsigned at = 0;
    for (;;) {
      c = -1;
      c <? in;
      if (c < 0) break;
      while (q > 0 && pat[q] != (unsigned char)c) q = fail[q];
      if (pat[q] == (unsigned char)c) q++;
      if (q == 8) { out <! at; q = fail[q]; }
      at++;
    }
    pstream_close(out);
  }
}
"""
ENDED = "for (int i = 0; i < n; i++) { for (int j = 0; j < a[i]; j++) x += b[j]; x %= 65521u; }"
SIFTED = """for (int e = n; e > 0; e--) {
              int v = y[e], r = 0;
              y[e] = y[0];
              for (;;) {
                int c = 2 * r + 1;
                if (c >= e) break;
                if (c + 1 < e && y[c + 1] > y[c]) c++;
                if (y[c] <= v) break;
                y[r] = y[c];
                r = c; }
              y[r] = v; }"""
LAST = "for (int i = 0; i < n; i++) { int s = i; for (int j = 0; j < a[i]; j++) s += b[j]; x = s % 251; }"
BODIES = {
    "sieve": SIEVE,
    "search": SEARCH,
    "divided": DIVIDED,
    "chains": CHAINS,
    "deep": DEEP,
    "ended": ENDED,
    "last": LAST,
    "sifted": SIFTED,
}
GIVEN = {"a": [0, 0, 1, 3, 7, 7, 7, 12, 13, 15], "b": [5, 0, 2, *range(60, 0, -1)]}


def _bound(made: ir.Kernel) -> int:
    return minimum_interval(build_dfg(optimize(made), FABRIC), FABRIC).mii


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("name", "delay", "least"), [("sieve", 3, 2), ("search", 4, 3), ("divided", 8, 3), ("sifted", 2, 6)]
)
def test_what_a_row_starts_with_holds_up_no_iteration(
    name: str, delay: int, least: int, tmp_path: Path
) -> None:
    made = lowered(BODIES[name], tmp_path)
    assert _bound(replace(made, delay=delay)) == least < _bound(made)


@pytest.mark.slow
def test_delays_are_chosen_where_they_save_cycles(tmp_path: Path) -> None:
    choice = spread(lowered(SIEVE, tmp_path), FABRIC)
    assert choice is not None
    assert choice.kernel.delay == 1
    assert choice.bounds.mii == 2


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("name", "without", "delay"), [("search", {"shorten"}, 2), ("sieve", {"shorten"}, 2), ("sieve", set(), 0)]
)
def test_a_large_kernel_may_grow_by_a_quarter_for_a_shorter_interval(
    name: str, without: set[str], delay: int, tmp_path: Path
) -> None:
    made = replace(lowered(BODIES[name], tmp_path), without=frozenset(without))
    plain = build_dfg(optimize(made), FABRIC)
    choice = spread(made, FABRIC, most=1)  # as if any kernel were too large
    assert choice is not None
    assert choice.kernel.delay == delay
    assert len(plain.nodes) < len(choice.dfg.nodes) <= GROWS * len(plain.nodes)


def test_rows_known_to_be_short_are_not_delayed(tmp_path: Path) -> None:
    short = "for (int i = 0; i < 60; i++) { int k = b[i] / 3; for (int j = 0; j < 2; j++) y[k & 63] += x; }"
    choice = spread(lowered(short, tmp_path), FABRIC)
    assert choice is not None
    assert not choice.kernel.delay


@pytest.mark.slow
def test_rows_are_not_delayed_for_an_interval_that_has_no_places() -> None:
    """Between whose operations there is not enough time for words to come from one to the other."""
    choice = spread(random_nest(3004), FABRIC)
    assert choice is not None
    assert not choice.kernel.delay


@pytest.mark.slow
def test_rows_that_may_end_at_once_do_not_take_twice_as_long(tmp_path: Path) -> None:
    """The interval is 3 with three iterations between rows, but most of these are of one iteration."""
    source = tmp_path / "search.macah"
    source.write_text(KMP)
    program = read_program(source)
    choice = spread(lower(program, program.kernels[0]), FABRIC)
    assert choice is not None
    assert (choice.kernel.delay, choice.bounds.mii) == (1, 4)


def test_what_ends_a_row_holds_up_no_iteration(tmp_path: Path) -> None:
    made = lowered(ENDED, tmp_path)
    assert _bound(replace(made, delay=3)) == 2 < _bound(made)


@pytest.mark.parametrize("delay", [1, 2, 5])
def test_each_row_takes_so_many_iterations_more(delay: int, tmp_path: Path) -> None:
    made = lowered("for (int i = 0; i < n; i++) for (int j = 0; j <= a[i]; j++) x += b[j];", tmp_path)
    found = count_iterations(replace(made, delay=delay), {"n": 9, "x": 0}, GIVEN)
    assert found.executed == found.useful + 9 * delay


@pytest.mark.parametrize("delay", [1, 2, 3, 8])
@pytest.mark.parametrize("name", BODIES)
def test_rows_with_any_delay_do_the_same(name: str, delay: int, tmp_path: Path) -> None:
    made = lowered(BODIES[name], tmp_path)
    final = optimize(replace(made, delay=delay))
    for trips in (-1, 0, 1, 2, 9):
        scalars = {"n": trips, "x": 5}
        assert run_kernel(final, scalars, GIVEN) == run_kernel(made, scalars, GIVEN)


def test_random_nests() -> None:
    assert sum(_check(seed) for seed in (*range(2000, 2012), 3118, 3232)) > 6


@pytest.mark.slow
@pytest.mark.sweep(3)
@pytest.mark.parametrize("seed", range(3000, 4000, 20))
def test_more_random_nests(seed: int) -> None:
    assert sum(_check(each) for each in range(seed, seed + 20)) > 4


def _check(seed: int) -> bool:
    made = replace(random_nest(seed), delay=1 + seed % 4)
    return differs(made, "delay_rows") and agrees(made, seed)
