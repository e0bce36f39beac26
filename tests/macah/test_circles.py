"""Variables that count in a circle: what is known of them is true, and ring buffers need not wait."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from nest_checks import lowered
from test_dependence import agrees_in_any_order, claims_of

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah.passes.pipeline import optimize
from macah.todfg import build_dfg

ARRAYS = {name: [Random(name).randrange(99) for _ in range(64)] for name in "aby"}


@pytest.mark.parametrize(
    "step",
    [
        "k++; if (k == 48) k = 0;",
        "k = k + 1; if (k >= 48) k = 0;",
        "k = (k + 1) % 48;",
        "k = k == 47 ? 0 : k + 1;",
        "k = k ? k - 1 : 47;",
        "if (k == 0) k = 48; k--;",
        "k += 5; if (k > 47) k -= 48;",
        "int next = k + 1; if (next != 48) k = next; else k = 0;",
    ],
)
def test_a_ring_buffer_waits_for_no_store(step: str, tmp_path: Path) -> None:
    """However it is said, an element is met again 48 iterations later (or more)."""
    body = f"int k = 0; for (int i = 0; i < 99; i++) {{ a[k] = a[k] / 3 + b[i & 63]; {step} }}"
    kernel = lowered(body, tmp_path)
    assert {claimed for _, claimed in claims_of(kernel, 3)} == {0, 48}
    fabric = load_fabric("grid8x8")
    assert minimum_interval(build_dfg(optimize(kernel), fabric), fabric).mii <= 2


def test_distances_along_a_ring(tmp_path: Path) -> None:
    """What is stored is loaded 15 - 4 iterations later, and stored over after 15."""
    kernel = lowered(
        "int k = 3; for (int i = 0; i < 60; i++) { a[k] = a[(k + 4) % 15] + x; k++; if (k == 15) k = 0; }",
        tmp_path,
    )
    assert sorted(claims_of(kernel, 0)) == [(4, 4), (11, 11), (15, 15)]


def test_a_ring_behind_the_loop_that_clears_it(tmp_path: Path) -> None:
    body = """for (int i = 0; i < 32; i++) a[i] = 0;
      int k = 0; for (int i = 0; i < n; i++) { a[k] += b[i & 63]; k = (k + 1) % 32; }"""
    fabric = load_fabric("grid8x8")
    dfg = build_dfg(optimize(lowered(body, tmp_path)), fabric)
    assert minimum_interval(dfg, fabric).mii == 1


@pytest.mark.parametrize(
    "step",
    [
        "k++; if (k == x) k = 0;",
        "k += 2; if (k == 15) k = 0;",
        "if (i & 1) k = (k + 1) % 15;",
        "k = (k * 2 + 1) % 15;",
        "k++; if (k == 15) k = i & 7;",
        "k = (k + b[i]) & 15;",
    ],
)
def test_what_is_no_circle_is_none(step: str, tmp_path: Path) -> None:
    body = f"int k = 0; for (int i = 0; i < 60; i++) {{ a[k] = b[k] + i; {step} }}"
    assert all(claimed in (None, 1) for _, claimed in claims_of(lowered(body, tmp_path), 1))


class Rings:
    """Random nests whose indices count in circles, in one loop or in several."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.period = self.random.choice((2, 3, 4, 5, 8, 12, 15, 16))

    def nest(self) -> str:
        start = self.random.randrange(self.period)
        before = self.random.choice(("", "for (int i = 0; i < 20; i++) { a[i] = i * x; }", self.loop(0)))
        return f"int k = {start}, m = 0; {before} {self.loop(1)}"

    def loop(self, depth: int) -> str:
        trips = self.random.choice(("n", "7", "20", "x"))
        inside = [self.access(), self.access()]
        if depth and self.random.random() < 0.5:
            inside.append(self.loop(depth - 1))
        inside.insert(self.random.randrange(len(inside) + 1), self.step())
        if self.random.random() < 0.3:
            inside.append(self.random.choice(("if (a[k] == 3) break;", "if (i & 1) continue;", self.step())))
        return f"for (int i = 0; i < {trips}; i++) {{ {' '.join(inside)} }}"

    def step(self) -> str:
        p, by = self.period, self.random.choice((1, 1, 1, 2, 3))
        wraps = f"k = (k + {by}) % {p};", f"k += {by}; if (k >= {p}) k -= {p};"
        down = f"k -= {by}; if (k < 0) k += {p};"
        ends = f"k++; if (k == {p}) k = 0;", f"k = k > 0 ? k - 1 : {p - 1};", "m = (m + 1) & 7;"
        odd = f"if (x & 1) k = (k + 1) % {p};", f"k = (k + x) % {p};", f"k = k == {p} ? 1 : k + 1; k &= 15;"
        return self.random.choice((*wraps, down, *ends, *ends, *odd))

    def access(self) -> str:
        array = self.random.choice("aab")
        return f"{array}[{self.index()}] = {self.random.choice('aab')}[{self.index()}] * 3 + i;"

    def index(self) -> str:
        p, by = self.period, self.random.randrange(5)
        around = f"(k + {by}) % {p}", f"(k + {by}) & 7", f"2 * k + {by}", f"k + m + {by}"
        return self.random.choice(("k", "k", f"k + {by}", "m", "i & 15", *around))


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_no_claim_of_a_ring_exceeds_what_happens(first: int, tmp_path: Path) -> None:
    known = 0
    for seed in range(first, first + 40):
        for real, claimed in claims_of(lowered(Rings(seed).nest(), tmp_path), seed):
            assert claimed is not None and claimed <= real, seed
            known += 1 < claimed == real
    assert known > 20


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_any_order_that_a_ring_allows_gives_the_same(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 20):
        kernel = lowered(Rings(seed).nest(), tmp_path)
        scalars = {"n": seed % 23, "x": seed % 7}
        agrees_in_any_order(kernel, scalars, ARRAYS, seed)
