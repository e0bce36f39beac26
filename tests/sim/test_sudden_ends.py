"""Simulators and hosts that are killed at any moment: the other side always ends, and nothing remains."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sim_kernels import arrays, build, pass_on
from test_endings import HOST, rests, started, tidy, wait_until

KILLS = int(os.environ.get("MACAH_TEST_KILLS", "6"))
"""How often each of the programs below is killed."""

INHERITED = """
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
int socketpair(int domain, int type, int protocol, int ends[2]) { /* as if another thread forked just then */
  int failed = (int)syscall(SYS_socketpair, domain, type, protocol, ends);
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  return failed;
}
"""

BUSY = """
#include <pthread.h>
static void *pass(void *streams) {
  macah_run_kernel(0, NULL, NULL, streams, NULL);
  return NULL;
}
static void *enter(void *unused) {
  uint32_t a[4] = {0}, b[4];
  for (;;) macah_run_kernel(1, NULL, NULL, NULL, (uint32_t *[]){a, b, NULL, NULL});
  return unused;
}
static void *feed(void *s) {
  for (int x = 0;; x = (x + 1) % 12) SEND(s, &x);
  return NULL;
}
int main(void) {
  pthread_t thread;
  int x;
  macah_stream *a = CREATE(4, 4), *b = CREATE(4, 4), *c = CREATE(4, 4);
  macah_stream *first[] = {a, b}, *second[] = {b, c};
  pthread_create(&thread, NULL, pass, first);
  pthread_create(&thread, NULL, pass, second);
  pthread_create(&thread, NULL, enter, NULL);
  pthread_create(&thread, NULL, feed, a);
  for (;;) RECEIVE(c, &x);
}
"""
ENDS = r"macah: the simulator of kernel '\w+' (ended unexpectedly|did not start)\n"


@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", ["free", "lockstep"])
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_a_simulator_that_dies_asleep_ends_the_program(
    simulator: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In lock step, it has arrived at a cycle that never ends."""
    monkeypatch.setenv("MACAH_TIME", mode)
    with started(build(HOST, [pass_on()], tmp_path, simulator)) as (host, process):
        wait_until(lambda: rests(process))
        os.kill(process, signal.SIGKILL)
        _, errors = host.communicate(timeout=600)
        assert (host.returncode, re.fullmatch(ENDS, errors) is not None) == (1, True), errors


@pytest.mark.needs("verilator")
def test_a_simulator_whose_socket_others_hold_is_seen_to_end(tmp_path: Path) -> None:
    with started(build(INHERITED + HOST, [pass_on()], tmp_path, "verilator")) as (host, process):
        os.kill(process, signal.SIGKILL)
        _, errors = host.communicate(timeout=600)
        assert (host.returncode, re.fullmatch(ENDS, errors) is not None) == (1, True), errors


def arena_of(process: int) -> int:
    """Which file's memory the process shares with its simulators; 0 if there is none yet."""
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{process}/fd").iterdir():
            if "memfd:macah-arena" in str(entry.readlink()):
                return entry.stat().st_ino
    return 0


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def sharers(arena: int, host: int) -> list[int]:
    """The simulators, from the moment at which they are forked; not who forks them."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            number = int(entry.name) if entry.name.isdigit() else host
            if number != host and arena_of(number) == arena and parent(number) != host:
                found.append(number)
    return found


@contextlib.contextmanager
def running(program: Path, mode: str) -> Iterator[subprocess.Popen[str]]:
    """The program, of which nothing may remain."""
    with tidy(program, MACAH_TIME=mode) as host:
        arena = wait_until(lambda: arena_of(host.pid))
        yield host
        wait_until(lambda: not sharers(arena, host.pid))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["free", "lockstep"])
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@pytest.mark.parametrize("text", [HOST, BUSY], ids=["stalled", "busy"])
def test_who_is_killed_at_any_moment_takes_the_others_along(
    text: str, simulator: str, mode: str, tmp_path: Path
) -> None:
    chance = random.Random(f"{simulator}-{mode}")
    program = build(text, [pass_on(), arrays()], tmp_path, simulator)
    longest = 1.5 if simulator == "icarus" else 0.2
    for _ in range(KILLS):
        delay = chance.choice([0.05, longest]) * chance.random()
        with running(program, mode) as host:
            arena = arena_of(host.pid)
            time.sleep(delay)
            victim = chance.choice(wait_until(lambda: sharers(arena, host.pid)))  # noqa: B023
            os.kill(victim, signal.SIGKILL)
            _, errors = host.communicate(timeout=600)
            assert (host.returncode, re.fullmatch(ENDS, errors) is not None) == (1, True), (delay, errors)
        how = chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
        with running(program, mode) as host:
            time.sleep(delay)
            os.killpg(host.pid, how)
            assert host.wait(timeout=600) == -how, delay
