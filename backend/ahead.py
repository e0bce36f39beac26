"""Attempts made ahead of time by other processes, while the search wants others.

What comes of an attempt depends on nothing but its interval and recipe (attempt.py), and the search takes
them in its own order: so how many processes there are, and how fast, changes nothing but the time it takes.
Attempts that the search turns out not to want are dropped.
"""

from __future__ import annotations

import io
import pickle
import select
from collections.abc import Callable, Sequence
from typing import Any

from .attempt import Attempts, Tried
from .recipe import Recipe
from .worker import Worker

Key = tuple[int, Recipe]
"""An attempt's interval and recipe."""

WAIT = 100
"""Milliseconds between two looks at the clock while a worker is waited for."""


class Ahead:
    """Makes attempts, in up to `jobs` processes at a time, of which this is one while it is not waiting."""

    def __init__(self, attempts: Attempts, jobs: int, check: Callable[[], None]) -> None:
        self.attempts, self.jobs, self.check = attempts, jobs, check
        self.workers: dict[Key, Worker] = {}

    def outcome(self, key: Key, likely: Sequence[Key], pulse: Callable[[int], None]) -> Tried:
        """What comes of an attempt; once something was expected, the likely next ones are begun, too."""
        if key in self.workers:
            wanted = [key, *likely]
            worker = self.workers[key]
            while not worker.ended:
                self._start(wanted, self.jobs)
                self._receive()
                pulse(worker.count)
            del self.workers[key]
            if answer := worker.answer():
                return self._unpack(answer)
        elif self.workers:
            self.expect(likely)
        return self.attempts.make(*key, pulse)

    def expect(self, likely: Sequence[Key]) -> None:
        """Begin what is likely to be wanted next, while this process does something else."""
        self._start(likely, self.jobs - 1)

    def drop(self, wanted: set[Key]) -> None:
        """End what is not wanted."""
        for key in [key for key in self.workers if key not in wanted]:
            self.workers.pop(key).end()

    def _start(self, keys: Sequence[Key], jobs: int) -> None:
        """Have workers for the first keys, no more than `jobs` at work; end those for others."""
        self.drop(set(keys))
        for key in keys:
            if sum(not worker.ended for worker in self.workers.values()) >= jobs:
                return
            if key not in self.workers:
                try:
                    self.workers[key] = Worker(lambda tell, key=key: self._work(key, tell))  # type: ignore[misc]
                except OSError:
                    return

    def _work(self, key: Key, tell: Callable[[int], None]) -> bytes:
        """In a worker: the attempt, packed."""

        def pulse(conflicts: int) -> None:
            self.check()
            tell(conflicts)

        return self._pack(self.attempts.make(*key, pulse))

    def _receive(self) -> None:
        """Take what workers have sent; wait a little for it."""
        working = {worker.reading: worker for worker in self.workers.values() if not worker.ended}
        poll = select.poll()
        for reading in working:
            poll.register(reading, select.POLLIN)
        for ready, _ in poll.poll(WAIT):
            working[ready].receive()

    def _pack(self, tried: Tried) -> bytes:
        """What was tried, but for the graph and the fabric."""
        known = {id(self.attempts.problem.dfg): 0, id(self.attempts.problem.fabric): 1}

        class Packer(pickle.Pickler):
            def persistent_id(self, value: Any) -> int | None:
                return known.get(id(value))

        file = io.BytesIO()
        Packer(file, pickle.HIGHEST_PROTOCOL).dump(tried)
        return file.getvalue()

    def _unpack(self, packed: bytes) -> Tried:
        known = self.attempts.problem.dfg, self.attempts.problem.fabric

        class Unpacker(pickle.Unpickler):
            def persistent_load(self, name: int) -> Any:
                return known[name]

        tried: Tried = Unpacker(io.BytesIO(packed)).load()
        return tried
