"""Programs that wait for nothing but themselves are stopped and told why; others that wait are left alone."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from sim_kernels import build, run, scale

CYCLE = """
#include <pthread.h>
#include <unistd.h>
static MACAH_STREAM(int) a, b;
# 10 "cycle.macah"
static void *other(void *unused) {
  int x;
  macah_receive(x, a);
  macah_send(b, x);
  return unused;
}
int main(void) {
  pthread_t thread;
  int x = 1;
  a = macah_create(int, 2, "i32"), b = macah_create(int, 3, "i32");
  pthread_create(&thread, NULL, other, NULL);
  macah_send(a, x);
  macah_receive(x, b);
  pthread_create(&thread, NULL, other, NULL);
  macah_receive(x, b);
}
"""
PAIR = """macah: deadlock: every thread of the program waits for another
  cycle.macah:24: thread 1 (main) waits to receive from 'b', which is empty (0 of 3) and open
    created at cycle.macah:19
    its other end: thread 2, which has ended
  cycle.macah:12: thread 3 waits to receive from 'a', which is empty (0 of 2) and open
    created at cycle.macah:19
    its other end: thread 1 (main)
hint: all who sent to 'b' have ended: let the last one close it (pstream_close), and ask pstream_ended
hint: make a stream on the way deeper, or receive without waiting ('w :: x <? s')
"""


def stopped(host: str, directory: Path) -> str:
    """What a program says that deadlocks, which it must, and abort."""
    done = run(build(host, [], directory))
    assert done.returncode == -6, done
    return str(done.stderr)


def test_each_thread_is_shown_with_its_stream_and_place(tmp_path: Path) -> None:
    assert stopped(CYCLE, tmp_path) == PAIR


HIDDEN = r"""
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int open(const char *name, int flags, ...) {
  size_t length = strlen(name);
  if (length > 8 && !strcmp(name + length - 8, "/syscall")) return errno = EACCES, -1;
  return (int)syscall(SYS_openat, AT_FDCWD, name, flags, 0666);
}
"""


def test_waits_for_streams_are_seen_where_the_system_hides_what_threads_do(tmp_path: Path) -> None:
    assert stopped(HIDDEN + CYCLE, tmp_path) == PAIR


def test_nothing_is_concluded_of_threads_that_the_system_hides(tmp_path: Path) -> None:
    executable = build("#include <time.h>\n" + HIDDEN + WAITING % "sleep(1);", [], tmp_path)
    done = run(executable)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7", "")


FULL = """
#include <pthread.h>
static void swap(void *frame) {
  MACAH_STREAM(int) *s = frame;
  for (int i = 0, x; i < 9; i++) {
    macah_send(s[1], i);
    macah_send(s[1], i);
    macah_receive(x, s[0]);
  }
}
int main(void) {
  MACAH_STREAM(int) s[2] = {macah_create(int, 2, "i32"), macah_create(int, 4, "i32")};
  macah_spawn(s[0], "swap", swap, s, sizeof s, 1);
  printf("begun\\n");
  for (int i = 0, x; i < 9; i++) {
    macah_send(s[0], i);
    macah_send(s[0], i);
    macah_send(s[0], i);
    macah_receive(x, s[1]);
  }
}
"""


def test_the_cycle_of_waits_is_shown_and_output_is_not_lost(tmp_path: Path) -> None:
    done = run(build(FULL, [], tmp_path))
    assert (done.stdout, done.returncode) == ("begun\n", -6)
    assert "waits to send to 's[0]', which is full (2 of 2)\n    created at " in done.stderr
    assert "waits to send to 's[1]', which is full (4 of 4)" in done.stderr
    assert "thread 2 (accessor swap) waits to send" in done.stderr
    assert (
        "  cycle: thread 1 (main) waits for thread 2 (accessor swap), which waits for thread 1" in done.stderr
    )


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("pthread_join(thread, NULL);", "thread 1 (main) waits for thread 2\n"),
        ("pthread_mutex_lock(&mutex);", "thread 1 (main) waits for thread 2\n"),
        ("pthread_cond_wait(&changed, &free_mutex);", "thread 1 (main) waits for a lock, a condition or"),
        ("pthread_exit(NULL);", "thread 2"),
    ],
)
def test_waits_outside_streams_count(tmp_path: Path, body: str, says: str) -> None:
    host = f"""
    #include <pthread.h>
    #include <unistd.h>
    static MACAH_STREAM(int) s;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, free_mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    static int locked;
    static void *wait(void *unused) {{
      int x;
      pthread_mutex_lock(&mutex);
      __atomic_store_n(&locked, 1, __ATOMIC_RELEASE);
      macah_receive(x, s);
      return unused;
    }}
    int main(void) {{
      pthread_t thread;
      (void)changed, (void)free_mutex;
      s = macah_create(int, 2, "i32");
      pthread_create(&thread, NULL, wait, NULL);
      while (!__atomic_load_n(&locked, __ATOMIC_ACQUIRE)) usleep(1000);
      {body}
    }}"""
    assert says in stopped(host, tmp_path)


LOCKS = """
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t done;
static void post(int signal) { (void)signal, sem_post(&done); }
static void *cross(void *unused) {
  pthread_mutex_lock(&b);
  usleep(100000);
  pthread_mutex_lock(&a);
  return unused;
}
int main(void) {
  pthread_t thread;
  (void)never, (void)done, (void)post;
  %s
}
"""
OTHER = "pthread_create(&thread, NULL, cross, NULL);"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            f"pthread_mutex_lock(&a); {OTHER} usleep(50000); pthread_mutex_lock(&b);",
            "  cycle: thread 1 (main) waits for thread 2, which waits for thread 1 (main)\n",
        ),
        (
            f"pthread_mutex_lock(&a); {OTHER} pthread_join(thread, NULL);",
            "thread 1 (main) waits for thread 2\n",
        ),
        (
            f"{OTHER} pthread_join(thread, NULL); pthread_cond_wait(&never, &a);",
            "thread 1 (main) waits for a lock, a condition or the end of a thread\n",
        ),
    ],
)
def test_threads_that_wait_for_each_other_without_streams_are_shown(
    tmp_path: Path, body: str, says: str
) -> None:
    said = stopped(LOCKS % body, tmp_path)
    assert says in said and "stream" not in said


@pytest.mark.parametrize(
    "body",
    [
        f"pthread_mutex_lock(&a); {OTHER} sleep(1); pthread_mutex_unlock(&a); pthread_join(thread, NULL);",
        f"pthread_mutex_lock(&a); {OTHER} char c; while (read(0, &c, 1) > 0) continue;",
        f"{OTHER} pthread_join(thread, NULL); signal(SIGUSR1, post); sem_init(&done, 0, 0);"
        "if (!fork()) { sleep(1); kill(getppid(), SIGUSR1); _exit(0); } while (sem_wait(&done)) continue;",
        f"pthread_mutex_lock(&a); {OTHER} usleep(200000);"
        "if (fork()) sleep(1); else { usleep(900000); _exit(1); }",
    ],
)
def test_threads_that_something_else_may_wake_are_left_alone(tmp_path: Path, body: str) -> None:
    executable = build(LOCKS % body, [], tmp_path)
    with subprocess.Popen([executable], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        time.sleep(1.2)
        assert child.communicate("x", timeout=600)[1] == ""
        assert child.returncode == 0


WAITING = """
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
static MACAH_STREAM(int) s;
static void feed(void *frame) {
  (void)frame;
  %s
  macah_send(s, 7);
}
int main(void) {
  int x;
  s = macah_create(int, 2, "i32");
  macah_spawn(s, "feed", feed, NULL, 0, 0);
  macah_receive(x, s);
  printf("%%d", x);
}
"""


@pytest.mark.parametrize(
    "body",
    [
        "sleep(1);",
        "poll(NULL, 0, 1000);",
        "char c; while (read(0, &c, 1) < 0) continue;",
        "for (time_t begin = time(NULL); time(NULL) < begin + 2;) continue;",
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER;"
        "struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec++; pthread_mutex_lock(&m);"
        "pthread_cond_timedwait(&c, &m, &t);",
    ],
)
def test_who_waits_for_something_else_is_left_alone(tmp_path: Path, body: str) -> None:
    executable = build("#include <time.h>\n" + WAITING % body, [], tmp_path)
    with subprocess.Popen([executable], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        time.sleep(0.8)
        assert child.communicate("x", timeout=600)[0] == "7"
        assert child.returncode == 0


LOCK_STEP = """
int main(void) {
  MACAH_STREAM(int) in = macah_create(int, 4, "i32"), out = macah_create(int, 4, "i32");
  for (int i = 0; i < 3; i++) macah_send(in, i);
  uint32_t live_in[] = {4, 1}, live_out[1];
  macah_run_kernel(0, live_in, live_out, (macah_stream *[]){(macah_stream *)in, (macah_stream *)out}, NULL);
}
"""


def test_a_kernel_that_waits_for_its_own_thread_is_shown(tmp_path: Path) -> None:
    done = run(build(LOCK_STEP, [scale()], tmp_path))
    assert done.returncode == -6
    assert "  thread 1 (main) is in kernel 'scale', which waits in its cycle 3\n" in done.stderr
    assert "    to receive from 'in' at" in done.stderr
    assert "which is empty (0 of 4) and open\n    created at " in done.stderr
    assert "compile with --bubbles or --ordered-streams" in done.stderr
