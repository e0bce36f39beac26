"""The bound of the source: what it is for loops in textbooks, and never above what passes reach."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from program_generator import program as random_program
from recurrence_generator import recurrences

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.mapping import DoesNotFit
from macah.choose import choose
from macah.lower import lower
from macah.passes.pipeline import opened, optimize
from macah.program import read_program
from macah.source_bound import source_bound
from macah.tests_first import candidates
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
BENCHMARKS = sorted((Path(__file__).parents[2] / "benchmarks" / "kernels").glob("*.macah"))
HEAD = "int f(int stream in, int stream out, int a[64], int h[64], int n, int x, int y) { kernel {"
SWAP = "if (h[j] > h[j + 1]) { int t = h[j]; h[j] = h[j + 1]; h[j + 1] = t; }"


@pytest.mark.parametrize(
    ("body", "interval"),
    [
        ("for (int i = 0; i < n; i++) x += a[i] + i;", 1),
        ("for (int i = 0; i < n; i++) x = x + a[i] - y + i;", 1),  # one addition comes last
        ("for (int i = 0; i < n; i++) if (a[i] > 3) x += a[i];", 1),  # of a choice
        ("for (int i = 0; i < n; i++) x = x < a[i] ? a[i] : x;", 1),  # a maximum
        ("for (int i = 0; i < n; i++) x = x * a[i];", 1),  # and two elements are multiplied before
        ("for (int i = 0; i < n; i++) x = x * y + a[i];", 2),
        ("for (int i = 0; i < n; i++) x = (x * y >> 3) + a[i];", 4),
        ("for (int i = 0; i < n; i++) x = a[x & 63];", 3),
        ("for (int i = 0; i < n; i++) x = 1000 / (x + 3);", 9),
        ("for (int i = 0; i < n; i++) h[a[i] & 63] += 1;", 2),  # a choice of what was stored, and +
        ("for (int i = 1; i < n; i++) h[i] = h[i - 1] * a[i];", 2),  # through a register
        ("for (int i = 0; i < n; i++) x = (x + a[i]) % 1000;", 2),  # a minimum
        ("for (int i = 0; i < n; i++) x = (x * 77 + a[i]) % 1000;", 4),  # multiply-add, remainder
        ("for (int i = 0; i < 60; i++) h[i + 1] = a[i] / (h[i] + 1);", 9),
        # a pass of bubble sort, with the stores of the last one so many iterations before, or ever fewer
        (f"for (int i = 0; i < 63; i++) for (int j = 0; j < 63; j++) {SWAP}", 1),
        (f"for (int i = 63; i > 0; i--) for (int j = 0; j < i; j++) {SWAP}", 2),
        ("for (int i = 2; i < n; i++) h[i] = h[i - 2] / 3 * a[i];", 2),
        ("for (int i = 0; i < 30; i++) h[2 * i] = h[2 * i + 1] / (a[i] + 1);", 1),  # they never meet
        ("for (int i = 0; i < n; i++) { int p, q; p <? in; q <? in; out <! p * q; }", 2),
        ("for (int i = 0; i < n; i++) { int p; if (i & 1) p <? in; else p <? in; out <! p; }", 1),
        ("for (int i = 0; i < n; i++) { for (int j = 0; j < 8; j++) x += a[j]; x = x / 3; }", 1),
        ("for (int i = 0; i < n; i++) { for (int j = 0; j < 2; j++) x += a[j]; x = y / x; }", 5),
        ("while (x != 0) x <? in;", 2),  # the next one is received only then
        # Values that are late meet in one chain.
        ("for (int i = 0; i < n; i++) x = y + ((x >> 6) ^ (x >> 11));", 3),
        ("for (int i = 0; i < n; i++) x = y + ((x >> 6) ^ (x >> 11) ^ (x >> 25));", 4),
        ("for (int i = 0; i < n; i++) x = ((x >> 3) * 5 & a[i]) + (x >> 6) + y;", 5),
        (
            "for (int i = 0; i < n; i++) x = (x & y) ^ (x & a[i]) ^ n;",
            1,
        ),  # x & (y ^ a[i]), and that of two iterations
        # A late condition costs one cycle.
        ("for (int i = 0; i < n; i++) { y = x > 3 ? a[i] : h[i]; x = (y + n ^ i) * 3; }", 1),
        ("for (int i = 0; i < n; i++) { if (x > 3) x = a[i]; x = x * 3; }", 2),
        # Nothing is left of x.
        ("for (int i = 0; i < n; i++) x = a[i] - ((x ^ y) - n + (x ^ y)) + 2 * (x ^ y);", 1),
        # Two iterations of a sum, and of an element of an array.
        ("for (int i = 0; i < n; i++) { int z = x; x = y + a[i]; y = z + n; }", 1),
        ("for (int i = 0; i < n; i++) h[n & 63] += a[i];", 1),
        # What conditions around a choice, the loop's test among them, leave of it.
        ("for (int i = 0; i < n && x < n; i++) x = (x <= n ? x ^ y : x * 3) * 3 >> 2;", 4),
        ("for (int i = 0; i < n; i++) x = (x != 1000 ? x : max(3, x)) / 3;", 2),
        ("for (int i = 0; i < n; i++) { if (max(a[i], x) < x) x = h[x & 63]; x = x + 1; }", 1),
        # A maximum of a maximum; bits that are dropped; two factors in one.
        ("for (int i = 0; i < n; i++) { x = max(y, x * 3); x += a[i] - max(y, x); }", 1),
        ("for (int i = 0; i < n; i++) x = ((x ^ 5) & 255) >> 3;", 2),
        ("for (int i = 0; i < n; i++) x = (x + x) * (7 - a[i]);", 1),
        # What is done with one bit is done with 0 and with 1; which it is, is one choice.
        ("for (int i = 0; i < n; i++) { x = -x & 1; x = x ^ a[i] * (i ^ x); }", 1),
        # What starts anew, as data say or as it says itself; what then goes on elsewhere, or otherwise.
        ("for (int i = 0; i < n; i++) { if (a[i] & 1) x = 0; x = max(x, a[i]); }", 1),
        ("for (int i = 0; i < n; i++) { x = max(x, a[i]); if (x > 1000) x = 0; }", 1),
        ("for (int i = 0; i < n; i++) { x += a[i]; if (x > 1000) x = y; }", 1),
        ("for (int i = 0; i < n; i++) { x += a[i]; if (x > 1000) x -= 1000; }", 2),
        ("for (int i = 0; i < n; i++) { x += a[i]; if (x > 1000) { x = 0; y ^= i; } if (y > 9) x = 1; }", 3),
        ("for (int i = 0; i < n; i++) if (a[i] & 1) x = min(x + a[i], y);", 1),
        # What the last iteration keeps as it was does not come round.
        ("int i; for (i = 0; i < n; i++) { if (a[i] == 77) break; x += h[i]; } y = i;", 1),
        ("for (int i = 0;;) { int p = a[i] & 63; if (p == 40) break; h[i] = p; i++; }", 1),
        # What only branches that exclude each other store and load meets an iteration later.
        (
            "for (int i = 0; i < n; i++) { if (x < i) h[3] = x * x; else y += h[a[i]]; x = (y ^ i) * y; }",
            3,
        ),
    ],
)
def test_the_bound_of_a_loop(body: str, interval: int, tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(f"{HEAD} {body} }} return x; }}\n")
    program = read_program(source)
    assert source_bound(lower(program, program.kernels[0]), FABRIC).interval == interval


@pytest.mark.parametrize("rounds", [4, 40])
def test_many_accesses_to_an_array_are_compared_where_their_addresses_are_the_same(
    rounds: int, tmp_path: Path
) -> None:
    source = tmp_path / "p.macah"
    step = "h[1] = (h[1] ^ h[2] * 3) >> 1; h[2] = (h[2] ^ h[1] * 5) >> 3;"
    body = f"for (int i = 0; i < n; i++) FOR (int k = 0; k < {rounds}; k++) {{ {step} }}"
    source.write_text(f"{HEAD} {body} for (int i = 0; i < 64; i++) h[i] += h[y & 63]; }} return x; }}\n")
    program = read_program(source)
    assert source_bound(lower(program, program.kernels[0]), FABRIC).interval >= 6 * rounds


def _bounds(source: Path) -> list[tuple[int, int]]:
    """Of each kernel, the bounds of its source and of its graph."""
    program, found = read_program(source), []
    adpc = choose(program, {}, FABRIC)
    for site in program.kernels:
        kernel = lower(program, site, adpc)
        try:
            reached = minimum_interval(build_dfg(optimize(kernel)), FABRIC).mii
        except DoesNotFit:
            continue
        found.append((source_bound(kernel, FABRIC).interval, reached))
    assert found, "no kernel fits"
    return found


@pytest.mark.quick(10)
@pytest.mark.parametrize("source", BENCHMARKS, ids=lambda source: source.stem)
def test_no_benchmark_is_faster_than_its_bound(source: Path) -> None:
    for bound, reached in _bounds(source):
        assert bound <= reached


LU = """int a[8][8];
void f(void) {
  kernel {
    for (int k = 0; k < 8; k++)
      for (int i = k + 1; i < 8; i++) {
        int m = (a[i][k] << 8) / a[k][k];
        a[i][k] = m;
        for (int j = k + 1; j < 8; j++) a[i][j] -= m * a[k][j] >> 8;
      }
  }
}
"""


@pytest.mark.parametrize(("name", "delay"), [("gcd", 1), ("lu", 4)])
def test_iterations_left_empty_between_rows_are_in_the_bound(name: str, delay: int, tmp_path: Path) -> None:
    source = BENCHMARKS[0].with_name(f"{name}.macah")
    if name == "lu":
        source = tmp_path / "lu.macah"
        source.write_text(LU)
    program = read_program(source)
    plain = lower(program, program.kernels[0], choose(program, {}, FABRIC))
    loops = candidates(opened(plain).body) if name == "gcd" else ()
    kernel = replace(plain, delay=delay, tests_first=loops)
    reached = minimum_interval(build_dfg(optimize(kernel), FABRIC), FABRIC).mii
    assert source_bound(plain, FABRIC).interval > reached >= source_bound(kernel, FABRIC).interval


CLEVER = (66, 253, 273, 300, 326, 425, 520, 554, 619, 901, 989, 1025)
"""Programs of which the compiler has made more than a bound knew of."""


@pytest.mark.quick(7)
@pytest.mark.parametrize("seed", (*range(8), *CLEVER))
def test_no_recurrence_is_faster_than_its_bound(seed: int, tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(recurrences(seed))
    for bound, reached in _bounds(source):
        assert bound <= reached


@pytest.mark.slow
@pytest.mark.sweep(1)
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_no_recurrence_of_many_is_faster_than_its_bound(first: int, tmp_path: Path) -> None:
    source, above = tmp_path / "p.macah", []
    for seed in range(first, first + 20):
        source.write_text(recurrences(seed))
        above += [seed for bound, reached in _bounds(source) if bound > reached]
    assert not above


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", range(12))
def test_no_random_program_is_faster_than_its_bound(seed: int, tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(random_program(seed))
    for bound, reached in _bounds(source):
        assert bound <= reached
