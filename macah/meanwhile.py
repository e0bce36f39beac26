"""What is likely to be done soon, done by other processes meanwhile: they send what they have found out.

Who gets to it then finds that known, and does the same as without: how many processes there are, and how
fast, changes nothing but the time it takes.

There are two kinds: what may be wanted later (`Meanwhile.expected`), and what certainly is, beside something
alike that is done here (`aside`), as the two manners in which `shorten` searches.
"""

from __future__ import annotations

import pickle
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from backend.mapping import DoesNotFit
from backend.worker import Worker

from .diagnostic import MacahError

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Later(Generic[T]):
    """Work that somebody will get to, or not."""

    meanwhile: Meanwhile
    work: Callable[[], T]
    worker: Worker | None = None

    def done(self) -> T:
        """What the work comes to, for which is waited if a worker has begun it."""
        self.meanwhile.bring(self)
        return self.work()


class Meanwhile:
    """Lets others work, so that up to `jobs` processes do; what they find out gets into `found`.

    Work finds out what depends on nothing but its key there.
    """

    def __init__(self, found: dict[object, Any], jobs: int) -> None:
        self.found, self.jobs = found, jobs
        self.coming: list[Later[Any]] = []
        self.begun: list[Later[Any]] = []
        self.aside = 0  # workers that do something for `aside`

    @contextmanager
    def idle_helping(self) -> Iterator[None]:
        """Let processes that have nothing to do here do what is `aside` inside."""
        token = _HELPING.set(self)
        try:
            yield
        finally:
            _HELPING.reset(token)

    @contextmanager
    def helper(self, work: Callable[[], object]) -> Iterator[Worker | None]:
        """A worker that does this; None if there is none to spare."""
        self._take()
        worker = None
        if len(self.begun) + self.aside < self.jobs - 1:
            with suppress(OSError):
                worker = Worker(lambda _: self._alone(work))
        self.aside += worker is not None
        try:
            yield worker
        finally:
            if worker is not None:
                worker.end()
                self.aside -= 1

    @contextmanager
    def expected(self, works: Sequence[Callable[[], T]]) -> Iterator[list[Later[T]]]:
        """Work that is likely to be wanted, in this order; in the end what was not is dropped."""
        later = [Later(self, work) for work in works]
        self.coming += later
        try:
            self.go_on()
            yield later
        finally:
            for one in later:
                self._drop(one)

    def bring(self, one: Later[Any]) -> None:
        """Wait for what a worker has begun; what none has is left to the caller."""
        if one.worker is not None:
            self._begin(self.jobs)  # this process only waits
            while not one.worker.ended:
                one.worker.receive()
            self._take()
        self._drop(one)
        self.go_on()

    def go_on(self) -> None:
        """See to it that others have work; the more often this is called, the sooner."""
        self._begin(self.jobs - 1)

    def _drop(self, one: Later[Any]) -> None:
        """Nobody waits for this any more."""
        for among in (self.coming, self.begun):
            if one in among:
                among.remove(one)
        if one.worker is not None:
            one.worker.end()

    def _begin(self, jobs: int) -> None:
        """Have so many workers work, as far as there is work."""
        self._take()
        while self.coming and len(self.begun) < jobs:
            one = self.coming.pop(0)
            with suppress(OSError):
                one.worker = Worker(lambda _, one=one: self._done(one))  # type: ignore[misc]
                self.begun.append(one)

    def _take(self) -> None:
        """Take what workers have sent that are done."""
        for one in [*self.begun]:
            assert one.worker is not None
            if not one.worker.ended and select.select([one.worker.reading], [], [], 0)[0]:
                while not one.worker.ended:
                    one.worker.receive()
            if one.worker.ended:
                self.begun.remove(one)
                if answer := one.worker.answer():
                    self.found |= pickle.loads(answer)

    def _alone(self, work: Callable[[], object]) -> bytes:
        """In a worker: the result of some work."""
        self.jobs = 1
        return pickle.dumps(work())

    def _done(self, one: Later[Any]) -> bytes:
        """In a worker: what the work finds out that was not known."""
        self.jobs, before = 1, {*self.found}
        self.coming, self.begun = [], []
        with suppress(MacahError, DoesNotFit):  # who gets to it will say why
            one.work()
        return pickle.dumps({key: value for key, value in self.found.items() if key not in before})


_HELPING: ContextVar[Meanwhile | None] = ContextVar("helping", default=None)


@contextmanager
def aside(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """What gives the result of some work, which another process does meanwhile if one has nothing to do.

    The work depends on nothing that changes in the meantime; its result can be pickled.
    """
    helping = _HELPING.get()
    if helping is None:
        yield work
        return
    with helping.helper(work) as worker:
        yield partial(_result, worker, work)


def _result(worker: Worker | None, work: Callable[[], T]) -> T:
    """What a worker has sent; what has none, or failed, is done here."""
    while worker is not None and not worker.ended:
        worker.receive()
    answer = worker.answer() if worker is not None else b""
    return pickle.loads(answer) if answer else work()
