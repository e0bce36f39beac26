"""However a program with simulators ends, no process and no file remains."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from sim_kernels import build, pass_on

T = TypeVar("T")
SIMULATORS = ("vvp\n", "macah-kernel\n")

HOST = """
#include <pthread.h>
#include <unistd.h>
static void *wait_for_signals(void *unused) {
  for (;;) pause();
  return unused;
}
int main(int argc, char **argv) {
  (void)argv;
  pthread_t thread; /* without it, this would be a deadlock, which is stopped */
  pthread_create(&thread, NULL, wait_for_signals, NULL);
  macah_stream *in = CREATE(4, 4), *out = CREATE(4, 4);
  int x = 5;
  SEND(in, &x);
  if (argc > 1) macah_close(in);
  macah_run_kernel(0, NULL, NULL, (macah_stream *[]){in, out}, NULL); /* waits for ever unless closed */
  write(1, "idle", 4);
  pause();
}
"""


@pytest.fixture(scope="module")
def stuck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(HOST, [pass_on()], tmp_path_factory.mktemp("stuck"))


def simulators_of(host: int) -> list[int]:
    """The processes that watch over the life of `host` and simulate."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text() in SIMULATORS:
                links = [str(fd.readlink()) for fd in (entry / "fd").iterdir()]
                infos = [(entry / "fdinfo" / fd.name).read_text() for fd in (entry / "fd").iterdir()]
                if any("macah" in link for link in links) and any(f"Pid:\t{host}\n" in i for i in infos):
                    found.append(int(entry.name))
    return found


def wait_until(condition: Callable[[], T], seconds: float = 300) -> T:
    """What the condition gives as soon as it is not false."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)
    return value


def state(process: int) -> str:
    """The state of the process's main thread: S asleep, R running, Z dead."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def ticks(process: int) -> int:
    """The processor time that the process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def rests(process: int) -> bool:
    """Whether it does nothing for half a second."""
    before = ticks(process)
    time.sleep(0.5)
    return state(process) == "S" and ticks(process) - before <= 1


@contextlib.contextmanager
def tidy(executable: Path, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """The running program, of which no file may remain."""
    place = executable.parent / "tmp"
    place.mkdir(exist_ok=True)
    host = subprocess.Popen(
        [str(executable), *arguments],
        env={**os.environ, "TMPDIR": str(place), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield host
        assert not list(place.iterdir())
        assert not [f for f in Path("/dev/shm").iterdir() if "macah" in f.name]
    finally:
        with contextlib.suppress(ProcessLookupError):
            host.kill()
        host.communicate()


@contextlib.contextmanager
def started(executable: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The running program and its simulator, whose kernel has been entered."""
    with tidy(executable, *arguments) as host:
        simulator = wait_until(lambda: simulators_of(host.pid))[0]
        yield host, simulator
        wait_until(lambda: state(simulator) == "Z")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGABRT])
def test_the_host_ends_inside_a_kernel(stuck: Path, how: signal.Signals) -> None:
    with started(stuck) as (host, simulator):
        wait_until(lambda: state(simulator) == "S")
        os.killpg(host.pid, how)  # as Ctrl-C on a terminal does
        assert host.wait(timeout=600) == -how


def test_the_host_ends_while_the_simulator_starts(stuck: Path) -> None:
    with started(stuck) as (host, _):
        host.kill()
        assert host.wait(timeout=600) == -signal.SIGKILL


def test_the_host_ends_outside_a_kernel(stuck: Path) -> None:
    with started(stuck, "close") as (host, _):
        assert host.stdout is not None
        assert host.stdout.read(4) == "idle"
        host.terminate()
        assert host.wait(timeout=600) == -signal.SIGTERM


def test_a_dead_simulator_ends_the_program_with_one_message(stuck: Path) -> None:
    with started(stuck) as (host, simulator):
        os.kill(simulator, signal.SIGKILL)
        _, errors = host.communicate(timeout=600)
        assert host.returncode == 1
        assert errors == "macah: the simulator of kernel 'pass_on' ended unexpectedly\n"


def test_a_kernel_that_sends_to_a_closed_stream_ends_the_program(tmp_path: Path) -> None:
    program = build(HOST.replace("macah_close(in)", "macah_close(out)"), [pass_on()], tmp_path)
    done = subprocess.run([program, "close"], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == -signal.SIGABRT
    assert re.fullmatch(r"macah: kernel 'pass_on' sends to '.*' at .*, which has been closed\n", done.stderr)


def test_a_stalled_kernel_takes_no_processor_time(stuck: Path) -> None:
    with started(stuck) as (host, simulator):
        wait_until(lambda: rests(simulator))
        host.kill()


def test_a_simulator_that_cannot_start_ends_the_program_with_one_message(tmp_path: Path) -> None:
    executable = build(HOST, [pass_on()], tmp_path)
    image = tmp_path / "image.c"
    command = image.read_text().split('macah_simulator_command[] = {\n  "', 1)[1].split('"', 1)[0]
    data = executable.read_bytes()
    assert data.count(command.encode() + b"\0") == 1
    executable.write_bytes(data.replace(command.encode() + b"\0", b"x" * len(command) + b"\0"))
    done = subprocess.run([str(executable)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "macah: the simulator of kernel 'pass_on' did not start; its last words:",
        f"cannot run {'x' * len(command)}: No such file or directory",
    ]


def test_a_deadlock_leaves_nothing(tmp_path: Path) -> None:
    host = HOST.replace("pthread_create(", "(void)thread; if (0) pthread_create(")
    with started(build(host, [pass_on()], tmp_path)) as (program, _):
        assert program.wait(20) == -signal.SIGABRT
