"""The control passes keep the meaning of random kernels, one by one."""

import pytest
from control_kernels import ALL, PASSES
from random_kernels import Choices, random_kernel, run_random

from macah import ir
from macah.check import check_kernel
from macah.run import run_kernel
from macah.show import show_kernel

REMOVED = {
    "remove_leaves": {ir.Block, ir.Leave},
    "invert_loops": {ir.While},
    "convert_ifs": {ir.If},
}


@pytest.mark.quick(3)
@pytest.mark.parametrize("size", [12, 30, 60])
@pytest.mark.parametrize("first", range(0, 240, 80))
def test_every_pass_keeps_the_meaning(size: int, first: int) -> None:
    for seed in range(first, first + 80):
        kernel = random_kernel(seed, Choices(size=size))
        expected = [run_random(kernel, inputs) for inputs in (1, 2)]
        absent: frozenset[type] = frozenset()
        for step in PASSES:
            kernel = step(kernel)
            absent |= REMOVED.get(step.__name__, set())
            check_kernel(kernel, absent)
            assert [run_random(kernel, inputs) for inputs in (1, 2)] == expected, (seed, step.__name__)


@pytest.mark.parametrize("name", ALL)
def test_every_pass_keeps_the_meaning_of_the_small_kernels(name: str) -> None:
    kernel = ALL[name]
    for bound in (0, 1, 4):
        table = {"A": list(range(64)), "B": [b * b % 97 for b in range(64)]}
        arrays = {c.what.name: table[c.what.name] for c in kernel.captured if c.what.name in table}
        inputs = {"in": [(w,) for w in (5, 3, 8, 1, 1, 2, 7, 7, 0)]}
        runs = [run_kernel(kernel, {"n": bound}, arrays, inputs)]
        made = kernel
        for step in PASSES:
            made = step(made)
            runs.append(run_kernel(made, {"n": bound}, arrays, inputs))
        outputs = [
            (run.outputs, run.arrays.get("C"), run.scalars.get("acc") if name == "total" else 0)
            for run in runs
        ]
        assert all(output == outputs[0] for output in outputs)


def test_passes_are_deterministic() -> None:
    def shown(seed: int) -> str:
        kernel = random_kernel(seed, Choices(size=60))
        for step in PASSES:
            kernel = step(kernel)
        return show_kernel(kernel)

    assert [shown(seed) for seed in range(20)] == [shown(seed) for seed in range(20)]
