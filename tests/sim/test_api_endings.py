"""Whatever ends a test that runs kernels, nothing is left: no process, no file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sim.compiler import compile_text

HEAD = """\
import gc, os, signal, sys, threading
from sim import *
endless = load_kernel(sys.argv[1])
def say(): print("here", flush=True)
"""
ENDLESS = "void f(int stream in) { int x; volatile int n = 1; kernel { x <? in; while (n) n = n * 3 | 1; } }"

# What a script does, and its exit status.
ENDINGS = {
    "a test that fails": ("with endless.start({'n': 1, 'in': [1]}) as run: say(); assert False", 1),
    "an iterable that raises": (
        "def broken(): yield 1; say(); raise OSError('no more')\n"
        "try: endless.run({'n': 0, 'in': broken()})\n"
        "except OSError as e: gc.collect()",
        0,
    ),
    "a run that is forgotten": ("run = endless.start({'n': 1, 'in': [1]}); say(); del run; gc.collect()", 0),
    "a run that is still there": ("run = endless.start({'n': 1, 'in': [1]}); say()", 0),
    "a kernel that is idle": ("endless.run({'n': 0, 'in': [1]}); say(); k = endless", 0),
    "an end without a word": ("run = endless.start({'n': 1, 'in': [1]}); say(); os._exit(3)", 3),
    "a thread that ends": (
        "def work(): global run; run = endless.start({'n': 1}); say()\n"
        "t = threading.Thread(target=work); t.start(); t.join()\n"
        "run.send('in', [1]); run.kill()",
        0,
    ),
    "a fork": (
        "endless.run({'n': 0, 'in': [1]}); pid = os.fork()\n"
        "if pid == 0: sys.exit(0)\n"
        "os.waitpid(pid, 0); endless.run({'n': 0, 'in': [1]}); say()",
        0,
    ),
}


@dataclass(frozen=True)
class Script:
    process: subprocess.Popen[str]
    mark: str
    directory: Path

    def left(self) -> list[int]:
        """The processes that it started, however far from it."""
        found = []
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and self.mark.encode() in (process / "environ").read_bytes():
                    found.append(int(process.name))
            except OSError:
                continue
        return found

    def check(self) -> None:
        """Fails if there are processes a while later, or files."""
        end = time.monotonic() + 300
        while (left := self.left()) and time.monotonic() < end:
            time.sleep(0.05)
        assert not left
        assert [*self.directory.iterdir()] == []


@pytest.fixture(scope="module")
def design(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import json

    path = tmp_path_factory.mktemp("design") / "endless.json"
    table = compile_text(ENDLESS, ["--mode", "dataflow"])
    path.write_text(json.dumps({"format": "macah-design 1", "kernels": table}))
    return path


@pytest.fixture
def start(design: Path, tmp_path: Path) -> Iterator[object]:
    made: list[Script] = []

    def begin(text: str) -> Script:
        mark = uuid.uuid4().hex
        environment = {**os.environ, "MACAH_TEST_MARK": mark, "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-c", HEAD + text, str(design)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)
        made.append(Script(process, mark, tmp_path))
        return made[-1]

    yield begin
    for script in made:
        for pid in script.left():
            os.kill(pid, signal.SIGKILL)
        script.process.communicate()


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_left(ending: str, start: object) -> None:
    text, status = ENDINGS[ending]
    script: Script = start(text)  # type: ignore[operator]
    output, errors = script.process.communicate(timeout=600)
    assert (output, script.process.returncode) == ("here\n", status), errors
    script.check()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_nothing_while_a_kernel_runs(number: int, start: object) -> None:
    text = "run = endless.start({'n': 1, 'in': [1]}, RunOptions(max_cycles=1 << 40)); say(); run.finish()"
    script: Script = start(text)  # type: ignore[operator]
    assert script.process.stdout is not None and script.process.stdout.readline() == "here\n"
    end = time.monotonic() + 300
    while len(script.left()) != 3 and time.monotonic() < end:  # the script, the kernel's host, the simulator
        time.sleep(0.05)
    assert len(script.left()) == 3
    script.process.send_signal(number)
    script.process.wait(timeout=600)
    script.check()


SLOW_TOOL = """#!/bin/sh
case $1 in -V) exec {tool} -V;; esac
sleep 1
"""
BUILDS = {
    "a kernel's simulation": ("endless.start({'n': 0})", "macah-kernel-*/kernel0.v"),
    "a program": ("compile_kernel(text='int main(void) { kernel { ; } }')", "macah-compile-*"),
}


@pytest.mark.parametrize("build", BUILDS)
def test_nothing_is_left_of_a_build_whose_python_is_killed(
    build: str, start: object, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tools = tmp_path_factory.mktemp("tools")
    (tools / "iverilog").write_text(SLOW_TOOL.format(tool=shutil.which("iverilog")))
    (tools / "iverilog").chmod(0o755)
    text, made = BUILDS[build]
    path = f"os.environ['PATH'] = {str(tools)!r} + ':' + os.environ['PATH']; say()"
    script: Script = start(f"{path}; {text}")  # type: ignore[operator]
    end = time.monotonic() + 300
    while not list(tmp_path.glob(made)):
        assert time.monotonic() < end and script.process.poll() is None
        time.sleep(0.01)
    script.process.kill()
    script.process.wait(timeout=600)
    script.check()
