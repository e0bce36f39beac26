"""What may happen to a program while its kernel runs: a crash, an end, limits, a disk that is full.

Each is injected. The program ends as it would without kernels, or with one message, and leaves nothing.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PROGRAM = """\
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int stream in, out;
static void *other(void *argument)
{
  const char *how = argument;
  int x = 0;
  in <! 1;
  x <? out; /* the kernel is at work */
  switch (*how) {
    case 'v': *(volatile int *)0 = 1; break;
    case 'a': abort();
    case 'e': exit(7);
    case '_': _exit(8);
    case 't': pthread_exit(NULL);
    case 'p': { int ends[2]; if (pipe(ends) == 0) close(ends[0]), x = write(ends[1], "x", 1); break; }
    case 'k': kill(getpid(), SIGKILL); break;
    case 'f': if (fork() == 0) _exit(0); break;
  }
  for (int i = 0; i < atoi(how); i++) { in <! i; x <? out; }
  printf("%d\\n", x);
  pstream_close(in);
  return NULL;
}
int main(int argc, char **argv)
{
  pthread_t thread;
  in = pstream_create(int, 4);
  out = pstream_create(int, 4);
  pthread_create(&thread, NULL, other, argc > 1 ? argv[1] : "0");
  echo: kernel {
    for (;;) {
      int x = 0;
      x <? in;
      if (pstream_ended(in)) break;
      out <! x + 1;
    }
  }
  pthread_join(thread, NULL);
  return 0;
}
"""

VERILATOR = (pytest.mark.slow, pytest.mark.needs("verilator"))


@dataclass
class Place:
    """A program, and a directory of its own for whatever it leaves."""

    program: Path
    temporary: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def run(
        self, *words: str, limit: Callable[[], None] | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs it to its end; fails if anything is left."""
        variables |= {"TMPDIR": str(self.temporary), "MACAH_TEST_MARK": self.mark}
        done = subprocess.run(
            [self.program, *words],
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            preexec_fn=limit,
        )
        end = time.monotonic() + 300
        while (left := self._processes()) and time.monotonic() < end:
            time.sleep(0.02)
        assert not left and not list(self.temporary.iterdir())
        assert not [file for file in Path("/dev/shm").iterdir() if "macah" in file.name]
        return done

    def _processes(self) -> list[str]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_text())
            except OSError:
                continue
        return found


def build(directory: Path, *options: str) -> Path:
    source, program = directory / "p.macah", directory / "p"
    source.write_text(PROGRAM)
    command = [sys.executable, "-m", "macah", "-w", "--effort=low", *options, "-o", str(program), str(source)]
    subprocess.run(command, check=True, timeout=600)
    return program


@pytest.fixture(
    scope="module",
    params=[
        ("mapped", "icarus"),
        pytest.param(("dataflow", "icarus"), marks=pytest.mark.slow),
        pytest.param(("mapped", "verilator"), marks=VERILATOR),
        pytest.param(("dataflow", "verilator"), marks=VERILATOR),
    ],
    ids=" ".join,
)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    mode, simulator = request.param
    return build(tmp_path_factory.mktemp("faults"), "--mode", mode, "--simulator", simulator)


@pytest.fixture
def place(program: Path, tmp_path: Path) -> Place:
    (tmp_path / "tmp").mkdir()
    return Place(program, tmp_path / "tmp")


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("v", -signal.SIGSEGV),
        ("a", -signal.SIGABRT),
        ("e", 7),
        ("_", 8),
        ("p", -signal.SIGPIPE),
        ("k", -signal.SIGKILL),
    ],
)
def test_the_program_ends_inside_a_kernel(how: str, status: int, place: Place) -> None:
    done = place.run(how)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


def test_what_is_no_fault_does_no_harm(place: Place) -> None:
    assert place.run("f").returncode == 0
    done = place.run("t")  # nobody is left to send
    assert done.returncode == -signal.SIGABRT and done.stderr.startswith("macah: deadlock")


def limited(kind: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (most, most))


@pytest.mark.parametrize("megabytes", [8, 64, 100, 150])
def test_too_little_memory(megabytes: int, place: Place) -> None:
    done = place.run("9", limit=limited(resource.RLIMIT_AS, megabytes << 20))
    if megabytes < 64 or done.returncode:
        assert_one_message(done)


@pytest.mark.parametrize("kilobytes", [0, 1, 16, 100])
def test_too_short_files(kilobytes: int, place: Place) -> None:
    done = place.run("9", limit=limited(resource.RLIMIT_FSIZE, kilobytes << 10))
    assert_one_message(done)
    assert "ulimit -f" in done.stderr


def test_too_few_files(place: Place) -> None:
    assert_one_message(place.run("9", limit=limited(resource.RLIMIT_NOFILE, 5)))


def assert_one_message(done: subprocess.CompletedProcess[str], output: str = "") -> None:
    assert (done.returncode, done.stdout) in [(1, output), (-signal.SIGABRT, output)], done
    lines = done.stderr.splitlines()
    assert lines and lines[0].startswith("macah: ") and "macah: " not in "".join(lines[1:]), done.stderr


def test_no_room_for_a_trace(place: Place, full: Path) -> None:
    done = place.run("40000", MACAH_TRACE=str(full))
    assert_one_message(done)
    assert f"cannot write the trace '{full}/" in done.stderr and "No space left" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulator", "file"),
    [("icarus", "w.vcd"), ("icarus", "w.fst"), pytest.param("verilator", "w.vcd", marks=VERILATOR)],
)
def test_no_room_for_a_waveform(simulator: str, file: str, full: Path, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    made = build(tmp_path, "--mode", "dataflow", "--simulator", simulator, f"--wave={full / file}")
    (full / "filler").write_bytes(bytes(48 << 10))
    done = Place(made, tmp_path / "tmp").run("40000")
    assert_one_message(done, done.stdout)  # it may be noticed at the end only
    assert f"cannot write the waveform in '{full}': No space left" in done.stderr


PAGE = 4096
LONELY = """#include <stdlib.h>
int main(int argc, char **argv)
{
  int n = atoi(argv[argc - 1]), s = 0;
  for (int t = 0; t < 2; t++) {
    k: kernel { for (int i = 0; i < n; i++) s += i * s + 7; }
  }
  return 0;
}
"""


# FST needs pages for what it writes besides.
@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("simulator", "suffix", "spare"),
    [
        ("icarus", "vcd", 0),
        ("icarus", "fst", 3),
        pytest.param("verilator", "vcd", 0, marks=VERILATOR),
        pytest.param("verilator", "fst", 3, marks=VERILATOR),
    ],
)
def test_a_waveform_that_just_fits(
    simulator: str, suffix: str, spare: int, full: Path, tmp_path: Path
) -> None:
    source, made, wave = tmp_path / "p.macah", tmp_path / "p", full / f"w.{suffix}"
    source.write_text(LONELY)
    options = ("--mode", "dataflow", "--simulator", simulator, f"--wave={wave}", "-o", str(made))
    command = [sys.executable, "-m", "macah", "-w", *options, str(source)]
    subprocess.run(command, check=True, timeout=600)
    (tmp_path / "tmp").mkdir()
    place = Place(made, tmp_path / "tmp")
    assert (place.run("9").returncode, place.run("9").stderr) == (0, "")
    whole = wave.stat().st_size
    pages = -(-whole // PAGE)
    for room, status in ((pages + spare, 0), (pages - 1, 1)):
        wave.unlink()
        filler = full / "filler"
        with filler.open("wb") as file:
            left = os.statvfs(full)
            file.write(bytes(left.f_bavail * left.f_frsize - room * PAGE))
        done = place.run("9")
        assert done.returncode == status, done.stderr
        assert (wave.stat().st_size == whole) == (status == 0)
        assert (f"cannot write the waveform in '{full}': No space left" in done.stderr) == (status == 1)


@pytest.mark.slow
def test_no_room_for_a_layout(full: Path, tmp_path: Path) -> None:
    (full / "filler").write_bytes(bytes(64 << 10))
    source = tmp_path / "p.macah"
    source.write_text(PROGRAM)
    command = [sys.executable, "-m", "macah", "-w", "--mode", "dataflow", f"--wave={full / 'w.vcd'}"]
    done = subprocess.run(
        [*command, "-o", tmp_path / "p", source], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"macahc: error: {full / 'w.gtkw'}: No space left on device")
    assert [file.name for file in full.iterdir()] == ["filler"]


@pytest.mark.slow
def test_no_room_for_temporary_files(full: Path, tmp_path: Path) -> None:
    (full / "filler").write_bytes(bytes(60 << 10))
    source = tmp_path / "p.macah"
    source.write_text(PROGRAM)
    command = [sys.executable, "-m", "macah", "-w", "--mode", "dataflow", "-o", tmp_path / "p", source]
    environment = {**os.environ, "TMPDIR": str(full)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("macahc: error: ") and done.stderr.count("\n") == 1, done.stderr
    assert "space" in done.stderr
    assert [file.name for file in full.iterdir()] == ["filler"] and not (tmp_path / "p").exists()


def test_no_room_for_a_profile(full: Path, tmp_path: Path) -> None:
    (full / "filler").write_bytes(bytes(64 << 10))
    source = tmp_path / "p.macah"
    source.write_text(PROGRAM)
    options = ("--mode", "dataflow", f"--profile={full / 'p.json'}")
    command = [sys.executable, "-m", "macah", "run", "-w", *options, str(source), "9"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (1, "9\n")
    assert done.stderr.count("\n") == 1 and "No space left" in done.stderr
    assert [file.name for file in full.iterdir()] == ["filler"]
