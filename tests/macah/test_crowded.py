"""A kernel that a small array is too full for is mapped without what makes kernels grow."""

from __future__ import annotations

from pathlib import Path

import pytest

from macah.compile import compile_kernels
from macah.options import Options
from macah.program import read_program
from macah.stages import Stages

SCHEDULE = """int main(void)
{
  static int w[40];
  kernel { for (int i = 9; i < 40; i++) w[i] = w[i - 2] ^ w[i - 9]; }
  return w[39];
}
"""


@pytest.mark.parametrize(("array", "loads"), [("satmapit:2x2", 2), ("grid8x8", 0)])
def test_elements_are_loaded_again_where_registers_are_few(tmp_path: Path, array: str, loads: int) -> None:
    source = tmp_path / "p.macah"
    source.write_text(SCHEDULE)
    options = Options(source, arch=array, unroll=("none",))
    (kernel,) = compile_kernels(read_program(source), {}, options, Stages())
    assert sum(node.op == "load" for node in kernel.dfg.nodes) == loads
    assert kernel.mapping.interval <= 4
    assert kernel.mapping.dfg == kernel.dfg
