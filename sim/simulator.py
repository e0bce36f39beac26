"""What simulators have in common: the tools they need, and what a program carries of them."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

RUNTIME = Path(__file__).resolve().parent / "runtime"
DATA_PLANE = tuple(
    RUNTIME / name for name in ("attach.c", "ports.c", "naps.c", "ticks.c", "trace.c", "profile.c")
)
"""The runtime's sources that every simulator has in it."""

ARENA_FD, DESIGN_FD, MODULE_FD, CONTROL_FD = 4, 5, 6, 7
"""A simulator's open files, as in runtime/cosim.h."""


@dataclass(frozen=True)
class Simulation:
    """How a program starts simulators: the command and what it adds to the environment; the files to carry.

    They are a file for each kernel and two that all kernels share.
    """

    command: tuple[str, ...]
    environment: dict[str, str]
    designs: tuple[Path, ...]
    module: Path
    control: Path


class SimulatorMissing(Exception):
    """A tool that simulation needs is not installed, or did not do its work; says what to do."""


def find_tool(name: str, package: str) -> str:
    """Where a tool is. Errors: SimulatorMissing."""
    path = shutil.which(name)
    if path is None:
        raise SimulatorMissing(f"'{name}' was not found; install it (on Debian: apt-get install {package})")
    return path


_LITTLE = 1 << 16
"""Bytes of room, or less, after which a tool has failed for want of it."""


def want_of_room() -> str:
    """What to say after a tool has failed if that was for want of room, else nothing."""
    folder = tempfile.gettempdir()
    with suppress(OSError):
        room = os.statvfs(folder)
        if room.f_blocks and room.f_bavail * room.f_frsize <= _LITTLE:
            return f"no space is left for temporary files in '{folder}'; TMPDIR names another directory"
    return ""


def failure_of(status: int, said: str, tool: str) -> str:
    """What to show of a tool that failed: that no room is left, what it said, or else how it ended."""
    if full := want_of_room():
        return full
    if said.strip():
        return said.strip()
    how = signal.strsignal(-status) if status < 0 else None
    return f"'{tool}' was ended: {how}" if how else f"'{tool}' gave the status {status} without a word"


def run_tool(command: Sequence[str], what: str, directory: Path | None = None) -> None:
    """Runs a tool that is expected to succeed, in a directory if names of files find their way into what it
    makes. Errors: SimulatorMissing, with what it said.
    """
    done = subprocess.run(
        command,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        said = failure_of(done.returncode, done.stderr + done.stdout, command[0])
        raise SimulatorMissing(f"{what} failed:\n{said}")


def run_compiler(compiler: Sequence[str], arguments: Sequence[str], what: str) -> None:
    """Compiles C. Errors: SimulatorMissing, also if there is no such compiler."""
    try:
        run_tool([*compiler, *arguments], what)
    except FileNotFoundError:
        raise SimulatorMissing(f"the C compiler '{shlex.join(compiler)}' was not found") from None
