"""Several iterations at once of what saturates or starts anew as its values say: with the same results."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from test_lower import lowered

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.run_dfg import run_dfg
from macah.ir import Kernel
from macah.passes.pipeline import optimize
from macah.source_bound import source_bound
from macah.spread import spread
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")


def kernel(body: str) -> Kernel:
    loop = f"for (int i = 0; i < n; i++) {{ int x; x <? in; {body} out <! m; }}"
    return lowered(f"void f(int stream in, int stream out, int n, int y, int m) {{ kernel {{ {loop} }} }}")


@pytest.mark.quick(5)
@pytest.mark.parametrize(
    "body",
    [
        "m = min(m + x, 1000);",
        "m = max(m - x, 0);",
        "m = max(m + x, x);",
        "m = max(m + x, y);",
        "m = max(y, min(x, m));",
        "m = m + x; if (m > 1000) m = 0;",
        "m += x; if (m > y) m = x;",
        "if (++m == y) m = 0;",
        "m ^= x; if (m >= y) m = x;",
        "if (x & 2) m = min(m + x, y);",
        "if (x & 6) m = max(m, x); else m += x;",
        "if (x & 6) m &= x; else if (x & 1) m = x;",
        # a running extreme that starts anew
        "if (x & 6) m = 0; m = max(m, x);",
        "if (x & 6) m = x; m = min(m, y);",
        "m = max(m, x); if (m > 1000) m = 0;",
    ],
)
def test_an_iteration_begins_in_every_cycle(body: str) -> None:
    source = kernel(body)
    assert source_bound(source, FABRIC).interval == 1
    assert minimum_interval(build_dfg(optimize(source), FABRIC), FABRIC).mii == 1


def test_branches_that_saturate_or_start_anew() -> None:
    source = kernel("if (x & 2) m = min(m + x, y); else if (x & 4) m = 3;")
    assert minimum_interval(build_dfg(optimize(source), FABRIC), FABRIC).mii <= 2  # it was 3


@pytest.mark.slow
def test_a_choice_of_the_recurrence_may_turn_out_to_be_a_load() -> None:
    """As both of its arms are the same element: that ended in an internal error."""
    halve = "x = x & 1 ? 3 * x + 1 : x / 2; steps++;"
    row = f"unsigned x = i, top = i; int steps = 0; while (x >= (unsigned)i) {{ {halve} }}"
    results = "len[i] = steps + len[x]; peak[i] = top > peak[x] ? top : peak[x];"
    loop = f"for (int i = 2; i < 64; i++) {{ {row} {results} }}"
    arrays = "unsigned char len[64]; unsigned peak[64];"
    source = lowered(f"{arrays} void f(void) {{ kernel {{ {loop} }} }}")
    assert spread(source, FABRIC) is not None


def test_what_goes_on_in_two_ways_takes_longer() -> None:
    source = kernel("m += x; if (m > 1000) m -= 1000;")
    reached = minimum_interval(build_dfg(optimize(source), FABRIC), FABRIC).mii
    assert source_bound(source, FABRIC).interval == reached == 2


def saturating(seed: int) -> str:
    """The body of a loop in which `m` goes on with one chain, saturates and starts anew."""
    one = random.Random(seed).choice

    def value() -> str:
        return one(["x", "y", "3", "1000", "-7", "i", "(x & 7)", "(x >> 28)"])

    def statement() -> str:
        condition = one([f"m {one(['<', '>', '==', '!=', '<='])} {value()}", f"x & {one('136')}"])
        return one(
            [
                f"m = {one(['min', 'max'])}(m {one('+-')} {value()}, {value()});",
                f"m = {one(['min', 'max'])}(m, {value()});",
                f"m = max({value()}, min({value()}, m + {value()}));",
                f"if ({condition}) m = {value()};",
                f"if ({condition}) m = {value()}; else m {one('+-')}= {value()};",
                f"m {one('+-^')}= {value()};",
                f"if (x & 1) m {one('+-')}= {value()};",
                f"if (x & 2) m = min(m + x, {value()}); else if (x & 4) m = {value()};",
                f"m = (unsigned)m + x < {one('57')}u ? {value()} : m + {value()};",
            ]
        )

    return " ".join(statement() for _ in range(one([1, 2, 2, 3])))


def compare(seed: int) -> bool:
    """Whether the graph is another one; assert that it does the same."""
    shorter = optimize(kernel(saturating(seed)))
    plain = build_dfg(replace(shorter, without=shorter.without | {"shorten"}))
    short = build_dfg(shorter)
    numbers = random.Random(seed)
    for n, scale in ((2, 40), (4, 32), (30, 3), (40, 10), (40, 28), (40, 32)):
        words = [numbers.randrange(-1 << scale, 1 << scale) >> 1 & 0xFFFFFFFF for _ in range(n)]
        given = {
            "n": n,
            "y": numbers.choice([0, 5, 900, 1 << 31, words[0]]),
            "m": numbers.choice([0, 4, words[1]]),
        }
        runs = [
            run_dfg(g, [given[name.split(".")[0]] for name in g.live_ins], {0: words}) for g in (plain, short)
        ]
        assert runs[0].outputs == runs[1].outputs, (seed, given, words)
    return plain != short


def test_results_are_the_same() -> None:
    assert sum(map(compare, range(10))) > 3


@pytest.mark.slow
@pytest.mark.sweep(1)
@pytest.mark.parametrize("first", range(10, 400, 30))
def test_results_are_the_same_for_many(first: int) -> None:
    assert sum(map(compare, range(first, first + 30))) > 7
