"""In lock step, threads at the same end of a stream take turns, in an order that is the same in every run."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_lockstep import build, run

# Three threads send to a kernel, two receive from it and look into a stream of the others; all waste time.
ENDS = (Path(__file__).parent.parent / "cases" / "turns" / "ends.macah").read_text()
# Two kernels at each end of a stream, of which one of each kind never waits, and a thread of the host.
KERNELS = (Path(__file__).parent.parent / "cases" / "turns" / "kernels.macah").read_text()
# Without any kernel: who looks at `s` in vain depends on nothing but the turns.
HOSTS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static unsigned stream s;
static int noise;
static void waste(unsigned k) { if (noise && k % 4 == 1) usleep(k * 7919u * noise % 700); }
static void *send(void *me)
{
  for (unsigned i = 0; i < 30; i++) { waste(i + (unsigned)(long)me); s <! i + 100 * (unsigned)(long)me; }
  return 0;
}
int main(int argc, char **argv)
{
  pthread_t threads[2];
  unsigned sum = 0, looks = 0, x = 0, w;
  noise = argc > 1 ? atoi(argv[1]) : 0;
  s = pstream_create(unsigned, 3);
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, send, (void *)i);
  for (int taken = 0; taken < 60; looks++) {
    waste(looks);
    w :: x <? s;
    if (w) { sum = sum * 31 + x + looks; taken++; }
  }
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  kernel { sum += 1; }
  printf("%u\\n", sum);
}
"""
# A thread that waits without sleeping for one that waits for its turn.
SPINS = """
#include <pthread.h>
#include <stdio.h>
static int stream s;
static volatile int done;
static void *take(void *unused) { int x; x <? s; done = x; return unused; }
int main(void)
{
  pthread_t thread;
  int one = 1;
  s = pstream_create(int, 4);
  s <! 7;
  pthread_create(&thread, 0, take, 0);
  while (!done) ;
  pthread_join(thread, 0);
  kernel { one++; }
  printf("%d %d\\n", done, one);
}
"""
# While the second simulator takes its time to start, a thread sleeps; that is not to count as sleep.
STARTS = """
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static int stream first, second, ready;
int socketpair(int domain, int type, int protocol, int *ends)
{
  static int simulators;
  if (simulators++) sleep(6);
  return syscall(SYS_socketpair, domain, type, protocol, ends);
}
static void *poll(void *result)
{
  int looks = 0;
  poll: kernel {
    int x, w, taken = 0;
    ready <! 1;
    while (taken < 20) { looks++; w :: x <? first; if (w) taken++; }
  }
  *(int *)result = looks;
  return 0;
}
static void *pass(void *unused)
{
  usleep(30000);
  pass: kernel { int x; x <? second; x++; }
  return unused;
}
int main(void)
{
  pthread_t threads[2];
  int looks = 0, x;
  first = pstream_create(int, 2), second = pstream_create(int, 2), ready = pstream_create(int, 2);
  pthread_create(&threads[0], 0, poll, &looks);
  x <? ready;
  pthread_create(&threads[1], 0, pass, 0);
  for (int i = 0; i < 20; i++) { usleep(i ? 3000 : 60000); first <! i; }
  second <! 1;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  printf("%d\\n", looks);
}
"""


Outcome = tuple[str, str, int, tuple[bytes, ...]]


def outcome(program: Path, trace: Path, noise: int) -> Outcome:
    """All that can be seen of a run."""
    trace.mkdir()
    environment = {k: v for k, v in os.environ.items() if k != "MACAH_TIME"}
    environment |= {"MACAH_STATS": "1", "MACAH_TRACE": str(trace)}
    done = run(program, noise, env=environment)
    traffic = tuple(path.read_bytes() for path in sorted(trace.iterdir()))
    return done.stdout, done.stderr, done.returncode, traffic


def outcomes(program: Path, directory: Path, runs: int) -> set[Outcome]:
    """What comes of runs with different amounts of noise, eight at a time on few processors."""
    with ThreadPoolExecutor(8) as pool:
        return set(pool.map(lambda i: outcome(program, directory / f"trace{i}", i % 4), range(runs)))


@pytest.mark.quick(1)
@pytest.mark.parametrize("text", [ENDS, HOSTS, KERNELS], ids=["kernel", "host", "kernels"])
def test_who_is_at_the_same_end_takes_turns(text: str, tmp_path: Path) -> None:
    found = outcomes(build(text, tmp_path, "--time", "lockstep"), tmp_path, 100 if text == HOSTS else 8)
    assert len(found) == 1, found
    assert next(iter(found))[2] == 0, found


def test_a_thread_that_never_rests_ends_the_order_not_the_program(tmp_path: Path) -> None:
    program = build(SPINS, tmp_path, "--time", "lockstep")
    done = run(program, env={**os.environ, "MACAH_TIME": "", "MACAH_REST_SECONDS": "1"})
    assert (done.stdout, done.returncode) == ("7 2\n", 0)
    assert "p.macah:6: thread" in done.stderr and "runs may differ" in done.stderr


@pytest.mark.slow
def test_no_time_passes_for_a_sleeper_after_a_slow_start(tmp_path: Path) -> None:
    quick = STARTS.replace("sleep(6)", "sleep(0)")
    found = [run(build(text, tmp_path, "--time=lockstep"), 0) for text in (quick, STARTS)]
    assert len({(done.stdout, done.stderr, done.returncode) for done in found}) == 1, found
    assert found[0].returncode == 0, found


def test_without_lock_step_nobody_takes_turns(tmp_path: Path) -> None:
    done = run(build(SPINS, tmp_path), env={**os.environ, "MACAH_TIME": "free", "MACAH_REST_SECONDS": "1"})
    assert (done.stdout, done.returncode) == ("7 2\n", 0)
    assert "lock step" not in done.stderr


def test_a_child_of_the_program_has_an_order_of_its_own(tmp_path: Path) -> None:
    text = HOSTS.replace("int main(int", "#include <sys/wait.h>\nint run(int").replace(
        "  printf", "  fflush(stdout), printf"
    )
    text += """
int main(int argc, char **argv)
{
  int status = 1;
  s = pstream_create(unsigned, 1);
  s <! 1;
  if (!fork()) { run(argc, argv); return 0; }
  wait(&status);
  run(argc, argv);
  return status;
}
"""
    program = build(text, tmp_path, "--time", "lockstep")
    lines = {tuple(run(program, noise).stdout.splitlines()) for noise in (0, 3)}
    assert len(lines) == 1, lines
    child, parent = next(iter(lines))
    assert child == parent


@pytest.mark.quick(1)
@pytest.mark.parametrize("text", [ENDS, KERNELS], ids=["kernel", "kernels"])
def test_the_order_is_the_same_on_both_simulators(text: str, tmp_path: Path) -> None:
    simulators = ("icarus", "verilator")
    if subprocess.run(["which", "verilator"], capture_output=True).returncode:
        pytest.skip("there is no Verilator")
    found = [run(build(text, tmp_path, "--time=lockstep", f"--simulator={name}"), 1) for name in simulators]
    assert len({(done.stdout, done.stderr, done.returncode) for done in found}) == 1, found
