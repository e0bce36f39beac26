"""Temporary directories of processes that were killed together with their guardians."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import sim.workspace
from sim.workspace import guarded

# Says where its directory is and which process guards it, and waits.
OWNER = """
import sys, time
from pathlib import Path
from sim.workspace import guarded
with guarded("macahc-") as directory:
    Path(directory, "file").write_text("here")
    children = Path(f"/proc/self/task/{__import__('os').getpid()}/children").read_text()
    print(directory, children, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    tempfile.tempdir = None


def owner() -> tuple[subprocess.Popen[str], Path, int]:
    process = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    directory, guardian = process.stdout.readline().split()
    return process, Path(directory), int(guardian)


def kill(*processes: int) -> None:
    for process in processes:
        os.kill(process, signal.SIGKILL)
    while any(Path(f"/proc/{p}").exists() and "Z" not in state(p) for p in processes):
        time.sleep(0.01)


def state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_what_both_have_left_goes_with_the_next(place: Path) -> None:
    process, directory, guardian = owner()
    kill(guardian, process.pid)
    process.wait()
    assert (directory / "file").exists()
    with guarded("macahc-") as mine:
        assert list(place.iterdir()) == [Path(mine)]
    assert not list(place.iterdir())


def test_what_is_in_use_stays(place: Path) -> None:
    process, directory, guardian = owner()
    with guarded("macahc-"):
        assert (directory / "file").exists()
    kill(guardian)
    with guarded("macahc-"):
        assert (directory / "file").exists()
    kill(process.pid)
    process.wait()


def test_what_may_be_somebody_elses_stays(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / ".lock").touch()
    (place / "macahc-link").symlink_to(other)
    (place / "macahc-new").mkdir()
    (place / "macahc-pipe").mkdir()
    os.mkfifo(place / "macahc-pipe" / ".lock")
    (place / "macahc-file").touch()
    before = sorted(place.iterdir())
    with guarded("macahc-"):
        pass
    assert sorted(place.iterdir()) == before and (other / ".lock").exists()


def test_a_directory_is_guarded_as_soon_as_it_is_there(place: Path) -> None:
    for _ in range(15):
        process = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.DEVNULL)
        while not list(place.glob("macahc-*")):
            assert process.poll() is None
        kill(process.pid)
        process.wait()
        end = time.monotonic() + 300
        while list(place.iterdir()) and time.monotonic() < end:
            time.sleep(0.01)
        assert not list(place.iterdir())


def test_a_signal_at_any_step_leaves_no_directory(place: Path) -> None:
    """The exception of a signal's handler, raised wherever it can be while one is made and removed."""
    interrupted = {Path.mkdir.__code__}
    for step in itertools.count(1):
        left = step

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal left
            if frame.f_code not in interrupted and frame.f_code.co_filename != sim.workspace.__file__:
                return None
            if event in ("line", "return"):
                left -= 1
                if left == 0:
                    raise KeyboardInterrupt
            return trace

        traced = sys.gettrace()
        sys.settrace(trace)
        try:
            with guarded("macahc-") as directory:
                Path(directory, "file").touch()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(traced)
        end = time.monotonic() + 300
        while list(place.iterdir()) and time.monotonic() < end:
            time.sleep(0.01)
        assert not list(place.iterdir())
        if left > 0:
            assert step > 20
            return
