from pathlib import Path

import pytest
from control_kernels import Term, count, i, j, kernel, let, loop, m, n, op, receive, send, text, x, y

from arch.describe import load_fabric
from backend.bound import minimum_interval
from macah import ir
from macah.ir import Array, Load, Read, Store
from macah.lower import lower
from macah.passes.keep_chosen import keep_chosen
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.run import run_kernel
from macah.todfg import build_dfg

A, B = (Array(name, (8,)) for name in "ab")
FIRST = {"a": [5, 3, 9, 3, 1, 7, 1, 8], "b": [2, 7, 1, 0, 6, 4, 3, 5]}


def at(array: Array, index: Term) -> Load:
    return Load(array, (Read(index) if isinstance(index, ir.Variable) else op("add", index, 0),))


def least(*chosen: ir.Stmt, behind: ir.Body = ()) -> ir.Kernel:
    """What is done where an element is less than the least one yet, and at the end of each iteration."""
    better = ir.If(op("slt", at(A, j), at(A, m)), chosen)
    found = (let(m, 0), *count(j, 8, better, *behind), let(x, at(A, m)), send(m), send(x))
    return kernel(*found, into=(A, B), out=(A,))


def same(made: ir.Kernel) -> str:
    """What becomes of a kernel, which does the same as before."""
    kept = keep_chosen(made)
    assert run_kernel(kept, arrays=FIRST) == run_kernel(made, arrays=FIRST)
    return text(kept)


def test_the_least_element_is_kept_where_its_index_is_chosen() -> None:
    assert same(least(let(m, j))) == (
        "m = 0\n"
        "j = 0\n"
        "a_chosen = a[m]\n"
        "loop:\n"
        "while (j < 8):\n"
        "  if (a[j] < a_chosen):\n"
        "    m = j\n"
        "    a_chosen = a[j]\n"
        "  j = (j + 1)\n"
        "x = a_chosen\n"
        "out <! m\n"
        "out <! x\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(least(let(m, j), behind=(Store(A, (Read(j),), Read(j)),)), id="stored"),
        pytest.param(least(let(m, j), behind=(ir.Forget(A),)), id="forgotten"),
        pytest.param(least(let(m, j), behind=(let(m, op("and", m, 7)),)), id="always changed"),
        pytest.param(least(let(m, op("xor", j, 1))), id="another element"),
        pytest.param(least(let(m, j), let(j, op("add", j, 1))), id="counter changed next to it"),
        pytest.param(least(receive(m)), id="received"),
    ],
)
def test_elements_are_loaded_that_the_choice_does_not_show(made: ir.Kernel) -> None:
    assert keep_chosen(made) == made


def test_the_element_is_loaded_again_behind_what_may_change_it() -> None:
    ends = (let(y, at(A, m)), Store(A, (Read(m),), Read(y)), send(at(A, m)))
    found = same(
        kernel(let(m, 0), *count(j, 8, ir.If(op("slt", at(A, j), at(A, m)), (let(m, j),))), *ends, into=(A,))
    )
    assert found.endswith("y = a_chosen\na[m] = y\nout <! a[m]\n")


def test_a_loop_behind_it_that_changes_the_element_loads_it() -> None:
    search = count(j, 8, ir.If(op("slt", at(A, j), at(A, m)), (let(m, j),)))
    again = loop(op("slt", at(A, m), 20), Store(A, (Read(m),), op("add", at(A, m), 5)))
    found = same(kernel(let(m, 0), *search, again, send(at(A, m)), into=(A,)))
    assert "while (a[m] < 20)" in found


def test_two_indices_that_are_chosen_together() -> None:
    grid = Array("a", (2, 4))
    here, best = Load(grid, (Read(i), Read(j))), Load(grid, (Read(m), Read(n)))
    choice = ir.If(op("slt", here, best), (let(m, i), let(n, j)))
    made = kernel(let(m, 0), let(n, 0), *count(i, 2, *count(j, 4, choice)), send(best), into=(grid,))
    assert same(made).endswith("out <! a_chosen\n")
    alone = ir.If(op("slt", here, best), (let(m, i),))
    made = kernel(
        let(m, 0), let(n, 0), *count(i, 2, *count(j, 4, alone, let(n, j))), send(best), into=(grid,)
    )
    assert keep_chosen(made) == made


def test_an_element_of_another_array_at_a_chosen_element() -> None:
    better = ir.If(op("slt", Load(A, (at(B, j),)), Load(A, (at(B, m),))), (let(m, j),))
    found = same(kernel(let(m, 0), *count(j, 8, better), send(m), into=(A, B)))
    assert "if (a[b[j]] < a_chosen):\n    m = j\n" in found


def test_selection_sort_waits_for_no_load(tmp_path: Path) -> None:
    source = tmp_path / "sort.macah"
    source.write_text("""void sort(int a[16]) { kernel {
      for (int i = 0; i < 15; i++) {
        int m = i;
        for (int j = i + 1; j < 16; j++) if (a[j] < a[m]) m = j;
        int t = a[i]; a[i] = a[m]; a[m] = t;
      } } }""")
    program = read_program(source)
    made = lower(program, program.kernels[0])
    fabric = load_fabric("grid8x8")
    assert minimum_interval(build_dfg(optimize(made), fabric), fabric).recurrence <= 3
