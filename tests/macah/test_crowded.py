"""A kernel that a small array is too full for is mapped without what makes kernels grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arch.fabric import Fabric
from backend.dfg import DFG
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, Mapping, Shortage
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


ROWS = """int main(void)
{
  static int a[32][8];
  int x = 3;
  kernel {
    for (int i = 1; i < 32; i++)
      for (int j = 0; j < 8; j++) a[i][j] = a[i - 1][j] * 5 + (a[i - 1][7 - j] ^ x);
  }
  return a[31][7];
}
"""


@pytest.mark.slow
def test_fewer_copies_are_chosen_where_those_that_promise_most_do_not_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "p.macah"
    source.write_text(ROWS)
    options = Options(source)
    program = read_program(source)
    (whole,) = compile_kernels(program, {}, options, Stages())
    tried: list[int] = []

    def mapped(dfg: DFG, fabric: Fabric, *rest: Any) -> Mapping:
        tried.append(len(dfg.nodes))
        if len(dfg.nodes) > 30:
            raise DoesNotFit("crowded", Shortage.ROUTES, 1, 0)
        return map_kernel(dfg, fabric, *rest)

    monkeypatch.setattr("macah.compile.map_kernel", mapped)
    (less,) = compile_kernels(program, {}, options, Stages())
    assert len(whole.dfg.nodes) == tried[0] > 30 >= tried[-1]
    assert whole.lowered.unroll and less.lowered.without == whole.lowered.without == frozenset()
    (plain,) = compile_kernels(program, {}, Options(source, unroll=("none",)), Stages())
    assert less.mapping.interval <= plain.mapping.interval
