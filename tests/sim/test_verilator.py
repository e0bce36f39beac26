"""Kernels on Verilator do in each cycle what they do on Icarus, and end with their programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from compiled_once import CompiledOnce
from sim_kernels import arrays, build, pass_on, poll, run, scale
from test_endings import HOST, simulators_of, started, wait_until
from test_wave import PROGRAM, SECOND, names

from sim.simulator import SimulatorMissing
from sim.verilator import build_verilator

pytestmark = [pytest.mark.needs("verilator"), pytest.mark.usefixtures("kernels_kept")]

LONG = 600
"""Seconds that nothing takes, however slow and busy the machine is."""
PROGRAMS = sorted((Path(__file__).parent.parent / "cases" / "programs").glob("*.macah"))
MODES = ("mapped", "dataflow")
QUICK = {
    "packets": "dataflow",
    "threads": "mapped",
    # Which ways to hand elements over are most likely to break.
    "merges": "mapped",
    "own_streams": "mapped",
}
FAST_TO_COMPILE = "g++ -O0"


def cases() -> list[object]:
    """Each program in both modes; a few are quick, and of the others tools/check takes one mode, by turns."""
    found = []
    for k, program in enumerate(PROGRAMS):
        for way, mode in enumerate(MODES):
            mark = pytest.mark.slow if k % 2 == way else pytest.mark.whole
            marks = () if QUICK.get(program.stem) == mode else mark
            found.append(pytest.param(program, mode, marks=marks, id=f"{program.stem}-{mode}"))
    return found


def macahc(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "macah", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONG)


def account(program: Path) -> tuple[object, ...]:
    """All that a program does in lock step: what it prints, cycles and stalls, and each stream's traffic."""
    simulator, traces = program.name, program.with_suffix(".traces")
    traces.mkdir()
    environment = {**os.environ, "MACAH_STATS": "1", "MACAH_TRACE": str(traces)}
    done = subprocess.run(
        ["./" + simulator], cwd=program.parent, env=environment, capture_output=True, timeout=LONG
    )
    said = done.stderr.replace(simulator.encode(), b"")
    traffic = {p.name: p.read_bytes() for p in traces.iterdir()}
    return done.returncode, done.stdout, said, traffic


@pytest.mark.sweep(16)
@pytest.mark.quick(1)
@pytest.mark.parametrize(("program", "mode"), cases())
def test_a_program_does_the_same_cycle_by_cycle_and_prints_it_in_free_time(
    program: Path, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", FAST_TO_COMPILE)
    made, icarus, verilator = (
        CompiledOnce(program, "-lm", "--time=lockstep", "--mode", mode),
        tmp_path / "icarus",
        tmp_path / "verilator",
    )
    made.build(icarus, "--simulator=icarus")
    made.build(verilator, "--simulator=verilator")
    expected = account(icarus)
    assert account(verilator) == expected
    environment = {**os.environ, "MACAH_TIME": "free"}
    for _ in range(6):
        done = subprocess.run([verilator], env=environment, capture_output=True, timeout=LONG)
        assert (done.returncode, done.stdout) == expected[:2], done.stderr


STREAMS = """
int main(void) {
  macah_stream *in = CREATE(4, 64), *out = CREATE(4, 64);
  uint32_t live_out[2];
  for (int round = 0; round < 300; round++) {
    for (int i = 0; i < 20; i++) { int x = i * round; SEND(in, &x); }
    macah_run_kernel(0, (uint32_t[]){20, 3}, live_out, (macah_stream *[]){in, out}, NULL);
    unsigned sum = 0;
    for (int i = 0; i < 20; i++) { int x; RECEIVE(out, &x); if (x != 3 * i * round) return 1; sum += x / 3; }
    if (live_out[0] != sum) return 2;
  }
  int x = 77;
  SEND(in, &x);
  macah_run_kernel(1, NULL, live_out, (macah_stream *[]){in, out}, NULL);
  RECEIVE(out, &x);
  printf("%d %u", x, live_out[0]);
  uint32_t a[4] = {1, 2, 3, 4}, b[4];
  for (int i = 0; i < 2; i++) macah_run_kernel(2, NULL, NULL, NULL, (uint32_t *[]){a, b, NULL, NULL});
  printf(" %u %u %u %u %u\\n", a[0], a[1], a[2], a[3], b[2]);
}
"""


def test_streams_scalars_and_memories(tmp_path: Path) -> None:
    done = run(build(STREAMS, [scale(), poll(), arrays()], tmp_path, "verilator"))
    assert (done.stdout, done.returncode) == ("77 77 21 42 63 4 0\n", 0), done.stderr


def test_an_assertion_aborts(tmp_path: Path) -> None:
    host = """
int main(void) {
  macah_stream *in = CREATE(4, 4), *out = CREATE(4, 4);
  int x = 13;
  SEND(in, &x);
  macah_run_kernel(0, NULL, NULL, (macah_stream *[]){in, out}, NULL);
}
"""
    done = run(build(host, [pass_on()], tmp_path, "verilator"))
    assert (done.stderr, done.returncode) == ("host: file.macah:8: x != 13\n", -signal.SIGABRT)


def test_simulators_end_with_their_host_and_hosts_notice_their_end(tmp_path: Path) -> None:
    executable = build(HOST, [pass_on()], tmp_path, "verilator")
    with started(executable) as (host, simulator):
        os.kill(host.pid, signal.SIGKILL)
        wait_until(lambda: not simulators_of(host.pid))
    with started(executable) as (host, simulator):
        os.kill(simulator, signal.SIGKILL)
        assert host.wait(600) == 1
        assert host.stderr is not None and "ended unexpectedly" in host.stderr.read()


GOES_ON = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int stream said, last;
static unsigned state = 1;
static void *answer(void *unused)
{
  kernel {
    said <! 7;
    last <! 8;
    pstream_close(last);
    for (int i = 0; i < 2000000000; i++) state ^= state << 1;
  }
  return unused;
}
int main(void)
{
  pthread_t thread;
  int x, y = 0;
  said = pstream_create(int, 64);
  last = pstream_create(int, 64);
  pthread_create(&thread, NULL, answer, NULL);
  while (pstream_empty(last) && !pstream_ended(last)) continue;
  y <? last;
  x <? said;
  printf("%d %d\\n", x, y);
  exit(0);
}
"""


@pytest.mark.slow
def test_what_was_sent_is_seen_while_the_kernel_goes_on(tmp_path: Path) -> None:
    source, program = tmp_path / "goes_on.macah", tmp_path / "goes_on"
    source.write_text(GOES_ON)
    made = macahc("--simulator=verilator", "-w", "-o", program, source)
    assert made.returncode == 0, made.stderr
    environment = {**os.environ, "MACAH_TIME": "free"}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=LONG)
    assert (done.returncode, done.stdout) == (0, "7 8\n"), done.stderr


DEADLOCK = """int main(void)
{
  int stream in = pstream_create(int, 2), out = pstream_create(int, 2);
  int x;
  in <! 1;
  wait: kernel { int a, b; a <? in; b <? in; out <! a + b; }
  x <? out;
  return x;
}
"""


def test_deadlocks_are_reported_alike(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(DEADLOCK)
    found = [macahc("run", "-w", "--simulator", simulator, source) for simulator in ("icarus", "verilator")]
    assert "is in kernel 'wait', which waits in its cycle" in found[0].stderr
    assert [done.returncode for done in found] == [-signal.SIGABRT] * 2
    assert found[0].stderr == found[1].stderr


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".vcd", pytest.param(".fst", marks=pytest.mark.slow)])
def test_waveforms(suffix: str, tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(PROGRAM.replace("SECOND", SECOND))
    done = macahc(
        "run", "--simulator", "verilator", "--wave", tmp_path / f"w{suffix}", "--wave-to", 12, source
    )
    assert (done.returncode, done.stdout) == (0, "184 10\n"), done.stderr
    first, second = (tmp_path / f"w.{kernel}{suffix}" for kernel in ("first", "second"))
    assert first.stat().st_size > 500 and second.exists()
    if suffix == ".vcd":
        assert {"total", "small_[1]", "s0_tdata", "running"} <= names(first)
        assert {"other"} <= names(second)
        layout = first.with_suffix(".gtkw").read_text()
        assert "\ntop.macah_bench.kernel.total[31:0]\n" in layout


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ("echo Verilator 3.900 2017-01-01", "Verilator 3.900 is too old; install one of 5.006 or newer"),
        ("echo no >&2; exit 1", "--version' failed; install one of"),
        (
            "if test $1 = --version; then echo Verilator 5.006; fi",
            "verilated.h, a part of Verilator, was not found in",
        ),
        (None, "'verilator' was not found; install it .*apt-get install verilator.*or leave out --simulator"),
    ],
)
def test_what_to_install(
    says: str | None, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if says is not None:
        tool = tmp_path / "verilator"
        tool.write_text(f"#!/bin/sh\n{says}\n")
        tool.chmod(0o755)
        (tmp_path / "g++").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin" if says else str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(SimulatorMissing, match=problem):
        build_verilator([pass_on()], tmp_path, "cc", [None], [None])


def test_wrong_usage() -> None:
    done = macahc("--simulator", "verilator", "--mode", "c", "p.macah")
    assert done.returncode == 2 and "leave out --mode c" in done.stderr
