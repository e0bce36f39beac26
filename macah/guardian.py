"""Removes a directory of temporary files, and ends who works there, when a process has been killed.

`macahc` starts it as a program of its own: `python guardian.py DIRECTORY`, with one end of a pipe as standard
input, whose other end closes however `macahc` ends. Tools, and what they start, are known by their `TMPDIR`.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

WORKSPACE = "macahc-"
"""What the names of such directories begin with."""


def main(directory: str) -> None:
    """Waits for the end of standard input; if the directory is gone by then, all is well."""
    while os.read(0, 64):
        continue
    if not Path(directory).is_dir():
        return
    end_workers(directory)
    shutil.rmtree(directory, ignore_errors=True)


def end_workers(directory: str) -> None:
    """Ends all that were told to work there."""
    for process in _workers(directory):
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)


def _workers(directory: str) -> list[int]:
    """The processes, of those whose environment may be read, that were told to work there."""
    mark, found = b"TMPDIR=" + os.fsencode(directory), []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(process.name) != os.getpid() and mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


if __name__ == "__main__":
    main(sys.argv[1])
