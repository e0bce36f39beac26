from pathlib import Path

import pytest
from control_kernels import i, j, kernel, let, n, op, send, text

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah import ir
from macah.lower import lower
from macah.passes.count_trips import count_trips
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.run import run_kernel
from macah.todfg import build_dfg


def rows(end: ir.Expr, guarded: bool = True, step: int = 1) -> ir.Kernel:
    """Rows from j on, for j = 0, 4, 8, 12."""
    again = op("slt", i, end)
    row = ir.DoWhile((send(i), let(i, op("add", i, step))), again, again if guarded else ir.TRUE)
    outer = ir.DoWhile((let(i, j), row, let(j, op("add", j, 4))), op("slt", j, 16))
    return kernel(let(j, 0), outer, send(i), into=(n,))


def test_a_loop_from_a_start_that_is_no_constant_counts_from_0() -> None:
    assert text(count_trips(rows(op("add", j, 4)))) == (
        "j = 0\n"
        "do:\n"
        "  i_first = j\n"
        "  i_trip = 0\n"
        "  do:\n"
        "    i = (i_first + i_trip)\n"
        "    out <! i\n"
        "    i = (i + 1)\n"
        "    i_trip = (i_trip + 1)\n"
        "  while (i_trip != 4)\n"
        "  j = (j + 4)\n"
        "while (j < 16)\n"
        "out <! i\n"
    )  # fmt: skip


@pytest.mark.parametrize(("more", "step"), [(4, 1), (5, 2), (1, 3), (7, 3)])
@pytest.mark.parametrize("guarded", [True, False])
def test_it_does_the_same(more: int, step: int, guarded: bool) -> None:
    made = rows(op("add", j, more), guarded, step)
    counted = count_trips(made)
    assert counted != made
    assert run_kernel(counted) == run_kernel(made)


@pytest.mark.parametrize(
    "made",
    [
        rows(op("add", j, n)),  # for an unknown number of times
        rows(op("add", n, 4)),
        rows(op("add", j, 0)),  # never
        rows(op("add", j, 0x7FFFFFFF)),  # it would wrap around
    ],
)
def test_other_loops_stay(made: ir.Kernel) -> None:
    assert count_trips(made) == made


def test_a_test_without_signs_of_a_start_below_0_stays() -> None:
    again = op("ult", i, op("add", j, 8))
    row = ir.DoWhile((let(i, op("add", i, 3)), send(i)), again, again)
    start = let(i, op("add", j, 0xFFFFFFFE))
    outer = ir.DoWhile((start, row, let(j, op("add", j, 1))), op("ne", j, 16))
    made = kernel(let(j, 0), outer, send(i))
    assert count_trips(made) == made


KERNEL = """
enum { N = 16, B = 4 };
static int a[N][N], b[N][N], c[N][N], sum[N];
int main(void) { kernel { %s } }
"""


ROWS = "for (int y = 0; y < N; y++) { int s = 0; for (int x = y; x < y + 8; x++) s += a[0][x]; sum[y] = s; }"
BLOCKS = (
    "for (int k = 0; k < N; k += B) for (int j = 0; j < N; j += B)"
    " for (int i = 0; i < N; i++) for (int x = j; x < j + B; x++) {"
    " int s = c[i][x]; for (int y = k; y < k + B; y++) s += a[i][y] * b[y][x]; c[i][x] = s; }"
)


IN_BLOCKS = (
    "for (int bi = 0; bi < N; bi += B) for (int bj = 0; bj < N; bj += B) for (int bk = 0; bk < N; bk += B)"
    " for (int i = bi; i < bi + B; i++) for (int j = bj; j < bj + B; j++) {"
    " int s = c[i][j]; for (int k = bk; k < bk + B; k++) s += a[i][k] * b[k][j]; c[i][j] = s; }"
)


@pytest.mark.parametrize("body", [ROWS, BLOCKS, IN_BLOCKS])
def test_such_nests_take_a_cycle_for_each_iteration(tmp_path: Path, body: str) -> None:
    path = tmp_path / "p.macah"
    path.write_text(KERNEL % body)
    program = read_program(path)
    fabric = load_fabric("grid8x8")
    made = optimize(lower(program, program.kernels[0], {}))
    assert minimum_interval(build_dfg(made, fabric), fabric).mii == 1
