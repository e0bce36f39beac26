from pathlib import Path

import pytest
from control_kernels import i, kernel, let, n, op, send, text, x

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah import ir
from macah.lower import lower
from macah.passes.compare_counters import compare_counters
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.todfg import build_dfg

NEW = let(x, op("add", i, 1)), let(i, x)
OLD = let(x, i), let(i, op("add", i, 0xFFFFFFFF))


def looped(*body: ir.Stmt, condition: ir.Expr, start: int = 0) -> ir.Kernel:
    return kernel(let(i, start), ir.DoWhile(body, condition))


def test_what_is_the_counter_after_the_step_is_the_counter() -> None:
    assert text(compare_counters(looped(send(i), *NEW, condition=op("slt", x, 16)))) == (
        "i = 0\n"
        "do:\n"
        "  out <! i\n"
        "  i = (i + 1)\n"
        "  x = i\n"
        "while (i < 16)\n"
    )  # fmt: skip


def test_what_is_the_counter_before_the_step_is_told_by_the_counter() -> None:
    made = kernel(let(i, 16), ir.While(OLD, op("ne", x, 0), (send(i),)))
    assert text(compare_counters(made)) == (
        "i = 16\n"
        "loop:\n"
        "  x = i\n"
        "  i = (i + -1)\n"
        "while (i != -1):\n"
        "  out <! i\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    "made",
    [
        looped(send(i), *NEW, condition=op("slt", x, n)),  # for an unknown number of times
        looped(*NEW, let(x, 3), condition=op("slt", x, 16)),
        looped(*NEW, ir.If(op("eq", n, 1), (let(i, 3),)), condition=op("slt", x, 16)),
        kernel(ir.DoWhile(NEW, op("slt", x, 16)), into=(i,)),  # from an unknown start
        kernel(let(i, 0), ir.While((), op("slt", x, 16), NEW), into=(x,)),  # `x` is tested first
        kernel(let(i, 0), ir.DoWhile(NEW, op("slt", x, 16), op("slt", x, 16)), into=(x,)),
    ],
)
def test_other_tests_stay(made: ir.Kernel) -> None:
    assert compare_counters(made) == made


KERNEL = """#include <stdio.h>
static int a[256], h[16], out[64];
int main(void)
{
  kernel { for (int at = 0; at < 40; at++) { int s = 0; %s out[at] = s; } }
}
"""
LOOPS = (
    "int t = 0; do s += a[at + t] * h[t]; while (++t < 16);",
    "int t = 16; do s += a[at + t - 1] * h[t - 1]; while (--t);",
    "int t = 16; while (t--) s += a[at + t] * h[t];",
    "unsigned t = 16; while (t-- > 0) { if (a[at + t] == 3) continue; s += a[at + t] * h[t]; }",
    "int t = -1; while (++t < 16) s += a[at + t] * h[t];",
)


@pytest.mark.parametrize("loop", LOOPS)
def test_nests_that_count_so_take_a_cycle_for_each_iteration(tmp_path: Path, loop: str) -> None:
    path = tmp_path / "p.macah"
    path.write_text(KERNEL % loop)
    program = read_program(path)
    lowered = lower(program, program.kernels[0], {})
    fabric = load_fabric("grid8x8")
    made = optimize(lowered)
    assert minimum_interval(build_dfg(made, fabric), fabric).mii == 1
