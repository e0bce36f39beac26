import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from kernels import outcome, outcome_of_graph, seldom_shortened
from nest_checks import differs

from arch.describe import load_fabric
from macah import ir
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.run import LimitExceeded, run_kernel
from macah.show import show_kernel
from macah.spread import spread
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
TRANSPOSITION = """
    int t[32][32];
    for (int i = 0; i < n; i++)
      for (int j = 0; j < w; j++) t[i][j] <? in;
    for (int j = 0; j < w; j++)
      for (int i = 0; i < n; i++) out <! t[i][j];"""
ARMS = """
    for (int r = 0; r < n + w; r++) {
      if (r < n) for (int k = 0; k < w; k++) { int x; x <? in; out <! x + r; }
      else for (int k = 2; k < n; k++) out <! k * r;
    }"""
DEEP = """
    int a[8][8];
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) a[i & 7][j & 7] <? in;
    for (int k = 0; k < 3; k++) out <! k;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < w; j++) {
        int s = i;
        for (int k = 0; k < n; k++) s += a[i & 7][k & 7] * j;
        out <! s;
      }"""
LEFT = """
    int s = 0, i, j = 5;
    for (i = 0; i < n; i++)
      for (j = 1; j < i; j++) { int x; x <? in; s += x; }
    out <! s + i * 64 + j;
    do { for (int k = w; k > 0; k--) s = s * 3 + k; s -= 100; } while (s > 0);
    out <! s;"""
CONTINUED = """
    int q = 0;
    for (int i = 0; i < n; i++) {
      int x; x <? in; q++;
      for (int k = 0; k < (x & 3); k++) x += k;
      out <! x;
    }
    while (q > 0) {
      q--;
      for (int k = q; k < w; k++) out <! k;
    }"""
ENTERED = """
    int q = 0;
    q <? in;
    q &= 3;
    for (int i = 0; i < w; i++) {
      int x; x <? in;
      for (int k = 0; k < (x & 3); k++) x += k;
      out <! x;
    }
    if (q == 3) do {
      q--;
      for (int k = q; k < w; k++) out <! k;
    } while (q > 0);
    out <! q;"""
CONDITIONS = """
    int s = 1, p = 3;
    for (int i = n - 1; i > 0; i--) {
      for (int j = n - 1; j > 0; j--) p = (p + j) & 7;
      s = p;
    }
    for (int i = w; i > 0; i--) {
      if (s & 1) { out <! p; p = p * 3 + i; }
      for (int j = 0; j < n - 1; j++) out <! s + j;
      out <! s + i;
    }"""
KERNELS = {
    "transposition": TRANSPOSITION,
    "arms": ARMS,
    "deep": DEEP,
    "left": LEFT,
    "continued": CONTINUED,
    "conditions": CONDITIONS,
    "entered": ENTERED,
}
SIZES = [(0, 3), (1, 0), (3, 0), (0, 0), (2, 1), (3, 2), (3, 5), (4, 3), (2, -4), (-1, 2)]


def lowered(body: str, folder: Path) -> ir.Kernel:
    source = folder / "p.macah"
    source.write_text(f"void f(int stream in, int stream out, int n, int w) {{ kernel {{ {body} }} }}\n")
    program = read_program(source)
    return lower(program, program.kernels[0])


def stacked(kernel: ir.Kernel, row: int = 0, delay: int = 0) -> ir.Kernel:
    return replace(kernel, chained=True, stacked=True, row=row, delay=delay)


@pytest.mark.parametrize("name", KERNELS)
def test_nests_in_sequence_do_the_same_as_one(name: str, tmp_path: Path) -> None:
    kernel = lowered(KERNELS[name], tmp_path)
    assert differs(stacked(kernel), "fuse_loops")
    forms = [optimize(kernel)]
    forms += [
        optimize(stacked(kernel, row, delay)) for row, delay in ((0, 0), (2, 0), (3, 0), (4, 0), (0, 2))
    ]
    assert len({form.body for form in forms}) > 3
    for n, w in SIZES:
        inputs = {"in": [(random.Random(n * w + k).randrange(50),) for k in range(60)]}
        given = {"n": n % 2**32, "w": w % 2**32}
        expected = run_kernel(kernel, given, inputs=inputs).outputs
        assert [run_kernel(form, given, inputs=inputs).outputs for form in forms] == [expected] * len(forms)


@pytest.mark.parametrize("name", ["transposition", "arms"])
def test_nests_in_sequence_reach_the_interval_of_a_single_one(name: str, tmp_path: Path) -> None:
    choice = spread(lowered(KERNELS[name], tmp_path), FABRIC)
    assert choice is not None and choice.kernel.stacked and choice.bounds.mii == 1


def test_a_kernel_without_nests_in_sequence_stays_as_it_is(tmp_path: Path) -> None:
    loops = "for (int i = 0; i < n; i++) { int x; x <? in; out <! x; } for (int i = 0; i < w; i++) out <! i;"
    kernel = replace(lowered(loops, tmp_path), chained=True)
    assert show_kernel(optimize(replace(kernel, stacked=True))) == show_kernel(optimize(kernel))


@pytest.mark.slow
def test_random_nests_in_sequence(tmp_path: Path) -> None:
    assert sum(_check(seed, tmp_path) for seed in range(20)) > 10


@pytest.mark.slow
@pytest.mark.sweep(3)
@pytest.mark.parametrize("seed", range(100, 1100, 20))
def test_more_random_nests_in_sequence(seed: int, tmp_path: Path) -> None:
    assert sum(_check(each, tmp_path) for each in range(seed, seed + 20)) > 10


def _check(seed: int, tmp_path: Path) -> bool:
    """Whether a random kernel runs at all; it does the same as one nest, in its final form and as a graph."""
    source = random.Random(seed)
    depths = [source.choice((1, 2, 2, 3)) for _ in range(source.choice((2, 2, 3)))]
    text = " ".join(_nest(source, "ijk"[:depth], "nw4") for depth in depths)
    plain = lowered(f"int a[8], s = 1, p = 3, q = 0; {text} out <! s + p;", tmp_path)
    made = stacked(plain, source.choice((0, 2, 3, 4)), source.choice((0, 0, 1)))
    final = optimize(seldom_shortened(made, seed))
    dfg = build_dfg(final)
    ran, receives = False, "<? in" in text
    for _ in range(4):
        n, w = (source.choice((-1, 0, 1, 2, 3, 5)) % 2**32 for _ in "nw")
        words = [(source.randrange(9),) for _ in range(400)]
        data = {"scalars": {"n": n, "w": w}, "arrays": {}, "inputs": {"in": words} if receives else {}}
        with suppress(LimitExceeded):
            expected = outcome(plain, data)
            assert outcome(final, data) == expected, (text, n, w)
            assert outcome_of_graph(plain, dfg, data) == expected, (text, n, w)
            ran = True
    return ran


def _nest(source: random.Random, counters: str, bounds: str) -> str:
    """A loop, perhaps with more of them in it, or with one in each branch."""
    counter, start = counters[0], source.choice((0, 0, 0, 1, "p"))
    bound = source.choice((*bounds, f"({bounds[0]} - 1)"))
    loop, end = f"for (int {counter} = {start}; {counter} < {bound}; {counter}++)", ""
    if source.random() < 0.2:
        loop = f"for (int {counter} = {bound}; {counter} > 0; {counter}--)"
    if source.random() < 0.2:  # goes on where another loop ended
        heads = (
            (f"for (; q < {bound}; q++)", ""),
            ("for (; q > 0; q--)", ""),
            ("if (q != 1) do", "while (--q > 0);"),
        )
        counter, (loop, end) = "q", source.choice(heads)
    body = [_statement(source, counter) for _ in range(source.choice((1, 2)))]
    if counters[1:]:
        inner = [_nest(source, counters[1:], bounds + counter) for _ in range(source.choice((1, 1, 2)))]
        if len(inner) == 2 and source.random() < 0.5:
            inner = [f"if ((p + {counter}) & 1) {{ {inner[0]} }} else {{ {inner[1]} }}"]
        body = [*body[: source.choice((0, 1))], *inner, *body[1:]]
    return f"{loop} {{ {' '.join(body)} }} {end}"


def _statement(source: random.Random, counter: str) -> str:
    return source.choice(
        (
            f"s += {counter};",
            f"out <! s + {counter};",
            "{ int x; x <? in; s += x; }",
            f"a[({counter} + s) & 7] <? in;",
            f"s ^= a[{counter} & 7];",
            f"p = (p + {counter}) & 7;",
            f"if (s & 1) {{ out <! p; p = p * 3 + {counter}; }}",
            "a[p & 7] = s;",
            "q++;",
            "s = p;",
        )
    )
