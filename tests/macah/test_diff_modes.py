"""What two modes do differently is shown with its place, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from macah.traces import divergences

# Behaves as its first argument says, in the second of the two runs that are compared.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  const char *how = argc > 1 && strstr(getenv("MACAH_TRACE"), "/1/trace") ? argv[1] : "";
  int c, sum = 0;
  while ((c = getchar()) != EOF) sum += c;
  printf("first\n");
  if (!strcmp(how, "line")) printf("other\n");
  printf("sum %d\n", sum);
  if (!strcmp(how, "status")) { fprintf(stderr, "why it ends\n"); return 3; }
  if (!strcmp(how, "signal")) abort();
  if (!strcmp(how, "hang")) for (;;) { if (fork() == 0) pause(); sleep(100); }
  return 0;
}
"""


def diff_modes(*words: object, stdin: str = "", cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "macah", "diff-modes", *map(str, words)],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=600,
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.macah"
    path.write_text(PROGRAM)
    return path


def test_equal_modes_say_nothing(program: Path) -> None:
    done = diff_modes(program, stdin="abc", cwd=program.parent)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("line", ["line 2 of the output differs", "c | sum 97", "mapped | other"]),
        (
            "status",
            ["in mode 'c' it ends with status 0; in mode 'mapped' it ends with status 3", "why it ends"],
        ),
        ("signal", ["in mode 'mapped' it is ended by SIGABRT"]),
        ("hang", ["in mode 'mapped' it does not end within 1 s"]),
    ],
)
def test_a_difference_is_shown(how: str, said: list[str], program: Path) -> None:
    done = diff_modes("--timeout", 1, program, how, stdin="a", cwd=program.parent)
    assert done.returncode == 1
    assert done.stderr == ""
    for text in said:
        assert text in done.stdout


def test_a_mode_that_cannot_be_built_is_named(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text("int main(void) { double y = 2; kernel { y = y * 2; } return 0; }\n")
    done = diff_modes(source, cwd=tmp_path)
    assert done.returncode == 1
    assert "p.macah:1:" in done.stderr
    assert "the program cannot be built in mode 'mapped'" in done.stderr
    assert done.stdout == ""


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "words",
    [
        ("diff-modes",),
        ("diff-modes", "--modes", "c", "p.macah"),
        ("diff-modes", "--modes", "c,fast", "p.macah"),
        ("diff-modes", "--timeout", "-1", "p.macah"),
        ("diff-modes", "--timeout", "nan", "p.macah"),
        ("diff-modes", "-o", "x", "p.macah"),
        ("--modes", "c,mapped", "p.macah"),
        ("run", "--timeout", "1", "p.macah"),
    ],
)
def test_wrong_usage_exits_2(words: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "macah", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.returncode == 2
    assert "macahc: error:" in done.stderr


def alive(marker: str) -> bool:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marker.encode() in (entry / "environ").read_bytes():
                return True
        except OSError:
            continue
    return False


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ending_it_ends_the_programs_and_leaves_no_files(how: signal.Signals, program: Path) -> None:
    scratch = program.parent / "scratch"
    scratch.mkdir()
    marker = f"FUZZ_TEST_MARKER={program.parent}"
    environment = {**os.environ, "TMPDIR": str(scratch), "FUZZ_TEST_MARKER": str(program.parent)}
    command = [sys.executable, "-m", "macah", "diff-modes", "--modes", "c,c", str(program), "hang"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as child:
        deadline = time.monotonic() + 300
        while not list(scratch.glob("*/1/output")) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        child.send_signal(how)
        assert child.stderr
        assert b"Traceback" not in child.stderr.read()
    assert child.returncode == 128 + how
    assert not alive(marker)
    assert list(scratch.iterdir()) == []


def traces(folder: Path, **streams: list[str]) -> Path:
    folder.mkdir()
    for name, lines in streams.items():
        file = name.removesuffix("_places") + ".txt" + (".places" if name.endswith("_places") else "")
        (folder / file).write_text("".join(line + "\n" for line in lines))
    return folder


HEAD = "# p.macah:7: int"


def test_the_first_divergence_is_that_of_the_earliest_element(tmp_path: Path) -> None:
    one = traces(tmp_path / "one", a=[HEAD, "1", "2", "3", "4"], b=[HEAD, "1"], c=[HEAD, "7", "8"])
    two = traces(tmp_path / "two", a=[HEAD, "1", "2", "0", "0"], b=[HEAD], c=[HEAD, "7", "9"], d=[HEAD])
    first, second, third = divergences(one, two)
    assert (first.stream, first.index, first.values) == ("c", 1, ("8", "9"))
    assert (second.stream, second.index, second.values) == ("a", 2, ("3", "0"))
    assert second.rows == ((0, "1", "1"), (1, "2", "2"), (2, "3", "0"), (3, "4", "0"))
    assert (third.stream, third.values, str(third.created)) == ("b", ("1", None), "p.macah:7")


def test_a_divergence_knows_where_the_element_was_sent(tmp_path: Path) -> None:
    one = traces(tmp_path / "one", s=[HEAD, "1", "2"], s_places=["p.macah:3", "q:x.macah:12"])
    two = traces(tmp_path / "two", s=[HEAD, "1", "3"])
    [found] = divergences(one, two)
    assert (str(found.sent[0]), found.sent[1]) == ("q:x.macah:12", None)


def test_equal_traces_do_not_diverge(tmp_path: Path) -> None:
    one = traces(tmp_path / "one", s=[HEAD, "1"], s_places=["p:1"])
    two = traces(tmp_path / "two", s=[HEAD, "1"], s_places=["p:2"])
    assert divergences(one, two) == []


# The second run sends another value as its third element. The close has a block of its own, so
# that the loop behind it is warned of.
STREAMS = """
#include <stdlib.h>
#include <string.h>
int main(void) {
  int stream s = pstream_create(int, 32);
  int wrong = strstr(getenv("MACAH_TRACE"), "/1/trace") != 0, x = 0;
  kernel {
    for (int i = 0; i < 5; i++)
      s <! i * 10 + (wrong && i == 2);
  }
  { pstream_close(s); }
  while (!pstream_ended(s)) { x <? s; }
  pstream_free(s);
  return 0;
}
"""


@pytest.mark.parametrize("modes", ["c,c", "c,mapped"])
def test_a_stream_that_differs_is_shown_with_its_source(modes: str, tmp_path: Path) -> None:
    (tmp_path / "p.macah").write_text(STREAMS)
    done = diff_modes("--modes", modes, "p.macah", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "element 2 of stream 'p.macah-5-0' is '20' in mode 'c' and '21' in mode" in done.stdout
    assert "p.macah:9:7: error:" in done.stdout
    assert "    9 |       s <! i * 10 + (wrong && i == 2);\n      |       ^" in done.stdout
    assert "p.macah:5: note: the stream is created here\n    5 |" in done.stdout
    assert done.stderr.count("warning: the loop runs once too often") == 1
    assert "\n >       2  20" in done.stdout
