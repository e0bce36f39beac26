"""Layouts of structs that attributes and pragmas change are the C compiler's."""

import subprocess
from pathlib import Path

import pytest

from macah import ctypes
from macah.lower_declarations import Declarations
from macah.parser import MacahParser

STRUCTS = {
    "packed": "struct __attribute__((packed)) S { char a; int b; short c; long long d; };",
    "behind": "struct S { char a; struct { short c; long d; } b; } __attribute__((__packed__, aligned(4)));",
    "member": "struct S { char a; int b __attribute__((packed)); short d __attribute__((aligned(8))); };",
    "largest": "struct S { char a; short b; } __attribute__((aligned));",
    "alignas": "struct S { char a; _Alignas(16) short b; };",
    "bits": "struct __attribute__((packed)) S { int a : 5, b : 30, c : 3; char d; };",
    "pragma": "#pragma pack(push, 2)\nstruct S { char a; int b; long c; };\n#pragma pack(pop)\n",
    "popped": "#pragma pack(push)\n#pragma pack(1)\n#pragma pack(pop)\nstruct S { char a; int b; };\n",
    "named": "#pragma pack(push, n, 1)\nstruct S { char a; int b; };\n#pragma pack(pop, n)\n",
    "union": "union __attribute__((packed)) U { char a[5]; int b; }; struct S { char c; union U u; };",
}


@pytest.mark.parametrize("name", STRUCTS)
def test_the_layout_of_a_struct_is_the_compilers(name: str, tmp_path: Path) -> None:
    text = STRUCTS[name]
    declarations = Declarations(MacahParser().parse(text), {})
    struct = declarations.file.find_tag("S")
    assert isinstance(struct, ctypes.StructType)
    facts = {"sizeof(struct S)": struct.size, "_Alignof(struct S)": struct.align}
    facts |= {f"__builtin_offsetof(struct S, {m.name})": m.offset for m in struct.members if not m.bitfield}
    source = tmp_path / "layout.c"
    checks = "".join(f'_Static_assert({what} == {value}, "{value}");\n' for what, value in facts.items())
    source.write_text(f"{text}\n{checks}")
    done = subprocess.run(["cc", "-fsyntax-only", str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
