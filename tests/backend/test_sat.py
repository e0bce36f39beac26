"""Solvers are freed once, even if a signal comes meanwhile, and Ctrl-C ends their work."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from backend.sat import answered, solver_of


class Interruption(Exception):
    """What the handler raises."""


@pytest.fixture
def alarm() -> Iterator[None]:
    """A signal whose handler raises, as that of SIGTERM does."""

    def raise_it(*_: object) -> None:
        raise Interruption

    before = signal.signal(signal.SIGALRM, raise_it)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", ["cadical195", "glucose42", "minicard"])
def test_a_signal_while_a_solver_is_freed_frees_it_no_second_time(name: str, alarm: None) -> None:
    chance, met = random.Random(1), 0
    for attempt in range(8):
        solver = solver_of(name)
        for _ in range(20000):
            solver.add_clause([chance.choice((1, -1)) * chance.randint(1, 8000) for _ in range(4)])
        assert solver.solve_limited() is not None
        signal.setitimer(signal.ITIMER_REAL, 0.0001 * 2 ** (attempt / 2))
        try:
            solver.delete()
            until = time.monotonic() + 1
            while time.monotonic() < until:
                pass
        except Interruption:
            met += 1
        solver.delete()
        del solver
    assert met == 8


def pigeons(solver: Any, holes: int) -> None:
    """One pigeon more than holes: what no solver refutes soon."""
    of = [[1 + pigeon * holes + hole for hole in range(holes)] for pigeon in range(holes + 1)]
    for pigeon in of:
        solver.add_clause(pigeon)
    for hole in range(holes):
        for one, other in combinations(of, 2):
            solver.add_clause([-one[hole], -other[hole]])


def told(number: int) -> None:
    """Send this process a signal, in a moment in which it is busy."""
    parent = os.getpid()
    if os.fork() == 0:
        time.sleep(0.3)
        os.kill(parent, number)
        os._exit(0)


@pytest.mark.parametrize("name", ["cadical195", "glucose42", "minicard"])
def test_ctrl_c_ends_a_solver_and_then_what_comes_after(name: str) -> None:
    with solver_of(name) as solver:
        pigeons(solver, 14)
        told(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            while True:
                solver.conf_budget(2000)
                answered(solver)
    told(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        time.sleep(60)
    for _ in range(2):
        os.wait()
