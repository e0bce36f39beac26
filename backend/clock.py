"""The time that a search may take."""

from __future__ import annotations

import time

TICK = 0.5
"""Seconds between two lines of progress within an attempt."""


class OutOfTime(Exception):
    """The time limit has passed."""


class Clock:
    """The time limit, and when progress was last shown."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.begun = self.shown = time.monotonic()

    def check(self) -> None:
        """Raise OutOfTime when it is."""
        if self.limit and time.monotonic() - self.begun > self.limit:
            raise OutOfTime

    def left(self) -> float:
        """The seconds until then."""
        return self.limit - (time.monotonic() - self.begun) if self.limit else 1e9

    def tick(self) -> bool:
        """Whether progress is due again."""
        now = time.monotonic()
        if now - self.shown < TICK:
            return False
        self.shown = now
        return True
