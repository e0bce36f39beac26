"""Functions of the C library in kernels."""

from __future__ import annotations

import string
import subprocess
from pathlib import Path

import pytest

from macah.diagnostic import Diagnostic, MacahError
from macah.library import _CLASSES, _FUNCTIONS
from macah.lower import lower
from macah.program import read_program
from macah.run import run_kernel

HEADERS = "#include <ctype.h>\n#include <stdlib.h>\n#include <string.h>\n"
MAIN = """int main(void) {{
  int n = 0; char s[8] = "Ab3 x", t[8] = "Ab";
  kernel {{ {} }}
  return n;
}}
"""
IN_CLASS = {
    "isupper": string.ascii_uppercase,
    "islower": string.ascii_lowercase,
    "isalpha": string.ascii_letters,
    "isdigit": string.digits,
    "isxdigit": string.hexdigits,
    "isspace": string.whitespace,
    "isprint": [chr(c) for c in range(32, 127)],
    "isgraph": [chr(c) for c in range(33, 127)],
    "isblank": " \t",
    "iscntrl": [chr(c) for c in (*range(32), 127)],
    "ispunct": string.punctuation,
    "isalnum": string.ascii_letters + string.digits,
}


def written(text: str, path: Path) -> Path:
    source = path / "p.macah"
    source.write_text(text)
    return source


def value(text: str, path: Path) -> int:
    """What `n` is at the end."""
    program = read_program(written(text, path))
    strings = {name: [*text.ljust(8, b"\0")] for name, text in (("s", b"Ab3 x"), ("t", b"Ab"))}
    found = run_kernel(lower(program, program.kernels[0], {}), arrays=strings).scalars["n"]
    return found - 2 * (found & 1 << 31)


def errors(text: str, path: Path) -> tuple[Diagnostic, ...]:
    program = read_program(written(text, path))
    with pytest.raises(MacahError) as raised:
        lower(program, program.kernels[0], {})
    return raised.value.diagnostics


@pytest.mark.parametrize("name", _CLASSES)
@pytest.mark.parametrize("called", ["{}", "({})"], ids=["macro", "function"])
def test_a_class_has_its_characters_and_no_others(name: str, called: str, tmp_path: Path) -> None:
    asked = called.format(name)
    body = f"for (int c = -1; c < 256; c++) if ({asked}(c)) n = n * 31 + c;"
    expected = 0
    for c in range(128):
        if chr(c) in IN_CLASS[name]:
            expected = (expected * 31 + c) % 2**32
    assert value(HEADERS + MAIN.format(body), tmp_path) % 2**32 == expected


def test_what_is_said_of_a_class_is_what_the_host_says(tmp_path: Path) -> None:
    body = " ".join(f"n = n * 3 + {name}('x') + {name}('7') + {name}(' ');" for name in _CLASSES)
    source = tmp_path / "p.c"
    source.write_text(
        HEADERS + "#include <stdio.h>\nint main(void) { int n = 0; " + body + ' printf("%d", n); }'
    )
    subprocess.run(["gcc", source, "-o", tmp_path / "p"], check=True)
    said = subprocess.run([tmp_path / "p"], check=True, capture_output=True, text=True).stdout
    assert value(HEADERS + MAIN.format(body), tmp_path) == int(said)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("n = strlen(s);", 5),
        ('n = strlen("");', 0),
        ("n = strnlen(s, 3) * 10 + strnlen(s, 8);", 35),
        ("n = strcmp(s, t);", ord("3")),
        ("n = strcmp(t, s);", -ord("3")),
        ('n = strcmp(t, "Ab");', 0),
        ("t[0] = 200; n = strcmp(t, s) > 0;", 1),  # as unsigned characters
        ("n = strncmp(s, t, 2) * 10 + (strncmp(s, t, 3) > 0);", 1),
        ("n = strncmp(s, t, 0);", 0),
        ("strcpy(t, s); n = t[4] * 1000 + t[5];", 120_000),
        ("strncpy(s, t, 4); n = s[1] * 1000 + s[2] * 100 + s[3] * 10 + (s[4] == 'x');", 98_001),
        ("n = strcpy(t, s)[4];", ord("x")),
        ("char *p = strchr(s, '3'); n = p ? p - s : -1;", 2),
        ("n = (strchr(s, 0) - s) * 10 + (strchr(s, '#') == 0);", 51),
        ("s[4] = 'b'; n = (strrchr(s, 'b') - s) * 100 + (strrchr(s, 0) - s) * 10 + !strrchr(s, 'x');", 451),
        ('n = strspn(s, "bcA") * 100 + strspn(s, "") * 10 + strspn(t, "Ab");', 202),
        ('n = strcspn(s, "0 3") * 100 + strcspn(s, "") * 10 + strcspn(s, "A");', 250),
        ('strcat(t, "cde"); n = strlen(t) * 1000 + t[2] + t[5];', 5099),
        ('strcat(strcpy(t, "x"), "y"); n = t[0] * 1000 + t[1];', 120_121),
        ('for (int i = 0; s[i]; i++) if (strchr("xbz", s[i])) n = n * 10 + i;', 14),
        ("n = toupper(s[1]) * 1000 + tolower(s[0]);", 66_097),
        ("n = tolower('@') * 1000 + toupper('{');", 64_123),
        ('n = atoi(" \\t-120x") + atoi("+7") + atoi("- 5") + atoi("x");', -113),
    ],
)
def test_strings(body: str, expected: int, tmp_path: Path) -> None:
    assert value(HEADERS + MAIN.format(body), tmp_path) == expected


def test_a_function_of_the_programs_own_is_called(tmp_path: Path) -> None:
    own = "int toupper(int c) { return c + 1; }\n"
    assert value(own + MAIN.format("n = toupper('a');"), tmp_path) == ord("b")


def test_a_function_declared_by_hand_is_the_librarys(tmp_path: Path) -> None:
    assert value("int toupper(int c);\n" + MAIN.format("n = toupper('a');"), tmp_path) == ord("A")


@pytest.mark.parametrize(
    ("before", "code"), [("", "implicit-declaration"), ("int toupper(int c, int how);\n", "no-body")]
)
def test_what_is_not_declared_so_is_another_function(before: str, code: str, tmp_path: Path) -> None:
    arguments = "'a', 1" if before else "'a'"
    (error,) = errors(before + MAIN.format(f"n = toupper({arguments});"), tmp_path)
    assert error.code == code


@pytest.mark.parametrize("name", sorted(_FUNCTIONS.keys() - {"tolower", "toupper"}))
def test_an_error_within_a_function_is_where_that_is_called(name: str, tmp_path: Path) -> None:
    text = HEADERS + "int f(char *p) { int n = 0; kernel {\n n = " + name + "(CALL); } return n; }\n"
    calls = {
        "strchr": "p, 1",
        "strrchr": "p, 1",
        "strnlen": "p, 2",
        "strncmp": "p, p, 2",
        "strncpy": "p, p, 2",
    }
    calls |= dict.fromkeys(["strcmp", "strcpy", "strspn", "strcspn", "strcat"], "p, p")
    text = text.replace("CALL", calls.get(name, "p"))
    text = text.replace("n = str", "n = !!str")
    for error in errors(text, tmp_path):
        assert error.where is not None and error.where.file.endswith("p.macah") and error.where.line == 5
