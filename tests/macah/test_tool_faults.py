"""Tools that are missing, old, broken or stuck, no room for files, the compiler's end: one message each."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """#include <stdio.h>
int main(void)
{
  int stream s = pstream_create(int);
  int x;
  k: kernel { s <! 3; }
  x <? s;
  printf("%d\\n", x);
}
"""
TOOLS = ("cc", "as", "ld", "iverilog", "vvp", "sh", "cat", "sleep")
ICARUS = "echo 'Icarus Verilog version {}.0'"
STUCK = f"case $1 in -V) {ICARUS.format(11)};; *) exec sleep 1000;; esac"


class Place:
    """A program, a directory of tools, one of temporary files."""

    def __init__(self, folder: Path) -> None:
        self.source, self.bin, self.temporary = (folder / name for name in ("p.macah", "bin", "tmp"))
        self.source.write_text(PROGRAM)
        self.bin.mkdir()
        self.temporary.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(str(shutil.which(tool)))
        self.environment = {**os.environ, "PATH": str(self.bin), "TMPDIR": str(self.temporary)}

    def replace(self, tool: str, text: str | None) -> None:
        (self.bin / tool).unlink()
        if text is not None:
            (self.bin / tool).write_text(f"#!/bin/sh\n{text}\n")
            (self.bin / tool).chmod(0o755)

    def command(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "macah", "run", "-w", *options, str(self.source)]

    def refused(self, *options: str) -> str:
        """What is said where nothing can be run; nothing else is left of it."""
        done = subprocess.run(
            self.command(*options), capture_output=True, text=True, timeout=600, env=self.environment
        )
        assert (done.returncode, done.stdout) == (1, ""), done
        assert "Traceback" not in done.stderr and not list(self.temporary.iterdir())
        return done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("tool", "text", "said"),
    [
        ("iverilog", None, "'iverilog' was not found; install it (on Debian: apt-get install iverilog)"),
        ("vvp", None, "'vvp' was not found"),
        ("iverilog", "echo garbage", "/iverilog' does not say that it is of Icarus Verilog, but: garbage"),
        ("vvp", "kill -SEGV $$", "/vvp' was ended: Segmentation fault"),
        ("vvp", ICARUS.format(99), "the parts of Icarus Verilog have different versions: "),
        ("cc", None, "cannot find the C compiler 'cc'"),
        ("cc", "echo garbage", "'cc' does not preprocess C"),
        ("cc", "kill -9 $$", "'cc' was ended: Killed"),
    ],
)
def test_a_missing_or_broken_tool(place: Place, tool: str, text: str | None, said: str) -> None:
    place.replace(tool, text)
    errors = place.refused("--mode", "dataflow")
    assert said in errors and errors.count("error: ") == 1


def test_a_missing_simulator_is_told_before_anything_is_mapped(place: Place) -> None:
    too_large = "int main(void) { static int a[1 << 20]; kernel { a[1] = a[2]; } return a[0]; }\n"
    place.source.write_text(too_large)
    place.replace("iverilog", None)
    assert "'iverilog' was not found" in place.refused()


def test_an_old_simulator(place: Place) -> None:
    for tool in ("iverilog", "vvp"):
        place.replace(tool, ICARUS.format(10))
    assert "is Icarus Verilog 10, which is too old; install 11 or newer" in place.refused()


def test_a_stuck_tool(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from sim import icarus_version

    place.replace("vvp", "exec sleep 1000")
    monkeypatch.setattr(icarus_version, "PATIENCE", 1)
    with pytest.raises(icarus_version.SimulatorMissing, match="has not said its version in 1 s"):
        icarus_version.check_icarus([str(place.bin / "iverilog"), str(place.bin / "vvp")])


def test_no_cocotb(place: Place, tmp_path: Path) -> None:
    package = tmp_path / "packages" / "cocotb_tools"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError")
    before = os.environ.get("PYTHONPATH", "")
    place.environment["PYTHONPATH"] = os.pathsep.join([str(package.parent), before or str(Path.cwd())])
    assert "cocotb was not found" in place.refused()


def test_another_cocotb(place: Place, tmp_path: Path) -> None:
    about = tmp_path / "packages" / "cocotb-1.9.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: cocotb\nVersion: 1.9.2\n")
    before = os.environ.get("PYTHONPATH", "")
    place.environment["PYTHONPATH"] = os.pathsep.join([str(about.parent), before or str(Path.cwd())])
    assert "cocotb 1.9.2 was found, but version 2 is needed" in place.refused()


def test_a_stuck_simulator(place: Place) -> None:
    place.replace("vvp", STUCK)
    place.environment["MACAH_START_SECONDS"] = "1"
    assert place.refused() == "macah: the simulator of kernel 'k' did not start\n"
    assert settled(place)


@pytest.mark.parametrize("mode", ["c", "mapped"])
def test_no_room_for_temporary_files(place: Place, full: Path, mode: str) -> None:
    place.environment |= {"TMPDIR": str(full), "MACAH_CACHE": "off"}
    assert f"no space is left for temporary files in '{full}" in place.refused("--mode", mode)
    assert not list(full.iterdir())


def test_no_room_for_a_result(place: Place) -> None:
    command = [sys.executable, "-m", "macah", "--emit", "verilog", str(place.source)]
    with Path("/dev/full").open("w") as sink:
        done = subprocess.run(command, stdout=sink, stderr=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode == 1 and done.stderr.endswith("error: No space left on device [system]\n")


def workers(place: Place) -> list[str]:
    """The processes whose temporary files are in the place."""
    mark, found = f"TMPDIR={place.temporary}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


def settled(place: Place) -> bool:
    """Whether nothing is left within a time."""
    for _ in range(200):
        if not workers(place) and not list(place.temporary.iterdir()):
            return True
        time.sleep(0.05)
    return False


def waiting_for_a_tool(place: Place) -> subprocess.Popen[str]:
    """The compiler, when it has begun to wait for one that does not end."""
    place.replace("iverilog", STUCK)
    child = subprocess.Popen(
        place.command(),
        env=place.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not any("sleep" in command for command in workers(place)):
        assert child.poll() is None
        time.sleep(0.02)
    return child


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_compiler_is_ended_while_a_tool_works(place: Place, how: signal.Signals) -> None:
    child = waiting_for_a_tool(place)
    if how == signal.SIGINT:
        os.killpg(child.pid, how)  # as a terminal does
    else:
        child.send_signal(how)
    _, errors = child.communicate(timeout=100)
    assert child.returncode in ((-how,) if how == signal.SIGKILL else (128 + how, -how))
    assert "Traceback" not in errors
    assert settled(place)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_the_compiler_is_ended_by_a_signal_that_another_thread_gets(
    place: Place, how: signal.Signals
) -> None:
    child = waiting_for_a_tool(place)
    threads = {int(entry.name) for entry in Path(f"/proc/{child.pid}/task").iterdir()}
    assert ctypes.CDLL(None).tgkill(child.pid, max(threads - {child.pid}), how) == 0
    _, errors = child.communicate(timeout=100)
    assert child.returncode == 128 + how
    assert "Traceback" not in errors and settled(place)
