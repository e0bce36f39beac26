"""What idle processes do aside: results are the same, no more processes work than may, and none is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from children import no_children

from macah.meanwhile import Meanwhile, aside


@contextmanager
def helped(jobs: int) -> Iterator[Meanwhile]:
    meanwhile = Meanwhile({}, jobs)
    with meanwhile.idle_helping():
        yield meanwhile
    assert meanwhile.aside == 0 and no_children()


def test_another_process_gives_the_result() -> None:
    with helped(2), aside(os.getpid) as other:
        assert other() != os.getpid()


def test_what_nobody_helps_with_is_done_here() -> None:
    with aside(os.getpid) as other:
        assert other() == os.getpid()
    with helped(1), aside(os.getpid) as other:
        assert other() == os.getpid()


def test_no_more_processes_work_than_may() -> None:
    with helped(2), aside(os.getpid) as first, aside(os.getpid) as second:
        assert first() != os.getpid() == second()
    with helped(2) as meanwhile, meanwhile.expected([signal.pause]), aside(os.getpid) as other:
        assert other() == os.getpid()


def test_a_process_that_helps_has_no_help() -> None:
    def nested() -> bool:
        with aside(os.getpid) as other:
            return other() == os.getpid()

    with helped(3), aside(nested) as other:
        assert other()


@pytest.mark.parametrize("failure", ["dies", "raises", "cannot begin"])
def test_what_a_helper_cannot_do_is_done_here(failure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = os.getpid()

    def work() -> int:
        if os.getpid() != parent and failure == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if os.getpid() != parent:
            raise MemoryError
        return 7

    def refused() -> int:
        raise BlockingIOError("no more processes")

    if failure == "cannot begin":
        monkeypatch.setattr(os, "fork", refused)
    with helped(2), aside(work) as other:
        assert other() == 7


def test_a_mistake_of_the_work_shows() -> None:
    def mistaken() -> int:
        raise ValueError("no")

    with helped(2), aside(mistaken) as other, pytest.raises(ValueError, match="no"):
        other()


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_nobody_asks_for_is_dropped(interrupted: bool) -> None:
    with suppress(KeyboardInterrupt), helped(2), aside(signal.pause):
        if interrupted:
            raise KeyboardInterrupt
    assert no_children()
