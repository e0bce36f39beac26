"""Nests whose inner loop runs any number of times, flattened so that its end is known ahead."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from control_kernels import OUT, count, i, j, kernel, let, loop, n, op, send, x
from nest_checks import agrees, differs, lowered
from nest_kernels import LEAST, MOST, random_nest

from arch.describe import load_fabric
from macah import ir, run
from macah.iterations import count_iterations
from macah.passes.pipeline import optimize
from macah.run import LimitExceeded, run_kernel
from macah.spread import Choice, spread

FABRIC = load_fabric("grid8x8")
TRIANGLE = "for (int i = 0; i < 40; i++) for (int j = 0; j <= i; j++) x += a[i] * a[j];"
DOWN = "for (int i = 39; i > 0; i--) for (int j = i; j > 0; j--) x += a[i] ^ a[j];"
ROWS = """for (int r = 0; r < n; r++) {
            int s = 0;
            for (int k = a[r]; k < a[r + 1]; k++) s += b[k];
            y[r] = s; }"""
LESS = """for (int r = 0; r < 30; r++) {
            int s = 0;
            for (int k = 0; k <= r; k++) s -= a[k] * b[r];
            y[r] = s; }"""
STARTED = """for (int r = 15; r >= 0; r--) {
               int t = b[r];
               for (int k = r; k--;) t -= a[r] ^ a[k];
               y[r] = t >> 2; }"""
CHANGED = """for (int r = 0; r < n; r++) {
               int t = x, u = a[r] * 3;
               for (int k = a[r]; k < a[r + 1]; k++) { u += b[k]; t -= u; x ^= t; }
               y[r] = t + u;
               t = u; u = x; x += t ^ u; }"""
WINDOW = """for (int r = 0; r < 50; r++) {
              int t = 0;
              for (int k = r < 3 ? 0 : r - 3; k <= r; k++) t += a[k];
              y[r] = t; }"""
DEEP = """for (int k = 0; k < 9; k++) for (int i = 0; i < k; i++)
            for (int j = 0; j < i; j++) x += (a[i] ^ k) * b[j];"""
AGAIN = """for (int k = 0; k < n; k++) for (int i = 0; i < 9; i++)
             for (int j = i; j < 9; j++) x += (a[i] ^ k) * b[j];"""
UNTOUCHED = (
    "for (int i = 0; i < 9; i++) if (a[i] > 99) for (unsigned j = 3; j >= (unsigned) n; j--) x += b[j & 7];"
)
NONE = """for (int h = 0; h < 3; h++) for (int i = h; i < n; i++)
            for (unsigned j = n; j >= (unsigned) n; j--) x += b[j & 7];"""
EVEN = """for (int r = 0; r < x; r++) {
             int s = 0, m = 0;
             for (int k = 0; k < n; k++) { s += b[k]; m = a[k] > m ? a[k] : m; }
             y[r] = s + m; }"""
FROM = "for (int r = x; r > 0; r--) for (int k = x; k > n; k--) y[k] += b[k] ^ r;"
FOLDED = """int u = 1;
            for (int r = 0; r < 9; r++) {
              for (int k = 0; k < n; k++) x ^= b[k] + u;
              u = u * 5 + (u >> 3); }"""
GIVEN = {"a": [0, 0, 1, 3, 7, 7, 7, 12, 13, 15], "b": list(range(60, 0, -1))}


def chosen(made: ir.Kernel) -> Choice:
    choice = spread(made, FABRIC, automatic=False)
    assert choice is not None
    return choice


# --- The interval


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("body", "more"),
    [
        (TRIANGLE, 0.01),
        (DOWN, 0.01),
        (ROWS, 3.0),
        (LESS, 0.02),
        (STARTED, 0.15),
        (WINDOW, 0.1),
        (DEEP, 2.0),
        (AGAIN, 0.2),
        (EVEN, 0.0),
        (FOLDED, 0.0),
    ],
    ids=["triangle", "down", "rows", "less", "started", "window", "deep", "again", "even", "folded"],
)
def test_an_iteration_starts_in_each_cycle(body: str, more: float, tmp_path: Path) -> None:
    made = lowered(body, tmp_path)
    made = replace(made, without=frozenset({"tabulate"}))  # what constants tell needs no pace
    choice = chosen(made)
    unpaced = replace(made, without=made.without | {"pace_rows"})
    assert choice.bounds.mii == 1 < chosen(unpaced).bounds.mii
    scalars = {"n": 9, "x": 5}
    assert run_kernel(choice.final, scalars, GIVEN) == run_kernel(made, scalars, GIVEN)
    found = count_iterations(choice.kernel, scalars, GIVEN)
    assert found.executed <= found.useful * (1 + more)


def test_rows_of_two_loops_of_one_length_start_an_iteration_in_each_cycle(tmp_path: Path) -> None:
    """A row is summed up, and its mean taken off it: both loops have one counter, and all rows as many."""
    made = lowered(
        """for (int r = 0; r < x; r++) {
             int s = 0;
             for (int k = 0; k < n; k++) { b[k] = a[k] ^ r; s += a[k] ^ r; }
             int mean = s >> 2;
             for (int k = 0; k < n; k++) y[k] = b[k] - mean; }""",
        tmp_path,
    )
    choice = chosen(made)
    assert choice.bounds.mii == 1
    assert choice.kernel.chained and choice.kernel.row
    for trips in (-1, 0, 1, 9):
        scalars = {"n": trips, "x": 5}
        assert run_kernel(choice.final, scalars, GIVEN) == run_kernel(made, scalars, GIVEN)


def test_a_first_row_may_be_short(tmp_path: Path) -> None:
    made = replace(lowered(TRIANGLE, tmp_path), row=2)
    assert count_iterations(made, {}, GIVEN).executed == 40 * 41 // 2


def test_loops_of_constant_trips_or_with_a_break_are_left(tmp_path: Path) -> None:
    plain = "for (int i = 0; i < n; i++) for (int j = 0; j < 9; j++) x += a[j];"
    ended = "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) { x += a[j]; if (x > 99) break; }"
    stored = "for (int i = 0; i < n; i++) for (int j = 0; j < a[i]; j++) a[j] = x;"
    for body in (plain, ended, stored):
        assert not differs(replace(lowered(body, tmp_path), row=3), "pace_rows")
    assert differs(replace(lowered(TRIANGLE, tmp_path), row=3), "pace_rows")


# --- The results


@pytest.mark.sweep(12)
@pytest.mark.quick(4)
@pytest.mark.parametrize("length", [2, 3, 4, 7])
@pytest.mark.parametrize(
    "body", [TRIANGLE, DOWN, ROWS, STARTED, CHANGED, WINDOW, DEEP, AGAIN, EVEN, FROM, FOLDED]
)
def test_rows_of_any_length_do_the_same(body: str, length: int, tmp_path: Path) -> None:
    made = lowered(body, tmp_path)
    final = optimize(replace(made, row=length))
    for trips in (-1, 0, 1, 2, 9):
        scalars = {"n": trips, "x": 5}
        assert run_kernel(final, scalars, GIVEN) == run_kernel(made, scalars, GIVEN)


def inner(first: int, condition: ir.Expr, step: int) -> ir.Kernel:
    body = (let(j, first), loop(condition, send(j), let(j, op("add", j, step % (1 << 32)))))
    return kernel(*count(i, 3, *body, send(x)), into=(n, x))


@pytest.mark.parametrize("comparison", ["slt", "ult", "ne"])
@pytest.mark.parametrize("first", [0, 5, MOST - 2, MOST, LEAST, (1 << 32) - 2])
@pytest.mark.parametrize("step", [1, -1])
def test_bounds_near_the_last_number(comparison: str, first: int, step: int) -> None:
    made = inner(first, op(comparison, *((j, n) if step > 0 else (n, j))), step)
    final = optimize(replace(made, row=3))
    assert differs(replace(made, row=3), "pace_rows")
    for apart in (-2, -1, 0, 1, 2, 5):
        scalars = {"n": (first + apart) % (1 << 32), "x": 9}
        try:
            expected = run_kernel(made, scalars, limit=2000)
        except LimitExceeded:
            continue
        assert run_kernel(final, scalars) == expected


def test_a_loop_that_might_not_end_is_left() -> None:
    """For the largest bound, `j <= i` is always true; what the outer loop compares is not the largest."""
    triangle = kernel(
        *count(i, n, let(j, 0), loop(op("sle", j, i), send(j), let(j, op("add", j, 1)))), into=(n,)
    )
    assert differs(replace(triangle, row=3), "pace_rows")
    whole = kernel(
        let(i, LEAST),
        ir.DoWhile(
            (let(j, 0), loop(op("sle", j, i), send(j), let(j, op("add", j, 1))), let(i, op("add", i, 1))),
            op("slt", i, n),
        ),
        into=(n,),
    )
    assert not differs(replace(whole, row=3), "pace_rows")


@pytest.mark.parametrize("row", [2, 3, 5])
@pytest.mark.parametrize(("comparison", "last"), [("sle", MOST), ("ule", (1 << 32) - 1)])
@pytest.mark.parametrize("before", [0, 1, 6])
def test_a_loop_does_not_end_at_the_last_number(
    comparison: str, last: int, before: int, row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the largest bound, `j <= n` is always true; for the one before it is not."""

    def sent(made: ir.Kernel, bound: int) -> list[tuple[int, ...]]:
        states: list[run._State] = []
        monkeypatch.setattr(run, "_State", lambda *given: states.append(State(*given)) or states[-1])
        with suppress(LimitExceeded):
            run_kernel(made, {"n": bound, "x": 9}, limit=3000)
        return states[0].outputs[OUT.name]

    State = run._State
    made = inner(last - before, op(comparison, j, n), 1)
    final = optimize(replace(made, row=row))
    assert differs(replace(made, row=row), "pace_rows")
    assert sent(made, last - 1) == sent(final, last - 1)
    endless = sent(final, last)
    assert len(endless) > 40 and endless == sent(made, last)[: len(endless)]


@pytest.mark.parametrize("body", [UNTOUCHED, NONE], ids=["branch", "deep"])
def test_a_row_that_does_not_run_ends_whatever_its_bound(body: str, tmp_path: Path) -> None:
    """For the bound 0, `j >= n` is always true; but some rows are not entered, or there are none."""
    made = lowered(body, tmp_path)
    final = optimize(replace(made, row=3))
    scalars = {"n": 0, "x": 5}
    assert run_kernel(final, scalars, GIVEN, limit=9000) == run_kernel(made, scalars, GIVEN)


def check(seed: int, started: bool = False, even: bool = False) -> bool:
    """Whether the pass does something to the random kernel of a seed, which does the same with it."""
    made = replace(random_nest(seed, started, even), row=2 + seed % 4)
    return differs(made, "pace_rows") and agrees(made, seed)


def test_loops_without_steps_once_those_around_them_are_one_stay() -> None:
    assert agrees(replace(random_nest(6000046), row=2), 6000046)


def test_random_nests() -> None:
    assert sum(check(seed) for seed in (*range(50), 5051, 5577, 5804)) > 12


def test_random_nests_whose_sums_start_with_words() -> None:
    assert sum(check(seed, started=True) for seed in range(40)) > 8


def test_random_nests_whose_rows_are_even() -> None:
    assert sum(check(seed, started=seed % 2 == 0, even=True) for seed in range(60)) > 15


@pytest.mark.slow
@pytest.mark.sweep(5)
@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("seed", range(100, 2100, 100))
def test_more_random_nests(seed: int, even: bool) -> None:
    assert sum(check(each, seed % 200 == 0, even) for each in range(seed, seed + 100)) > 10
