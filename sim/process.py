"""The process that runs a kernel for Python (runtime/serve.c), and what goes over its socket.

Its files have no names, and it ends with us, so nothing is left behind however a test ends.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import struct
import subprocess
import weakref
from enum import IntEnum
from pathlib import Path

from .bench import DesignLike
from .cosim import RUNTIME, RUNTIME_FLAGS, RUNTIME_SOURCES, build_image, write_layouts
from .errors import DeadlockError, KernelAssertionError, KernelError, OverrunError, SimulatorError
from .objects import compile_objects
from .simulator import SimulatorMissing, run_compiler
from .wave import Wave
from .workspace import guarded

_HEAD = struct.Struct("=IIQ")
"""Kind, port, and the number of bytes behind it, of requests and answers."""


_FLAGS = ("-std=gnu11", "-O2")
_SERVER = tuple(RUNTIME / name for name in ("serve.c", "serve_lanes.c", "serve_socket.c"))


class Request(IntEnum):
    """What the process is asked to do; `WAIT` alone is answered."""

    BEGIN = 1
    SEND = 2
    SEND_AND_CLOSE = 3
    TAKE = 4
    WAIT = 5


class Answer(IntEnum):
    """What happened; `DONE` comes last."""

    SENT = 1
    TAKEN = 2
    ENDED = 3
    DONE = 4


class Executable:
    """The server's executable: a file without a name."""

    def __init__(self, design: DesignLike, simulator: str, stall_cycles: int, wave: Wave | None) -> None:
        with guarded("macah-kernel-") as name:
            try:
                path = _build(design, Path(name), simulator, stall_cycles, wave)
            except SimulatorMissing as error:
                raise SimulatorError(str(error)) from None
            self.file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self.file)


def _build(design: DesignLike, directory: Path, simulator: str, stall_cycles: int, wave: Wave | None) -> Path:
    """Builds it in `directory`. Errors: SimulatorMissing."""
    compiler = os.environ.get("CC") or "cc"
    command = shlex.split(compiler)
    image = build_image([design], directory, compiler, False, stall_cycles, wave, simulator)
    if wave is not None:
        write_layouts([design], wave, simulator)

    def run(arguments: list[str]) -> None:
        run_compiler(command, arguments, "compiling the kernel's host")

    sources = [*RUNTIME_SOURCES, *image.runtime, *_SERVER]
    flags = [*_FLAGS, *RUNTIME_FLAGS]
    objects = compile_objects(command, flags, sources, directory, run)
    program = directory / "server"
    run([*flags, *map(str, image.own), *map(str, objects), "-o", str(program)])
    return program


class Process:
    """A server that runs. It ends when its socket is closed, so when we end, too."""

    def __init__(self, executable: Executable, name: str, time: str) -> None:
        self.executable = executable
        self.socket, theirs = socket.socketpair()
        self.log = os.memfd_create("macah-log")
        try:
            self.child = subprocess.Popen(
                [name],
                executable=f"/proc/self/fd/{executable.file}",
                pass_fds=(executable.file,),
                stdin=theirs.fileno(),
                stdout=self.log,
                stderr=self.log,
                env={**os.environ, "MACAH_TIME": time},
                start_new_session=True,
            )
        except BaseException:
            self.socket.close()
            os.close(self.log)
            raise
        finally:
            theirs.close()
        self.owner = os.getpid()
        self._end = weakref.finalize(self, _end, self.child, self.socket, self.log, self.owner)

    def end(self) -> None:
        """Ends it at once."""
        self._end()

    def is_usable(self) -> bool:
        """Whether it is there, and ours: after a fork it is the parent's."""
        return self._end.alive and self.child.poll() is None and self.owner == os.getpid()

    def send(self, kind: Request, port: int, size: int, data: bytes = b"") -> None:
        """A request. Errors: those of `failure`."""
        try:
            self.socket.sendall(_HEAD.pack(kind, port, size))
            self.socket.sendall(data)
        except OSError:
            raise self.failure() from None

    def read_head(self) -> tuple[Answer, int, int]:
        """What an answer is, about which port, and the number of bytes that follow. Errors: as of `read`."""
        kind, port, size = _HEAD.unpack(self.read(_HEAD.size))
        return Answer(kind), port, size

    def read(self, size: int) -> bytes:
        """So many bytes of an answer. Errors: those of `failure`."""
        data = bytearray(size)
        view = memoryview(data)
        while view:
            try:
                count = self.socket.recv_into(view)
            except ConnectionError:
                count = 0
            if not count:
                raise self.failure()
            view = view[count:]
        return bytes(data)

    def failure(self) -> KernelError:
        """Why it ended, by its last words."""
        status = self.child.wait()
        text = os.pread(self.log, os.fstat(self.log).st_size, 0).decode(errors="replace").strip()
        if text.startswith("macah: deadlock"):
            return DeadlockError(text)
        if "has not ended after" in text or "has moved no element" in text:
            return OverrunError(text)
        own, _, message = text.partition(": ")
        if status == -signal.SIGABRT and own != "macah":
            return KernelAssertionError(message or text)
        return SimulatorError(text or f"the kernel's process ended with status {status}")


def _end(child: subprocess.Popen[bytes], ours: socket.socket, log: int, owner: int) -> None:
    ours.close()
    os.close(log)
    if os.getpid() == owner:
        child.kill()
        child.wait()
