"""Runs of kernels under Python: streams in the caller's hands, or fed from iterables and collected."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from backend.dfg import DFG

from .errors import KernelError
from .interface import Interface, StreamEnd
from .process import Answer, Process, Request
from .result import Result, RunOptions, Schedule
from .values import Elements, encode_all

_ALL = (1 << 64) - 1


class _Feed:
    """What is sent to a stream."""

    def __init__(self, end: StreamEnd, depth: int, closes: bool) -> None:
        self.end, self.closes = end, closes
        self.sent = 0
        self.room = depth
        self.busy = self.closed = False
        self.elements: Iterator[Any] | None = None

    def next_block(self) -> tuple[bytes, bool]:
        """The bytes of the next elements, as many as there is room for, and whether there are no more."""
        assert self.elements is not None
        block = list(islice(self.elements, max(self.room, 1)))
        return encode_all(self.end.element, block), not block


class Run:
    """A kernel that runs, with its streams in the caller's hands.

    `send`, `close` and `receive` do what a program does, and wait as it does. A run that is not finished is
    ended by `kill`, the end of a `with`, or when nobody holds it any more.
    """

    def __init__(
        self,
        process: Process,
        interface: Interface,
        dfg: DFG,
        schedule: Schedule | None,
        values: Mapping[str, Any],
        options: RunOptions,
        give_back: Callable[[Process], None],
    ) -> None:
        self._process, self._give_back = process, give_back
        self._interface, self._dfg, self._schedule = interface, dfg, schedule
        self._result: Result | None = None
        self._given_back = False
        self._images = self._interface.images(values)
        ends = [end for end in self._interface.streams if not end.inner]
        names = {end.name for end in self._interface.streams}
        for name in (*options.depths, *(options.close or ())):
            if name not in names:
                raise KeyError(f"there is no stream '{name}', but {', '.join(names) or 'none'}")
        depth = {end.name: options.depths.get(end.name, options.depth) for end in self._interface.streams}
        self._feeds = {
            end.name: _Feed(
                end, depth[end.name], end.asks_end if options.close is None else end.name in options.close
            )
            for end in ends
            if not end.sends
        }
        self._taken = {end.name: bytearray() for end in ends if end.sends}
        self._sends = {end.name: end for end in ends if end.sends}
        self._taking: set[str] = set()
        self._begin(depth, options.max_cycles)
        for name, feed in self._feeds.items():
            if name in values:
                self._give(feed, values[name])

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """Ends it where it is, unless it is finished."""
        if self._result is None:
            self._process.end()

    def send(self, name: str, elements: Iterable[Any]) -> None:
        """Sends elements to a stream, and waits until the last one has found room.

        Errors: KeyError, ValueError, TypeError, KernelError.
        """
        feed = self._feed(name)
        self._check(name)
        data = encode_all(feed.end.element, elements)
        if self._result is None and data:
            self._put(feed, data, False)
            self._until(lambda: not feed.busy, {feed.end.number})

    def close(self, name: str) -> None:
        """Closes a stream behind the last element. Errors: KeyError, KernelError."""
        feed = self._feed(name)
        self._check(name)
        if self._result is None and not feed.closed:
            self._put(feed, b"", True)
            self._until(lambda: not feed.busy, {feed.end.number})

    def receive(self, name: str, count: int | None = None) -> Any:
        """The next element that the kernel sends to a stream, or the next `count`, as a sequence.

        At the end of the stream there are fewer, and instead of one element an EOFError. Errors: KeyError,
        KernelError.
        """
        if name not in self._sends:
            raise KeyError(
                f"the kernel sends to no stream '{name}', but to {', '.join(self._sends) or 'none'}"
            )
        if count is not None and count < 0:
            raise ValueError("a number of elements is not negative")
        end, taken = self._sends[name], self._taken[name]
        size = (1 if count is None else count) * end.element.size
        if len(taken) < size and self._result is None:
            self._take(name, (size - len(taken)) // end.element.size)
            self._until(lambda: name not in self._taking, {end.number})
        found = Elements(end.element, bytes(taken[:size]))
        del taken[:size]
        if count is None and not found:
            raise EOFError(f"stream '{name}' has ended")
        return found if count is not None else found[0]

    def finish(self) -> Result:
        """Lets the kernel come to its end, and collects what it sends until then.

        Errors: DeadlockError, OverrunError, KernelAssertionError, SimulatorError; what an iterable raises.
        """
        for name in self._sends:
            if self._result is None:
                self._take(name, _ALL)
        self._until(lambda: False, set())
        result = self._result
        assert result is not None
        left = {name: Elements(end.element, bytes(self._taken[name])) for name, end in self._sends.items()}
        return replace(result, values={**left, **result.values})

    def _check(self, name: str) -> None:
        feed = self._feeds[name]
        if feed.closed or feed.elements is not None:
            state = "is closed" if feed.closed else "is sent what an iterable has"
            raise ValueError(f"stream '{name}' {state}")

    def _feed(self, name: str) -> _Feed:
        if name not in self._feeds:
            known = ", ".join(self._feeds) or "none"
            raise KeyError(f"the kernel receives from no stream '{name}', but from {known}")
        return self._feeds[name]

    def _begin(self, depth: Mapping[str, int], max_cycles: int) -> None:
        names = [capture.name for capture in self._interface.streams]
        sources = [stream.source for stream in self._interface.streams]
        shape = array("I")
        for end in self._interface.streams:
            size = depth[names[sources.index(end.source)]]
            shape.extend([sources.index(end.source), end.element.size, size & 0xFFFFFFFF, size >> 32])
        live_ins, memories = self._interface.words_in(self._images, self._dfg)
        words = b"".join(m.tobytes() for m in (shape, live_ins, *(m for m in memories if m is not None)))
        file, line = _caller()
        name = os.fsencode(file)
        self._process.send(Request.BEGIN, line, len(name), name + max_cycles.to_bytes(8, "little") + words)

    def _give(self, feed: _Feed, elements: Iterable[Any]) -> None:
        """Begins to send what there is for a stream."""
        if isinstance(elements, Sized) and not isinstance(elements, Iterator):
            data = encode_all(feed.end.element, elements)
            if data or feed.closes:
                self._put(feed, data, feed.closes)
        else:
            feed.elements = iter(elements)

    def _put(self, feed: _Feed, data: bytes, close: bool) -> None:
        feed.busy, feed.closed = True, close
        feed.sent += len(data) // feed.end.element.size
        kind = Request.SEND_AND_CLOSE if close else Request.SEND
        self._process.send(kind, feed.end.number, len(data), data)

    def _take(self, name: str, count: int) -> None:
        self._taking.add(name)
        self._process.send(Request.TAKE, self._sends[name].number, count)

    def _until(self, done: Callable[[], bool], ports: set[int]) -> None:
        """Lets time pass until `done`, or the kernel's end, and sends what iterables have meanwhile."""
        try:
            while self._result is None and not done():
                self._refill()
                wanted = ports | {f.end.number for f in self._feeds.values() if f.elements is not None}
                self._process.send(Request.WAIT, 0, sum(1 << port for port in wanted))
                while self._read_answer():
                    pass
        except KernelError as error:
            self.kill()
            raise type(error)("\n".join([str(error), *self._account()])) from None
        except BaseException:
            self.kill()
            raise
        if self._result is not None and not self._given_back:
            self._given_back = True
            self._give_back(self._process)

    def _account(self) -> Iterator[str]:
        """What was done to streams, for messages."""
        for name, feed in self._feeds.items():
            state = "closed" if feed.closed else "open"
            more = ", and there are more" if feed.elements is not None else ""
            yield f"  the test has sent {feed.sent} elements to '{name}'{more}; the stream is {state}"

    def _refill(self) -> None:
        for feed in self._feeds.values():
            if feed.elements is not None and not feed.busy:
                data, is_last = feed.next_block()
                if is_last:
                    feed.elements = None
                if data or is_last and feed.closes:
                    self._put(feed, data, is_last and feed.closes)

    def _read_answer(self) -> bool:
        """Reads one message; false if it is the last one."""
        kind, port, size = self._process.read_head()
        name = self._interface.streams[port].name if kind in (Answer.SENT, Answer.TAKEN) else ""
        data = self._process.read(size)
        match kind:
            case Answer.SENT:
                self._feeds[name].room = int.from_bytes(data, "little")
                self._feeds[name].busy = False
            case Answer.TAKEN:
                self._taken[name] += data
                self._taking.discard(name)
            case Answer.ENDED:
                self._end(data)
        return kind is not Answer.DONE

    def _end(self, data: bytes) -> None:
        """Makes the result of what the kernel left."""
        streams, dfg = self._interface.streams, self._dfg
        facts = array("Q", data[: 8 * (2 + len(streams))])
        words = array("I", data[8 * len(facts) :])
        at, live_outs = len(dfg.live_outs), words[: len(dfg.live_outs)]
        memories: list[array[int] | None] = []
        for memory in dfg.memories:
            memories.append(words[at : at + memory.words] if memory.captured_out else None)
            at += memory.words if memory.captured_out else 0
        outer = [end for end in streams if not end.inner]
        own = len(self._interface.live_outs)
        self._result = Result(
            values=self._interface.results(self._images, dfg, live_outs[:own], memories),
            cycles=facts[0],
            stalled=facts[1],
            iterations=self._schedule.iterations(facts[0])
            if self._schedule
            else next(iter(live_outs[own:]), None),
            closed=frozenset(end.name for end in outer if end.sends and facts[2 + end.number]),
            left={end.name: facts[2 + end.number] for end in outer if not end.sends},
        )


def _caller() -> tuple[str, int]:
    """The place outside of this package that started a run."""
    frame = sys._getframe(1)
    here = str(Path(__file__).parent)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
