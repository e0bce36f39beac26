"""Directories of temporary files that go however their owner ends, and files that appear whole.

If the guardian is killed, too, the next one to make such a directory removes it: a file in it is locked for
as long as its owner or guardian lives, so it does not matter who has their numbers now.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .guardian import end_workers

_LOCK = ".lock"


@contextmanager
def guarded(prefix: str) -> Iterator[str]:
    """A temporary directory that a process of its own removes if this one cannot (guardian.py)."""
    _sweep(prefix)
    directory = f"{tempfile.gettempdir()}/{prefix}{secrets.token_hex(8)}"
    with _guardian(directory) as (owner, guardian):
        try:
            Path(directory).mkdir(mode=0o700)
        except OSError:  # there may be one that is somebody else's
            guardian.kill()
            raise
        lock = _lock(Path(directory))
        try:
            with suppress(OSError):  # it may have been killed
                socket.send_fds(owner, [b"lock"], lock)
            yield directory
        finally:
            for handle in lock:
                os.close(handle)
            shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _guardian(directory: str) -> Iterator[tuple[socket.socket, subprocess.Popen[bytes]]]:
    """Our end of its socket, and the guardian of a directory that is made after it: so none is without.

    A signal may come at any time: what is left of the directory then, the guardian removes before we go on.
    """
    owner, other = socket.socketpair()
    with owner:
        with other:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(__file__).with_name("guardian.py")), directory],
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            yield owner, process
        finally:
            with suppress(OSError):
                owner.shutdown(socket.SHUT_RDWR)
            process.wait()


def _lock(directory: Path) -> tuple[int, ...]:
    """An open file in the directory, which has its name once it is locked; none where that cannot be."""
    handle = -1
    try:
        handle = os.open(
            directory / f"{_LOCK}ing", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
        )
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (directory / f"{_LOCK}ing").rename(directory / _LOCK)
    except OSError:
        if handle >= 0:
            os.close(handle)
        return ()
    return (handle,)


def _sweep(prefix: str) -> None:
    """Removes directories of processes that have been killed together with their guardians."""
    for directory in sorted(Path(tempfile.gettempdir()).glob(f"{prefix}*")):
        with suppress(OSError):
            if not _is_own(directory.lstat(), stat.S_ISDIR):
                continue
            handle = os.open(directory / _LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if _is_own(os.fstat(handle), stat.S_ISREG):
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    end_workers(str(directory))
                    shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(handle)


def _is_own(found: os.stat_result, kind: Callable[[int], bool]) -> bool:
    return kind(found.st_mode) and found.st_uid == os.geteuid()


def write_whole(path: Path, data: bytes, executable: bool = False) -> None:
    """Writes a file so that nobody ever sees a part of it. Devices and pipes are written directly.

    Errors: OSError, which names the file.
    """
    with _naming(path):
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        target = path.resolve()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
            mask = os.umask(0)
            os.umask(mask)
            Path(name).chmod((0o777 if executable else 0o666) & ~mask)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors are of `path`, and not of a temporary file, or of an open one, which has no name."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
