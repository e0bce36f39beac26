"""Translated programs, compiled by the system's C compiler, do what the language says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from macah.diagnostic import MacahError
from macah.program import parse_program, read_program
from macah.translate import to_c
from sim.cosim import RUNTIME_SOURCES

ROOT = Path(__file__).parents[2]
CASES = sorted((ROOT / "tests/cases/translate").glob("*.macah"))
RUNTIME = RUNTIME_SOURCES
FLAGS = ["-std=gnu11", "-fwrapv", "-pthread", "-Wall", "-Wextra", "-Werror"]


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runtime")
    subprocess.run(["cc", "-std=gnu11", "-pthread", "-O1", "-c", *map(str, RUNTIME)], cwd=folder, check=True)
    return [str(folder / f"{source.stem}.o") for source in RUNTIME]


def run(text: str, objects: list[str], folder: Path, *flags: str) -> str:
    source, program = folder / "program.c", folder / "program"
    source.write_text(text)
    done = subprocess.run(
        ["cc", *FLAGS, *flags, str(source), *objects, "-o", str(program)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return subprocess.run([str(program)], capture_output=True, text=True, timeout=600, check=True).stdout


def pairs(table: str) -> list[tuple[str, str]]:
    """Pairs of lines, the second one indented."""
    lines = table.strip().splitlines()
    return [(a, b.strip()) for a, b in zip(lines[::2], lines[1::2], strict=True)]


def translated(text: str) -> str:
    return to_c(parse_program(text, Path("program.macah")))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_prints(path: Path, runtime: list[str], tmp_path: Path) -> None:
    wanted = re.findall(r"^// prints: (.*)$", path.read_text(), re.MULTILINE)
    assert wanted
    assert run(to_c(read_program(path)), runtime, tmp_path, "-O1").splitlines() == wanted


PLAIN = {
    "less and not": "int f(int a, int b) { return a <!b; }\n",
    "names": "typedef int stream; struct kernel { stream FOR; }; stream min(stream max) { return max; }\n",
    "assembler": 'void f(int a) { __asm__ volatile("nop" : : "r"(a) : "memory"); }\n',
    "line markers": '# 1 "a.c"\nint\n# 7 "b.h" 1\nx\n# 2 "a.c" 2\n;\n#pragma pack(1)\nint y;\n',
    "tabs and form feeds": "int\tx;\f\n\n\nint f(void)\t{ return x <<= 1; }",
}


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_plain_c_passes_unchanged(text: str) -> None:
    assert translated(text) == text


def test_real_headers_pass_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "plain.macah"
    headers = ("stdio", "stdlib", "string", "math", "pthread", "stdint", "sys/socket", "signal", "time")
    path.write_text(
        "".join(f"#include <{name}.h>\n" for name in headers) + "int main(void) { return abs(-1); }\n"
    )
    assert to_c(read_program(path)) == path.read_text()


@pytest.mark.quick(4)
@pytest.mark.parametrize("path", RUNTIME, ids=lambda path: path.stem)
def test_real_programs_pass_unchanged(path: Path) -> None:
    assert to_c(read_program(path)) == path.read_text()


def test_lines_stay_where_they_were(tmp_path: Path) -> None:
    path = tmp_path / "lines.macah"
    path.write_text(
        "void f(int stream s,\n  int stream t) {\n  int x;\n  s <!\n    1 +\n    2; x <?\n t;\n"
        "  s <! min(x,\n    3); int unused;\n}\nint main(void) { return 0 }\n"
    )
    with pytest.raises(MacahError):
        read_program(path)
    path.write_text(path.read_text().replace("0 }", "nothing; }"))
    done = subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-fsyntax-only", "-x", "c", "-"],
        input=to_c(read_program(path)),
        capture_output=True,
        text=True,
    )
    places = re.findall(
        rf"^{re.escape(str(path))}:(\d+):\d+: (\w+): .*[‘'](\w+)[’']", done.stderr, re.MULTILINE
    )
    assert set(places) == {("9", "warning", "unused"), ("11", "error", "nothing")}


def test_streams_of_different_elements_are_different_types(tmp_path: Path) -> None:
    text = translated("void f(int stream a, short stream b) { a = b; }\n")
    source = tmp_path / "program.c"
    source.write_text(text)
    done = subprocess.run(
        ["cc", "-std=gnu11", "-c", str(source)], cwd=tmp_path, capture_output=True, text=True
    )
    assert "incompatible pointer type" in done.stderr


DECLARATIONS = """
static const short stream s;
  static const MACAH_STREAM(short) s;
int const unsigned stream s;
  const MACAH_STREAM(int  unsigned) s;
typedef struct p { int stream s; } stream ps, *q;
  typedef MACAH_STREAM(struct p { MACAH_STREAM(int) s; }) ps, *q;
enum e stream a[2], *b, f(int);
  MACAH_STREAM(enum e) a[2], *b, f(int);
int stream f(void *p) { return (int stream)p; }
  MACAH_STREAM(int) f(void *p) { return (MACAH_STREAM(int))p; }
int (*f)(char stream a, long stream *);
  int (*f)(MACAH_STREAM(char) a, MACAH_STREAM(long) *);
int n = sizeof(short stream);
  int n = sizeof(MACAH_STREAM(short));
int a[^4^][2][^ 3 ^];
  int a[4][2][ 3 ];
const int N = ADPC(2, 9), k = 5;
  enum { N = 2 /* ADPC(2, 9) */ }; const int macah_N __attribute__((unused)) = 2, k = 5;
"""


@pytest.mark.parametrize(("macah", "c"), pairs(DECLARATIONS))
def test_declarations(macah: str, c: str) -> None:
    text = translated(f"enum e {{ A }}; {macah}\n")
    assert text.split('#line 1 "program.macah"\n')[1] == f"enum e {{ A }}; {c}\n"


def test_element_types_of_several_lines() -> None:
    text = translated("struct p {\n  int x;\n} stream s;\n")
    assert text.endswith("MACAH_STREAM(struct p {\n  int x;\n}) s;\n")


def test_chosen_pseudo_constants(runtime: list[str], tmp_path: Path) -> None:
    text = 'int printf(const char *, ...); const int N = ADPC(1, 9); int main(void) { printf("%d", N); }'
    program = parse_program(text, Path("program.macah"))
    assert run(to_c(program, {"N": 7}), runtime, tmp_path) == "7"


REFUSED = """
void f(int x) { x <! 3; }
  1:17: 'x' is not a stream, as a send needs
void f(int *p) { int x; x <? *p; }
  1:31: '*p' is not a stream, as a receive needs
struct a { int b; } c; int d(void) { return pstream_ended(c.b); }
  'c.b' is not a stream, as 'pstream_ended' needs
void f(int stream s) { pstream_close(s, 1); }
  too many arguments to 'pstream_close': 2 instead of 1
void f(void) { pstream_create(); }
  'pstream_create' needs the type of the elements
void f(void) { pstream_create(int, 1, 2); }
  too many arguments to 'pstream_create': 3 instead of 1 or 2
int f(int a) { return max(a); }
  too few arguments to 'max': 1 instead of 2
int f(int a) { return ADPC(1, 2) + a; }
  'ADPC' must be the whole initialiser of a constant
int n = ADPC(1, 2);
  'n' is initialised with ADPC, so it must be const
int n; const int m = ADPC(n, 2);
  'n' is not a constant
int a[3]; void f(void) { a <<= 1; }
  no dimension of this array can be shifted
int a[^3^][2]; void f(void) { a[0] <<= 1; }
  no dimension of this array can be shifted
void g(int stream s); void f(void) { mem_reader_spawn(g, 1); }
  too many arguments for 'g': 1 instead of 0
void g(int s); void f(void) { mem_reader_spawn(g); }
  the first parameter of 'g' is not a stream
int g; void f(void) { mem_writer_spawn(g); }
  'g' is not a function
void f(void (*g)(int stream)) { mem_writer_spawn(g); }
  'mem_writer_spawn' needs the name of a function
void f(void) { mem_writer_spawn(); }
  'mem_writer_spawn' needs a function
void f(void) { mem_reader_spawn_depth(); }
  'mem_reader_spawn_depth' needs a depth and a function
void g(int stream s, ...); void f(void) { mem_reader_spawn(g); }
  'g' has parameters of unknown type
"""


@pytest.mark.parametrize(("text", "message"), pairs(REFUSED))
def test_refused(text: str, message: str) -> None:
    with pytest.raises(MacahError) as caught:
        translated(text)
    diagnostic = caught.value.diagnostics[0]
    assert message in f"{diagnostic.where}: {diagnostic.message}"
    assert diagnostic.where is not None and diagnostic.where.line == 1


def test_streams_of_a_macro_type_in_a_macro(runtime: list[str], tmp_path: Path) -> None:
    """The preprocessor puts line markers around `bool`, so that many words have the same line and column."""
    source = tmp_path / "p.macah"
    source.write_text(
        "#include <stdbool.h>\n#include <stdio.h>\n"
        "#define COPY(T) static void copy(T stream a, T const stream b) { T v; v <? a; b <! v; }\n"
        "COPY(bool)\n"
        "int main(void) { bool stream a = pstream_create(bool), b = pstream_create(bool, 2);\n"
        '  a <! 7; copy(a, b); int x; x <? b; printf("%d\\n", x); return 0; }\n'
    )
    assert run(to_c(read_program(source)), runtime, tmp_path) == "1\n"
