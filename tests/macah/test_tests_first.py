"""Loops that end as their data say, tested at the start of an iteration where that pays: the same results."""

from pathlib import Path

import pytest

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah.ir import Kernel
from macah.iterations import count_iterations
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.run import run_kernel
from macah.spread import Choice, spread
from macah.tests_first import pays

FABRIC = load_fabric("grid8x8")
COLLATZ = "unsigned y = i * 7 + 1; while (y != 1) { y = y & 1 ? 3 * y + 1 : y >> 1; x += y; }"
GCD = "unsigned a = i + 1, b = 36; while (a != b) { if (a > b) a -= b; else b -= a; } x = x * 31 + a;"
NEVER = "unsigned y = i; while (y > 3) { y = y * y >> 1; x ^= y; if (y == 77) break; } x += y;"


def kernel(body: str, tmp_path: Path) -> Kernel:
    text = "int f(int n, unsigned x) { kernel { for (int i = 0; i < n; i++) {"
    return lowered(f"{text} {body} }} }} return x; }}\n", tmp_path)


def sending(body: str, tmp_path: Path) -> Kernel:
    return lowered(f"void f(const int a[20][30], int stream out) {{ kernel {{ {body} }} }}\n", tmp_path)


def lowered(text: str, tmp_path: Path) -> Kernel:
    source = tmp_path / "p.macah"
    source.write_text(text)
    program = read_program(source)
    return lower(program, program.kernels[0])


def chosen(made: Kernel) -> Choice:
    choice = spread(made, FABRIC, automatic=False)
    assert choice is not None
    return choice


@pytest.mark.quick(1)
@pytest.mark.parametrize("body", [COLLATZ, GCD, NEVER])
def test_the_results_are_the_same(body: str, tmp_path: Path) -> None:
    made = kernel(body, tmp_path)
    places = chosen(made).kernel.tests_first
    scalars = {"n": 9, "x": 5}
    for final in (optimize(made), chosen(made).final):
        assert run_kernel(final, scalars).scalars["x"] == run_kernel(made, scalars).scalars["x"]
    assert places or body == NEVER


@pytest.mark.quick(1)
@pytest.mark.parametrize(("body", "most"), [(COLLATZ, 3), (GCD, 4)])
def test_the_interval_is_shorter_for_an_iteration_more(body: str, most: int, tmp_path: Path) -> None:
    made = kernel(body, tmp_path)
    choice = chosen(made)
    assert minimum_interval(choice.dfg, FABRIC).mii <= most
    scalars = {"n": 9, "x": 5}
    plain, tested = (count_iterations(each, scalars) for each in (made, choice.kernel))
    assert tested.useful == plain.useful
    assert tested.executed <= plain.useful + 9 + 1


@pytest.mark.slow
def test_counted_loops_test_at_the_end(tmp_path: Path) -> None:
    body = "for (int j = 0; j < i; j++) x = x * x + j; for (int j = i; j > 0; j -= 2) x = x * 3 ^ j;"
    assert chosen(kernel(body, tmp_path)).kernel.tests_first == ()


ROW = "for (int x = 0; x < 30; x++) if (a[0][x] > 5) out <! a[0][x];"
COLUMNS = "for (int x = 0; x < 30; x++) { out <! a[y][x]; s ^= x; }"
ROWS = f"for (int y = 0; y < 20; y++) {{ int s = y; {COLUMNS} out <! s; }}"


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("body", "most"),
    [
        (f"{ROW} out <! -1;", 31),
        (f"int n = a[1][1]; out <! 7; n += 2; {ROW}", 32),
        (f"{ROW} out <! -1; {ROW.replace('a[0]', 'a[9]')} out <! -2;", 31 + 32),
        (f"int s = a[3][4]; out <! s; s = 3; {ROW} out <! s;", 32),
        (f"{ROWS} out <! -3;", 20 * 31 + 1),
        ("for (int y = 0; y < 20; y++) { out <! y; for (int x = 0; x < 30; x++) out <! a[y][x]; }", 20 * 32),
    ],
)
def test_what_stands_beside_a_loop_and_uses_its_stream_gets_an_iteration(
    body: str, most: int, tmp_path: Path
) -> None:
    made = sending(body, tmp_path)
    choice = chosen(made)
    assert choice.kernel.tests_first
    assert minimum_interval(choice.dfg, FABRIC).mii == 1
    arrays = {"a": [n * 7 % 23 for n in range(600)]}
    runs = [run_kernel(one, arrays=arrays) for one in (made, choice.final)]
    assert runs[0].outputs == runs[1].outputs
    assert count_iterations(choice.kernel, {}, arrays).executed <= most


def test_what_is_received_before_a_loop_and_in_it_is_one_receive_that_waits_for_nothing(
    tmp_path: Path,
) -> None:
    """Where the stream has ended, `n` stays what it was before the loop, not what the last iteration left."""
    text = """int f(int stream in, int stream out, int n) { int sum = 0;
      kernel {
        n <? in;
        for (int i = 0; i < 9; i++) { int x; x <? in; out <! x * n; sum += x; }
        out <! sum;
      } return n; }
    """
    made = lowered(text, tmp_path)
    choice = chosen(made)
    assert choice.kernel.tests_first
    assert minimum_interval(choice.dfg, FABRIC).mii == 1
    for count in (0, 1, 5, 10):
        inputs = {"in": [(3 * k + 4,) for k in range(count)]}
        runs = [run_kernel(one, {"n": 77}, inputs=inputs) for one in (made, choice.final)]
        assert runs[0] == runs[1]
        assert runs[0].scalars["n"] == (4 if count else 77)


def test_nothing_gets_an_iteration_that_uses_nothing_of_the_loop(tmp_path: Path) -> None:
    body = "int s = 0; for (int x = 0; x < 30; x++) s += a[1][x]; out <! s; out <! s >> 1;"
    assert chosen(sending(body, tmp_path)).kernel.tests_first == ()


def test_a_gain_must_be_worth_an_iteration() -> None:
    assert pays(3, 4) and pays(5, 6)
    assert not pays(8, 9) and not pays(4, 4)
    assert pays(4, 5, trips=100, more=2)
    assert not pays(3, 4, trips=2, more=2)
