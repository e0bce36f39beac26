"""Deadlocks in mixes of threads, kernels and streams, and their waves; what only looks like one."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

HEAD = """#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int stream a, b;
static void first(void) { int x = 0; one: kernel { x <? a; b <! x + 1; } }
static void second(void) { int x = 0; two: kernel { x <? b; a <! x + 1; } }
static void *in_thread(void *unused) { second(); return unused; }
static void compute(void) { for (volatile long i = 0; i < COMPUTE; i++) continue; }
int main(void)
{
  pthread_t thread;
  a = pstream_create(int, 2);
  b = pstream_create(int, 3);
  pthread_create(&thread, NULL, in_thread, NULL);
"""
MODES = ("c", "dataflow", "mapped")
CIRCLE = HEAD + "first(); pthread_join(thread, NULL); }"
SERVED = ("sleep(1);", "char c; if (read(0, &c, 1) < 0) return 3;", "compute();")
END = 'pthread_join(other, NULL); pthread_join(thread, NULL); int x; x <? a; printf("%d\\n", x); }'


def compiled(text: str, folder: Path, mode: str, *options: str) -> Path:
    (folder / "p.macah").write_text(text)
    made = folder / "p"
    command = [sys.executable, "-m", "macah", "-w", "--mode", mode, "-DCOMPUTE=200000000", *options]
    subprocess.run([*command, str(folder / "p.macah"), "-o", str(made)], check=True, timeout=600)
    return made


@pytest.mark.parametrize("mode", MODES)
def test_kernels_that_wait_for_each_other_are_shown(mode: str, tmp_path: Path) -> None:
    made = compiled(CIRCLE, tmp_path, mode)
    done = subprocess.run([made], capture_output=True, text=True, timeout=600)
    assert done.returncode == -6
    for kernel, stream, depth, line in (("one", "a", 2, 5), ("two", "b", 3, 6)):
        assert f"is in kernel '{kernel}', which waits" in done.stderr
        assert re.search(rf"'{stream}'.*, which is empty \(0 of {depth}\) and open", done.stderr)
        assert f"p.macah:{line}" in done.stderr
    if mode != "c":
        assert re.search(r"which waits in its cycle \d+", done.stderr)
    assert done.stderr.count("macah: deadlock") == 1


def test_a_stream_that_a_kernel_does_not_wait_for_is_not_shown(tmp_path: Path) -> None:
    """All elements have been received when there is no room for what is made of the last."""
    text = HEAD.replace("x <? a; b <! x + 1;", "for (int i = 0; i < 4; i++) { x <? a; b <! x * x; }")
    text = text.replace("pstream_create(int, 2)", "pstream_create(int, 4)")
    text += "  for (int i = 0; i < 4; i++) a <! i;\n  first();\n}"
    text = text.replace("pthread_create(&thread", "if (0) pthread_create(&thread")
    made = compiled(text, tmp_path, "mapped")
    done = subprocess.run([made], capture_output=True, text=True, timeout=600)
    assert re.search(r"to send to 'b' at .*, which is full \(3 of 3\)", done.stderr), done.stderr
    assert "to receive from" not in done.stderr


EACH_OTHER = """#include <pthread.h>
#include <semaphore.h>
static int stream a, b;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static sem_t s;
static void work(void) { kernel { int x; x <? a; b <! x + 1; } }
static void *in_thread(void *unused)
{
  work();
  return unused;
}
static void *locked(void *unused) {
  pthread_mutex_lock(&m);
  return unused;
}
static void *late(void *unused) { sem_wait(&s); return unused; }
int main(void)
{
  pthread_t one, two, three;
  a = pstream_create(int, 2);
  b = pstream_create(int, 2);
  pthread_mutex_lock(&m);
  pthread_create(&one, NULL, in_thread, NULL);
  pthread_create(&two, NULL, locked, NULL);
  pthread_create(&three, NULL, late, NULL);
  pthread_join(two, NULL);
}
"""


@pytest.mark.quick(1)
@pytest.mark.parametrize("options", [(), ("-O2",), ("-g",), ("-static",)], ids=" ".join)
def test_where_threads_wait_for_each_other_is_shown(options: tuple[str, ...], tmp_path: Path) -> None:
    made = compiled(EACH_OTHER, tmp_path, "c", *options)
    done = subprocess.run([made], capture_output=True, text=True, timeout=600)
    assert re.search(r"^  .*p.macah:26: thread 1 \(main\) waits for thread \d$", done.stderr, re.M), (
        done.stderr
    )
    assert re.search(r"^  .*p.macah:13: thread \d waits for thread 1 \(main\)$", done.stderr, re.M)
    assert re.search(r"^  .*p.macah:16: thread \d waits for a lock, a condition", done.stderr, re.M)
    assert re.search(
        r"^  .*p.macah:6: thread \d is in kernel .* to receive from 'a', which is", done.stderr, re.M
    )


@pytest.mark.parametrize("mode", ["c", *(pytest.param(m, marks=pytest.mark.slow) for m in MODES if m != "c")])
def test_who_can_still_serve_is_no_deadlock(mode: str, tmp_path: Path) -> None:
    """Kernel `two` waits for kernel `one`, which waits for a thread that does something else."""
    chain = "static void *chain(void *unused) { first(); return unused; }\nint main(int n, char **v)"
    text = HEAD.replace("int main(void)", chain)
    text += "  pthread_t other; pthread_create(&other, NULL, chain, NULL); (void)v;\n"
    cases = "".join(f"  if (n == {k + 1}) {{ {body} }}\n" for k, body in enumerate(SERVED))
    made = compiled(text + cases + "a <! 5; " + END, tmp_path, mode)
    for number in range(len(SERVED)):
        child = subprocess.Popen(
            [made, *"x" * number],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(0.9 if number == 1 else 0)
        output, errors = child.communicate("x", timeout=600)
        assert (child.returncode, output, errors) == (0, "7\n", ""), SERVED[number]


@pytest.mark.parametrize("kind", ["vcd", pytest.param("fst", marks=pytest.mark.slow)])
def test_the_waveform_of_a_deadlock_is_whole(kind: str, tmp_path: Path) -> None:
    wave = tmp_path / f"w.{kind}"
    made = compiled(CIRCLE, tmp_path, "dataflow", "--wave", str(wave))
    done = subprocess.run([made], capture_output=True, text=True, timeout=600)
    assert done.returncode == -6
    waves = [wave.with_name(f"w.{kernel}.{kind}") for kernel in ("one", "two")]
    for path in waves:
        for _ in range(100):
            if is_whole(path):
                break
            time.sleep(0.05)
        assert is_whole(path)


def is_whole(path: Path) -> bool:
    """Whether a waveform holds the stall of its kernel, in lines that are complete."""
    if path.suffix == ".fst":
        return path.exists() and path.stat().st_size > 0 and not Path(f"{path}.hier").exists()
    text = path.read_text() if path.exists() else ""
    sign = re.search(r"\$var \w+ 1 (\S+) stalled ", text)
    return sign is not None and f"\n1{sign[1]}\n" in text and text.endswith("\n")
