"""Elements at chosen indices, taken from those that are loaded anyway."""

from dataclasses import replace
from pathlib import Path

import pytest
from nest_checks import lowered

from backend.dfg import DFG
from backend.run_dfg import run_dfg
from macah.passes.pipeline import optimize
from macah.run import run_kernel
from macah.todfg import build_dfg

GIVEN = {
    "a": [(7 * k + 3) % 64 for k in range(64)],
    "b": [(11 * k + 5) % 64 for k in range(64)],
    "y": [(13 * k * k + 1) % 64 for k in range(64)],
}
LARGER_CHILD = "int c = 2 * i + 1; if (c + 1 < 60 && y[c + 1] > y[c]) c++; x += y[c]; y[i] = x;"
LEAST_OF_FOUR = """int p = y[4 * i] < y[4 * i + 1] ? 4 * i : 4 * i + 1;
                   int q = y[4 * i + 2] < y[4 * i + 3] ? 4 * i + 2 : 4 * i + 3;
                   int m = y[p] < y[q] ? p : q; x += y[m] ^ m; y[i] = x;"""
STORED_BETWEEN = "int c = y[i] < y[i + 1] ? i : i + 1; y[i] = x; x += y[c];"
ONE_NOT_LOADED = "int c = y[i] < x ? i : i + 9; x += y[c]; y[i] = x;"
BODIES = {
    "larger child": (LARGER_CHILD, 2),
    "least of four": (LEAST_OF_FOUR, 4),
    "stored between": (STORED_BETWEEN, 3),
    "one not loaded": (ONE_NOT_LOADED, 2),
}


def _loads(dfg: DFG) -> int:
    return sum(node.op == "load" for node in dfg.nodes)


@pytest.mark.parametrize("name", BODIES)
def test_no_more_is_loaded_than_there_is_to_choose_from(name: str, tmp_path: Path) -> None:
    body, loads = BODIES[name]
    made = lowered(f"for (int i = 0; i < n; i++) {{ {body} }}", tmp_path)
    made = replace(made, without=frozenset({"forward", "reuse_elements"}))
    dfg = build_dfg(optimize(made))
    assert _loads(dfg) == loads
    for trips in (0, 1, 7, 15):
        scalars = {"n": trips, "x": 5}
        expected = run_kernel(made, scalars, GIVEN)
        memories = {m: GIVEN[memory.name] for m, memory in enumerate(dfg.memories)}
        ran = run_dfg(dfg, [scalars[name] for name in dfg.live_ins], None, memories)
        assert ran.live_outs == [expected.scalars[name] for name in dfg.live_outs]
        for m, memory in enumerate(dfg.memories):
            assert list(ran.memories[m]) == expected.arrays[memory.name]


def test_without_it_the_index_is_chosen_first(tmp_path: Path) -> None:
    made = lowered(f"for (int i = 0; i < n; i++) {{ {LARGER_CHILD} }}", tmp_path)
    plain = replace(made, without=frozenset({"chosen_elements", "forward", "reuse_elements"}))
    assert _loads(build_dfg(optimize(plain))) == 3
