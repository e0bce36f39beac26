"""Kernels as C are developed with C's tools: they point to the lines and columns of the program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
static int stream s;
/* comment */
static int work(int n, int a, int b) {
  int total = 0, table[4] = {1, 2, 3, 4};
  kernel {
    for (int i = 0; i < n; i++) {
      int x;
      x <? s;	total += x; int unused = 3;
      if (x > 100)
        total -= 1;
    }
    total += a / b + a % b;
    total += 1 << n;
    total += table[n & 7];
  }
  return total;
}
int main(int argc, char **argv) {
  s = pstream_create(int);
  int n = argc > 1 ? atoi(argv[1]) : 3, b = argc > 2 ? atoi(argv[2]) : 1;
  for (int i = 0; i < n; i++) s <! i;
  printf("%d\\n", work(n, argc > 3 ? atoi(argv[3]) : 5, b));
  return 0;
}
"""


def compiled(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "p.macah").write_text(PROGRAM)
    command = [sys.executable, "-m", "macah", "--mode", "c", "-o", "p", *flags, "p.macah"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([folder / "p", *words], cwd=folder, capture_output=True, text=True)


@pytest.mark.needs("gdb")
def test_gdb_stops_in_a_kernel(tmp_path: Path) -> None:
    assert compiled(tmp_path, "-g", "-O0").stderr == ""
    commands = ["break p.macah:11 if x == 2", "run", "print total", "print x", "backtrace", "finish"]
    words = [word for command in commands for word in ("-ex", command)]
    done = subprocess.run(
        ["gdb", "-q", "-batch", *words, "./p"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "$1 = 3\n$2 = 2\n" in done.stdout
    assert re.search(r"#0  work \(n=3, a=5, b=1\) at .*p\.macah:11\n", done.stdout)
    assert re.search(r"#1 .* in main \(.*\) at .*p\.macah:24\n", done.stdout)
    assert "11\t      if (x > 100)\n" in done.stdout


def test_gcov_counts_the_lines_of_the_program(tmp_path: Path) -> None:
    assert compiled(tmp_path, "--coverage", "-O0").stderr == ""
    assert ran(tmp_path).returncode == 0
    subprocess.run(["gcov", "p"], cwd=tmp_path, capture_output=True, check=True)
    text = (tmp_path / "p.macah.gcov").read_text()
    counts = {line: count for count, line in re.findall(r"^ +([\d#-]+)\*?: +(\d+):", text, re.MULTILINE)}
    assert (counts["11"], counts["12"], counts["4"], counts["18"]) == ("3", "#####", "-", "1")


def test_warnings_have_their_column_behind_a_receive(tmp_path: Path) -> None:
    done = compiled(tmp_path, "-Wall")
    assert "p.macah:10:33: warning: unused variable" in done.stderr.replace("‘", "'")
    assert done.stderr.count("warning:") == 1


def test_checked_programs_report_and_go_on(tmp_path: Path) -> None:
    assert compiled(tmp_path, "--check", "-g").stderr == ""
    done = ran(tmp_path, "3", "0")
    assert done.returncode == 0 and done.stdout
    assert re.findall(r"p\.macah:(\d+).*: runtime error: (.*)", done.stderr) == [
        ("14", "division by zero"),
        ("14", "division by zero"),
    ]
    done = ran(tmp_path, "5", "-1", "-2147483648")
    assert "p.macah:14: runtime error: division of the least number by -1\n" in done.stderr
    assert re.search(
        r"p\.macah:16:19: runtime error: index 5 out of bounds for type 'int \[4\]'", done.stderr
    )


def test_other_programs_never_trap(tmp_path: Path) -> None:
    assert compiled(tmp_path, "-Wall", "-Wno-unused").stderr == ""
    done = ran(tmp_path, "0", "0")
    # As the operation table says: -1 and the dividend.
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{-1 + 5 + 1 + 1}\n", "")
    done = ran(tmp_path, "0", "-1", "-2147483648")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{-2147483648 + 1 + 1}\n", "")


def test_sanitizers_run(tmp_path: Path) -> None:
    assert compiled(tmp_path, "-fsanitize=address,undefined", "-g").stderr == ""
    done = ran(tmp_path, "5")
    assert re.search(r"p\.macah:16:19: runtime error: index 5 out of bounds", done.stderr)


def test_flags_of_gcc(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys" / "given.h").write_text("#define GIVEN 1\n")
    flags = (
        "-isystem",
        "sys",
        "-include",
        "given.h",
        "-std=gnu17",
        "-MMD",
        "-MF",
        "deps",
        "-pthread",
        "-pedantic",
    )
    assert compiled(tmp_path, *flags, "-march=native", "-static", "-O3").returncode == 0
    assert ran(tmp_path).stdout
    assert (tmp_path / "deps").read_text().startswith("p: p.macah")
    done = compiled(tmp_path, "-Qunknown")
    assert done.returncode == 2 and "-Qunknown" in done.stderr
