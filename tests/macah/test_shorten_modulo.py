"""What counts in a circle, two iterations at once."""

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
from macah.run import run_kernel
from macah.source_bound import source_bound
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")


def kernel(body: str, starts: str = "unsigned m = 0, k = 0;", element: str = "unsigned char") -> Kernel:
    loop = f"for (int i = 0; i < n; i++) {{ {element} x; x <? in; {body} out <! m; out2 <! k; }}"
    streams = f"{element} stream in, unsigned stream out, unsigned stream out2"
    return lowered(f"void f({streams}, int n) {{ kernel {{ {starts} {loop} }} }}")


@pytest.mark.quick(5)
@pytest.mark.parametrize(
    "body",
    [
        "if (x & 1 && ++m == 12) m = 0;",
        "if (x & 1) { m++; if (m >= 12) m = 0; }",
        "if (x & 1) m = m ? m - 1 : 11;",
        "m = (m + (x & 1 ? 5 : 7)) % 12;",
        "if (x & 1) { m += 5; if (m > 11) m -= 12; } else if (x & 2) m = (m + 1) % 12;",
        "m = (m + x) % 1021;",
        "m = (m + x) % 65521; k = (k + m) % 65521;",
        "if (++m == 12) { m = 0; if (++k == 5) k = 0; }",
    ],
)
def test_an_iteration_begins_in_every_cycle(body: str) -> None:
    made = kernel(body)
    if body.startswith("m = (m +"):
        assert source_bound(made, FABRIC).interval == 1
    dfg = build_dfg(optimize(made), FABRIC)
    assert minimum_interval(dfg, FABRIC).mii == 1
    same(made, random.Random(body))


@pytest.mark.parametrize(
    ("body", "starts"),
    [
        ("m = (m + x) % 200;", "unsigned m = 0, k = 0;"),  # what is added may be more than the divisor
        ("if (++m == 12) m = 0; if (x == 7) m = x;", "unsigned m = 0, k = 0;"),
        ("m = (m + x) % 1021;", "unsigned m = 1021, k = 0;"),
        ("m = (m + x) % 1021;", "unsigned m = n, k = 0;"),
        ("if (++m == 12) m = 0;", "unsigned m = 12, k = 0;"),
        ("m = (m + 7) % 12;", "unsigned m = 0, k = 0;"),
        ("m += x; if (m >= 1000) m -= 1000;", "unsigned m = 0, k = 0;"),
        ("m += 5; if (m == 12) m = 0;", "unsigned m = 0, k = 0;"),
        ("m = (m + 5) % (x & 1 ? 12 : 13);", "unsigned m = 0, k = 0;"),
    ],
)
def test_what_is_no_circle_or_not_found_stays_right(body: str, starts: str) -> None:
    same(kernel(body, starts), random.Random(body))


def same(made: Kernel, chance: random.Random) -> None:
    """Assert that graphs with and without shorter recurrences send what the kernel sends."""
    optimized = optimize(made)
    graphs = [
        build_dfg(replace(optimized, without=optimized.without | without), FABRIC)
        for without in (frozenset(), frozenset({"shorten"}))
    ]
    for n in (0, 1, 2, 3, 70):
        words = [chance.randrange(256) for _ in range(n)]
        sent = run_kernel(made, {"n": n}, inputs={"in": [(word,) for word in words]}).outputs
        for dfg in graphs:
            names = [port.name for port in dfg.streams]
            run = run_dfg(dfg, [n for _ in dfg.live_ins], {names.index("in"): words})
            for name in ("out", "out2"):
                assert run.outputs[names.index(name)] == [word for (word,) in sent.get(name, [])], (name, n)


def circle(chance: random.Random) -> tuple[str, str]:
    """The body of a loop in which `m` and `k` count in circles, or nearly so, and what they start with."""
    one = chance.choice
    modulus = one([2, 3, 5, 12, 16, 100, 255, 256, 1021, 65521])

    def step(name: str) -> str:
        by = one(["1", "x", "2", "(x & 3)", "(x & 1 ? 3 : 0)", "(k & 1)", f"{modulus - 1}", "(x >> 4)"])
        return one(
            [
                f"{name} = ({name} + {by}) % {modulus};",
                f"{name} += {by}; if ({name} >= {modulus}) {name} -= {modulus};",
                f"{name}++; if ({name} == {modulus}) {name} = 0;",
                f"{name} = {name} ? {name} - 1 : {modulus - 1};",
                f"if (++{name} > {modulus}) {name} = {one('01')};",
            ]
        )

    def guarded(name: str) -> str:
        return one(["{}", "if (x & 1) {{ {} }}", "if (i > 5) {{ {} }}", "if (m == 0) {{ {} }}"]).format(
            step(name)
        )

    body = guarded("m") + one(["", " k = (k + m) % 65521;", " " + guarded("k"), " if (m < 2) k++;"])
    return body, f"unsigned m = {one([0, 0, 1, modulus - 1, modulus])}, k = {one([0, 1])};"


@pytest.mark.parametrize("seed", range(12))
def test_random_circles(seed: int) -> None:
    chance = random.Random(seed)
    same(kernel(*circle(chance)), chance)


@pytest.mark.slow
@pytest.mark.sweep(2)
@pytest.mark.parametrize("first", range(100, 400, 30))
def test_many_random_circles(first: int) -> None:
    for seed in range(first, first + 30):
        chance = random.Random(seed)
        same(kernel(*circle(chance)), chance)
