"""Macah's grammar: every construct gives its node, every word stays a name where C has use for one."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycparser import c_ast

from macah.diagnostic import MacahError, Place
from macah.parser import MacahParser
from macah.program import walk
from macah.syntax import Asm, KernelBlock, Receive, Send, ShiftableDecl, StreamType, UnrolledFor

CASES = sorted((Path(__file__).parent.parent / "cases" / "syntax").iterdir())


def parse(text: str) -> Any:
    return MacahParser().parse(text, "test.macah")


def statements(text: str) -> list[Any]:
    return list(parse(f"void f(void) {{ {text} }}").ext[0].body.block_items or [])


def statement(text: str) -> Any:
    (only,) = statements(text)
    return only


def declaration(text: str) -> Any:
    return parse(text).ext[-1]


def error(text: str) -> MacahError:
    with pytest.raises(MacahError) as caught:
        parse(text)
    return caught.value


def base(node: Any) -> Any:
    """The type that a declaration has behind its pointers, arrays and functions."""
    while isinstance(node, c_ast.Decl | c_ast.PtrDecl | c_ast.ArrayDecl | c_ast.FuncDecl | c_ast.TypeDecl):
        node = node.type
    return node


# ---- stream types --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("int stream s;", "s"),
        ("unsigned long long stream s[3], t;", "t"),
        ("struct p { int a; } stream *s;", "s"),
        ("enum e { A } stream s;", "s"),
        ("typedef short word; word stream s;", "s"),
        ("static const int stream s = 0;", "s"),
        ("int stream static s;", "s"),
        ("int stream (*s)(int);", "s"),
        ("int stream f(void);", "f"),
        ("int stream stream;", "stream"),
        ("struct stream stream stream;", "stream"),
        ("typedef int stream; int stream s;", "s"),
    ],
)
def test_stream_behind_a_type_and_before_a_declarator_makes_a_stream_type(text: str, name: str) -> None:
    node = declaration(text)
    assert node.name == name
    assert isinstance(base(node), StreamType)
    assert isinstance(base(node).element, c_ast.Typename)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("int stream;", "stream"),
        ("int stream = 1, s;", "s"),
        ("int stream[3];", "stream"),
        ("int stream(int s);", "stream"),
        ("struct stream s;", "s"),
        ("typedef int stream; stream s;", "s"),
        ("typedef int stream;", "stream"),
    ],
)
def test_stream_stays_a_name_where_c_has_use_for_it(text: str, name: str) -> None:
    node = declaration(text)
    assert node.name == name
    assert not any(isinstance(n, StreamType) for n in walk(node))


def test_a_parameter_named_stream_is_no_stream() -> None:
    (parameter,) = declaration("void f(int stream);").type.args.params
    assert (parameter.name, base(parameter).names) == ("stream", ["int"])


@pytest.mark.parametrize("text", ["(int stream)p", "(int stream *)p", "sizeof(int stream[2])"])
def test_type_names_can_be_stream_types(text: str) -> None:
    assert sum(isinstance(n, StreamType) for n in walk(statement(f"x = {text};"))) == 1


def test_qualifiers_of_a_stream_declaration_belong_to_the_handle() -> None:
    node = declaration("const int stream volatile s;")
    assert node.type.quals == ["const", "volatile"]
    assert base(node).element.quals == []


def test_create_takes_a_type_only_where_it_is_one() -> None:
    typedef, function = parse(
        "typedef int T; void f(int n) { pstream_create(T, n); stream_create(unsigned char); { int T; "
        "pstream_create(T); g(T); } }"
    ).ext
    calls = [n for n in walk(function) if isinstance(n, c_ast.FuncCall)]
    assert [type(call.args.exprs[0]) for call in calls] == [
        c_ast.Typename,
        c_ast.Typename,
        c_ast.ID,
        c_ast.ID,
    ]
    assert [len(call.args.exprs) for call in calls] == [2, 1, 1, 1]


# ---- transfers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["s <! x;", "s<!x;", "*p <! x;", "a[0].s <! x;", "(s) <! x ? 1 : 2;", "s <! !x;"]
)
def test_send(text: str) -> None:
    node = statement(text)
    assert isinstance(node, Send)
    assert node.worked is None


@pytest.mark.parametrize(
    "text", ["x <? s;", "x<?s;", "*p <? s;", "a[i++] <? s[0];", "p->m <? *s;", "(x) <? s;"]
)
def test_receive(text: str) -> None:
    node = statement(text)
    assert isinstance(node, Receive)
    assert node.worked is None


def test_non_blocking_transfers_say_whether_they_worked() -> None:
    send, receive = statements("w[1] :: s <! e = 1; (w)::x<?s;")
    assert isinstance(send, Send)
    assert isinstance(receive, Receive)
    assert isinstance(send.worked, c_ast.ArrayRef)
    assert isinstance(send.value, c_ast.Assignment)
    assert (receive.worked.name, receive.target.name, receive.stream.name) == ("w", "x", "s")


@pytest.mark.parametrize(
    "text",
    ["a < !b;", "a <! b, c;", "x = a <! b;", "(int)a <! b;", "a + b <! c;", "c ? a <! b : d;", "f(a <! b);"],
)
def test_less_than_and_not_elsewhere_than_in_a_send_statement(text: str) -> None:
    nodes = list(walk(statement(text)))
    assert not any(isinstance(n, Send) for n in nodes)
    assert any(isinstance(n, c_ast.BinaryOp) and n.op == "<" for n in nodes)
    assert any(isinstance(n, c_ast.UnaryOp) and n.op == "!" for n in nodes)


def test_a_parenthesized_cast_is_a_unary_expression_and_can_be_sent_to() -> None:
    assert isinstance(statement("((int stream)p) <! b;"), Send)


def test_transfers_in_the_head_of_for() -> None:
    loop = statement("for (w :: x <? s; x <! y; t <! x) ;")
    assert isinstance(loop.init, Receive)
    assert isinstance(loop.cond, c_ast.BinaryOp)
    assert isinstance(loop.next, Send)


# ---- statements and declarations -----------------------------------------------------------------


def test_kernel_blocks_with_and_without_a_label() -> None:
    plain, named, outer = statements("kernel { } k: kernel { } a: b: kernel { int kernel; }")
    assert (type(plain), plain.name) == (KernelBlock, None)
    assert (type(named), named.name) == (KernelBlock, "k")
    assert (type(outer), outer.name) == (c_ast.Label, "a")
    assert (type(outer.stmt), outer.stmt.name) == (KernelBlock, "b")


def test_unrolled_for_needs_the_semicolons_of_a_loop() -> None:
    loop, call, nested = statements("FOR (int i = 0; i < 3; i++) f(i); FOR(x); FOR (;;) FOR (;;) break;")
    assert isinstance(loop, UnrolledFor)
    assert isinstance(loop.init, c_ast.DeclList)
    assert isinstance(call, c_ast.FuncCall)
    assert isinstance(nested.stmt, UnrolledFor)


def test_a_call_of_FOR_with_a_statement_expression_is_a_call() -> None:
    assert isinstance(statement("FOR(({ x; }));"), c_ast.FuncCall)


def test_shiftable_dimensions() -> None:
    outer = declaration("int a[^N ^ 1^][M][^2^];").type
    kinds = [type(outer), type(outer.type), type(outer.type.type)]
    assert kinds == [ShiftableDecl, c_ast.ArrayDecl, ShiftableDecl]
    assert isinstance(outer.dim, c_ast.BinaryOp)
    named, abstract = declaration("void f(int a[^4^], int [^4^]);").type.args.params
    assert type(named.type) is type(abstract.type) is ShiftableDecl


def test_asm_is_kept_in_its_spelling() -> None:
    text = '__asm__ volatile ("x" : "+r"(a) :: "memory")'
    node = statement(text + ";")
    assert isinstance(node, Asm)
    assert node.text == text


def test_labels_may_have_the_names_of_types() -> None:
    assert isinstance(
        parse("typedef int T; void f(void) { T: goto T; }").ext[1].body.block_items[0], c_ast.Label
    )


@pytest.mark.parametrize(
    ("spelling", "kind"),
    [
        ("'a'", "char"),
        ("'uu'", "int"),
        ("'\\x41g'", "int"),
        ("1.5f", "float"),
        ("1ull", "unsigned long long int"),
    ],
)
def test_constants(spelling: str, kind: str) -> None:
    node = statement(f"{spelling};")
    assert (node.value, sorted(node.type.split())) == (spelling, sorted(kind.split()))


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("int x\nint y;", "expected ';' before 'int'", "1:6"),
        ("foo x;", "unknown type name 'foo'", "1:1"),
        ("foo *x;", "unknown type name 'foo'", "1:1"),
        ("void f(foo x);", "unknown type name 'foo'", "1:8"),
        ("struct s { foo x; };", "unknown type name 'foo'", "1:12"),
        ("void f(void) { foo x; }", "unknown type name 'foo'", "1:16"),
        ("int f(void) { return (1; }", "expected ')' before ';'", "1:24"),
        ("int x = ;", "expected expression before ';'", "1:9"),
        ("void f(void) {", "expected '}' at end of input", "1:15"),
        ('char *s = "abc;\n', 'missing terminating " character', "1:11"),
        ("int c = '';", "empty character constant", "1:9"),
        ("int x = 0x;", "invalid number '0x'", "1:9"),
        ("int x @ 3;", "stray '@' in program", "1:7"),
        ("int x; # y", "stray '#' in program", "1:8"),
        ("x;", "a declaration needs a type", "1:1"),
        ("int T; typedef int T;", "'T' redeclared as different kind of symbol", "1:20"),
        ("int struct s x;", "two or more data types in declaration specifiers", "1:12"),
        ("kernel { }", "a kernel block must stand inside a function", "1:1"),
        ("int a[^^];", "a shiftable dimension '[^N^]' needs a size", "1:8"),
        ("int a[^4];", "expected '^]' before ']'", "1:9"),
        ("int stream stream s;", "the elements of a stream cannot be streams", "1:12"),
        ("void f(void) { 3 <? s; }", "lvalue required as left operand of '<?'", "1:16"),
        ("void f(void) { (int)x <? s; }", "lvalue required as left operand of '<?'", "1:16"),
        ("void f(void) { x + 1 :: y <? s; }", "'::' belongs before a send or receive", "1:22"),
        ("void f(void) { w :: x; }", "expected '<?' or '<!' before ';'", "1:22"),
        ("void f(void) { w :: s <! x, y; }", "expected ';' before ','", "1:27"),
        ("void f(void) { if (x <? s) ; }", "a receive '<?' must be a statement of its own", "1:22"),
        ("void f(void) { kernel k { } }", "expected '{' after 'kernel'", "1:23"),
        ("void f(int stream, int stream);", "two parameters named 'stream'", "1:12"),
        ("int __attribute__((packed x;", "missing ')' after '__attribute__'", "1:5"),
    ],
)
def test_errors_say_what_and_where(text: str, message: str, place: str) -> None:
    (diagnostic,) = error(text).diagnostics
    assert message in diagnostic.message
    assert str(diagnostic.where) == f"test.macah:{place}"


def test_linemarkers_give_the_original_place() -> None:
    (diagnostic,) = error('# 7 "dir/with \\"quotes\\".h" 1 3\nint x;\n# 40 "b.c" 2\n\n  int 3;').diagnostics
    assert diagnostic.where == Place("b.c", 41, 7)
    assert parse('# 7 "dir/with \\"quotes\\".h" 1 3\nint x;').ext[0].coord.file == 'dir/with "quotes".h'


@pytest.mark.parametrize(("before", "after"), [("(", ")"), ("{", "}"), ("({", ";});")])
def test_nesting_too_deep_is_an_error(before: str, after: str) -> None:
    depth = 20_000
    text = f"void f(void) {{ x; {before * depth} 1 {after * depth} ; }}"
    assert "nested too deeply" in str(error(text))


def test_reasonable_nesting_is_none() -> None:
    assert isinstance(statement("if (a) { b; " * 3000 + "}" * 3000), c_ast.If)
    assert isinstance(statement("x = " + "(" * 500 + "1" + ")" * 500 + ";"), c_ast.Assignment)
    assert isinstance(statement("if (a) b; " + "else if (a) b; " * 500), c_ast.If)


def test_guesses_about_sends_are_not_repeated() -> None:
    # Each level is read as a send at first; reading every inner one twice would take 2**40 steps.
    assert statement("a <! ({ " * 40 + "x;" + " }), y;" * 40)


def sources() -> list[str]:
    """The cases without what only the preprocessor understands."""
    texts = [path.read_text() for path in CASES]
    return [re.sub(r"(?s)^#include.*?$|/\*.*?\*/", "", text, flags=re.MULTILINE) for text in texts]


@pytest.mark.parametrize("seed", range(8))
def test_no_mutation_of_a_program_gives_anything_but_an_error(seed: int) -> None:
    choose = random.Random(seed)
    pieces = [re.findall(r"\s+|\w+|<!|<\?|::|.", text) for text in sources()]
    pool = [piece for text in pieces for piece in text] + [
        "[^",
        "^]",
        "\0",
        "é",
        "__asm__",
        '# 3 "x"\n',
        "[[",
    ]
    for _ in range(100):
        text = list(choose.choice(pieces))
        for _ in range(choose.randint(1, 4)):
            at = choose.randrange(len(text))
            text[at : at + choose.randint(0, 2)] = [choose.choice(pool)] * choose.randint(0, 2)
        try:
            parse("".join(text))
        except MacahError as mistake:
            assert mistake.diagnostics[0].where is not None


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(alphabet=st.sampled_from("int x;(){}[]^<?!:=*,.\"'\\#\n1e+stream kernel"), max_size=40))
def test_no_text_gives_anything_but_an_error(text: str) -> None:
    try:
        unit = parse(text)
    except MacahError as mistake:
        assert mistake.diagnostics[0].where is not None
    else:
        assert isinstance(unit, c_ast.FileAST)
