"""Control that depends on nothing but itself: read from tables, and what it tells of accesses to memory."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import kernels
import pytest
from kernels import outcome, outcome_of_graph
from out_of_order import run_out_of_order
from test_lower import lowered

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.dfg import DFG
from macah.ir import Kernel
from macah.passes.pipeline import optimize
from macah.tabulate import control_tables
from macah.todfg import build_dfg

FABRIC = load_fabric("grid8x8")
READ = "for (int i = 0; i < 16; i++) t[i] <? in;"
WRITE = "for (int i = 0; i < 16; i++) out <! t[i];"
TRIANGLE = "for (int i = 0; i < 6; i++) for (int j = 0; j < i; j++) { int x; x <? in; out <! x + 8 * i + j; }"
ZIGZAG = """
int x = 0, y = 0;
for (int i = 0; i < 16; i++) {
  int v; v <? in; out <! v + 4 * y + x;
  if ((x + y) & 1) { if (y == 3) x++; else if (x == 0) y++; else { x--; y++; } }
  else { if (x == 3) y++; else if (y == 0) x++; else { x++; y--; } }
}"""
BUTTERFLIES = """
for (int n = 2; n <= 16; n *= 2)
  for (int i = 0; i < 16; i += n)
    for (int j = 0; j < n / 2; j++) {
      int u = t[i + j], v = t[i + j + n / 2] * (j + 1);
      t[i + j] = u + v; t[i + j + n / 2] = u - v;
    }"""
BITONIC = """
for (int k = 2; k <= 16; k *= 2)
  for (int j = k / 2; j > 0; j /= 2)
    for (int i = 0; i < 16; i++)
      if ((i ^ j) > i) {
        int x = t[i], y = t[i ^ j];
        if ((x > y) == ((i & k) == 0)) { t[i] = y; t[i ^ j] = x; }
      }"""


def kernel(body: str, around: str = "for (int b = 0; b < n; b++)") -> Kernel:
    return lowered(
        f"void f(int stream in, int stream out, int n) {{ kernel {{ int t[16]; {around} {{ {body} }} }} }}"
    )


def graph(made: Kernel, *without: str) -> DFG:
    return build_dfg(optimize(replace(made, without=made.without | set(without))), FABRIC)


def same(made: Kernel, dfg: DFG, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph does in any order that it allows what the kernel does."""
    chance = random.Random(5)
    for n in (0, 1, 3):
        words = [(chance.randrange(1000),) for _ in range(400)]
        given: dict[str, Any] = {"scalars": {"n": n}, "arrays": {}, "inputs": {"in": words}}
        expected = outcome(made, given)
        assert outcome_of_graph(made, dfg, given) == expected
        for seed in range(6):
            with monkeypatch.context() as patch:
                patch.setattr(kernels, "run_dfg", lambda dfg, *data: run_out_of_order(dfg, seed, *data))  # noqa: B023
                assert outcome_of_graph(made, dfg, given) == expected


@pytest.mark.parametrize("body", [TRIANGLE + WRITE, ZIGZAG + "out <! 1;"])
def test_slow_control_is_read_from_a_table(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = kernel(body)
    told, plain = graph(made), graph(made, "tabulate")
    assert any(memory.name == "turns" and memory.initial for memory in told.memories)
    assert minimum_interval(told, FABRIC).mii < minimum_interval(plain, FABRIC).mii
    assert len(told.nodes) < len(plain.nodes)
    same(made, told, monkeypatch)


def test_control_that_is_done_once_is_told_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    made = kernel(ZIGZAG, around="")
    told = graph(made)
    assert any(memory.name == "turns" for memory in told.memories)
    same(made, told, monkeypatch)


def test_what_never_changes_is_in_no_table_and_needs_no_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = "for (int i = 0; i < n; i++) { x %= 10; int v; v <? in; out <! v + x; }"
    made = kernel(f"int x = -107; {steps}", around="")
    told = graph(made)
    assert minimum_interval(told, FABRIC).mii == 1
    assert not told.memories and not any(node.variable == "turn" for node in told.nodes)
    same(made, told, monkeypatch)


def test_what_data_decide_is_in_no_table() -> None:
    made = kernel(TRIANGLE.replace("j < i", "j < (i & n)") + WRITE)
    assert not any(memory.initial for memory in graph(made).memories)


def test_courses_longer_than_memories_are_in_no_table() -> None:
    long = TRIANGLE.replace("i < 6", "i < 100")
    assert not any(memory.initial for memory in graph(kernel(long + WRITE)).memories)


def test_a_name_of_the_program_stays_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    body = TRIANGLE + READ.replace("t[i]", "turns[i]") + WRITE.replace("t[i]", "turns[15 - i]")
    made = lowered(
        f"void f(int stream in, int stream out, int n) {{ kernel {{ int turns[16];"
        f" for (int b = 0; b < n; b++) {{ {body} }} }} }}"
    )
    told = graph(made)
    assert sorted(memory.name for memory in told.memories)[:2] == ["turns", "turns_2"]
    same(made, told, monkeypatch)


@pytest.mark.parametrize("body", [BUTTERFLIES, BITONIC])
def test_accesses_that_never_meet_do_not_wait_for_each_other(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = kernel(READ + body + WRITE)
    exact, plain = graph(made), graph(made, "exact_orders")
    assert minimum_interval(exact, FABRIC).recurrence < minimum_interval(plain, FABRIC).recurrence
    same(made, exact, monkeypatch)


def test_accesses_that_meet_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "for (int d = 1; d < 8; d *= 2) for (int i = d; i < 16; i++) t[i] += t[i - d];"
    made = kernel(READ + body + WRITE)
    same(made, graph(made), monkeypatch)


def test_operations_of_turns_that_exclude_each_other_share_ports() -> None:
    spiral = """
int top = 0, bottom = 3, left = 0, right = 3, m = 0;
while (top <= bottom && left <= right) {
  for (int c = left; c <= right; c++) z[m++] = t[4 * top + c];
  top++;
  for (int r = top; r <= bottom; r++) z[m++] = t[4 * r + right];
  right--;
  for (int c = right; c >= left; c--) z[m++] = t[4 * bottom + c];
  bottom--;
  for (int r = bottom; r >= top; r--) z[m++] = t[4 * r + left];
  left++;
}"""
    made = kernel("int z[16];" + READ + spiral + WRITE.replace("t[i]", "z[i]"))
    assert minimum_interval(graph(made), FABRIC).mii == 1


def test_tables_of_control_are_told_from_those_of_the_program() -> None:
    made = lowered(
        f"const int squares[4] = {{0, 1, 4, 9}}; void f(int stream in, int stream out, int n) {{ kernel {{"
        f" int t[16]; for (int b = 0; b < n; b++) {{ {TRIANGLE} {WRITE} out <! squares[b & 3]; }} }} }}"
    )
    tables = control_tables(dfg := graph(made))
    assert tables and len(tables) < sum(bool(memory.initial) for memory in dfg.memories)
