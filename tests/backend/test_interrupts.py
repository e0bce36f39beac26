"""What a signal's handler raises gets out of the compiled loops."""

from __future__ import annotations

import ctypes
import runpy
import signal
from collections.abc import Callable, Iterator
from functools import partial
from operator import call
from pathlib import Path
from typing import Any

import Cython.Build
import pytest
import setuptools
from graphs import fir

from arch.describe import load_fabric
from backend.anneal import Annealer
from backend.flat import Board, Problem
from backend.flood import Flood
from backend.flow import Flow
from backend.groups import Groups
from backend.mapping import Schedule
from backend.place import place
from backend.relocate import Relocation
from backend.schedule import modulo_schedule

ROOT = Path(__file__).parent.parent.parent
INTERVAL = 8


@pytest.fixture
def problem() -> Problem:
    return Problem(fir(8), load_fabric("grid4x4"))


@pytest.fixture
def unheard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What was raised where nobody could be told."""
    found: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", found.append)
    yield found


def interrupted(work: Callable[[], object]) -> None:
    """Work that begins when Ctrl-C has come; no Python code is in between that would handle it."""
    list(map(call, [partial(ctypes.CDLL(None)["raise"], int(signal.SIGINT)), work]))


def scheduled(problem: Problem) -> Schedule:
    start = modulo_schedule(problem, INTERVAL, 0)
    assert start is not None
    return Schedule(problem.dfg, INTERVAL, tuple(start))


def test_an_interrupt_while_operations_are_placed_gets_through(
    problem: Problem, unheard: list[object]
) -> None:
    placement = place(problem, scheduled(problem), 1)
    homes = [0] * (problem.streams + len(problem.dfg.memories))
    annealer = Annealer(problem, INTERVAL, 1, (placement.unit, placement.schedule.start, homes))
    groups = Groups(problem, INTERVAL, annealer)
    with pytest.raises(KeyboardInterrupt):
        interrupted(partial(annealer.cool, groups, 1000, 8, 200, 200.0))
    assert not unheard


def test_an_interrupt_while_an_operation_moves_gets_through(problem: Problem, unheard: list[object]) -> None:
    placement = place(problem, scheduled(problem), 1)
    board = Board(problem, INTERVAL, placement.unit, placement.schedule.start, [0] * problem.streams, 64)
    relocation = Relocation(problem, board, Flood(problem, board, Flow(problem, board)), 1)
    with pytest.raises(KeyboardInterrupt):
        interrupted(partial(relocation.pick, 7))
    assert not unheard


@pytest.mark.slow
def test_no_compiled_function_keeps_what_it_calls_from_raising(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translate = Cython.Build.cythonize

    def elsewhere(modules: Any, **options: Any) -> Any:
        return translate(modules, build_dir=str(tmp_path), force=True, quiet=True, **options)

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(Cython.Build, "cythonize", elsewhere)
    monkeypatch.setattr(setuptools, "setup", lambda **_: None)
    runpy.run_path(str(ROOT / "setup.py"))
    files = sorted(tmp_path.rglob("*.c"))
    swallowing = [
        line.split('"')[1]
        for file in files
        for line in file.read_text().splitlines()
        if '__Pyx_WriteUnraisable("' in line
    ]
    assert files and not swallowing
