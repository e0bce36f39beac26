"""Nests whose inner loop runs any number of times, flattened so that its end is known ahead."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from control_kernels import IN, OUT, count, i, j, kernel, let, loop, n, op, send, x
from nest_kernels import LEAST, MOST, SIZE, random_nest

from arch.describe import load_fabric
from backend.run_dfg import run_dfg
from macah import ir
from macah.iterations import count_iterations
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.run import KernelRun, LimitExceeded, run_kernel
from macah.show import show_kernel
from macah.spread import Choice, spread
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
TRIANGLE = "for (int i = 0; i < 40; i++) for (int j = 0; j <= i; j++) x += a[i] * a[j];"
DOWN = "for (int i = 39; i > 0; i--) for (int j = i; j > 0; j--) x += a[i] ^ a[j];"
ROWS = """for (int r = 0; r < n; r++) {
            int s = 0;
            for (int k = a[r]; k < a[r + 1]; k++) s += b[k];
            y[r] = s; }"""
DEEP = """for (int k = 0; k < 9; k++) for (int i = 0; i < k; i++)
            for (int j = 0; j < i; j++) x += (a[i] ^ k) * b[j];"""
AGAIN = """for (int k = 0; k < n; k++) for (int i = 0; i < 9; i++)
             for (int j = i; j < 9; j++) x += (a[i] ^ k) * b[j];"""
GIVEN = {"a": [0, 0, 1, 3, 7, 7, 7, 12, 13, 15], "b": list(range(60, 0, -1))}


def lowered(body: str, tmp_path: Path) -> ir.Kernel:
    source = tmp_path / "p.macah"
    source.write_text(
        f"static int a[64], b[64], y[64]; int f(int n, int x) {{ kernel {{ {body} }} return x + y[0]; }}\n"
    )
    program = read_program(source)
    return lower(program, program.kernels[0])


def chosen(made: ir.Kernel) -> Choice:
    choice = spread(made, FABRIC, automatic=False)
    assert choice is not None
    return choice


def differs(made: ir.Kernel) -> bool:
    """True if the pass does something."""
    stages: dict[str, str] = {}
    optimize(made, lambda name, after: stages.update({name: show_kernel(after)}))
    return stages["pace_rows"] != stages["convert_ifs"]


# --- The interval


@pytest.mark.parametrize(
    ("body", "more"),
    [(TRIANGLE, 0.01), (DOWN, 0.01), (ROWS, 3.0), (DEEP, 2.0), (AGAIN, 0.2)],
    ids=["triangle", "down", "rows", "deep", "again"],
)
def test_an_iteration_starts_in_each_cycle(body: str, more: float, tmp_path: Path) -> None:
    made = lowered(body, tmp_path)
    choice = chosen(made)
    assert choice.bounds.mii == 1 < chosen(replace(made, without=frozenset({"pace_rows"}))).bounds.mii
    scalars = {"n": 9, "x": 5}
    assert run_kernel(choice.final, scalars, GIVEN) == run_kernel(made, scalars, GIVEN)
    found = count_iterations(choice.kernel, scalars, GIVEN)
    assert found.executed <= found.useful * (1 + more)


def test_a_first_row_may_be_short(tmp_path: Path) -> None:
    made = replace(lowered(TRIANGLE, tmp_path), row=2)
    assert count_iterations(made, {}, GIVEN).executed == 40 * 41 // 2


def test_loops_of_constant_trips_or_with_a_break_are_left(tmp_path: Path) -> None:
    plain = "for (int i = 0; i < n; i++) for (int j = 0; j < 9; j++) x += a[j];"
    ended = "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) { x += a[j]; if (x > 99) break; }"
    stored = "for (int i = 0; i < n; i++) for (int j = 0; j < a[i]; j++) a[j] = x;"
    for body in (plain, ended, stored):
        assert not differs(replace(lowered(body, tmp_path), row=3))
    assert differs(replace(lowered(TRIANGLE, tmp_path), row=3))


# --- The results


@pytest.mark.parametrize("length", [2, 3, 4, 7])
@pytest.mark.parametrize("body", [TRIANGLE, DOWN, ROWS, DEEP, AGAIN])
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
    assert differs(replace(made, row=3))
    for apart in (-2, -1, 0, 1, 2, 5):
        scalars = {"n": (first + apart) % (1 << 32), "x": 9}
        try:
            expected = run_kernel(made, scalars, limit=2000)
        except LimitExceeded:
            continue
        assert run_kernel(final, scalars) == expected


def test_a_loop_that_might_not_end_is_left() -> None:
    """For the largest bound, `j <= n` is always true; what the outer loop compares is not the largest."""
    assert not differs(replace(inner(0, op("sle", j, n), 1), row=3))
    triangle = kernel(
        *count(i, n, let(j, 0), loop(op("sle", j, i), send(j), let(j, op("add", j, 1)))), into=(n,)
    )
    assert differs(replace(triangle, row=3))
    whole = kernel(
        let(i, LEAST),
        ir.DoWhile(
            (let(j, 0), loop(op("sle", j, i), send(j), let(j, op("add", j, 1))), let(i, op("add", i, 1))),
            op("slt", i, n),
        ),
        into=(n,),
    )
    assert not differs(replace(whole, row=3))


def given(seed: int) -> tuple[dict[str, int], dict[str, list[int]], dict[str, list[tuple[int, ...]]]]:
    source = Random(seed)
    scalars = {"n": source.randint(-1, 7), "x": source.randint(0, 5), "y": source.randint(0, 3), "sum": 1}
    table = [source.choice((0, 1, 2, 3, 5, 9, (1 << 32) - 1)) for _ in range(SIZE)]
    arrays = {"table": table, "data": [source.randint(0, 9) for _ in range(SIZE)]}
    return scalars, arrays, {"in": [(source.randint(0, 99),) for _ in range(30)]}


def check(seed: int) -> bool:
    """Whether the pass does something to the random kernel of a seed, which does the same with it."""
    made = random_nest(seed)
    runs: list[tuple[int, KernelRun]] = []
    for number in range(3 * seed, 3 * seed + 3):
        with suppress(LimitExceeded):
            runs.append((number, run_kernel(made, *given(number), limit=4000)))
    made = replace(made, row=2 + seed % 4)
    if not runs or not differs(made):
        return False
    final = optimize(made)
    dfg = build_dfg(final)
    out = [c.what.name for c in made.captured if c.out]
    for number, expected in runs:
        scalars, arrays, inputs = given(number)
        got = run_kernel(final, scalars, arrays, inputs)
        assert (got.outputs, got.closed) == (expected.outputs, expected.closed)
        for name in out:
            assert got.scalars.get(name) == expected.scalars.get(name), name
            assert got.arrays.get(name) == expected.arrays.get(name), name
        words = {s: [w for (w,) in inputs[IN.name]] for s, port in enumerate(dfg.streams) if not port.sends}
        memories = {m: arrays[memory.name] for m, memory in enumerate(dfg.memories) if memory.captured_in}
        ran = run_dfg(dfg, [scalars.get(v, 0) % (1 << 32) for v in dfg.live_ins], words, memories)
        assert ran.live_outs == [expected.scalars[name] for name in dfg.live_outs]
        for m, memory in enumerate(dfg.memories):
            if memory.captured_out:
                assert list(ran.memories[m])[: memory.words] == expected.arrays[memory.name]
        sent = [w for s, port in enumerate(dfg.streams) if port.sends for w in ran.outputs.get(s, ())]
        assert sent == [w for (w,) in expected.outputs.get(OUT.name, ())]
    return True


def test_random_nests() -> None:
    assert sum(check(seed) for seed in (*range(50), 5051, 5577, 5804)) > 12


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 2100, 100))
def test_more_random_nests(seed: int) -> None:
    assert sum(check(each) for each in range(seed, seed + 100)) > 10
