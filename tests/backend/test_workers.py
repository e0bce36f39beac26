"""Attempts in other processes: mappings are the same whatever happens to those, and no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from children import no_children
from graphs import mixed, random_graph

from arch.describe import load_fabric
from backend import ahead, attempt
from backend.dfg import DFG
from backend.mapper import map_kernel
from backend.mapping import DoesNotFit, MapOptions, Mapping
from backend.worker import Worker

SMALL, MESH = load_fabric("grid4x4"), load_fabric("mesh:3x3")
SOON = random_graph(8, 70)  # which needs four attempts, and little time
ROOT = Path(__file__).parents[2]


def lines_of(jobs: int, dfg: DFG) -> tuple[Mapping, list[str]]:
    """A mapping that takes several attempts, and what was tried for it."""
    lines: list[str] = []
    mapping = map_kernel(dfg, MESH, MapOptions(effort=0.3, jobs=jobs), lines.append)
    return mapping, [line for line in lines if "left" not in line and "placing" not in line]


@pytest.mark.parametrize(("dfg", "jobs"), [(SOON, 2), (SOON, 3), (random_graph(5, 90), 2)])
def test_processes_find_what_one_finds_in_the_same_order(dfg: DFG, jobs: int) -> None:
    alone, said = lines_of(1, dfg)
    assert len(said) > 2  # else there was nothing to do ahead
    assert lines_of(jobs, dfg) == (alone, said)
    assert no_children()


def test_attempts_are_made_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    class Counted(Worker):
        def __init__(self, work: object) -> None:
            begun.append(1)
            super().__init__(work)  # type: ignore[arg-type]

    monkeypatch.setattr(ahead, "Worker", Counted)
    lines_of(2, SOON)
    assert len(begun) >= 2
    begun.clear()
    map_kernel(random_graph(1, 40), SMALL, MapOptions(jobs=2))
    assert not begun  # as the first attempt succeeds


@pytest.mark.parametrize("failure", ["dies", "raises", "cannot begin"])
def test_what_a_worker_cannot_do_is_done_without_it(failure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, parent = lines_of(1, SOON), os.getpid()
    make = attempt.Attempts.make

    def broken(*words: object) -> object:
        if os.getpid() != parent and failure == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if os.getpid() != parent:
            raise MemoryError
        return make(*words)  # type: ignore[arg-type]

    def refused() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(attempt.Attempts, "make", broken)
    if failure == "cannot begin":
        monkeypatch.setattr(os, "fork", refused)
    assert lines_of(2, SOON) == expected
    assert no_children()


def test_half_an_answer_is_none() -> None:
    def half(_: object) -> bytes:
        os.write(worker_end[1], b"\x10\0\0\0\0\0\0\0half")
        os._exit(0)

    worker_end = (0, 0)
    pipe = os.pipe

    def noted() -> tuple[int, int]:
        nonlocal worker_end
        worker_end = pipe()
        return worker_end

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pipe", noted)
        worker = Worker(half)
    while not worker.ended:
        worker.receive()
    assert worker.answer() == b""


def test_an_interrupt_while_a_worker_is_made_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    fork = os.fork

    def interrupted() -> int:
        child = fork()
        if child:
            signal.raise_signal(signal.SIGINT)
        return child

    def work(_: Callable[[int], None]) -> bytes:
        time.sleep(600)
        return b""

    monkeypatch.setattr(os, "fork", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Worker(work)
    assert no_children()


def test_the_time_limit_ends_the_workers() -> None:
    with suppress(DoesNotFit):
        map_kernel(mixed(400, 1), SMALL, MapOptions(jobs=2, time_limit=1.5))
    assert no_children()


PROGRAM = """
import sys
from graphs import mixed
from arch.describe import load_fabric
from backend.dfg import DFG
from backend.mapper import map_kernel
from backend.mapping import MapOptions

def say(line):
    print(line, flush=True)

found = map_kernel(mixed(400, 1), load_fabric("grid4x4"), MapOptions(jobs=3), say)
print("found", found.interval, flush=True)
"""


def started(pid: int) -> list[int]:
    """The children of a process."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_signal_leaves_workers(number: signal.Signals) -> None:
    path = f"{ROOT}:{ROOT / 'tests' / 'backend'}"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    ) as program:
        assert program.stdout is not None
        children: list[int] = []
        for line in program.stdout:
            if "remain" in line:  # an attempt has failed: workers are on their way
                deadline = time.monotonic() + 300
                while not children and time.monotonic() < deadline:
                    children = started(program.pid)
                break
        assert children
        # As Ctrl-C does, to all of them at once; other signals to the one.
        send = os.killpg if number == signal.SIGINT else os.kill
        send(program.pid, number)
        program.stdout.read()
        program.wait(600)
        deadline = time.monotonic() + 300
        while not all(gone(child) for child in children) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert all(gone(child) for child in children)
