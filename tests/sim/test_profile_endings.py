"""Profiles are written however a program ends, whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_profile import command, line_of

from macah.cli_options import UsageError
from macah.cli_parse import parse
from macah.diagnostic import MacahError
from macah.profiled import DAMAGES, check_targets
from sim.profile_memory import ARENA_PROFILE, read_memory

ENDING = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int stream in;
void *other(void *how)
{
  in <! 1;
  in <! 2;
  while (!pstream_empty(in)) usleep(1000);
  usleep(400000);
  puts("there");
  fflush(stdout);
  if (*(char *)how == 'e') exit(7);
  if (*(char *)how != 'd') sleep(100);
  return NULL;
}
int main(int argc, char **argv)
{
  pthread_t thread;
  in = pstream_create(int, 4);
  pthread_create(&thread, NULL, other, argv[1]);
  work: kernel {
    for (;;) {
      int x;
      x <? in;
    }
  }
  return argc;
}
"""


def ending(directory: Path, how: str, sent: signal.Signals | None) -> tuple[int, str, dict[str, Any]]:
    source, target = directory / "p.macah", directory / "p.json"
    source.write_text(ENDING)
    words = command("--mode", "dataflow", f"--profile={target}", source, how)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        if sent is not None:
            process.send_signal(sent)
        said = process.stderr.read()
        assert line == "there\n", said
        status = process.wait(600)
    left = [path.name for path in directory.iterdir() if path.name not in ("p.macah", "p.json")]
    assert not left
    return status, said, json.loads(target.read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "sent", "status"),
    [
        ("e", None, 7),
        ("d", None, -signal.SIGABRT),
        ("s", signal.SIGINT, -signal.SIGINT),
        ("s", signal.SIGTERM, -signal.SIGTERM),
    ],
)
def test_a_profile_is_written_however_the_program_ends(
    how: str, sent: signal.Signals | None, status: int, tmp_path: Path
) -> None:
    ended, said, found = ending(tmp_path, how, sent)
    assert ended == status
    assert ("deadlock" in said) == (how == "d")
    number = -status if status < 0 else 0
    assert found["ended"] == {
        "status": 0 if number else status,
        "signal": signal.Signals(number).name if number else None,
    }
    (kernel,) = found["kernels"]
    assert kernel["executions"] == {"begun": 1, "finished": 0}
    assert kernel["streams"][0]["words"] == 2 and kernel["iterations"]["complete"] == 2
    (stall,) = kernel["stalls"]
    assert stall["waiting"][0]["line"] == line_of("x <? in;", ENDING)
    assert 0 < stall["seconds"] < kernel["seconds"]["host"]


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(ENDING)
    (tmp_path / "file").write_text("")
    for target, problem in (
        (tmp_path / "no" / "p.json", "there is no directory"),
        (tmp_path / "file", "is not a directory"),
        (tmp_path / "no" / "made", "there is no directory"),
    ):
        with pytest.raises(MacahError, match=problem):
            check_targets(parse(["run", f"--profile={target}", str(source)]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "p.macah"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["run", "--mode", "c", "--profile", "p.macah"], "without --mode c"),
        (["--profile", "p.macah"], "macahc run"),
        (["diff-modes", "--profile=p.json", "p.macah"], "macahc run"),
        (["run", "--profile=", "p.macah"], "is empty"),
    ],
)
def test_profile_goes_with_running_simulated_kernels(words: list[str], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        parse(words)
    assert parse(["run", "--profile", "p.macah", "--profile"]).profile == ("-",)


@pytest.mark.parametrize("offset", [8, 4096, 1 << 20, 1 << 63])
def test_a_profile_that_the_program_has_written_over_is_noticed(offset: int) -> None:
    file = os.memfd_create("test")
    try:
        os.write(file, bytes(range(256)) * 4096)
        os.pwrite(file, offset.to_bytes(8, "little"), ARENA_PROFILE)
        with pytest.raises(DAMAGES):
            read_memory(file)
    finally:
        os.close(file)


def test_what_no_program_has_used_is_no_profile() -> None:
    file = os.memfd_create("test")
    try:
        assert read_memory(file) is None
        os.ftruncate(file, 1 << 16)
        assert read_memory(file) is None
    finally:
        os.close(file)
