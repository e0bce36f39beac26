"""Tools that work side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

_LOOK = 0.05
"""Seconds between two looks of the main thread, where Python meets signals, at whether it has got one.

The kernel may give a signal of the process to another thread, which leaves the main one in its wait.
"""

T = TypeVar("T")


def run_all(tasks: Iterable[Callable[[], T]]) -> list[T]:
    """What each returns; they run in threads. Errors: those of the first that fails; none begins after it."""
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            while (state := wait(futures, _LOOK)).not_done:
                if any(not future.cancelled() and future.exception() for future in state.done):
                    _cancel(futures)
        finally:
            _cancel(futures)
    return [future.result() for future in futures]


def _cancel(futures: Iterable[Future[T]]) -> None:
    for future in futures:
        future.cancel()
