"""Removes a directory of temporary files, and ends who works there, when a process has been killed.

`workspace.py` starts it as a program of its own: `python guardian.py DIRECTORY`, with one end of a socket as
standard input, whose other end closes however its owner ends, and through which it gets the directory's lock,
to hold it. Tools, and what they start, are known by their
`TMPDIR`, and end at once. Those that only have the directory in their command may have other files elsewhere,
which they remove themselves: they are given time to end.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

WORKSPACE = "macahc-"
"""What the names of such directories begin with, where they are the compiler's."""

PATIENCE = 10.0
"""Seconds in which tools end by themselves."""


def main(directory: str) -> None:
    """Waits for the end of standard input; if the directory is gone by then, all is well."""
    with socket.socket(fileno=0) as owner, suppress(ConnectionError):
        while socket.recv_fds(owner, 64, 1)[0]:
            continue
    if not Path(directory).is_dir():
        return
    end_workers(directory)
    end = time.monotonic() + PATIENCE
    while (left := _processes(lambda process: _has_command(process, directory))) and time.monotonic() < end:
        time.sleep(0.05)
    _kill(left)
    shutil.rmtree(directory, ignore_errors=True)


def end_workers(directory: str) -> None:
    """Ends all that were told to work there."""
    mark = b"TMPDIR=" + os.fsencode(directory)
    _kill(_processes(lambda process: mark in (process / "environ").read_bytes().split(b"\0")))


def _has_command(process: Path, directory: str) -> bool:
    return os.fsencode(directory) + b"/" in (process / "cmdline").read_bytes()


def _kill(processes: list[int]) -> None:
    for process in processes:
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)


def _processes(wanted: Callable[[Path], bool]) -> list[int]:
    """The numbers of all others, of those that may be looked at, that are wanted."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(process.name) != os.getpid() and wanted(process):
                found.append(int(process.name))
    return found


if __name__ == "__main__":
    main(sys.argv[1])
