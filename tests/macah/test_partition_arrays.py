"""Small arrays in variables: kernels do what they did, and get them where memory is waited for."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from control_kernels import count, i, kernel, let, n, op, send, text, x
from random_kernels import LIMIT, Choices, random_kernel
from test_bank_arrays import ran

from arch.describe import load_fabric
from macah import ir
from macah.check import check_kernel
from macah.ir import Array, Const, Load, Read
from macah.lower import lower
from macah.passes.invert_loops import invert_loops
from macah.passes.partition_arrays import MOST_WORDS, partition_arrays, partitionable
from macah.passes.remove_leaves import remove_leaves
from macah.passes.scalarize_arrays import WRITTEN_SCALARS
from macah.program import read_program
from macah.sources import source_name
from macah.spread import spread
from macah.walk import arrays_read, arrays_written

FABRIC = load_fabric("grid8x8")
A = Array("A", (4,))


def inverted(made: ir.Kernel) -> ir.Kernel:
    """The kernel as the pass meets it; each captured array is called by its name in the host."""
    captured = tuple(
        replace(c, source=c.what.name + "".join(f"[{{{d}}}]" for d in range(len(c.what.shape))))
        if isinstance(c.what, Array)
        else c
        for c in made.captured
    )
    return invert_loops(remove_leaves(replace(made, captured=captured)))


def partitioned(made: ir.Kernel) -> ir.Kernel:
    arrays = arrays_read(made.body) | arrays_written(made.body)
    names = tuple(sorted({source_name(array.name) for array in arrays}))
    result = partition_arrays(replace(made, partitioned=names))
    check_kernel(result, frozenset({ir.Leave, ir.Block, ir.While}))
    return result


@pytest.mark.parametrize("first", [0, 50, 100])
def test_random_kernels_run_alike(first: int) -> None:
    changed = 0
    for seed in range(first, first + 50):
        made = inverted(random_kernel(seed, Choices(size=25)))
        source = random.Random(seed)
        words = [source.choice((0, 1, 2, 3, 7, 100, 0xFFFFFFFF)) for _ in range(24)]
        inputs = {"in": [(w,) for w in words[:10]], "try": [(w,) for w in words[10:14]]}
        scalars = {**dict(zip("abc", words[14:17], strict=True)), LIMIT.name: source.randrange(6)}
        memory = {f"A[{place}]": word for place, word in enumerate(words[16:24])}
        result = partitioned(made)
        changed += result.body != made.body
        assert ran(result, scalars, memory, inputs) == ran(made, scalars, memory, inputs), (
            seed,
            text(result),
        )
    assert changed > 20


def test_a_load_chooses_and_a_store_changes_the_element_that_is_meant() -> None:
    body = count(i, 9, ir.Store(A, (op("and", i, 3),), op("add", Load(A, (Read(x),)), 1)))
    found = partitioned(inverted(kernel(*body, into=(A, x), out=(A,))))
    assert text(found) == (
        "i = 0\n"
        "do:\n"
        "  bank = (select((x == 0), A[0], select((x == 1), A[1], select((x == 2), A[2], A[3]))) + 1)\n"
        "  A[0] = select(((i & 3) == 0), bank, A[0])\n"
        "  A[1] = select(((i & 3) == 1), bank, A[1])\n"
        "  A[2] = select(((i & 3) == 2), bank, A[2])\n"
        "  A[3] = select(((i & 3) == 3), bank, A[3])\n"
        "  i = (i + 1)\n"
        "while (i < 9)\n"
    )
    assert [c.source for c in found.captured if c.out] == [f"A[(0 * 4 + {place})]" for place in range(4)]


def test_a_matrix_has_a_variable_for_each_place() -> None:
    b = Array("B", (2, 3))
    store = ir.Store(b, (op("and", i, 1), Const(2)), Read(i))
    found = partitioned(inverted(kernel(*count(i, n, store, send(Load(b, (Read(x), Read(n))))), into=(n, x))))
    assert not arrays_read(found.body) | arrays_written(found.body)
    assert "B[1][2] = select(((i & 1) == 1), i, B[1][2])" in text(found) and "B[0][1]" in text(found)


def test_only_elements_that_an_index_may_mean_are_chosen_among() -> None:
    body = (let(i, 0), ir.While((), op("slt", i, 4), (send(Load(A, (Read(i),))), let(i, op("add", i, 2)))))
    assert "A[1]" not in text(partitioned(inverted(kernel(*body, into=(A,)))))


def test_large_arrays_and_larger_ones_that_the_host_gets_back_stay() -> None:
    sizes = {WRITTEN_SCALARS: True, WRITTEN_SCALARS + 1: False}
    for size, fits in sizes.items():
        array = Array("A", (size,))
        made = inverted(kernel(*count(i, n, ir.Store(array, (Read(i),), Const(1))), into=(n,), out=(array,)))
        assert ("A" in partitionable(made)) is fits
        assert (partitioned(made) is not made) and ("A[i]" not in text(partitioned(made))) is fits
    for size in (MOST_WORDS, MOST_WORDS + 1):
        made = inverted(kernel(*count(i, n, send(Load(Array("A", (size,)), (Read(i),)))), into=(n,)))
        assert bool(partitionable(made)) is (size == MOST_WORDS)


MEDIANS = """
void f(const int in[100], int out[100])
{
  kernel {
    for (int k = 0; k < 96; k++) {
      int s[5];
      for (int i = 0; i < 5; i++) s[i] = in[k + i];
      for (int i = 0; i < 4; i++) {
        int m = i;
        for (int j = i + 1; j < 5; j++) if (s[j] < s[m]) m = j;
        int t = s[i]; s[i] = s[m]; s[m] = t;
      }
      out[k] = s[2];
    }
  }
}
"""


def test_a_window_that_is_sorted_is_in_variables(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(MEDIANS)
    program = read_program(source)
    made = lower(program, program.kernels[0])
    without = replace(made, without=frozenset({"partition_arrays"}))
    choice, plain = spread(made, FABRIC), spread(without, FABRIC)
    assert choice is not None and plain is not None
    assert choice.kernel.partitioned == ("s",) and plain.kernel.partitioned == ()
    assert choice.interval == 3 and 4 * choice.cycles < plain.cycles
