"""What limits a kernel is said in terms of its source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arch.describe import load_fabric
from backend.dfg import DFG
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program
from macah.todfg import build_dfg
from macah.why import Why, why
from macah.why_text import recurrence_text, resource_text

FABRIC = load_fabric("grid8x8")


def explained(text: str, directory: Path, *without: str) -> tuple[DFG, Why]:
    source = directory / "p.macah"
    source.write_text(text)
    program = read_program(source)
    kernel = replace(lower(program, program.kernels[0]), without=frozenset(without))
    graph = build_dfg(optimize(kernel))
    return graph, why(graph, FABRIC)


def said(found: Why) -> str:
    lines = [resource_text(r) for r in found.resources]
    lines += [line for r in found.recurrences for line in recurrence_text(r)]
    return "\n".join(lines)


def test_nothing_binds_a_loop_that_starts_in_every_cycle(tmp_path: Path) -> None:
    text = "int f(int n) { int s = 0; kernel { for (int i = 0; i < n; i++) s += i; } return s; }"
    assert explained(text, tmp_path)[1] == Why((), ())


SCATTER = """void f(int a[100], int k, int n) { kernel {
    for (int i = 0; i < n; i++)
      a[i + k] = a[i] / (a[i] + 7);
} }
"""


def test_an_order_between_accesses_names_both(tmp_path: Path) -> None:
    found = explained(SCATTER, tmp_path, "forward")[1]
    assert (
        "where 'a[i + k]' is stored (line 3) before 'a[i]' is loaded (line 3) in the next iteration,"
        " as both may be the same element" in said(found)
    )


STREAM = """void f(int stream in, int stream out, int n) {
  kernel { for (int i = 0; i < n; i++) { int a, b, c; a <? in; b <? in; c <? in; out <! a * b + c; } }
}
"""


def test_a_stream_that_binds_is_a_resource_and_no_recurrence(tmp_path: Path) -> None:
    found = explained(STREAM, tmp_path)[1]
    assert said(found) == "resources: 3 operations on stream in, which has 1 port"


TABLE = """void f(int stream in, int stream out, int a[64], int n) { kernel {
  for (int i = 0; i < n; i++) { int x; x <? in; out <! a[x & 63] + a[x >> 6 & 63] + a[x >> 12 & 63]; }
} }
"""


def test_a_memory_that_binds_is_told_with_its_ports(tmp_path: Path) -> None:
    found = explained(TABLE, tmp_path)[1]
    assert said(found) == "resources: 3 operations on array a, whose memory has 2 ports"


DIVISION = """int f(int x, int n) { kernel {
    for (int i = 0; i < n; i++)
      x = 1000 / (x + 3);
  } return x; }
"""


def test_a_long_operation_on_a_recurrence_is_named(tmp_path: Path) -> None:
    found = explained(DIVISION, tmp_path)[1]
    (recurrence,) = found.recurrences
    assert (recurrence.cycles, recurrence.distance) == (9, 1)
    assert said(found).startswith(
        "a recurrence: 2 operations, one after the other, 9 cycles in each iteration"
    )
    assert "p.macah:3: add, sdiv of x  | x = 1000 / (x + 3);" in said(found)


@pytest.mark.parametrize("text", [SCATTER, DIVISION])
def test_every_recurrence_that_is_told_binds(text: str, tmp_path: Path) -> None:
    found = explained(text, tmp_path)[1]
    assert found.recurrences
    assert len({-(-r.cycles // r.distance) for r in found.recurrences}) == 1


def test_statements_of_one_line_are_told_together(tmp_path: Path) -> None:
    text = """void f(int a[50], const int x[50]) { kernel {
        for (int i = 0; i < 50; i++) { int k = x[i]; if (a[k] < 9) a[k] = a[k] * 3; }
    } }
    """
    found = explained(text, tmp_path, "forward", "complete_stores")[1]
    places = [line.split(": ")[0] for r in found.recurrences for line in recurrence_text(r) if "  | " in line]
    assert places and len(places) == len(found.recurrences)


def test_an_array_in_several_memories_is_told_once(tmp_path: Path) -> None:
    loads = " ^ ".join(f"t[x >> {k} & 63]" for k in range(20))
    source = tmp_path / "p.macah"
    source.write_text(
        f"int f(const int t[64], int x, int n) {{ int s = 0; kernel {{\n"
        f"  for (int i = 0; i < n; i++) {{ x += 7; s += {loads}; }} }} return s; }}"
    )
    program = read_program(source)
    fabric = load_fabric("grid4x4")
    graph = build_dfg(optimize(lower(program, program.kernels[0])), fabric)
    assert len(graph.memories) > 1
    assert [r.name for r in why(graph, fabric).resources if r.kind == "array"] == ["t"]
