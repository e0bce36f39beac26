"""Attempts that end soon come first, and are few."""

from __future__ import annotations

import pytest
from graphs import layered

from arch.describe import load_fabric
from backend.attempt import BRISK, HASTY, SHORT, Attempts, Tried
from backend.check import check_mapping
from backend.flat import Problem
from backend.hasty import DOUBTFUL, TOGETHER, hasty
from backend.mapping import MapOptions, Mapping

MESH = load_fabric("mesh4x4")


def nothing(_: int) -> None:
    """No progress is shown."""


def made(monkeypatch: pytest.MonkeyPatch, nodes: int, several: bool, left: int, refuted: bool) -> list[int]:
    """The numbers of the hasty attempts at a graph if each leaves so many conflicts."""
    attempts = Attempts(Problem(layered(nodes, 1), MESH), MapOptions())
    numbers: list[int] = []

    def make(_: Attempts, interval: int, number: int, __: object) -> Tried:
        numbers.append(number)
        return Tried(left, None, 0.0)  # type: ignore[arg-type]

    monkeypatch.setattr(Attempts, "make", make)
    assert hasty(attempts, 2, several, 9, lambda: refuted, nothing) is None
    return numbers


def test_a_hasty_attempt_maps_an_easy_graph() -> None:
    attempts = Attempts(Problem(layered(20, 1), MESH), MapOptions())
    found = hasty(attempts, 4, False, 9, lambda: False, nothing)
    assert isinstance(found, Mapping)
    assert found.interval == 4
    check_mapping(found)


def test_there_are_more_of_them_the_smaller_a_graph_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for nodes in (10, 40):
        numbers = made(monkeypatch, nodes, True, 2, False)
        count = len(Problem(layered(nodes, 1), MESH).dfg.nodes)
        assert numbers == list(range(HASTY, HASTY + TOGETHER // count))


def test_they_end_where_they_are_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    assert made(monkeypatch, 10, False, 2, False) == [HASTY]
    assert made(monkeypatch, 10, True, 10, False) == [HASTY]
    assert made(monkeypatch, 10, True, 2, True) == list(range(HASTY, HASTY + DOUBTFUL))
    assert made(monkeypatch, 2 * BRISK, True, 2, False) == []


def test_where_wires_lead_back_small_graphs_are_not_mended_attempt_by_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Repairs take as long as ten attempts there."""
    asked: list[object] = []
    monkeypatch.setattr("backend.attempt.repaired", lambda *what: asked.append(what))
    attempts = Attempts(Problem(layered(13, 1), load_fabric("hycube:4x4")), MapOptions())
    assert attempts.turning(SHORT)
    assert not attempts.turning(SHORT + 1)
    left = [attempts.make(1, number, nothing).count for number in range(1, 6)]
    assert asked == []
    assert any(left)
