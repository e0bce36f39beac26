"""What all tests share."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from macah.start import collect_rarely

# The compiled runtime is kept between tests and runs (sim/objects.py), but not among the user's own files.
os.environ["MACAH_CACHE"] = str(Path(__file__).parents[1] / ".pytest_cache" / "macah")
# But not what was found out about kernels: tests are to find it out themselves.
os.environ["MACAH_KERNELS"] = "off"
# So that runs repeat, cycle by cycle, whatever else the machine does.
os.environ["MACAH_TIME"] = "lockstep"
# Tests run beside each other already.
os.environ["MACAH_JOBS"] = "1"
# Where bytecode is not to be kept, each of the thousands of starts of `python -m macah` would make it anew,
# which takes as long as the rest of a start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# As the command does, and for its reason.
collect_rarely()
# What a shell starts in the background may ignore Ctrl-C, which tests send to what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def is_late(item: pytest.Item) -> bool:
    """True for a test that plain pytest leaves out."""
    return any(item.get_closest_marker(name) for name in ("slow", "whole"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before tests are left out: cases after as many as `quick` says are slow, most of a sweep whole."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.split("[")[0], []).append(item)
    for cases in tests.values():
        quick, sweep = (cases[0].get_closest_marker(name) for name in ("quick", "sweep"))
        if quick is not None:
            for item in [item for item in cases if not is_late(item)][quick.args[0] :]:
                item.add_marker("slow")
        if sweep is not None:
            slow = [item for item in cases if item.get_closest_marker("slow")]
            taken = {k * len(slow) // sweep.args[0] for k in range(sweep.args[0])}
            for item in (item for k, item in enumerate(slow) if k not in taken):
                item.add_marker("whole")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Only tests may lack a tool: what the program itself needs is installed with it."""
    for mark in item.iter_markers("needs"):
        missing = [tool for tool in mark.args if shutil.which(tool) is None]
        if missing:
            pytest.skip(f"{', '.join(missing)} is not installed")


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 64 KiB."""
    folder = tmp_path / "full"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("may not mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def kernels_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What tests have in common of the same programs, their kernels, is made once (macah/answers.py)."""
    monkeypatch.delenv("MACAH_KERNELS")
