"""What the fuzzer starts from: the test cases and the examples, preprocessed without system headers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = (
    "tests/cases/*/*.macah",
    "tests/cases/*/*.c",
    "examples/*.macah",
)
# The types of the headers that are left out; host code that is only parsed needs no more.
HEADER = """\
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long uint64_t, size_t, pthread_t, uintptr_t; typedef long ssize_t, intptr_t, ptrdiff_t;
typedef struct FILE FILE; typedef __builtin_va_list va_list; typedef struct pthread_mutex_t pthread_mutex_t;
"""
MACROS = (
    *("-DNULL=((void*)0)", "-DEXIT_SUCCESS=0", "-DEXIT_FAILURE=1", "-Dbool=_Bool", "-Dtrue=1", "-Dfalse=0"),
    *("-DINT_MAX=2147483647", "-DINT_MIN=(-INT_MAX-1)", "-DUINT_MAX=4294967295u", "-DCHAR_BIT=8"),
    *(
        "-Dor=||",
        "-Dand=&&",
        "-Dnot=!",
        "-Dva_arg(v,t)=__builtin_va_arg(v,t)",
        "-Doffsetof(t,m)=__builtin_offsetof(t,m)",
        "-Dassert(x)=((x)?(void)0:__assert_fail(#x,__FILE__,__LINE__,__func__))",
    ),
)


def seeds() -> list[str]:
    """The programs, in a fixed order."""
    paths = sorted(path for pattern in SOURCES for path in ROOT.glob(pattern))
    return [preprocessed(path.read_text()) for path in paths]


def preprocessed(text: str) -> str:
    """A program without its headers and line markers."""
    text = re.sub(r"^[ \t]*#[ \t]*include\b.*", "", text, flags=re.MULTILINE)
    command = ["cc", "-E", "-P", "-D__MACAH__", *MACROS, "-x", "c", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return HEADER + done.stdout


_WORDS = """
kernel stream FOR ADPC EXPECT pstream_create pstream_free pstream_close pstream_ended pstream_empty
pstream_full mem_reader_spawn mem_writer_spawn mem_reader_spawn_depth mem_reader_join mem_writer_join
min max abs assert int char short long unsigned signed float double _Bool void const static volatile
struct union enum typedef if else while do for switch case default break continue return goto sizeof
_Alignof _Generic _Static_assert typeof extern inline restrict register _Atomic _Thread_local __int128
_Complex __label__ __extension__ asm __attribute__
<? <! :: [^ ^] ^ [ ] ( ) { } ; , . -> ++ -- + - * / % & | ~ ! << >> < > <= >= == != && || ? : = += -= *=
/= %= &= |= ^= <<= >>= ... # ##
0 1 2 3 7 8 31 32 33 63 64 -1 255 256 65535 65536 2147483647 2147483648 4294967295u 0x7fffffffffffffffll
18446744073709551615ull 99999999999999999999 0.5 1e9 0x1p3 'a' '\\n' "s" L"w" 1.0f 07 0b1
"""
DICTIONARY = _WORDS.split()

SNIPPETS = (
    "int stream s;",
    "x <? s;",
    "s <! x;",
    "w :: x <? s;",
    "w :: s <! x;",
    "kernel { x++; }",
    "name: kernel { while (1) { x <? s; if (!x) break; } }",
    "FOR (int i = 0; i < 4; i++) { a[i] = i; }",
    "for (x <? s; x; x <? s) t <! x;",
    "int a[^4^][2];",
    "a <<= 1;",
    "a[1] >>= n;",
    "const int N = ADPC(1, 8);",
    "enum { M = ADPC(2, 4) };",
    "if (EXPECT(x > 0, 0.25)) y = 1;",
    "s = mem_reader_spawn(f, a, 1);",
    "pstream_close(s);",
    "while (!pstream_ended(s)) { x <? s; }",
    "struct { int a : 3; long b; } z = { 1, .b = 2 };",
    "switch (x) { case 1: y = 1; case 2 ... 4: break; default: y--; }",
    "static const int table[4] = { 1, 2, [3] = 4 };",
    "int *p = &a[1]; *p++ = 2; y = p[-1];",
    "y = ({ int t = x; t * t; });",
    "long long q = x / 3 % 5; q ^= q >> 7;",
    "unsigned char c = x; c += 200;",
    "int f(int v) { return v > 0 ? f2(v - 1) : 0; }",
    "float g = x * 0.5f;",
    "do { if (x) continue; y++; } while (y < 3);",
    "goto end; end: ;",
    "return x;",
    "assert(x != 0);",
)
