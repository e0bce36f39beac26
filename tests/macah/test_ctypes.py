"""C's types are the host's: sizes, layouts, conversions and spellings are compared with gcc's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from macah import ctypes
from macah.cli_options import UsageError
from macah.cli_parse import parse
from macah.ctypes import ArrayType, Integer, Pointer, StructType, basic_type, common_type, promote
from macah.diagnostic import MacahError
from macah.lower_constants import adpc_value, integer_constant, string_units
from macah.lower_declarations import Declarations
from macah.lower_scope import Constant, Object
from macah.program import parse_program

SIGNED_OR_NOT = ["char", "short", "int", "long", "long long"]
INTEGERS = [
    basic_type(words.split())
    for words in ["_Bool", "signed char", *SIGNED_OR_NOT, *(f"unsigned {name}" for name in SIGNED_OR_NOT)]
]


def declarations(text: str) -> Declarations:
    return Declarations(parse_program(text, Path("t.c")).unit, {})


def type_of(text: str, name: str) -> ctypes.CType:
    found = declarations(text).file.find(name)
    assert isinstance(found, Object)
    return found.type


def constant(expression: str, before: str = "") -> int:
    found = declarations(f"{before}\nenum {{ X = ({expression}) }};").file.find("X")
    assert isinstance(found, Constant), found
    return found.value


def outputs_of_gcc(text: str, folder: Path) -> list[str]:
    source = folder / "t.c"
    source.write_text(text)
    subprocess.run(["gcc", "-w", "-o", folder / "t", source], check=True)
    return subprocess.run([folder / "t"], check=True, capture_output=True, text=True).stdout.split()


def test_structs_are_laid_out_as_gcc_does(tmp_path: Path) -> None:
    structs = {
        "A": "struct { char a; int b; short c; }",
        "B": "struct { char a; struct { long x; char y; } b[2]; char c[3]; }",
        "C": "union { char a[5]; int b; }",
        "D": "struct { unsigned a : 3, b : 30; char c; }",
        "E": "struct { char a : 4; int : 0; char b; long c : 40; short d : 9; }",
        "F": "struct { char a; void *p; _Bool b; double d; float f[3]; }",
        "G": "struct { struct { short s; int i; }; union { char c; long l; }; }",
        "H": "struct { int a; char tail[]; }",
        "I": "struct { char a; __int128 b; long double c; }",
    }
    text = "".join(f"typedef {body} {name}; {name} v{name};\n" for name, body in structs.items())
    prints = "".join(f'printf("%zu %zu ", sizeof({n}), _Alignof({n}));' for n in structs)
    expected = outputs_of_gcc(f"#include <stdio.h>\n{text}int main(void) {{ {prints} }}", tmp_path)
    found = []
    for name in structs:
        ctype = type_of(text, f"v{name}")
        found += [str(ctypes.size_of(ctype)), str(ctypes.align_of(ctype))]
    assert found == expected


def test_arithmetic_conversions_are_those_of_gcc(tmp_path: Path) -> None:
    kinds = ", ".join(f'{t}: "{t}"' for t in INTEGERS)
    pairs = [(a, b) for a in INTEGERS for b in INTEGERS]
    prints = "".join(f"puts(_Generic(({a})0 + ({b})0, {kinds}));" for a, b in pairs)
    done = outputs_of_gcc(f"#include <stdio.h>\nint main(void) {{ {prints} }}", tmp_path)
    expected = " ".join(done)
    assert " ".join(str(common_type(a, b)) for a, b in pairs) == expected  # type: ignore[arg-type]


def test_constant_expressions_have_gcc_values(tmp_path: Path) -> None:
    before = "typedef struct { char c; int i[3]; } S; S s; enum { A = 3, B }; const short T[] = { 1, 2, 3 };"
    expressions = [
        "1 + 2 * 3 - -4",
        "-7 / 2 * 10 + -7 % 3",
        "1u - 2 > 0",
        "-1 < 1u",
        "(unsigned char)300 + (signed char)200",
        "sizeof(S) + sizeof s.i + sizeof T / sizeof T[0] + sizeof(&s) + sizeof(char[A][B])",
        "A ? B : 1 / A",
        "'a' + '\\n' + '\\x41' + '\\101' + '\\0'",
        "(1 << 20 | 7) >> 2 ^ ~5",
        "!A + !!B + (A && 0) + (0 || B)",
        "(int)(1.5 * 4) + (int)2.9f",
        "0x7fffffff + 0b101 + 017",
        "(long)-1 < 0 && -1L < 1u",
        "sizeof(1 ? 1L : 2) + sizeof('a') + sizeof(1.0f)",
        "(char)200 >> 1",
    ]
    text = f"#include <stdio.h>\n{before}\nint main(void) {{"
    text += "".join(f'printf("%d ", (int)({e}));' for e in expressions) + "}"
    assert [str(constant(e, before)) for e in expressions] == outputs_of_gcc(text, tmp_path)


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("10", "int 10"),
        ("2147483648", "long 2147483648"),
        ("0x80000000", "unsigned int 2147483648"),
        ("10u", "unsigned int 10"),
        ("10LL", "long long 10"),
        ("10uL", "unsigned long 10"),
        ("0xffffffffffffffff", "unsigned long 18446744073709551615"),
        ("010", "int 8"),
        ("0b11", "int 3"),
    ],
)
def test_integer_constants_have_the_type_c_gives_them(spelled: str, expected: str) -> None:
    found = integer_constant(spelled)
    assert found is not None and f"{found[0]} {found[1]}" == expected


def test_strings_are_cut_into_the_units_of_their_encoding() -> None:
    assert string_units('"a\\n\\x41\\101\\\\"') == (ctypes.CHAR, [97, 10, 65, 65, 92])
    assert string_units('L"é"') == (ctypes.INT, [233])
    assert string_units(r'L"\u00e9\\u0041\U0001F600"') == (ctypes.INT, [233, 92, *b"u0041", 0x1F600])
    assert string_units(r'u"a\U0001F600"') == (ctypes.USHORT, [97, 0xD83D, 0xDE00])
    assert string_units(r"'\u00e9'") == string_units("'é'")
    assert string_units('"é"')[1] == [ctypes.CHAR.wrap(0xC3), ctypes.CHAR.wrap(0xA9)]


@pytest.mark.parametrize(
    ("declaration", "text"),
    [
        ("int *v;", "int *"),
        ("const char *v[3];", "const char *[3]"),
        ("int (*v)[4];", "int (*)[4]"),
        ("int (*v)(long, ...);", "int (*)(long, ...)"),
        ("struct s { int x; } v[2];", "struct s[2]"),
        ("unsigned long long int v;", "unsigned long long"),
        ("short stream v[2];", "short stream[2]"),
        ("short v[^4^][2];", "short[^4^][2]"),
    ],
)
def test_types_are_spelled_as_in_c(declaration: str, text: str) -> None:
    assert str(type_of(declaration, "v")) == text


def test_an_array_gets_its_length_from_its_initializer() -> None:
    assert type_of("int v[] = { 1, [5] = 2, 3 };", "v") == ArrayType(ctypes.INT, 7)
    assert type_of('char v[] = "abc";', "v") == ArrayType(ctypes.CHAR, 4)
    assert type_of("struct { int x, y; } v[] = { 1, 2, 3 };", "v").length == 2  # type: ignore[union-attr]


def test_a_struct_is_equal_only_to_itself_and_finds_anonymous_members() -> None:
    text = "struct a { int x; struct { int y; }; }; struct b { int x; }; struct a p, q; struct b r;"
    p, q, r = (type_of(text.replace("p, q; struct b r", "p, q; struct b r"), n) for n in "pqr")
    scope = declarations(text).file
    a, again = scope.find("p"), scope.find("q")
    assert isinstance(a, Object) and isinstance(again, Object) and a.type is again.type
    assert isinstance(p, StructType) and isinstance(q, StructType) and p != r
    assert [m.offset for m in p.find("y")] == [4, 0]


def test_promotion_keeps_what_int_cannot_hold() -> None:
    assert promote(ctypes.USHORT) == ctypes.INT
    assert promote(ctypes.UINT) == ctypes.UINT
    assert promote(ctypes.BOOL) == ctypes.INT


def test_a_type_that_is_declared_in_pieces_is_complete() -> None:
    text = (
        "struct node { struct node *next; struct leaf *leaf; int v; }; struct leaf { int z; }; struct node v;"
    )
    found = type_of(text, "v")
    assert isinstance(found, StructType)
    leaf = found.find("leaf")[0].type
    assert isinstance(leaf, Pointer)
    assert isinstance(leaf.target, StructType)


def test_a_pseudo_constant_has_its_least_or_its_chosen_value() -> None:
    assert adpc_value("N", 2, 8, {}) == 2
    assert adpc_value("N", 2, 8, {"N": 5}) == 5
    with pytest.raises(MacahError, match="not in its range 2 to 8"):
        adpc_value("N", 2, 8, {"N": 9})


def test_integers_wrap_as_conversions_do() -> None:
    char = ctypes.SCHAR
    assert [char.wrap(n) for n in (127, 128, -129, 256)] == [127, -128, 127, 0]
    assert ctypes.BOOL.wrap(256) == 1
    assert isinstance(basic_type(["long", "unsigned", "int"]), Integer)


@pytest.mark.parametrize("flag", ["-ansi", "-std=gnu89", "-fshort-enums", "-fshort-wchar", "-fpack-struct=2"])
def test_options_that_change_what_types_are_are_refused(flag: str) -> None:
    with pytest.raises(UsageError, match=f"^{flag}"):
        parse(["--mode", "c", flag, "anything.macah"])


@pytest.mark.parametrize("flag", ["-std=c99", "-std=gnu17", "-fwrapv", "-fno-short-enums"])
def test_other_options_of_the_kind_are_not(flag: str) -> None:
    assert parse(["--mode", "c", flag, "anything.macah"]).mode == "c"
