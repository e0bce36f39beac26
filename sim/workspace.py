"""Directories of temporary files that go however their owner ends."""

from __future__ import annotations

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
