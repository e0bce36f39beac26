"""Solvers are freed once, even if a signal comes meanwhile."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator

import pytest

from backend.sat import solver_of


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
