"""The solver within the search: small graphs that fill a small array."""

from __future__ import annotations

import pytest
from graphs import Builder, reduce_tree

from arch.describe import load_fabric
from backend.bound import minimum_interval
from backend.check import check_mapping
from backend.dfg import DFG, Const, Use
from backend.flat import Problem
from backend.mapper import map_kernel
from backend.mapping import EFFORTS, MapOptions, Mapping
from backend.solved import (
    FAR,
    FEWER,
    LARGEST,
    NEAR,
    PATIENT,
    SETTLING,
    SETTLING_SHORT,
    Asking,
    Refuted,
    overwritten,
    small,
    solved,
)

TORUS = load_fabric("satmapit:2x2")


def largest() -> DFG:
    """The largest magnitude of an array: 13 operations."""
    b = Builder("largest")
    index, _ = b.counter(40)
    m = b.memory("d", 40)
    word = b.add("load", index, memory=m)
    magnitude = b.add("select", b.add("slt", word, Const(0)), b.add("sub", Const(0), word), word)
    larger = b.add("slt", Const(0), magnitude)
    best = b.add("select", larger, magnitude, Const(0))
    b.patch(larger, 0, Use(best, 1, Const(0)))
    b.patch(best, 2, Use(best, 1, Const(0)))
    b.add("xor", best, Const(1))
    return b.build()


def test_a_graph_that_fills_a_torus_of_four_tiles_maps_at_its_bound() -> None:
    dfg = largest()
    mapping = map_kernel(dfg, TORUS, MapOptions())
    check_mapping(mapping)
    assert mapping.interval == -(-len(dfg.nodes) // 4)


def test_the_solver_gives_the_same_mapping_each_time() -> None:
    problem = Problem(largest(), TORUS)
    interval = -(-problem.nodes // 4)
    first, second = (solved(problem, interval, 1.0, 1e9) for _ in range(2))
    assert isinstance(first, Mapping)
    check_mapping(first)
    assert first == second


def test_an_interval_without_a_mapping_is_refuted() -> None:
    assert solved(Problem(wide(4, Const(1)), TORUS), 1, 1.0, 1e9) is Refuted.WITHIN_HORIZON


@pytest.mark.parametrize(("operations", "asked"), [(30, True), (60, False)])
def test_graphs_of_some_dozens_of_operations_are_asked_about_on_arrays_with_one_way_out(
    operations: int, asked: bool
) -> None:
    b = Builder("dozens")
    b.counter(9)
    for k in range(operations):
        b.add("xor", Const(k), Const(1))
    problem = Problem(b.build(), load_fabric("satmapit:5x5"))
    assert not small(problem)
    assert overwritten(problem) is asked


def test_graphs_with_more_operations_get_attempts_instead_on_however_few_tiles() -> None:
    b = Builder("sixty")
    b.counter(9)
    for k in range(60):
        b.add("xor", Const(k), Const(1))
    dfg = b.build()
    problem = Problem(dfg, TORUS)
    assert len(dfg.nodes) * len(TORUS.resources) < LARGEST
    assert not small(problem) and not overwritten(problem)


@pytest.mark.quick(1)
@pytest.mark.parametrize("effort", ["low", "normal"])
def test_large_graphs_are_not_asked_about(effort: str) -> None:
    b = Builder("large")
    b.counter(9)
    for k in range(LARGEST // len(TORUS.resources)):
        b.add("xor", Const(k), Const(1))
    problem = Problem(b.build(), TORUS)
    assert not small(problem)
    assert solved(problem, 50, EFFORTS[effort], 1e9) is None


def test_where_results_are_overwritten_the_solver_answers_before_any_but_hasty_attempts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A usual attempt takes ten times as long to fail as the solver to fill four tiles."""
    lines: list[str] = []
    monkeypatch.setattr("backend.tries.hasty", lambda *_: 0)
    monkeypatch.setattr("backend.tries.settles", lambda _: False)
    map_kernel(largest(), TORUS, MapOptions(), lines.append)
    assert lines[-1] == f"II {-(-len(largest().nodes) // 4)}: mapped by the solver"
    assert not any("attempt 1:" in line for line in lines)


def wide(leaves: int, word: Const | None = None) -> DFG:
    """A sum of words that a counter, or nothing, is a part of."""
    b = Builder("wide")
    index, _ = b.counter(40)
    reduce_tree(b, "add", [b.add("xor", word or index, Const(k)) for k in range(leaves)])
    return b.build()


def test_the_early_question_is_answered_the_same_each_time() -> None:
    problem = Problem(largest(), TORUS)
    interval = -(-problem.nodes // 4)
    first, second = (Asking(problem, interval, 1.0).early(1e9) for _ in range(2))
    assert isinstance(first, Mapping)
    check_mapping(first)
    assert first == second
    assert Asking(problem, interval, 0.0).early(1e9) is None  # no budget, no answer
    assert Asking(Problem(wide(4, Const(1)), TORUS), 1, 1.0).early(1e9) is Refuted.WITHIN_HORIZON


def test_the_more_conflicts_annealing_leaves_the_fewer_questions_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With more than one for an operation there hardly ever is a mapping, with many more never."""
    problem, asked = Problem(largest(), load_fabric("satmapit:5x5")), list[tuple[int, str, int]]()
    monkeypatch.setattr(
        Asking, "_ask", lambda _, slack, way, conflicts, __: asked.append((slack, way, conflicts))
    )
    found = []
    for each in (NEAR, FAR, 2 * FAR):
        asked.clear()
        Asking(problem, 1, 1.0).decided(int(each * problem.nodes), 1e9)
        found.append(tuple(asked))
    assert found == [SETTLING_SHORT, PATIENT[:FEWER], ()]
    asked.clear()
    Asking(problem, 3, 1.0).decided(0, 1e9)
    assert tuple(asked) == SETTLING


def test_parts_of_an_array_are_not_asked_about_with_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four smaller arrays would cost four times what the whole one has; the early question they get."""
    asked: list[int] = []
    monkeypatch.setattr("backend.tries.settles", lambda _: False)
    monkeypatch.setattr(Asking, "decided", lambda self, *_: asked.append(len(self.problem.fabric.tiles)))
    monkeypatch.setattr(Asking, "early", lambda *_: None)
    mapping = map_kernel(wide(12), load_fabric("adres:4x4"), MapOptions())
    assert mapping.interval > minimum_interval(wide(12), mapping.fabric).mii
    assert set(asked) == {16}


def test_that_no_mapping_is_of_the_strictest_kind_refutes_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only questions of that kind, with as much slack or less, are left out."""
    problem = Problem(wide(4, Const(1)), TORUS)
    strict = [(slack, way) for slack, way, _ in SETTLING_SHORT if way.endswith("strict")]
    asking = Asking(problem, 1, 1.0)
    assert asking._ask(2, "swift, strict", 1000, 1e9) is None
    assert (asking.refuted, asking.strictly) == (0, 2)
    asking.close()
    asked: list[tuple[int, str]] = []
    monkeypatch.setattr(Asking, "_ask", lambda _, slack, way, *__: asked.append((slack, way)))
    asking.decided(0, 1e9)
    assert asked == [(slack, way) for slack, way, _ in SETTLING_SHORT if (slack, way) not in strict]
