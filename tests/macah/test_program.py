"""Programs: preprocessing, spans of what is Macah in the text, kernels and their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pycparser import c_ast

from macah.diagnostic import MacahError, Place
from macah.printer import show_unit
from macah.program import Program, contains_macah, parse_program, place_of, read_program, walk
from macah.syntax import KernelBlock, Receive, Send, UnrolledFor

CASES = sorted((Path(__file__).parent.parent / "cases" / "syntax").iterdir())

HEADERS = """
assert complex ctype errno fcntl fenv float inttypes iso646 limits locale math poll pthread sched semaphore
setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string sys/mman
sys/socket sys/stat sys/time sys/types sys/wait tgmath threads time uchar unistd wchar wctype
"""


def program(text: str) -> Program:
    return parse_program(text, Path("test.macah"))


def error_of(path: Path, *flags: str, cc: str = "cc") -> str:
    with pytest.raises(MacahError) as caught:
        read_program(path, flags, cc)
    return caught.value.diagnostics[0].message


def text_of(p: Program, node: Any) -> str:
    span = p.span_of(node)
    assert span is not None
    return p.text[slice(*span)]


# ---- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags", [(), ("-D_GNU_SOURCE", "-O2", "-D_FORTIFY_SOURCE=2"), ("-std=c11",)], ids=str
)
def test_real_system_headers_parse(tmp_path: Path, flags: tuple[str, ...]) -> None:
    source = tmp_path / "headers.macah"
    source.write_text("".join(f"#include <{name}.h>\n" for name in HEADERS.split()) + "int stream last;\n")
    p = read_program(source, flags)
    assert len(p.unit.ext) > 1000
    assert [n.name for n in p.unit.ext if p.contains_macah(n)] == ["last"]
    assert not p.warnings


def test_flags_reach_the_preprocessor_and_macah_is_defined(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("int included;\n")
    source = tmp_path / "p.macah"
    source.write_text('#include "own.h"\n#ifdef __MACAH__\nint NAME;\n#endif\n')
    p = read_program(source, ["-DNAME=defined_by_flag", f"-I{tmp_path}"])
    assert [n.name for n in p.unit.ext] == ["included", "defined_by_flag"]
    assert place_of(p.unit.ext[0]) == Place(str(tmp_path / "own.h"), 1, 5)
    assert place_of(p.unit.ext[1]) == Place(str(source), 3, 5)


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        ("\tint   a  /* @ */ =\t\tTWO   +  @   3;", "@   3"),
        ('int  a  =  TWICE( TWO )   +   "TWO   @ "   -   @;', "@;"),
        ("int a   =  TWICE( 1   +   @ );", "@"),
        ("int  x  ;   foo   y;", "foo"),
        ("int  x  =  2  WORSE ;", "  WORSE"),
    ],
)
def test_columns_are_those_of_the_file_in_spite_of_the_preprocessor(
    line: str, bad: str, tmp_path: Path
) -> None:
    source = tmp_path / "p.macah"
    source.write_text(f"#define TWO 2\n#define TWICE(x) (2 * (x))\n#define WORSE 3 4\n{line}\n")
    with pytest.raises(MacahError) as caught:
        read_program(source)
    assert caught.value.diagnostics[0].where == Place(str(source), 4, line.index(bad) + 1)


def test_nodes_have_the_columns_of_the_file(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text(
        "#define S(x, s) x  <?   s\nvoid  f(int stream s, int x)  {   S(x, s);   kernel   {  } }\n"
    )
    p = read_program(source)
    receive = p.unit.ext[0].body.block_items[0]
    assert isinstance(receive, Receive)
    assert [place_of(n).column for n in (p.unit.ext[0], receive)] == [7, 37]
    assert p.kernels[0].where == Place(str(source), 2, 46)


def test_preprocessor_errors_are_shown_as_they_are(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text('int x;\n#include "missing.h"\n')
    with pytest.raises(MacahError) as caught:
        read_program(source, (), "cc")
    assert f"{source}:2:10: fatal error: missing.h: No such file or directory" in caught.value.output
    assert '#include "missing.h"' in caught.value.output


def test_preprocessor_warnings_are_kept(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text("#warning look here\n")
    assert "look here" in read_program(source).warnings


def test_unusable_inputs_are_errors(tmp_path: Path) -> None:
    assert (
        error_of(tmp_path / "none.macah")
        == f"cannot read '{tmp_path / 'none.macah'}': no such file or directory"
    )
    assert error_of(tmp_path) == f"cannot read '{tmp_path}': is a directory"
    assert "null" in error_of(Path("a\0b"))


def test_text_that_is_not_utf8_is_an_error_with_its_place(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_bytes(b'int x;\nchar *s = "\xe9";\n')
    with pytest.raises(MacahError, match="UTF-8") as caught:
        read_program(source)
    assert caught.value.diagnostics[0].where == Place(str(source), 2, 12)


def test_a_missing_compiler_is_an_error_that_says_what_to_install(tmp_path: Path) -> None:
    source = tmp_path / "p.macah"
    source.write_text("int x;\n")
    with pytest.raises(MacahError, match="cannot find the C compiler 'no-such-cc'") as caught:
        read_program(source, cc="no-such-cc")
    assert "gcc" in caught.value.diagnostics[0].hint


def test_nothing_in_a_file_name_is_taken_for_an_option_or_for_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("-x.macah", "a b; touch c.macah"):
        Path(name).write_text("int x;\n")
        assert [n.name for n in read_program(Path(name)).unit.ext] == ["x"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["-x.macah", "a b; touch c.macah"]


# ---- spans ---------------------------------------------------------------------------------------


def test_top_level_spans_leave_out_attributes_before_and_linemarkers() -> None:
    text = '# 1 "a.h"\n__attribute__((cold)) int f(void);\n\n# 9 "b.c"\nint a, *b;\nvoid g(void) { }\n'
    p = program(text)
    assert [p.text[a:b] for a, b in p.spans] == [
        "int f(void);",
        "int a, *b;",
        "int a, *b;",
        "void g(void) { }",
    ]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_the_text_of_every_span_at_the_top_is_that_declaration(path: Path) -> None:
    p = read_program(path)
    types = "".join(show_unit(c_ast.FileAST([n])) for n in p.unit.ext if isinstance(n, c_ast.Typedef))
    known = len(program(types).unit.ext)
    before = (0, 0)
    for node, span in zip(p.unit.ext, p.spans, strict=True):
        assert span == p.span_of(node)
        assert span[0] >= before[1] or span == before
        before = span
        if place_of(node).file == str(path):
            again = program(types + p.text[slice(*span)]).unit.ext[known:]
            assert show_unit(node) in [show_unit(n) for n in again]


def test_spans_inside_functions() -> None:
    body = """{
  __attribute__((unused)) int stream a = pstream_create(int), b;
  work: kernel { x <? a; }
  w :: (*p) <? a ;
  for (b <! 1; ; (d >>= 1)) ;
  FOR (;;) { }
  if (d <<= 2, c) return (f(sizeof (int stream)));
}"""
    p = program(f"int f(int stream x, int d) {body}")
    function = p.unit.ext[0]
    assert text_of(p, function.body) == body
    found = {
        type(n).__name__: text_of(p, n) for n in walk(function) if isinstance(n, KernelBlock | UnrolledFor)
    }
    assert found == {"KernelBlock": "work: kernel { x <? a; }", "UnrolledFor": "FOR (;;) { }"}
    transfers = [text_of(p, n) for n in walk(function) if isinstance(n, Send | Receive)]
    assert transfers == ["x <? a", "w :: (*p) <? a", "b <! 1"]
    shifts = [text_of(p, n) for n in walk(function) if isinstance(n, c_ast.Assignment)]
    assert shifts == ["d >>= 1", "d <<= 2"]
    declarations = [n for n in function.body.block_items if isinstance(n, c_ast.Decl)]
    assert [text_of(p, n) for n in declarations] == ["int stream a = pstream_create(int), b;"] * 2
    assert [text_of(p, n) for n in function.decl.type.args.params] == ["int stream x", "int d"]
    calls = [text_of(p, n) for n in walk(function) if isinstance(n, c_ast.FuncCall)]
    assert calls == ["pstream_create(int)", "f(sizeof (int stream))"]
    assert text_of(p, [n for n in walk(function) if isinstance(n, c_ast.Typename)][-2]) == "int stream"


def test_nodes_without_text_of_their_own_have_no_span() -> None:
    p = program("int x;")
    assert p.span_of(p.unit.ext[0].type) is None
    assert p.span_of(c_ast.ID("x")) is None


# ---- what is Macah -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_macah"),
    [
        ("int stream s;", True),
        ("int f(int stream s);", True),
        ("int a[^4^];", True),
        ("const int N = ADPC(1, 4);", True),
        ("int f(int c) { return EXPECT(c, 0.5); }", True),
        ("void f(void) { g(mem_reader_spawn_depth(4, h)); }", True),
        ("void f(void) { kernel { } }", True),
        ("void f(int w, int x, void *s) { x <? s; }", True),
        ("void f(int n) { FOR (;;) ; }", True),
        ("int f(int n) { n <<= 1; return n < !n; }", False),
        ("struct stream { int kernel; } FOR;", False),
    ],
)
def test_contains_macah(text: str, is_macah: bool) -> None:
    assert contains_macah(program(text).unit) is is_macah


def test_shifts_are_macah_where_a_name_is_shiftable() -> None:
    p = program(
        "typedef int line[^4^]; line a; struct w { int p[2][^4^]; } w; int b;"
        "void f(void) { a <<= 1; } void g(void) { w.p[1] >>= b; } void h(void) { b <<= 1; }"
    )
    assert p.shiftable == {"line", "a", "p"}
    functions = [n for n in p.unit.ext if isinstance(n, c_ast.FuncDef)]
    assert [p.contains_macah(n) for n in functions] == [True, True, False]
    assert not any(contains_macah(n) for n in functions)


# ---- kernels -------------------------------------------------------------------------------------


def test_kernels_have_unique_names_in_order() -> None:
    p = program(
        "void f(void) { kernel { } kernel { } k: kernel { } }"
        "void g(void) { k: kernel { } if (1) kernel { } }\n"
        "void h(void) { f_kernel: kernel { } }"
    )
    assert [(k.index, k.name, k.function.decl.name) for k in p.kernels] == [
        (0, "f_kernel2", "f"),
        (1, "f_kernel3", "f"),
        (2, "k", "f"),
        (3, "k2", "g"),
        (4, "g_kernel", "g"),
        (5, "f_kernel", "h"),
    ]
    assert p.kernels[5].where == Place("test.macah", 2, 16)
    assert all(isinstance(k.node, KernelBlock) for k in p.kernels)


def test_a_kernel_in_a_kernel_is_none_of_its_own() -> None:
    p = program("void f(void) { kernel {\n  if (1) kernel { } } kernel { } }")
    assert [k.where.column for k in p.kernels] == [16, 23]


def test_places_of_nodes_without_coordinates_are_those_of_their_parts() -> None:
    p = program("int x = sizeof(int);")
    typename = p.unit.ext[0].init.expr
    assert typename.type.coord is None
    assert place_of(typename.type) == Place("test.macah", 1, 16)
    assert place_of(c_ast.TypeDecl(None, None, None, None)) == Place("<unknown>", 0)
