"""A child process that works something out ahead of time, and ends with its parent at the latest."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
from collections.abc import Callable
from contextlib import suppress

CHUNK = 1 << 20
"""Bytes that are read at once."""

NOTHING = -1
"""The number that a worker tells at first."""

_SET_DEATH_SIGNAL = 1  # of prctl()
_COUNT, _LENGTH = struct.Struct("i"), struct.Struct("q")


class Worker:
    """A fork of this process that works and sends bytes.

    `work` is given a function to call with a number again and again, which is `count` here. A worker that
    fails, in whatever way, has no answer when it ends. Errors: OSError if there can be no more processes.
    """

    def __init__(self, work: Callable[[Callable[[int], None]], bytes]) -> None:
        self._shared = mmap.mmap(-1, _COUNT.size)
        self._tell(NOTHING)
        self._received = bytearray()
        self.ended = False
        self.reading, writing = os.pipe()
        parent = os.getpid()
        # Ctrl-C is for the parent, which ends its workers then.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._child = os.fork()
            if self._child == 0:
                self._serve(parent, writing, work)
        except OSError:
            self.ended = True
            os.close(self.reading)
            raise
        finally:
            os.close(writing)
            self._hear(before)

    def _hear(self, before: set[int]) -> None:
        """Let signals come again. Nobody knows this worker yet: if one has come, it ends here."""
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        except BaseException:
            self.end()
            raise

    def _serve(self, parent: int, writing: int, work: Callable[[Callable[[int], None]], bytes]) -> None:
        """In the child: work, send, end."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL))
            if os.getppid() == parent:  # else it has ended before it could take this one along
                answer = work(self._tell)
                left = memoryview(_LENGTH.pack(len(answer)) + answer)
                while left:
                    left = left[os.write(writing, left) :]
        finally:
            os._exit(0)

    def _tell(self, count: int) -> None:
        _COUNT.pack_into(self._shared, 0, count)

    @property
    def count(self) -> int:
        """The number that the child told last."""
        return int(_COUNT.unpack_from(self._shared)[0])

    def receive(self) -> None:
        """Take what has come, waiting for something; `ended` is set when there will be no more."""
        if not (some := os.read(self.reading, CHUNK)):
            self.end()
        self._received += some

    def answer(self) -> bytes:
        """What has come, or nothing if that is not all."""
        whole = _LENGTH.size
        if len(self._received) >= whole:
            whole += _LENGTH.unpack_from(self._received)[0]
        return bytes(self._received[_LENGTH.size :]) if len(self._received) == whole else b""

    def end(self) -> None:
        """End the child, if it has not ended."""
        if self.ended:
            return
        self.ended = True
        os.close(self.reading)
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self._child, 0)
