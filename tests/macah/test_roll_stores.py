from pathlib import Path

import pytest
from control_kernels import count, i, kernel, let, op, send, x

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah import ir
from macah.ir import Array, Const, Load, Read, Store
from macah.lower import lower
from macah.passes.invert_loops import invert_loops
from macah.passes.pipeline import optimize
from macah.passes.roll_stores import roll_stores
from macah.program import read_program
from macah.run import run_kernel
from macah.show import show_body
from macah.todfg import build_dfg

A, B = Array("a", (8,)), Array("b", (8,))
GRID = Array("g", (2, 3))


def fill(array: Array, *values: int) -> ir.Body:
    """What an initialiser of an array with one dimension stores."""
    return tuple([Store(array, (Const(place),), Const(value)) for place, value in enumerate(values)])


def rolled(*body: ir.Stmt) -> str:
    """What becomes of statements before a loop that sends all elements, which stay the same."""
    sends = [send(Load(array, (Read(i),))) for array in (A, B)]
    sends.append(send(Load(GRID, (op("and", op("shr", i, 2), 1), op("and", i, 3)))))
    made = invert_loops(kernel(*body, *count(i, 8, *sends), into=(A, B, GRID)))
    became = roll_stores(made)
    values = {"a": range(10, 18), "b": range(20, 28), "g": range(30, 36)}
    assert run_kernel(became, arrays=values) == run_kernel(made, arrays=values)
    return show_body(became.body[:-2])


def test_equal_constants_become_a_loop() -> None:
    assert rolled(*fill(A, *[0] * 8)) == "at = 0\ndo:\n  a[at] = 0\n  at = (at + 1)\nwhile (at < 8)\n"


def test_arrays_that_are_filled_alike_share_a_loop() -> None:
    both = [store for pair in zip(fill(A, *[0] * 8), fill(B, *[7] * 8), strict=True) for store in pair]
    assert rolled(*both) == "at = 0\ndo:\n  a[at] = 0\n  b[at] = 7\n  at = (at + 1)\nwhile (at < 8)\n"


def test_a_few_other_values_are_chosen_by_the_counter() -> None:
    assert "a[at] = select((at == 2), 5, 0)" in rolled(*fill(A, 0, 0, 5, 0, 0, 0, 0, 0))
    assert "while" not in rolled(*fill(A, 1, 2, 3, 4, 0, 0, 0, 0))


def test_what_is_stored_last_counts() -> None:
    assert "a[at] = select((at == 0), 9, 0)" in rolled(*fill(A, *[0] * 8), *fill(A, 9))


def test_dimensions_become_a_nest() -> None:
    stores = [Store(GRID, (Const(r), Const(c)), Const(int(r == c == 1))) for r in range(2) for c in range(3)]
    assert rolled(*stores) == (
        "at = 0\n"
        "do:\n"
        "  at'2 = 0\n"
        "  do:\n"
        "    g[at][at'2] = select(((at == 1) & (at'2 == 1)), 1, 0)\n"
        "    at'2 = (at'2 + 1)\n"
        "  while (at'2 < 3)\n"
        "  at = (at + 1)\n"
        "while (at < 2)\n"
    )  # fmt: skip


def test_a_part_of_an_array_is_filled_from_where_it_begins() -> None:
    assert rolled(*fill(A, *[3] * 7)[2:]) == "at = 2\ndo:\n  a[at] = 3\n  at = (at + 1)\nwhile (at < 7)\n"
    apart = [Store(A, (Const(place),), Const(0)) for place in (0, 2, 4, 6)]
    assert "while" not in rolled(*apart)


@pytest.mark.parametrize(
    "stores",
    [
        pytest.param(fill(A, 0, 0), id="few"),
        pytest.param(tuple(Store(A, (Const(k),), Read(x)) for k in range(8)), id="no constants"),
        pytest.param(tuple(Store(A, (Const(k),), Const(0), Read(x)) for k in range(8)), id="conditional"),
        pytest.param(tuple(Store(A, (Const(k + 8),), Const(0)) for k in range(8)), id="nowhere"),
    ],
)
def test_other_stores_stay(stores: ir.Body) -> None:
    made = invert_loops(kernel(let(x, 1), *stores, *count(i, 8, send(Load(A, (Read(i),)))), into=(A,)))
    assert roll_stores(made) == made


def test_stores_without_a_loop_beside_them_stay() -> None:
    made = kernel(*fill(A, *[0] * 8), out=(A,))
    assert roll_stores(made) == made
    inside = invert_loops(kernel(*count(i, 8, *fill(A, *[0] * 8)), out=(A,)))
    assert roll_stores(inside) == inside


@pytest.mark.parametrize("size", [8, 16])
def test_in_another_loop_only_many_stores_become_one(size: int) -> None:
    array = Array("a", (size,))
    inner = count(x, 8, Store(array, (Read(x),), Read(i)))
    made = invert_loops(kernel(*count(i, 4, *fill(array, *[0] * size), *inner), out=(array,)))
    assert (roll_stores(made) == made) is (size == 8)


def test_an_initialiser_takes_no_ports_of_a_histogram(tmp_path: Path) -> None:
    source = tmp_path / "histogram.macah"
    source.write_text("""void f(unsigned char x[64], int stream out) { kernel {
      unsigned short bin[32] = {0};
      for (int i = 0; i < 64; i++) bin[x[i] & 31]++;
      for (int i = 0; i < 32; i++) out <! bin[i];
    } }""")
    program = read_program(source)
    fabric = load_fabric("grid8x8")
    dfg = build_dfg(optimize(lower(program, program.kernels[0])), fabric)
    assert minimum_interval(dfg, fabric).mii == 2
