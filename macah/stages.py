"""What the driver is doing, how long it took, and on a terminal a line that says so."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PATIENCE = 1.0
"""Seconds before progress is shown."""


class Stages:
    """Times the stages of one compilation and shows the current one on a terminal."""

    def __init__(self, verbose: bool = False) -> None:
        self.times: list[tuple[str, float]] = []
        self.verbose = verbose
        self._status: Any = None
        self._text = ""
        self._started = threading.Event()

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Shows the current stage while it lasts, from the second second on, if stderr is a terminal."""
        timer = threading.Timer(_PATIENCE, self._show)
        timer.daemon = True
        if sys.stderr.isatty():
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self._started.set()
            if self._status is not None:
                self._status.stop()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Times one stage."""
        self.say(name)
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.times.append((name, time.perf_counter() - begin))

    def say(self, text: str) -> None:
        """Sets what the progress line shows."""
        self._text = text
        if self.verbose:
            sys.stderr.write(f"macahc: {text}\n")
        if self._status is not None:
            self._status.update(text)

    def table(self) -> str:
        """The times as text, in seconds."""
        rows = [f"{seconds:9.3f} s  {name}\n" for name, seconds in self.times]
        return "".join(rows) + f"{sum(s for _, s in self.times):9.3f} s  in all\n"

    def _show(self) -> None:
        from rich.console import Console  # takes a tenth of a second, so only for those who wait

        if not self._started.is_set():
            self._status = Console(stderr=True).status(self._text)
            self._status.start()
