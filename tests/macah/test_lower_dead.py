"""What nobody reads after a kernel is not copied out; what is mentioned, or pointed to, later is."""

from __future__ import annotations

from pathlib import Path

import pytest

from macah.ir import Array
from macah.lower import lower
from macah.passes.pipeline import optimize
from macah.program import read_program

KERNEL = "kernel { int n = 9; while (n-- > 0) { int x; x <? s; a[0] = a[3] + x; a[1] = a[0]; out <! a[1]; } }"
HEAD = "int *kept; void keep(int *p) { kept = p; }\ntypedef int Pair[2]; typedef int word;\n"


def copied_out(body: str, directory: Path, parameters: str = "") -> set[str]:
    source = directory / "p.macah"
    source.write_text(f"{HEAD}int f(int stream s, int stream out, int n{parameters}) {{\n{body}\n}}\n")
    program = read_program(source)
    return {c.what.name for c in lower(program, program.kernels[-1]).captured if c.out}


@pytest.mark.parametrize(
    "body",
    [
        f"int a[4]; {KERNEL} return 0;",
        f"int a[4]; for (int i = 0; i < 4; i++) a[i] = i * n; {KERNEL} return n;",
        f"word a[4]; a[0] = 2; a[n & 3] += a[0]; keep(&n); {KERNEL} return 0;",
        f"int a[4]; a[0] = 1; kernel {{ a[2] = a[0] + n; }} {KERNEL} return 0;",
        f"int a[4]; if (n) a[1] = 3; else {KERNEL} return 0;",
    ],
)
def test_what_only_the_kernel_and_what_is_before_it_needs_stays_there(body: str, tmp_path: Path) -> None:
    assert "a" not in copied_out(body, tmp_path)


@pytest.mark.parametrize(
    ("body", "parameters"),
    [
        (f"int a[4]; {KERNEL} return a[1];", ""),
        (f"int a[4]; keep(a); {KERNEL} return *kept;", ""),
        (f"int a[4]; keep(&a[1]); {KERNEL} return *kept;", ""),
        (f"int a[4], *p; p = a + 1; {KERNEL} return *p;", ""),
        (f"int a[4]; while (n-- > 0) {{ a[3] = n; {KERNEL} }} return 0;", ""),
        (f"int a[4]; again: {KERNEL} if (n-- > 0) goto again; return 0;", ""),
        (f"int a[4]; if (n) {KERNEL} else return a[1]; return 0;", ""),
        (f"static int a[4]; a[0] = 1; {KERNEL} return 0;", ""),
        (f"a[0] = 1; {KERNEL} return 0;", ", int a[4]"),
    ],
)
def test_what_may_be_read_later_is_copied_out(body: str, parameters: str, tmp_path: Path) -> None:
    assert "a" in copied_out(body, tmp_path, parameters)


def test_an_array_in_an_array_may_be_kept_by_whom_it_is_given_to(tmp_path: Path) -> None:
    """With one subscript each, `b[1]` is a pointer into `b` that outlives its mention."""
    kernel = "kernel { b[0][1] = b[1][0] + n; }"
    assert "b" in copied_out(f"int b[2][2]; keep(b[1]); {kernel} return 0;", tmp_path)
    assert "b" in copied_out(f"Pair b[2]; keep(b[1]); {kernel} return 0;", tmp_path)
    assert "b" not in copied_out(f"Pair b[2]; b[1][0] = n; {kernel} return 0;", tmp_path)


def test_numbers_are_not_copied_out_for_what_was_before(tmp_path: Path) -> None:
    kernel = "kernel { sum += n; out <! sum; }"
    assert copied_out(f"int sum; sum = n; {kernel} return 0;", tmp_path) == set()
    assert copied_out(f"int sum; sum = n; keep(&sum); {kernel} return 0;", tmp_path) == {"sum"}


def test_elements_that_nobody_needs_later_become_scalars_however_many_there_are(tmp_path: Path) -> None:
    text = """void f(int stream s, int stream out, int n) {
      int v[16]; FOR (int k = 0; k < 16; k++) v[k] = k;
      kernel {
        while (n-- > 0) { int x; x <? s; FOR (int k = 0; k < 16; k++) v[k] = max(v[k] + x, k); out <! v[7]; }
      }
    }"""
    source = tmp_path / "p.macah"
    source.write_text(text)
    program = read_program(source)
    made = optimize(lower(program, program.kernels[0]))
    assert not [c.what for c in made.captured if isinstance(c.what, Array)]
