"""Inner loops that run once for nothing where they would not run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from kernels import outcome, outcome_of_graph, seldom_shortened
from nest_checks import differs, lowered

from arch.describe import load_fabric
from macah.iterations import count_iterations
from macah.passes.pipeline import optimize
from macah.run import LimitExceeded, run_kernel
from macah.spread import spread
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
PRODUCT = """for (int i = 0; i < n; i++)
               for (int j = 0; j < x; j++) {
                 int s = 0;
                 for (int k = 0; k < y[0]; k++) s += a[i * 8 + k] * b[k * 8 + j];
                 y[(i * 8 + j & 31) + 1] = s; }"""
NEST = """int p = y[0], q = 0;
          for (int i = 0; i < n; i++) {
            for (int j = 0; j < x; j++) { for (int k = 0; k < p; k++) q += i * j ^ k; y[j & 63] = q; }
            q++; }
          x = q;"""
ODD = """int q = 0;
         for (int i = 0; i < n; i++) {
           int k = 3;
           for (; k < x; k += 2) q += a[k & 63];
           for (int j = 0; j < i - 2; j++) q ^= b[j & 63] + k;
           y[i & 63] = q + k; }"""
BODIES = {"product": PRODUCT, "nest": NEST, "odd": ODD}


@pytest.mark.parametrize("name", BODIES)
def test_loops_do_the_same_whether_they_have_something_to_do_or_not(name: str, tmp_path: Path) -> None:
    made = lowered(BODIES[name], tmp_path)
    final = optimize(replace(made, entered=True))
    for n, x, p in ((0, 3, 2), (3, 0, 5), (3, 4, 0), (2, -1, -1), (3, 4, 5), (1, 1, 1), (2, 1 << 31, 3)):
        scalars = {"n": n, "x": x}
        arrays = {"a": list(range(64)), "b": list(range(7, 71)), "y": [p % 2**32, *range(63)]}
        assert run_kernel(final, scalars, arrays) == run_kernel(made, scalars, arrays), (n, x, p)


def test_loops_in_one_that_has_nothing_to_do_end_at_once(tmp_path: Path) -> None:
    made = replace(lowered(NEST, tmp_path), entered=True)
    assert differs(made, "enter_loops")
    found = count_iterations(made, {"n": 5, "x": 0}, {"y": [1000]})
    assert found.executed <= 6


def test_they_are_chosen_where_that_saves_cycles(tmp_path: Path) -> None:
    choice = spread(lowered(NEST, tmp_path), FABRIC, automatic=False)
    assert choice is not None
    assert choice.kernel.entered
    assert choice.bounds.mii == 1


@pytest.mark.slow
def test_random_nests(tmp_path: Path) -> None:
    assert sum(_check(seed, tmp_path) for seed in range(12)) > 3


@pytest.mark.slow
@pytest.mark.sweep(3)
@pytest.mark.parametrize("seed", range(100, 1100, 20))
def test_more_random_nests(seed: int, tmp_path: Path) -> None:
    assert sum(_check(each, tmp_path) for each in range(seed, seed + 20)) > 5


def _check(seed: int, tmp_path: Path) -> bool:
    """Whether the pass does something to a random nest, which does the same in all its forms."""
    source = Random(seed)
    text = f"int p = y[0], q = 0, h = 1; {_nest(source, 'ijk', 'nxp')} x = q + h;"
    rows = source.choice(({}, {"delay": 1 + seed % 3}, {"row": 2 + seed % 3}, {"chained": True}))
    plain = lowered(text, tmp_path)
    made = replace(plain, entered=True, **rows)
    dfg = build_dfg(optimize(seldom_shortened(made, seed)))
    for _ in range(4):
        n, x, p = (source.choice((-1, 0, 0, 1, 2, 3, 5)) for _ in "nxp")
        arrays = {"a": list(range(64)), "b": list(range(7, 71)), "y": [p % 2**32, *range(63)]}
        data = {"scalars": {"n": n % 2**32, "x": x % 2**32}, "arrays": arrays, "inputs": {}}
        with suppress(LimitExceeded):
            expected = outcome(plain, data)
            assert outcome_of_graph(plain, dfg, data) == expected, (text, n, x, p)
    return differs(made, "enter_loops")


def _nest(source: Random, counters: str, bounds: str) -> str:
    """A loop with more of them in it, and around these what may need the counters and change the bounds."""
    counter, start, step = counters[0], source.choice((0, 0, 0, 1, 3)), source.choice((1, 1, 1, 2))
    bound = source.choice((*bounds, *bounds, "7", f"{bounds[-1]} - 1"))
    kind = source.choice(("int", "int", "unsigned"))
    if kind == "unsigned":
        bound = f"({bound} & 7)"
    if counters[1:]:
        body = [_nest(source, counters[1:], bounds + counter) for _ in range(source.choice((1, 1, 2)))]
    else:
        body = [_statement(source, counter) for _ in range(2)]
    if source.random() < 0.4:
        body.insert(0, _statement(source, counter))
    if source.random() < 0.6:
        body.append(_statement(source, counter))
    inside = " ".join(body)
    if source.random() < 0.3:  # a counter that is used behind its loop
        loop = f"while ({counter} < {bound}) {{ {inside} {counter} += {step}; }}"
        return f"{{ {kind} {counter} = {start}; {loop} h += {counter}; }}"
    return f"for ({kind} {counter} = {start}; {counter} < {bound}; {counter} += {step}) {{ {inside} }}"


def _statement(source: Random, counter: str) -> str:
    return source.choice(
        (
            f"q += {counter} ^ h;",
            f"h = q - {counter};",
            f"y[({counter} & 31) + 1] += q;",
            f"if (a[{counter} & 63] & 1) q += b[h & 63];",
            "q = 0;",
            "p = (p + h) & 3;",
        )
    )
