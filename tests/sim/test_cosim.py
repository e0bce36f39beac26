"""Programs whose kernels run on the simulator."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sim_kernels import Hand, arrays, build, pass_on, poll, run, scale

from backend.dfg import Word

Builder = Callable[..., Path]


@pytest.fixture
def program(tmp_path: Path) -> Builder:
    """Builds a host program with designs."""

    def make(host: str, *designs: Hand) -> Path:
        return build(host, designs, tmp_path)

    return make


FEED = """
struct feed { macah_stream *s; int n; };
static void feed(void *frame) {
  struct feed *f = frame;
  for (int i = 1; i <= f->n; i++) SEND(f->s, &i);
}
static macah_stream *source(int n, int depth) {
  macah_stream *s = CREATE(sizeof(int), depth);
  struct feed f = {s, n};
  SPAWN(s, feed, &f, sizeof f, 0);
  return s;
}
static unsigned scaled(int n, int factor, long long *total) {
  macah_stream *in = source(n, 16), *out = CREATE(sizeof(int), n), *const streams[] = {in, out};
  uint32_t live_in[] = {n, factor}, live_out[1];
  macah_run_kernel(0, live_in, live_out, streams, NULL);
  *total = 0;
  for (int x; TRY_RECEIVE(out, &x);) *total += x;
  macah_reader_join(in);
  macah_free(out);
  return live_out[0];
}
"""


def test_streams_live_ins_and_live_outs(program: Builder) -> None:
    main = """int main(void) {
      long long t;
      unsigned s = scaled(1000, -3, &t);
      printf("%u %lld", s, t);
      return 5;
    }"""
    done = run(program(FEED + main, scale()))
    assert (done.stdout, done.stderr, done.returncode) == (f"{500500} {-3 * 500500}", "", 5)


def spent() -> float:
    """Seconds of the processors that ended programs have taken, however busy the machine is."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_program_that_enters_no_kernel_starts_no_simulator(program: Builder) -> None:
    executable = program(
        FEED + "int main(int c, char **v) { (void)v; long long t; if (c > 1) scaled(1, 1, &t); }", scale()
    )
    begin = spent()
    assert run(executable, env={"PATH": ""}).returncode == 0
    assert spent() - begin < 0.2


def test_a_thousand_entries_reuse_one_simulator(program: Builder) -> None:
    main = """int main(void) {
      long long t;
      for (int i = 0; i < 1000; i++) if (scaled(4, i, &t) != 10 || t != 10 * i) return 1;
    }"""
    executable = program(FEED + main, scale())
    begin = time.monotonic()
    done = run(executable, env={**os.environ, "MACAH_STATS": "1"})
    assert done.returncode == 0
    assert done.stderr.splitlines()[1].split()[:3] == ["scale", "1000", "5000"]
    assert time.monotonic() - begin < 120  # a simulator for each would take minutes


def test_two_threads_in_one_kernel_have_a_simulator_each(program: Builder) -> None:
    """Each feeds the other, so both must run at once."""
    main = """
    #include <pthread.h>
    static macah_stream *ring[2];
    static void *turn(void *argument) {
      int me = argument != NULL;
      uint32_t live_in[] = {50, 2}, *live_out = malloc(4);
      macah_run_kernel(0, live_in, live_out, (macah_stream *[]){ring[me], ring[!me]}, NULL);
      return live_out;
    }
    int main(void) {
      pthread_t other;
      int one = 1;
      for (int i = 0; i < 2; i++) ring[i] = CREATE(4, 4);
      SEND(ring[0], &one);
      pthread_create(&other, NULL, turn, ring);
      uint32_t *mine = turn(NULL), *its;
      pthread_join(other, (void **)&its);
      printf("%u %u", *mine, *its);
    }"""
    done = run(program(main, scale()))
    values = [2**i % 2**32 for i in range(100)]
    assert done.stdout == f"{sum(values[0::2]) % 2**32} {sum(values[1::2]) % 2**32}"


STRUCT = (Word(8, 2, True), Word(0, 4, False), Word(4, 1, True))


def test_elements_are_cut_into_words_and_joined(program: Builder) -> None:
    main = """
    struct wide { unsigned a; signed char b; int : 24; short c; };
    int main(void) {
      macah_stream *in = CREATE(sizeof(struct wide), 4);
      macah_stream *out = CREATE(sizeof(struct wide), 4);
      for (int i = 0; i < 4; i++) SEND(in, &(struct wide){4000000000u + i, -i, 300 - i});
      uint32_t live_in[] = {9, 3}, live_out[1];
      macah_run_kernel(0, live_in, live_out, (macah_stream *[]){in, out}, NULL);
      struct wide w;
      while (TRY_RECEIVE(out, &w)) printf("%u %d %d\\n", w.a, w.b, w.c);
      TRY_RECEIVE(in, &w);
      printf("%u %d %d; %d %d", w.a, w.b, w.c, macah_empty(in), (int)live_out[0]);
    }"""
    done = run(program(main, scale(STRUCT, 12)))
    expected = [f"{(4000000000 + i) * 3 % 2**32} {-3 * i} {3 * (300 - i)}\n" for i in range(3)]
    total = sum(4000000000 + i - i + 300 - i for i in range(3)) % 2**32
    total -= 2**32 * (total >= 2**31)
    assert done.stdout == "".join(expected) + f"{4000000003} -3 297; 1 {total}"


def test_a_kernel_takes_nothing_beyond_what_it_received(program: Builder) -> None:
    main = """int main(void) {
      macah_stream *in = CREATE(4, 16), *out = CREATE(4, 16);
      for (int i = 0; i < 16; i++) SEND(in, &i);
      uint32_t live_in[] = {10, 1}, live_out[1];
      macah_run_kernel(0, live_in, live_out, (macah_stream *[]){in, out}, NULL);
      for (int x; TRY_RECEIVE(in, &x);) printf("%d ", x);
    }"""
    assert run(program(main, scale())).stdout == "10 11 12 13 14 15 "


def test_the_end_of_a_stream_goes_through_a_kernel(program: Builder) -> None:
    main = """int main(void) {
      for (int n = 0; n < 3; n++) {
        macah_stream *in = CREATE(4, 2), *out = CREATE(4, 2);
        for (int i = 0; i < n; i++) SEND(in, &i);
        macah_close(in);
        macah_run_kernel(0, NULL, NULL, (macah_stream *[]){in, out}, NULL);
        for (int x; RECEIVE(out, &x);) printf("%d ", x);
        printf("%d.", macah_ended(out));
      }
    }"""
    assert run(program(main, pass_on())).stdout == "1.0 1.0 1 1."


def test_a_failing_assertion_aborts_with_its_place(program: Builder) -> None:
    main = """int main(void) {
      macah_stream *in = source(20, 4), *out = CREATE(4, 64);
      macah_run_kernel(0, NULL, NULL, (macah_stream *[]){in, out}, NULL);
      printf("not reached");
    }"""
    done = run(program(FEED + main, pass_on()))
    assert (done.stdout, done.returncode) == ("", -6)
    assert done.stderr.endswith(": file.macah:8: x != 13\n")


def test_polls_back_off_instead_of_burning_cycles(program: Builder) -> None:
    main = """
    #include <unistd.h>
    static void late(void *frame) {
      usleep(300000);
      int x = 7;
      SEND(*(macah_stream **)frame, &x);
    }
    int main(void) {
      macah_stream *in = CREATE(4, 1), *out = CREATE(4, 1);
      uint32_t live_out[2];
      int x = 1;
      SEND(in, &x); /* so that the simulator is there when the time counts */
      macah_run_kernel(0, NULL, live_out, (macah_stream *[]){in, out}, NULL);
      RECEIVE(out, &x);
      SPAWN(in, late, &in, sizeof in, 0);
      macah_run_kernel(0, NULL, live_out, (macah_stream *[]){in, out}, NULL);
      RECEIVE(out, &x);
      printf("%d %u %u", x, live_out[0], live_out[1]);
    }"""
    x, y, polls = map(int, run(program(main, poll())).stdout.split())
    assert (x, y) == (7, 7)
    assert 50 < polls < 5000


def test_memories_go_in_and_out_as_the_graph_says(program: Builder) -> None:
    main = """int main(void) {
      for (int e = 0; e < 2; e++) {
        uint32_t a[] = {1, 2, 3, 4}, b[] = {9, 9, 9, 9}, *memories[] = {a, b, NULL, NULL};
        macah_run_kernel(0, NULL, NULL, NULL, memories);
        for (int i = 0; i < 4; i++) printf("%u ", a[i]);
        for (int i = 0; i < 4; i++) printf("%u ", b[i]);
      }
    }"""
    assert run(program(main, arrays())).stdout == "11 22 33 4 0 0 0 0 " * 2


def test_one_program_has_several_kernels(program: Builder) -> None:
    main = """int main(void) {
      long long t;
      unsigned s = scaled(3, 2, &t);
      uint32_t a[] = {1, 2, 3, 4}, b[4], *memories[] = {a, b, NULL, NULL};
      macah_run_kernel(1, NULL, NULL, NULL, memories);
      printf("%u %lld %u", s, t, a[0]);
    }"""
    assert run(program(FEED + main, scale(), arrays())).stdout == "6 12 11"


def test_a_null_stream_is_reported(program: Builder) -> None:
    main = "int main(void) { macah_run_kernel(0, NULL, NULL, (macah_stream *[]){NULL, NULL}, NULL); }"
    done = run(program(main, pass_on()))
    assert done.returncode == -6
    assert done.stderr == "macah: kernel 'pass_on': the stream 'in' is null\n"


def test_a_null_stream_that_the_kernel_does_not_use_is_no_harm(program: Builder) -> None:
    main = """int main(void) {
      uint32_t in[] = {0, 1}, out[1] = {9};
      macah_run_kernel(0, in, out, (macah_stream *[]){NULL, NULL}, NULL);
      printf("%u", out[0]);
    }"""
    done = run(program(main, scale()))
    assert (done.stdout, done.stderr) == ("0", "")


def test_a_port_is_called_as_the_stream_that_it_is_an_end_of(program: Builder) -> None:
    main = "int main(void) { macah_run_kernel(0, NULL, NULL, (macah_stream *[]){NULL, NULL}, NULL); }"
    kernel = pass_on()
    received, sent = kernel.dfg.streams
    streams = (replace(received, name="in_sent", stream="in"), sent)
    done = run(program(main, replace(kernel, dfg=replace(kernel.dfg, streams=streams))))
    assert done.stderr == "macah: kernel 'pass_on': the stream 'in' is null\n"


def test_the_program_does_not_see_the_simulator_as_its_child(program: Builder) -> None:
    main = """
    #include <errno.h>
    #include <sys/wait.h>
    int main(void) {
      long long t;
      scaled(3, 2, &t);
      int child = wait(NULL);
      printf("%d %d", child, errno == ECHILD);
    }"""
    assert run(program(FEED + main, scale())).stdout == "-1 1"


def test_two_readers_of_one_stream_share_its_elements(program: Builder) -> None:
    """A kernel and a host thread receive from one stream: every element arrives once."""
    main = """
    #include <pthread.h>
    enum { N = 20000 };
    static macah_stream *in, *out;
    static long long rest;
    static void *steal(void *argument) {
      for (int i = 0, x; i < N / 2; i++) { RECEIVE(in, &x); rest += x; }
      return argument;
    }
    int main(void) {
      pthread_t thief;
      in = source(N, 16), out = CREATE(4, N);
      pthread_create(&thief, NULL, steal, NULL);
      uint32_t live_in[] = {N / 2, 1}, live_out[1];
      macah_run_kernel(0, live_in, live_out, (macah_stream *[]){in, out}, NULL);
      pthread_join(thief, NULL);
      long long sum = rest;
      for (int x; TRY_RECEIVE(out, &x);) sum += x;
      printf("%lld %d", sum - (long long)N * (N + 1) / 2, sum - rest == live_out[0]);
    }"""
    assert run(program(FEED + main, scale())).stdout == "0 1"


def test_fork_gives_the_child_streams_and_simulators_of_its_own(program: Builder) -> None:
    main = """
    #include <sys/wait.h>
    #include <unistd.h>
    int main(void) {
      long long t;
      macah_stream *s = CREATE(4, 8);
      int x = 1, status;
      SEND(s, &x);
      scaled(3, 1, &t);
      pid_t child = fork();
      for (int i = 0; i < 3; i++) SEND(s, &(int){child ? 2 : 3});
      unsigned sum = scaled(10, 2, &t);
      for (x = 0; TRY_RECEIVE(s, &x);) sum += x;
      if (!child) _exit((int)(sum + t));
      wait(&status);
      printf("%d %d", (int)(sum + t), WEXITSTATUS(status));
    }"""
    assert run(program(FEED + main, scale())).stdout == f"{55 + 110 + 7} {55 + 110 + 10}"
