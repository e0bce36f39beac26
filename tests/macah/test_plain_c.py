"""Plain C, GNU's extensions included, goes through the compiler untouched, byte for byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from macah.diagnostic import MacahError
from macah.program import parse_program, place_of, read_program, walk
from macah.translate import to_c

CASES = sorted((Path(__file__).parent.parent / "cases" / "syntax").glob("*.c"))

HEADERS = (
    *(
        "assert",
        "complex",
        "ctype",
        "errno",
        "fenv",
        "float",
        "inttypes",
        "iso646",
        "limits",
        "locale",
        "math",
    ),
    *(
        "setjmp",
        "signal",
        "stdalign",
        "stdarg",
        "stdatomic",
        "stdbool",
        "stddef",
        "stdint",
        "stdio",
        "stdlib",
    ),
    *("stdnoreturn", "string", "tgmath", "threads", "time", "uchar", "wchar", "wctype"),
    *(
        "arpa/inet",
        "dirent",
        "fcntl",
        "glob",
        "grp",
        "netdb",
        "netinet/in",
        "poll",
        "pthread",
        "pwd",
        "regex",
    ),
    *("sched", "semaphore", "sys/ioctl", "sys/mman", "sys/resource", "sys/select", "sys/socket", "sys/stat"),
    *("sys/time", "sys/types", "sys/wait", "termios", "unistd", "immintrin"),
)

FRAGMENTS = (
    # Labels as values, ranges, nested functions and GNU's other statements.
    "int f(int x) { static void *t[] = { [0] = &&a, [1] = &&b }; goto *t[x]; a: return 1; b: return 2; }",
    "int f(int x) { static int t[] = { &&b - &&a }; a: b: goto *(&&a + t[x]); }",
    "int f(int x) { switch (x) { case 1 ... 5: return 1; case 'a'...'z': return 2; default: return 0; } }",
    "int f(int x) { return x ?: 3; } int b = 1 ?: 2;",
    "struct s { int a, b; }; struct s x = { a: 1, b: 2 }; int y[9] = { [1 ... 3] = 4, [5] 1 };",
    "int f(void) { auto int g(int); int g(int y) { return y + 1; } return g(1); }",
    "int f(int x) { return ({ __label__ l, m; l: m: x; }); }",
    "int f(int x) { int duff; switch (x % 4) { case 0: do { x++; case 1: x++; } while (x < 9); } return x; }",
    # Asm.
    'int f(int a) { asm volatile ("" : "+r"(a) :: "memory"); asm goto ("" :::: l); l: return a; }',
    'register int r asm("r12"); extern int g(void) asm("h") __attribute__((weak)); asm(".text");',
    # Types.
    "typedef int v4 __attribute__((vector_size(16))); v4 f(v4 a) { return a * (v4){1, 2, 3, 4}; }",
    "_Float128 q; __float128 r; __int128 i; unsigned __int128 u; __complex__ float e; _Float64x x;",
    "_Decimal32 a = 1.5DF; _Decimal64 b = 1.0dd; _Decimal128 c = 1.0dl; __float80 d = 1.0w;",
    "double f(double _Complex z) { return __real__ z + __imag z; }",
    "typeof(int) a; __typeof__(a) b; typeof(a + b) *c; __typeof__(int (*)[3]) d;",
    "_Atomic int a; _Atomic(int) b; int *_Atomic d; struct q { _Atomic(long) x; };",
    "_Thread_local int a; extern __thread int c; _Alignas(16) int d; _Alignas(double) char e[4];",
    "int a = _Generic(1, int: 2, default: 3); int b = _Generic('a', const char *: 1, int: 2);",
    "int f(int n) { int a[n]; int (*p)[n] = &a; struct { int b[n]; } s; return sizeof *p + sizeof s; }",
    "void f(int n, int a[n][n], int b[static 3], int d[static const 2]);",
    "void g(int n, int a[*][*], int *restrict b, int c[const], int d[restrict 3]);",
    "void f(int n; int a[n], int n) { a[0] = n; }",
    "struct e {}; union u {}; struct z { int n; int a[0]; }; struct y { int n; char c[]; };",
    "union u { int a; float b; }; union u f(int x) { return (union u)x; }",
    "int (*(*f)(int))(char); char *(*(**i[2])(void))[4]; void (*signal2(int s, void (*h)(int)))(int);",
    "typedef int T; int f(T T) { return T; } int g(void) { T T = 3; { int x = T; } return T; }",
    "typedef int foo; struct bar { foo foo; int (*fn)(foo, foo *foo); }; unsigned foo2;",
    "typedef int x; void f(int (*x)(void)) {} void g(int (x)); void h(int (**x[2])(x)); void k(int (*)(x));",
    # Old functions.
    "int f(a, b) int a; char *b; { return a + *b; }",
    "f(a, b) char *b; { return a + *b; } g() { return 0; } h(x) { return x; }",
    # Attributes and pragmas.
    "int __attribute__((noinline)) f(void) { return 1; } int *__attribute__((cold)) h(void) { return 0; }",
    "typedef void (*__attribute__((noreturn)) nr)(void); int a __attribute__((aligned(8))) = 3, *b;",
    "void f(int a __attribute__((unused)), __attribute__((unused)) int b) {}",
    "int f(int x) { switch (x) { case 1: x++; __attribute__((fallthrough)); case 2: break; } return x; }",
    "struct __attribute__((packed)) s { int a : 3, : 0; unsigned : 2; } __attribute__((aligned(4))) x;",
    '#pragma pack(push, 1)\nstruct s { char a; };\n#pragma pack(pop)\n_Pragma("weak f") int f(void);',
    "int f(int n) {\n#pragma GCC unroll 4\nfor (int i = 0; i < n; i++);\nreturn n; }",
    '#ident "version"\nint x;\n#line 7 "other.c"\nint y;',
    # Spelling.
    "%:define X 1\nint a<:3:> = <%1, 2, X%>;",
    "int \\u00e9 = 1, \u00e92 = 2, $x$; int f(void) { return \\u00e9 + \u00e92; }",
    "char *s = \"\\e\\?\\x41\" \"\u00e9\"; int c = 'ab' + L'x' + u'y' + U'z';",
    'void *p = u8"a", *q = u"b" "c", *r = U"d"; int *w = L"a" "b" L"c";',
    "double d[] = { 1., .5, 1e3, 0x1p3, 0x.8p-1, 1.0f, 2.0Q }; long l = 0xFFull + 0b101 + 0777LL + 1Lu;",
    # Macah's words as names, and its tokens in C.
    "int stream, kernel, FOR, ADPC, EXPECT; int f(void) { kernel: stream = FOR * ADPC; goto kernel; }",
    "typedef struct st stream; stream *f(stream *s); void g(const stream *t, stream *stream); stream *v;",
    "typedef int kernel; kernel f(kernel k) { kernel x = k; return (kernel)x; }",
    "int kernel(int x) { return x; } int f(void) { kernel(2); { kernel(3); } return kernel(1); }",
    "int FOR(int a) { FOR(a); FOR (a - 1); return FOR(2); }",
    "enum { kernel, stream = 3, FOR }; int a[stream]; int f(void) { return kernel + stream * FOR; }",
    "int min(int a, int b) { return a < b ? a : b; } int abs(int); int f(int x) { return min(x, abs(x)); }",
    "int f(int min, int max) { int abs = min; return max - min + abs; }",
    "int pstream_create(int x) { return x; } int f(void) { return pstream_create(3); } int stream_free(int);",
    "int EXPECT(int a, int b) { return a; } int ADPC(int a, int b) { return EXPECT(a, b); }",
    "int f(int a, int b) { int c = a <!b; if (a <!b) return a <!!b; a <!b, b++; (void)(a <!b); return c; }",
    "int a[4]; int f(int x) { return a[x ^ 1] ^ a[2 ^ x] ^ a[~x]; }",
    "int f(int x, int y) { x <<= y; x >>= 1; return x < y; }",
)


def preprocessed(text: str) -> str:
    command = ["cc", "-E", "-x", "c", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("text", FRAGMENTS)
def test_c_is_left_as_it_is(text: str) -> None:
    compiled = subprocess.run(
        ["cc", "-w", "-fsyntax-only", "-x", "c", "-"], input=text, capture_output=True, text=True
    )
    assert compiled.returncode == 0, compiled.stderr
    text = preprocessed(text)
    assert to_c(parse_program(text, Path("plain.c"))) == text


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_whole_programs_are_left_as_they_are(path: Path) -> None:
    # Programs that use the name of their file are told it by a line marker in front.
    assert to_c(read_program(path)).endswith(path.read_text())


@pytest.mark.slow
def test_headers_of_the_system_are_left_as_they_are() -> None:
    text = preprocessed("".join(f"#include <{name}.h>\n" for name in HEADERS))
    assert to_c(parse_program(text, Path("headers.c"))) == text


@pytest.mark.parametrize(
    "text",
    [
        "int x[] = { 1 ... 3 };",
        "int f(void) { return &&; }",
        "goto *p;",
        "__label__ a;",
        "int a[3] { return 0; }",
    ],
)
def test_pieces_of_the_extensions_elsewhere_are_refused(text: str) -> None:
    with pytest.raises(MacahError):
        parse_program(text, Path("plain.c"))


def test_a_kernel_cannot_be_in_a_nested_function() -> None:
    text = "int f(void) { int g(int x) { kernel { x++; } return x; } return g(1); }"
    with pytest.raises(MacahError, match="a kernel block in a nested function"):
        parse_program(text, Path("plain.c"))


def test_long_lines_take_no_longer_than_their_length() -> None:
    def steps(terms: int) -> int:
        """Roughly what it takes to place every operand of a sum on one line."""
        counted = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal counted
            counted += event in ("call", "c_call")

        program = parse_program(f"int x = {' + '.join(['1'] * terms)};", Path("long.c"))
        [declaration] = program.unit.ext
        sys.setprofile(count)
        try:
            for node in walk(declaration.init):
                place_of(node)
        finally:
            sys.setprofile(None)
        return counted

    assert steps(800) < 3 * steps(400)
