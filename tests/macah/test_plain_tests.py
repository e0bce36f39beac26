"""Idioms by which loops of C count and end: tests are as plain as those of a `for`, and mean the same."""

import random
from pathlib import Path

import pytest

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah import ir
from macah.iterations import count_iterations
from macah.loop_trips import loop_trips
from macah.lower import lower
from macah.passes.inline_calls import inline_calls
from macah.passes.pipeline import opened, optimize
from macah.passes.plain_tests import plain_tests
from macah.program import read_program
from macah.run import run_kernel
from macah.show import show_kernel
from macah.todfg import build_dfg


def program(text: str, directory: Path) -> ir.Kernel:
    """The kernel of a program."""
    source = directory / "p.macah"
    source.write_text(text)
    read = read_program(source)
    return lower(read, read.kernels[0])


def kernel(body: str, directory: Path) -> ir.Kernel:
    return program(f"int f(int a[64], int k, int s) {{ kernel {{ {body} }} return s + k; }}\n", directory)


SIXTEEN = {
    "do ++k": "k = 0; do s += a[k]; while (++k < 16);",
    "do k++": "k = 0; do s += a[k]; while (k++ < 15);",
    "do --k": "k = 16; do s += a[k]; while (--k);",
    "do k--": "k = 15; do s += a[k]; while (k--);",
    "k--": "k = 16; while (k--) s += a[k];",
    "k-- > 0": "k = 16; while (k-- > 0) s += a[k];",
    "++k": "k = 0; while (++k <= 16) s += a[k];",
    "for": "for (k = 17; --k;) s ^= a[k];",
    "pointer": "int *p = a, *e = a + 16; while (p < e) s += *p++;",
    "break first": "for (k = 0;;) { if (k == 16) break; s -= a[k]; k++; }",
    "break last": "for (k = 0;;) { s -= a[k]; if (++k == 16) break; }",
    "break after k++": "k = 0; while (1) { s -= a[k]; if (k++ == 15) break; }",
    "step and break first": "k = 0; while (1) { k++; if (k > 16) break; s -= a[k]; }",
    "break below a value": "for (k = 0;;) { int x = a[k]; if (k == 16) break; s += x; k++; }",
    "break below values and a step": "for (k = 0;;) { int x = a[k++] * k; if (k > 16) break; s += x - k; }",
    "break that does more": "for (k = 0;;) { int x = a[k]; if (k == 16) { s ^= k; break; } s += x; k++; }",
    "break above a step": "for (k = 0;; k++) { s += a[k]; if (k == 15) break; }",
    "break above steps": "int t = 5; for (k = 0;; k++, t--) { s += a[k]; if (k == 15) { s -= t; break; } }",
}


@pytest.mark.parametrize("body", SIXTEEN.values(), ids=SIXTEEN)
def test_how_often_an_idiom_runs_is_known(body: str, tmp_path: Path) -> None:
    made = kernel(body, tmp_path)
    assert [loop.trips for loop in loop_trips(opened(made))] == [16]
    values, given = {"k": 5, "s": 9}, {"a": list(range(3, 67))}
    assert run_kernel(optimize(made), values, given) == run_kernel(made, values, given)


def test_a_test_that_steps_is_a_step_in_the_loop_and_behind_it(tmp_path: Path) -> None:
    plain = show_kernel(plain_tests(kernel("while (k-- > 0) s += a[k];", tmp_path)))
    assert plain.splitlines()[-7:] == [
        "  loop:",
        "  while (0 < k):",
        "    s = (s + a[(k + -1)])",
        "    k'2 = k",
        "    k = (k + -1)",
        "  k'2 = k",
        "  k = (k + -1)",
    ]


ROWS = """unsigned sum = 0; for (int y = 0; y < 9; y++) {
  const unsigned char *p = pixels[y], *end = p + %d; while (p < end) sum += *p++ * y; } s = sum;"""


@pytest.mark.parametrize("width", [20, 32])
def test_pointers_into_rows_count(width: int, tmp_path: Path) -> None:
    pixels = f"static unsigned char pixels[9][{width}];"
    made = program(f"{pixels} int f(int s) {{ kernel {{ {ROWS % width} }} return s; }}\n", tmp_path)
    final = optimize(made)
    given = {"pixels": [i * 7 % 251 for i in range(9 * width)]}
    assert run_kernel(final, {}, given) == run_kernel(made, {}, given)
    done = count_iterations(made, {}, given)
    assert done.executed == done.useful == 9 * width


NESTS = (
    "int t = 0; do s += a[at + t] * h[t]; while (++t < 16);",
    "int t = 16; do s += a[at + t - 1] * h[t - 1]; while (--t);",
    "int t = 16; while (t--) s += a[at + t] * h[t];",
    "unsigned t = 16; while (t-- > 0) { if (a[at + t] == 3) continue; s += a[at + t] * h[t]; }",
    "int t = -1; while (++t < 16) s += a[at + t] * h[t];",
    "for (int t = 0;;) { if (t == 16) break; s += a[at + t] * h[t]; t++; }",
    "for (int t = 0;;) { int x = a[at + t]; if (t == 16) break; s += x * h[t]; t++; }",
    "for (int t = 0;; t++) { s += a[at + t] * h[t]; if (t == 15) break; }",
)


@pytest.mark.parametrize("loop", NESTS)
def test_nests_that_count_so_take_a_cycle_for_each_iteration(loop: str, tmp_path: Path) -> None:
    arrays = "static int a[256], h[16], out[64];"
    nest = f"for (int at = 0; at < 40; at++) {{ int s = 0; {loop} out[at] = s; }}"
    made = program(f"{arrays} void f(void) {{ kernel {{ {nest} }} }}\n", tmp_path)
    fabric = load_fabric("grid8x8")
    graph = build_dfg(optimize(made), fabric)
    assert minimum_interval(graph, fabric).mii == 1


KEPT = (
    "while ((s = s * 3 + k) < 77) k++;",
    "while (k++ < s && a[k]) s--;",
    "for (;;) { if (s == 3) { k++; break; } s++; }",
    "do { if (s == 3) continue; k += s; } while (s++ < 9);",
    "int x = 7; for (;;) { x = a[k]; if (k == 3) break; s += x; k++; } s = s * 9 + x;",
    "int x = 7; for (int r = 0; r < 3; r++) for (k = 0;;) { s += x; x = a[k]; if (++k == 3) break; s ^= x; }",
    "for (;;) { int y = k; k += 2; int z = y; if (k > 5) { s += y; break; } s += z + k; }",
    "for (;;) { int y = s; s = k + 1; int z = s; if (s > 4) break; s += y; k += 1 + (z & 1); }",
    "for (;; k = s + 1, s++) { s += 2; if (k == 9 || s > 30) break; }",
)


@pytest.mark.parametrize("body", KEPT)
def test_what_no_counter_decides_means_the_same(body: str, tmp_path: Path) -> None:
    made = kernel(body, tmp_path)
    values, given = {"k": 0, "s": 1}, {"a": [5, 4, 3, 2, 1, 0]}
    assert run_kernel(plain_tests(made), values, given) == run_kernel(made, values, given)


VALUES = "x = a[k & 63]; int y = s; k++;"
"""Values above an exit, one in a variable from outside of the loop."""


class _Maker:
    """Loops with tests of all kinds, in others, which end after a while."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.depth = 0

    def test(self) -> str:
        v, c = self.random.choice("kst"), self.random.randrange(-3, 9)
        step = self.random.choice(
            [v, f"{v}++", f"++{v}", f"{v}--", f"--{v}", f"({v} += 2)", f"({v} = k + 1)"]
        )
        return f"{step} {self.random.choice(['<', '>', '!=', '<=', '=='])} {c}"

    def work(self) -> str:
        choices = ["s += a[k & 63];", "k++;", "t -= 2;", "s = k + 1;", "t = s;", "k ^= 1;", "s = s * 3 + t;"]
        if self.depth < 2:
            choices += [self.loop() for _ in range(2)]
        return " ".join(self.random.choices(choices, k=self.random.randrange(1, 4)))

    def loop(self) -> str:
        self.depth += 1
        test, work, more = self.test(), self.work(), self.work()
        leave = self.random.choice([f"if ({self.test()}) break;", f"if ({self.test()}) continue;", ""])
        self.depth -= 1
        first = f"if ({test}) break;"
        values = self.random.choice(
            [
                "int x = a[k & 63], y = x * t; k++;",
                "k++; int x = s, y = k++;",
                "int x = t, y; t = x + 1; y = t;",
                VALUES,
            ]
        )
        step = self.random.choice(["k++", "k++, t += 3", "t = k, k--", "s = t + 1"])
        return self.random.choice(
            [
                f"while ({test}) {{ if (g++ > 40) break; {work} {leave} {more} }}",
                f"do {{ {work} if (g++ > 40) break; {leave} {more} }} while ({test});",
                f"for (;;) {{ {first} {work} if (g++ > 40) break; {leave} {more} }}",
                f"while (1) {{ k++; {first} {work} if (g++ > 40) break; {more} }}",
                f"for (;;) {{ {work} if (g++ > 40) break; {leave} {first} }}",
                f"for (;;) {{ if (g++ > 40) break; {work} {more} if (++t > 5) break; else s++; }}",
                f"for (;;) {{ {values} if ({test}) {{ {more} break; }} if (g++ > 40) break; s += x - y; }}",
                f"for (;; {step}) {{ {work} if (g++ > 40) break; {leave} if ({test}) {{ {more} break; }} }}",
            ]
        )


@pytest.mark.parametrize("seed", range(120))
def test_random_loops_mean_the_same(seed: int, tmp_path: Path) -> None:
    made = kernel(f"int t = 3, g = 0, x = 8; {_Maker(seed).loop()} s = (s * 31 + t) * 31 + x;", tmp_path)
    given = {"a": [7 * i % 23 for i in range(64)]}
    for values in ({"k": 0, "s": 1}, {"k": -5, "s": 7}, {"k": 8, "s": -2}):
        expected = run_kernel(inline_calls(made), values, given)
        assert run_kernel(plain_tests(made), values, given) == expected
