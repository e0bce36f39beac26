"""The C runtime without simulators."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from sim_kernels import build, run

from sim.cosim import RUNTIME_FLAGS


def output(host: str, directory: Path) -> str:
    done = run(build(host, [], directory))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_exactly_depth_elements_fit_in_order(tmp_path: Path) -> None:
    host = """int main(void) {
      for (int depth = 1; depth < 6; depth++) {
        macah_stream *s = CREATE(sizeof(short), depth);
        for (int round = 0; round < 3; round++) {
          short n = 0, x, expected = 0;
          while (TRY_SEND(s, &n)) n++;
          printf("%d%c", n, macah_full(s) ? ' ' : '!');
          while (TRY_RECEIVE(s, &x)) if (x != expected++) return 1;
          if (expected != n || !macah_empty(s)) return 2;
        }
        macah_free(s);
      }
    }"""
    assert output(host, tmp_path).split() == [str(d) for d in range(1, 6) for _ in range(3)]


def test_elements_of_any_size_keep_apart_from_the_counts(tmp_path: Path) -> None:
    """Few and small ones are in the same cache line."""
    host = """#include <string.h>
    int main(void) {
      for (int size = 0; size < 66; size++)
        for (int depth = 1; depth < 20; depth++) {
          macah_stream *s = CREATE(size, depth);
          for (int round = 0; round < 3; round++) {
            unsigned char sent[66], got[66], wanted[66];
            int n = 0;
            for (; memset(sent, ++n, size), TRY_SEND(s, sent);) ;
            if (n != depth + 1) return 1;
            for (n = 0; TRY_RECEIVE(s, got);)
              if (memcmp(got, memset(wanted, ++n, size), size)) return 2;
            if (n != depth || !macah_empty(s)) return 3;
          }
          macah_free(s);
        }
      puts("good");
    }"""
    assert output(host, tmp_path) == "good\n"


def test_what_does_not_happen_leaves_the_variable(tmp_path: Path) -> None:
    host = """int main(void) {
      macah_stream *s = CREATE(4, 2);
      int x = 7, y = 8;
      printf("%d", TRY_RECEIVE(s, &x));
      printf("%d", TRY_SEND(s, &y) && TRY_SEND(s, &y) && !TRY_SEND(s, &x));
      macah_close(s);
      macah_close(s);
      printf("%d", macah_ended(s));
      printf("%d%d", RECEIVE(s, &y), RECEIVE(s, &y));
      printf("%d%d%d%d ", macah_ended(s), RECEIVE(s, &x), TRY_RECEIVE(s, &x), macah_empty(s));
      printf("%d %d", x, y);
    }"""
    assert output(host, tmp_path) == "010111001 7 8"


@pytest.mark.parametrize("depth", [1, 3, 64])
def test_many_senders_and_receivers_lose_and_double_nothing(tmp_path: Path, depth: int) -> None:
    host = f"""
    #include <pthread.h>
    #include <string.h>
    enum {{ N = 30000, SIDES = 3 }};
    static macah_stream *s;
    static unsigned char seen[SIDES * N];
    struct element {{ int from, number; char rest[21]; }};
    static void *sender(void *me) {{
      struct element e = {{.from = (int)(size_t)me}};
      for (e.number = 0; e.number < N; e.number++) {{
        memset(e.rest, e.number, sizeof e.rest);
        if (e.number % 7) SEND(s, &e); else while (!TRY_SEND(s, &e)) continue;
      }}
      return NULL;
    }}
    static void *receiver(void *unused) {{
      int last[SIDES];
      for (int i = 0; i < SIDES; i++) last[i] = -1;
      for (struct element e; RECEIVE(s, &e);) {{
        if (e.number <= last[e.from] || e.rest[20] != (char)e.number || e.rest[0] != e.rest[20]) exit(1);
        last[e.from] = e.number;
        __atomic_fetch_add(&seen[e.from * N + e.number], 1, __ATOMIC_RELAXED);
      }}
      return unused;
    }}
    int main(void) {{
      pthread_t out[SIDES], in[SIDES];
      s = CREATE(sizeof(struct element), {depth});
      for (int i = 0; i < SIDES; i++) pthread_create(&out[i], NULL, sender, (void *)(size_t)i);
      for (int i = 0; i < SIDES; i++) pthread_create(&in[i], NULL, receiver, NULL);
      for (int i = 0; i < SIDES; i++) pthread_join(out[i], NULL);
      macah_close(s);
      for (int i = 0; i < SIDES; i++) pthread_join(in[i], NULL);
      for (int i = 0; i < SIDES * N; i++) if (seen[i] != 1) return 2;
    }}"""
    assert output(host, tmp_path) == ""


def test_an_end_that_is_given_up_gets_no_owner_any_more(tmp_path: Path) -> None:
    """Not even if it passes from one owner to the next at that very moment: simulators rely on it."""
    host = """
    #include <pthread.h>
    void macah_disown(struct macah_end *);
    enum { SENDERS = 3, ROUNDS = 20000 };
    static macah_stream *s;
    static int given_up;
    static pthread_barrier_t barrier;
    static void *sender(void *unused) {
      for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        for (int last = 0, over; !last; last = over) {
          over = __atomic_load_n(&given_up, __ATOMIC_ACQUIRE);
          TRY_SEND(s, &round);
          if (over && s->sender.owner == (const void *)&macah_me) exit(3);
        }
        pthread_barrier_wait(&barrier);
      }
      return unused;
    }
    int main(void) {
      pthread_t t[SENDERS];
      pthread_barrier_init(&barrier, NULL, SENDERS + 1);
      for (int i = 0; i < SENDERS; i++) pthread_create(&t[i], NULL, sender, NULL);
      for (int round = 0; round < ROUNDS; round++) {
        s = CREATE(sizeof(int), 8);
        given_up = 0;
        pthread_barrier_wait(&barrier);
        for (volatile int pause = round % 300; pause > 0; pause--) continue;
        macah_disown(&s->sender);
        __atomic_store_n(&given_up, 1, __ATOMIC_RELEASE);
        pthread_barrier_wait(&barrier);
        macah_free(s);
      }
      for (int i = 0; i < SENDERS; i++) pthread_join(t[i], NULL);
    }"""
    assert output(host, tmp_path) == ""


def test_accessors_get_a_copy_of_their_arguments(tmp_path: Path) -> None:
    host = """
    struct frame { macah_stream *s; int *data, n; };
    static void read_out(void *v) {
      struct frame *f = v;
      for (int i = 0; i < f->n; i++) SEND(f->s, &f->data[i]);
      macah_close(f->s);
    }
    static void write_in(void *v) {
      struct frame *f = v;
      while (RECEIVE(f->s, f->data)) f->data++;
    }
    int main(void) {
      int from[100], to[100] = {0}, x;
      for (int i = 0; i < 100; i++) from[i] = i * i;
      struct frame f = {CREATE(4, 3), from, 100};
      macah_stream *in = f.s;
      SPAWN(in, read_out, &f, sizeof f, 0);
      f.s = CREATE(4, 3), f.data = to;
      SPAWN(f.s, write_in, &f, sizeof f, 1);
      while (RECEIVE(in, &x)) SEND(f.s, &x);
      macah_reader_join(in);
      macah_writer_join(f.s);
      for (int i = 0; i < 100; i++) if (to[i] != i * i) return 1;
    }"""
    assert output(host, tmp_path) == ""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("SEND(NULL, &x);", "send: the stream is null"),
        ("RECEIVE(NULL, &x);", "receive: the stream is null"),
        ("macah_close(NULL);", "pstream_close: the stream is null"),
        ("SEND((macah_stream *)zeros, &x);", "send: this is not a stream"),
        ("macah_close(s); SEND(s, &x);", "send: the stream has been closed"),
        ("macah_reader_join(s);", "mem_reader_join: the stream was not made by mem_reader_spawn"),
        ("CREATE(4, 0);", "pstream_create: a stream must hold at least one element"),
    ],
)
def test_misuse_is_reported_and_aborts(tmp_path: Path, body: str, message: str) -> None:
    host = f"""int main(void) {{
      static _Alignas(64) char zeros[512];
      static int x;
      macah_stream *s = CREATE(4, 1);
      (void)s, (void)zeros, (void)x;
      {body}
    }}"""
    done = run(build(host, [], tmp_path))
    placed = re.sub(r"^macah: \S+:\d+: ", "macah: PLACE: ", done.stderr)
    expected = f"PLACE: {message}" if message.startswith(("send", "receive")) else message
    assert (done.returncode, done.stdout, placed) == (-6, "", f"macah: {expected}\n")


def test_freeing_null_is_allowed(tmp_path: Path) -> None:
    assert output("int main(void) { macah_free(NULL); }", tmp_path) == ""


def test_the_header_is_valid_in_strict_c_and_cplusplus(tmp_path: Path) -> None:
    source = tmp_path / "source.c"
    source.write_text('#include "macah.h"\n')
    languages = {"c": "c11"} | ({"c++": "c++11"} if shutil.which("c++") else {})
    for language, standard in languages.items():
        flags = [f"-std={standard}", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        subprocess.run(["cc", "-x", language, *flags, *RUNTIME_FLAGS, str(source)], check=True)
