"""Arrays stored to in one loop and loaded in others get copies, so that their loads need not become one."""

from pathlib import Path

import pytest
from kernels import outcome, outcome_of_graph
from test_share_ports import FABRIC, graph, inputs, lowered

from backend.bound import minimum_interval
from macah import todfg

SUMS = """int s[9][13];
for (int x = 0; x < 13; x++) s[0][x] = 0;
for (int y = 1; y < 9; y++) {
  int row = 0;
  s[y][0] = 0;
  for (int x = 1; x < 13; x++) { int w; w <? in; row += w; s[y][x] = s[y - 1][x] + row; }
}
for (int y = 0; y < 8; y++)
  for (int x = 0; x < 12; x++) {
    int left = max(x - n, 0), right = min(x + n + 1, 12), top = max(y - n, 0), low = min(y + n + 1, 8);
    out <! s[low][right] - s[top][right] - s[low][left] + s[top][left];
  }"""


def test_loads_of_a_later_loop_have_copies_and_do_not_hold_up_the_loop_that_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = lowered(SUMS, tmp_path)
    dfg = graph(kernel)
    monkeypatch.setattr(todfg, "with_stored_copies", lambda kernel, best, *_: best)
    joined = graph(kernel)
    assert (minimum_interval(dfg, FABRIC).mii, minimum_interval(joined, FABRIC).mii) == (2, 3)
    places = {n.memory: dfg.memories[n.memory].name for n in dfg.nodes if n.op == "load"}
    assert len(places) > 1 and {*places.values()} == {"s"}


@pytest.mark.parametrize("seed", range(4))
def test_copies_of_what_is_stored_to_have_what_the_array_has(tmp_path: Path, seed: int) -> None:
    kernel = lowered(SUMS, tmp_path)
    given = inputs(kernel, seed)
    assert outcome_of_graph(kernel, graph(kernel), given) == outcome(kernel, given)
