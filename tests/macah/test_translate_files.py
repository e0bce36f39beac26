"""The translation is the user's own file: all but Macah stays as it was written, comments and macros too."""

from __future__ import annotations

import re
import shlex
import subprocess
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from macah.program import read_program
from macah.translate import translate

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path
    for folder in ("examples", "tests/cases/programs", "tests/cases/translate")
    for path in (ROOT / folder).glob("*.macah")
)
# Lines that may change: those with constructs, or with macros that have them, and ends of kernel blocks.
CONSTRUCT = re.compile(
    r"stream|<!|<\?|\bkernel\b|\bFOR\b|\bADPC\b|\bEXPECT\b|\bmem_(reader|writer)_|\^\]|\[\^|<<|>>|[/%]"
    r"|\b(min|max|abs)\b|\bGET\(|\bNEXT\(|\bINCREMENT\(|^#pragma macah|^    3};|^ *}$"
)


@pytest.mark.quick(17)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_only_constructs_change(path: Path) -> None:
    program = read_program(path)
    translation = translate(program, {})
    assert translation.flags, "the preprocessed text is given, not the file"
    source, result = path.read_text().splitlines(), translation.text.splitlines()
    matcher = SequenceMatcher(None, source, result, autojunk=False)
    changed = [
        line for kind, i1, i2, _, _ in matcher.get_opcodes() if kind != "equal" for line in source[i1:i2]
    ]
    assert [line for line in changed if not CONSTRUCT.search(line)] == []
    for comment in re.findall(r"//[^\n]*|/\*.*?\*/", path.read_text(), re.DOTALL):
        assert comment in translation.text


def test_the_documented_command_compiles(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    source = tmp_path / "sub" / "program.macah"
    (tmp_path / "sub" / "own.h").write_text("#define START 40\n")
    source.write_text(
        '#include "own.h"\n#include <stdio.h>\n'
        "int main(void) { int stream s = pstream_create(int); int x; s <! START + MORE; x <? s;\n"
        '  printf("%d\\n", x); return 0; }\n'
    )
    text = translate(read_program(source, ["-DMORE=2"]), {}).text
    (tmp_path / "program.c").write_text(text)
    command = text.splitlines()[0].removeprefix("/* ").removesuffix(" */").replace("FILE.c", "program.c")
    done = subprocess.run(
        ["bash", "-c", f"{command} -o program && ./program"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("42\n", "")
    assert "s = macah_create(int, 16" in text and "macah_send(s, START + MORE);" in text


def own_text(tmp_path: Path, text: str, **others: str) -> str:
    """What comes behind the head of a translation; `others` are headers."""
    for name, content in others.items():
        (tmp_path / f"{name}.h").write_text(content)
    source = tmp_path / "p.macah"
    source.write_text(text)
    translation = translate(read_program(source), {})
    assert translation.flags
    (tmp_path / "p.c").write_text(translation.text)
    command = shlex.join(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *translation.flags]
    )
    done = subprocess.run(f"{command} p.c", shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return translation.text.split(f'#line 1 "{source}"\n', 1)[1]


def test_comments_inside_constructs_stay(tmp_path: Path) -> None:
    assert own_text(
        tmp_path,
        "void f(short /* of */ stream in, int n) {\n  int x; // here\n  name: kernel /* body */ { // begins\n"
        "    x /* got */ <? /* from */ in; // done\n"
        "    in <! // value\n      x; x = x / /* over */ n;\n  }\n}\n",
    ) == (
        "void f(MACAH_STREAM(short) /* of */ in, int n) {\n  int x; // here\n"
        '  /* kernel name */ /* body */ { MACAH_KERNEL("name"); // begins\n'
        "    macah_receive(x, /* got */ /* from */ in); // done\n    macah_send(in, // value\n      x);"
        " x = macah_div(x, /* over */ n);\n  }\n}\n"
    )


def test_macros_stay_but_for_those_that_make_constructs(tmp_path: Path) -> None:
    text = own_text(
        tmp_path,
        "#define SEND(s, v) s <! v\n#define TWICE(x) ((x) * 2)\n#define IN in\n"
        "void f(int stream in) {\n  IN <! TWICE(3); SEND(in, TWICE(4));\n  int y = TWICE(5); IN <! y;\n}\n",
    )
    assert text.splitlines()[4:6] == [
        "  macah_send(IN, TWICE(3)); macah_send(in, ((4) * 2));",
        "  int y = TWICE(5); macah_send(IN, y);",
    ]


def test_headers_with_constructs_are_pasted(tmp_path: Path) -> None:
    text = own_text(
        tmp_path,
        '#include "plain.h"\n#include "macah.h"\n#include <stddef.h>\nvoid f(pipe p) { p <! SOME; }\n',
        plain="#pragma once\nenum { SOME = 3 };\n",
        macah="#pragma once\n/* pipes */\ntypedef int stream pipe;\n",
    )
    assert text.splitlines() == [
        '#include "plain.h"',
        f'#line 1 "{tmp_path}/macah.h"',
        "// #pragma once",
        "/* pipes */",
        "typedef MACAH_STREAM(int) pipe;",
        f'#line 3 "{tmp_path}/p.macah"',
        "#include <stddef.h>",
        "void f(pipe p) { macah_send(p, SOME); }",
    ]


def test_what_cannot_be_restored_is_the_preprocessed_text(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text('#line 7 "other.c"\nvoid f(int stream s) { s <! __LINE__; }\n')
    translation = translate(read_program(source), {})
    assert translation.flags == ()
    assert "macah_send(s, 7);" in translation.text
