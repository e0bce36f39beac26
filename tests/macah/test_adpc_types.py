"""Pseudo-constants have the type that they are declared with, in translated C and in kernels."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from graph_host import compile_c, printed_by_graphs

from macah.program import parse_program, read_program
from macah.translate import to_c
from sim.cosim import RUNTIME_FLAGS, RUNTIME_SOURCES

PROGRAM = r"""
#include <stdio.h>
const unsigned U = ADPC(4, 4), V = ADPC(2, 2);
static const long L = ADPC(3, 3);
const char C = ADPC(2, 2);
struct s { int U; int a[4]; };
int f(int x) { switch (x) { case U: return 1; case C: return 2; } return 0; }
int main(void) {
  struct s v = { .U = 5, .a = { [U - 1] = 7, [C] = 3 } }, *p = &v;
  const unsigned char B = ADPC(255, 255);
  int x = -1;
  kernel { x = -1 < U; v.U += (int)sizeof L; }
  printf("%d %d %zu %zu %zu %d %d\n", x, -1 < U, sizeof U, sizeof L, sizeof C, p->U, v.a[U - 1]);
  printf("%d %d %ld %d %d\n", -1 < (int)V, -1 < V, L << 40, f(4), _Generic(C, char: 1, int: 2, default: 3));
  for (const unsigned K = ADPC(2, 2), *q = 0; !q; ) { printf("%d %d\n", -1 < K, (B + 1) >> 8); break; }
  { int U = -3; printf("%d\n", U); }
  return 0;
}
"""
USES_AS_CONSTANTS = {"case U": "case 4", "case C": "case 2", "[U - 1] =": "[3] =", "[C]": "[2]"}


def plain() -> str:
    """The program in C, where such variables are no constants."""
    text = re.sub(r"ADPC\((\d+), \d+\)", r"\1", PROGRAM.replace("kernel {", "{"))
    for use, constant in USES_AS_CONSTANTS.items():
        text = text.replace(use, constant)
    return text


def printed(text: str, folder: Path) -> str:
    (folder / "p.c").write_text(text)
    compile_c([folder / "p.c", *RUNTIME_SOURCES], folder / "p", *RUNTIME_FLAGS)
    return subprocess.run([folder / "p"], check=True, capture_output=True, text=True).stdout


def test_pseudo_constants_of_other_types_than_int_are_what_they_are_in_c(tmp_path: Path) -> None:
    expected = printed(plain(), tmp_path)
    assert expected.splitlines()[0] == "0 0 4 8 1 13 7"
    source = tmp_path / "program.macah"
    source.write_text(PROGRAM)
    assert printed(to_c(read_program(source, [])), tmp_path) == expected
    assert printed_by_graphs(source, tmp_path) == expected


def test_an_int_needs_no_cast() -> None:
    text = "const int N = ADPC(1, 2);\nint f(void) { return N; }\n"
    assert "int f(void) { return N; }" in to_c(parse_program(text, Path("t.macah")))
