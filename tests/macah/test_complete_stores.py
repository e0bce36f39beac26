"""Stores that happen always, with the old value where nothing was stored."""

from pathlib import Path

import pytest
from out_of_order import run_out_of_order

from macah.ir import Apply, Array, Assign, Const, DoWhile, If, Kernel, Load, Read, Store, Variable
from macah.lower import lower
from macah.passes.complete_stores import complete_stores
from macah.passes.find_sites import find_sites
from macah.passes.pipeline import optimize
from macah.program import parse_program
from macah.run import run_kernel
from macah.show import show_kernel
from macah.todfg import build_dfg

I, X = Variable("i"), Variable("x")
A = Array("a", (16,))


def lines(*body):
    """The body of a loop over i after the pass."""
    step = Assign(I, Apply("add", (Read(I), Const(1))))
    loop = DoWhile((*body, step), Apply("slt", (Read(I), Const(8))))
    kernel = Kernel("k", (), (), (Assign(I, Const(0)), Assign(X, Const(5)), loop))
    return show_kernel(complete_stores(find_sites(kernel))).splitlines()[4:-2]


def at(offset):
    return Apply("add", (Read(I), Const(offset)))


def load(offset=0):
    return Load(A, (at(offset),))


def store(offset, value):
    return Store(A, (at(offset),), value)


def test_a_minimum():
    less = Apply("slt", (Read(X), load(1)))
    assert lines(If(less, (store(1, Read(X)),)), Assign(X, load())) == [
        "    a_new = a[(i + 1)]",
        "    a_at = (i + 1)",
        "    if (x < a[(i + 1)]):",
        "      a_new = x",
        "    a[a_at] = a_new",
        "    x = a[(i + 0)]",
    ]


def completed(*body):
    """Whether some store is done always."""
    return any("a_new" in line for line in lines(*body))


def test_where_the_old_value_is_not_known_or_nobody_waits():
    condition = Apply("slt", (Read(X), load(1)))
    last = If(condition, (store(1, Const(7)),))
    again = Assign(X, load())
    assert completed(last, again)
    assert not completed(
        store(1, Const(3)), If(Apply("slt", (Read(X), Const(3))), (store(1, Const(7)),)), again
    )
    assert not completed(Assign(X, load(1)), store(1, Const(3)), If(Read(X), (store(1, Const(7)),)), again)
    assert not completed(If(Read(X), (Assign(X, load(1)), store(1, Const(7)))), again)
    assert not completed(Assign(X, load(1)), If(Read(X), (store(1, Const(7)),)))
    assert not completed(If(condition, (store(1, Const(7)), Assign(X, load(1)))), again)
    assert not completed(If(condition, (store(1, Const(7)), store(1, Const(8)))), again)


PATHS = """
short m[8][8];
void f(void)
{
  kernel {
    for (int q = 0; q < 8; q++)
      for (int i = 0; i < 8; i += 3) {
        for (int j = 0; j < 8; j++) { short d = m[i][q] + m[q][j]; if (d < m[i][j]) m[i][j] = d; }
        for (int j = 0; j < 8; j++) { short d = m[i + 1][q] + m[q][j]; if (d < m[i + 1][j]) m[i + 1][j] = d; }
        if (i > 5) break;
        for (int j = 0; j < 8; j++) { short d = m[i + 2][q] + m[q][j]; if (d < m[i + 2][j]) m[i + 2][j] = d; }
      }
  }
}
"""


@pytest.mark.parametrize("seed", range(6))
def test_a_loop_stores_nothing_while_another_one_runs(seed):
    program = parse_program(PATHS, Path("paths.macah"))
    kernel = lower(program, program.kernels[0])
    data = {"m": [(n // 8 * 11 + n % 8 * 3) ^ 2 for n in range(64)]}
    dfg = build_dfg(optimize(kernel))
    made = run_out_of_order(dfg, seed, memories={0: data["m"]})
    assert made.memories[0] == run_kernel(kernel, {}, data).arrays["m"]
