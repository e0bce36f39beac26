"""Attempts that end soon come first, and are few."""

from __future__ import annotations

import pytest
from graphs import layered

from arch.describe import load_fabric
from backend.attempt import BRISK, SHORT, Attempts, Tried
from backend.check import check_mapping
from backend.flat import Problem
from backend.hasty import CLOSE, DOUBTFUL, ROUND, SOLVABLE, TOGETHER, TURNING, count, hasty
from backend.mapping import MapOptions, Mapping
from backend.recipe import FIRST_HASTY, Recipe, usual

MESH = load_fabric("mesh4x4")


def nothing(_: int) -> None:
    """No progress is shown."""


def attempts_at(nodes: int, arch: str = "mesh4x4") -> Attempts:
    """The attempts at a graph of about so many nodes."""
    return Attempts(Problem(layered(nodes, 1), load_fabric(arch)), MapOptions())


def made(monkeypatch: pytest.MonkeyPatch, most: int, left: list[int], refuted: bool = False) -> list[int]:
    """The numbers of the attempts, of `most`, if they leave so many conflicts, the last again and again."""
    numbers: list[int] = []

    def make(_: Attempts, interval: int, recipe: Recipe, __: object) -> Tried:
        numbers.append(recipe.number - FIRST_HASTY)
        return Tried(left[min(len(numbers), len(left)) - 1], None, 0.0)  # type: ignore[arg-type]

    monkeypatch.setattr(Attempts, "make", make)
    assert isinstance(hasty(attempts_at(10), 2, most, 9, lambda: refuted, nothing), int)
    return numbers


def test_a_hasty_attempt_maps_an_easy_graph() -> None:
    attempts = Attempts(Problem(layered(20, 1), MESH), MapOptions())
    found = hasty(attempts, 4, 1, 9, lambda: False, nothing)
    assert isinstance(found, Mapping)
    assert found.interval == 4
    check_mapping(found)


def test_a_hasty_attempt_maps_a_large_graph() -> None:
    """Where there is room, a third of the placing suffices, whatever the size."""
    found = hasty(attempts_at(300, "grid8x8"), 6, 1, 9, lambda: False, nothing)
    assert isinstance(found, Mapping)
    check_mapping(found)


def test_there_are_more_of_them_the_smaller_a_graph_is() -> None:
    for nodes in (10, 40):
        exactly = attempts_at(nodes).problem.nodes
        assert count(attempts_at(nodes), SHORT, False, False) == TOGETHER // exactly
        assert count(attempts_at(nodes, "hycube:4x4"), SHORT, False, False) == TURNING // exactly
        assert count(attempts_at(nodes), SHORT + 1, False, False) == 1
    assert count(attempts_at(2 * BRISK), SHORT, False, False) == 1


def test_they_are_few_before_the_solver_is_asked_and_at_a_glance() -> None:
    assert count(attempts_at(10), SHORT, True, False) == SOLVABLE
    assert count(attempts_at(10, "hycube:4x4"), SHORT, False, True) == SOLVABLE


def test_they_end_where_they_are_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    assert made(monkeypatch, 40, [10]) == [0]
    assert made(monkeypatch, 40, [2, 10], refuted=True) == list(range(DOUBTFUL))
    for left in (1, 2, 3, 6):
        assert len(made(monkeypatch, 60, [9, left])) == ROUND * (CLOSE // left + 1)
    assert made(monkeypatch, 3, [1]) == [0, 1, 2]


def test_where_wires_lead_back_small_graphs_are_not_mended_attempt_by_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Repairs take as long as ten attempts there."""
    asked: list[object] = []
    monkeypatch.setattr("backend.attempt.repaired", lambda *what: asked.append(what))
    attempts = Attempts(Problem(layered(13, 1), load_fabric("hycube:4x4")), MapOptions())
    assert attempts.turning(SHORT)
    assert not attempts.turning(SHORT + 1)
    left = [attempts.make(1, usual(13, k), nothing).count for k in range(1, 6)]
    assert asked == []
    assert any(left)
