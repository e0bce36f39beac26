"""What the C compiler says about a translated program speaks of the program, not of the translation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def _said(tmp_path: Path, text: str, *options: str) -> str:
    path = tmp_path / "t.macah"
    path.write_text(text)
    command = [sys.executable, "-m", "macah", "--mode", "c", *options, str(path), "-o", str(tmp_path / "t")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return done.stderr.replace(f"{tmp_path}/", "")


def test_stream_types_are_written_as_in_the_program(tmp_path: Path) -> None:
    said = _said(tmp_path, "int main(void) { int stream s = pstream_create(short); return s == 0; }\n")
    assert "‘int stream’ from incompatible pointer type ‘short int stream’" in said
    assert "macah_stream" not in said


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_stream_of_another_type_is_an_error_but_no_other_pointer(tmp_path: Path, form: str) -> None:
    given = """\
static void feed(short stream s, int n) { s <! n; }
int main(void)
{
  %s
  long *q = &(int){0};
  return q == 0;
}
"""
    for wrong in (
        "int stream s = mem_reader_spawn(feed, 3); mem_reader_join(s);",
        "int stream s = pstream_create(int); feed(s, 1);",
        "unsigned stream s = pstream_create(int); pstream_free(s);",
    ):
        said = _said(tmp_path, given % wrong, f"--diagnostics-format={form}")
        assert "error" in said and "did not accept" in said and not (tmp_path / "t").exists()
    said = _said(tmp_path, given % "void *p = pstream_create(int); int stream s = p; s <! 1;")
    assert "warning" in said and "error" not in said and (tmp_path / "t").exists()


def test_no_header_of_the_runtime_and_no_temporary_file_is_named(tmp_path: Path) -> None:
    text = (
        'void f(int stream s) {\n pstream_create(int, "4");\n s <! y;\n z <! 3;\n if (EXPECT(1, .9)) ;\n}\n'
    )
    for form in ("text", "json"):
        said = _said(tmp_path, text, f"--diagnostics-format={form}")
        assert "undeclared" in said
        assert all(word not in said for word in ("macahc-", "macah.h", "macah_s"))


def test_the_linker_names_the_program(tmp_path: Path) -> None:
    said = _said(tmp_path, "void g(void);\nint main(void) { g(); return 0; }\n")
    assert "t.macah:2:18: error: 'g' is used here" in said
    assert "program.c" not in said
    assert "program.o" not in said


def test_a_message_that_the_compiler_repeats_is_given_once(tmp_path: Path) -> None:
    text = "void m(int d[8]);\nint main(void) { int d[4]; m(d); return d[0]; }\n"
    assert _said(tmp_path, text).count("accessing 32 bytes") == 1


def test_warnings_reach_code_behind_an_accessor(tmp_path: Path) -> None:
    text = (
        "void r(int stream s, int *p, int n) { for (int i = 0; i < n; i++) s <! p[i]; }\n"
        "int main(void) {\n  int a[4] = {0}, x;\n"
        "  short stream s = mem_reader_spawn(r, a, 4);\n"
        "  int stream t = mem_reader_spawn(r, 4, a);\n  mem_reader_join(t);\n  return s == 0;\n}\n"
    )
    said = _said(tmp_path, text, "-Wall")
    assert "t.macah:4:20: error: initialization of ‘short int stream’" in said
    assert "t.macah:5:38: warning: passing argument 2 of ‘mem_reader_spawn’ makes pointer" in said
    assert "t.macah:3:19: warning: unused variable ‘x’" in said
    assert "macah_" not in said


def test_an_array_is_shifted_by_an_integer(tmp_path: Path) -> None:
    text = "int main(void) {\n  int d[^4^] = {0};\n  d >>= 1.5;\n  d <<= d;\n  return 0;\n}\n"
    said = _said(tmp_path, text)
    assert "t.macah:3:3: error: invalid operands to binary << (have ‘int’ and ‘double’)" in said
    assert "t.macah:4:3: error: invalid operands to binary << (have ‘int’ and ‘int *’)" in said
