"""Traces of unions and bit-fields leave out what lies between members, which means nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """#include <string.h>
#include <stdlib.h>
struct bits { unsigned a : 3; unsigned b : 9; char c; };
union either { short small; char c; };
struct both { char c; union either e; struct bits bits[2]; };
int main(int count, char **words)
{
  int fill = atoi(words[count - 1]);
  struct bits stream s = pstream_create(struct bits);
  struct both stream t = pstream_create(struct both);
  struct bits x;
  struct both y;
  memset(&x, fill, sizeof x);
  memset(&y, fill, sizeof y);
  x.a = 1, x.b = 258, x.c = 3;
  y.c = 4, y.e.small = 773, y.bits[0] = x, y.bits[1] = x;
  s <! x;
  t <! y;
}
"""


def test_bytes_between_members_are_not_traced(tmp_path: Path) -> None:
    (tmp_path / "p.macah").write_text(PROGRAM)
    made = tmp_path / "p"
    command = [sys.executable, "-m", "macah", "-w", "--mode", "c", str(tmp_path / "p.macah"), "-o", str(made)]
    subprocess.run(command, check=True, timeout=600)
    for fill in ("0", "255"):
        subprocess.run([made, fill], check=True, env={"MACAH_TRACE": str(tmp_path / fill)}, timeout=600)
        traces = [path.read_text().splitlines()[1:] for path in sorted((tmp_path / fill).iterdir())]
        assert traces == [["040005031108030011080300"], ["11080300"]] or traces == [
            ["11080300"],
            ["040005031108030011080300"],
        ]
