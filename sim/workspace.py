"""Directories of temporary files that go however their owner ends, and files that appear whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def guarded(prefix: str) -> Iterator[str]:
    """A temporary directory that a process of its own removes if this one cannot (guardian.py)."""
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as directory:
        guardian = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("guardian.py")), directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield directory
        finally:
            assert guardian.stdin is not None
            shutil.rmtree(directory, ignore_errors=True)
            guardian.stdin.close()
            guardian.wait()


def write_whole(path: Path, data: bytes, executable: bool = False) -> None:
    """Writes a file so that nobody ever sees a part of it. Devices and pipes are written directly.

    Errors: OSError, which names the file.
    """
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
    except OSError as error:  # of an open file, which has no name
        Path(name).unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
