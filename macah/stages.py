"""What the driver is doing, how long it took, and on a terminal a line that says so."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

_PATIENCE = 1.0
"""Seconds before progress is shown."""


class Stages:
    """Times the stages of one compilation and shows the current one on a terminal."""

    def __init__(self, verbose: bool = False) -> None:
        self.times: list[tuple[str, float]] = []
        self.verbose = verbose
        self._line: Any = None
        self._spinner: Any = None
        self._text = ""
        self._hidden = False
        self._lock = threading.Lock()

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
            self.hide()

    def hide(self) -> None:
        """Ends the progress line, so that output can be written to the same terminal."""
        with self._lock:
            self._hidden = True
            if self._line is not None:
                self._line.stop()
                self._line = None

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
        if self._line is not None:
            self._line.update(self._spinner(text))

    def table(self) -> str:
        """The times as text, in seconds."""
        rows = [f"{seconds:9.3f} s  {name}\n" for name, seconds in self.times]
        return "".join(rows) + f"{sum(s for _, s in self.times):9.3f} s  in all\n"

    def _show(self) -> None:
        # These take a tenth of a second to import, so they are only for those who wait.
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._spinner = partial(Spinner, "dots")
        with self._lock:
            if not self._hidden:
                # Standard output is the program's, and may be no terminal: it must not pass through here.
                console = Console(stderr=True)
                self._line = Live(
                    self._spinner(self._text),
                    console=console,
                    transient=True,
                    redirect_stdout=False,
                    refresh_per_second=8,
                )
                self._line.start()
