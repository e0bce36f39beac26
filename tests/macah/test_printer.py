"""What the printer writes parses to a tree that prints the same, and means the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pycparser import c_ast

from macah.diagnostic import MacahError
from macah.parser import MacahParser
from macah.printer import show_unit
from macah.program import read_program

CASES = sorted((Path(__file__).parent.parent / "cases" / "syntax").iterdir())
C_CASES = [path for path in CASES if path.suffix == ".c"]


def shown(text: str) -> str:
    return show_unit(MacahParser().parse(text))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_printing_and_parsing_again_prints_the_same(path: Path) -> None:
    once = show_unit(read_program(path).unit)
    assert shown(once) == once


def run(source: Path, program: Path) -> str:
    subprocess.run(["cc", "-w", "-o", program, source, "-lm"], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("path", C_CASES, ids=lambda path: path.name)
def test_c_compiled_as_printed_does_the_same(path: Path, tmp_path: Path) -> None:
    printed = tmp_path / "printed.c"
    printed.write_text(show_unit(read_program(path).unit))
    output = run(printed, tmp_path / "printed")
    assert output
    assert output == run(path, tmp_path / "original")


@pytest.mark.parametrize(
    "text",
    [
        "int stream s, *t;",
        "unsigned char stream f(int stream a, int stream b[2]);",
        "typedef short stream word;",
        "int a[^4^][2];",
        "int a[^N ^ 1^];",
        "void f(int [^4^]);",
    ],
)
def test_declarations_print_as_they_are_written(text: str) -> None:
    # Each declarator is a declaration of its own; only structures are shared.
    expected = text.replace(" s, *t;", " s;\nint stream *t;")
    assert shown(text) == expected + "\n"


@pytest.mark.parametrize(
    "text",
    [
        "s <! x + 1;",
        "*p <! (short) x;",
        "s <! (x, y);",
        "w :: x[0] <? s.t;",
        '__asm__ volatile ("" : : "r"(x));',
        "for (x <? s; x; w :: s <! x)\n  ;",
        "FOR (int i = 0; i < 3; i++)\n  a[i] <? s;",
        "named: kernel\n{\n  x <? s;\n}",
        "if (x)\n  kernel\n{\n}",
        "x = pstream_create(struct s, 3);",
    ],
)
def test_statements_print_as_they_are_written(text: str) -> None:
    lines = [line for line in shown(f"void f(void) {{ {text} }}").splitlines() if line]
    assert lines[2:-1] == [f"  {line}" for line in text.splitlines()]


def test_declarators_that_share_a_structure_stay_one_declaration() -> None:
    text = shown("struct p { int a; } stream s, *t; struct q { int b; } x, y;")
    assert text.count("int a;") == text.count("int b;") == 1


@pytest.mark.parametrize(
    "text",
    [
        'int f(void) __asm__("g") __attribute__((pure));',
        "struct __attribute__((packed)) s\n{\n  int a __attribute__((aligned(8)));\n} x;",
        "enum __attribute__((packed)) e\n{\n  A\n};",
        "typedef int v __attribute__((vector_size(16)));",
        "int (*p)(void) __attribute__((noreturn));",
        "__attribute__((noinline)) static int f(void)\n{\n}\n",
    ],
)
def test_attributes_are_kept(text: str) -> None:
    assert shown(text) == text + "\n"


def test_attributes_behind_a_definition_belong_to_it() -> None:
    structure = (
        MacahParser().parse("struct s { int a; } __attribute__((packed)) x __attribute__((unused));").ext[0]
    )
    assert [a.arguments for a in structure.type.type.attributes] == ["(packed)"]
    assert [a.arguments for a in structure.type.attributes] == ["(unused)"]


def test_less_than_and_not_does_not_print_as_a_send() -> None:
    text = shown("int f(int a, int b) { a < !b; return a < !b; }")
    assert "<!" not in text.replace(" ", "  ")
    assert "a < (!b);" in text


def test_a_part_of_a_tree_can_be_printed() -> None:
    function = MacahParser().parse("int f(int a) { return a * 2; }").ext[0]
    assert show_unit(function.body.block_items[0]) == "return a * 2;"


def test_a_tree_too_deep_to_print_is_an_error() -> None:
    node = c_ast.ID("x")
    for _ in range(100_000):
        node = c_ast.UnaryOp("!", node)
    with pytest.raises(MacahError, match="nested too deeply"):
        show_unit(node)
