"""Which host variables a kernel finds as their declarations made them, and so does not copy in."""

from __future__ import annotations

from pathlib import Path

import pytest

from macah import ir
from macah.lower import lower
from macah.program import parse_program


def entered(function: str, kernel: int = 0) -> tuple[list[str], list[tuple[str, int]]]:
    """Which variables the kernel of a function copies in, and which are constants at its head."""
    program = parse_program(function, Path("t.macah"))
    made = lower(program, program.kernels[kernel])
    known = []
    for stmt in made.body:
        match stmt:
            case ir.Assign(variable, ir.Const(value)) if variable.name in ("a", "b"):
                known.append((variable.name, value))
            case _:
                break
    copied = [capture.what.name for capture in made.captured if capture.into and capture.what.name != "x"]
    return copied, sorted(known)


USES = "a += b; x = a;"


@pytest.mark.parametrize(
    "before",
    [
        "unsigned char a = 300, b = -1;",
        "enum { E = 22 }; unsigned char a = 2 * E; unsigned char b = sizeof(int) + 251;",
        "unsigned char a = 44; for (int i = 0; i < 3; i++) x++; const unsigned char b = 255;",
        "int n; unsigned char a = 44; unsigned char b = 255; if (x) n = 1;",
    ],
)
def test_constants_of_declarations_are_known(before: str) -> None:
    copied, known = entered(f"int f(int x) {{ {before} kernel {{ {USES} }} return a; }}")
    assert copied == []
    assert known in ([("a", 44), ("b", 255)], [("a", 44)])  # a constant variable is none


def test_blocks_between_change_nothing() -> None:
    text = f"int f(int x) {{ int a = 1, b = 2; if (x) {{ x = 0; {{ kernel {{ {USES} }} }} }} return a; }}"
    assert entered(text) == ([], [("a", 1), ("b", 2)])


def test_in_a_loop_what_is_declared_there_is_known() -> None:
    text = f"int f(int x) {{ while (x) {{ int a = 1, b = 2; kernel {{ {USES} }} x -= a; }} return x; }}"
    assert entered(text) == ([], [("a", 1), ("b", 2)])


def test_truth_values_are_0_or_1() -> None:
    assert entered(f"int f(int x) {{ _Bool a = 4, b = 0; kernel {{ {USES} }} return a; }}")[1] == [
        ("a", 1),
        ("b", 0),
    ]


@pytest.mark.parametrize(
    "function",
    [
        "int f(int x, int a, int b) {{ {k} return a; }}",
        "int a = 1, b = 2; int f(int x) {{ {k} return a; }}",
        "int f(int x) {{ static int a = 1, b = 2; {k} return a; }}",
        "int f(int x) {{ int a = x, b = x; {k} return a; }}",
        "int f(int x) {{ volatile int a = 1, b = 2; {k} return a; }}",
        "int f(int x) {{ int a = 1, b = 2; a++; b = a; {k} return a; }}",
        "int f(int x) {{ int a = 1, b = 2; int *p = &a, *q = &b; *p = *q = x; {k} return a; }}",
        "int f(int x) {{ int a = 1, b = 2; while (x--) {{ {k} }} return a; }}",
        "int f(int x) {{ int a = 1, b = 2; do {{ {k} a = x; b = x; }} while (x--); return a; }}",
        "int f(int x) {{ int a = 1, b = 2; FOR (int i = 0; i < 2; i++) {{ {k} b = x; }} return a; }}",
        "int f(int x) {{ switch (x) {{ int a = 1, b = 2; case 1: {k} return a; }} return 0; }}",
        "int f(int x) {{ int a = 1, b = 2; again: {k} b = x; if (a < x) goto again; return a; }}",
        'int f(int x) {{ int a = 1, b = 2; __asm__("" : : : "memory"); {k} return a; }}',
        "int a, b; int f(int x) {{ {{ int a = 1, b = 2; x += a + b; }} {k} return a; }}",
        "int a, b; int f(int x) {{ {{ int a = 1, b = 2; }} {k} return a; }}",
        "int f(int x) {{ switch (x) {{ case 0: {{ int a = 1, b = 2; case 1: {k} return a; }} }} return 0; }}",
    ],
)
def test_what_may_have_changed_is_copied_in(function: str) -> None:
    text = function.format(k=f"kernel {{ {USES} }}")
    copied, known = entered(text)
    assert {"a", "b"} <= set(copied)
    assert known == []


def test_a_kernel_before_may_have_changed_it() -> None:
    text = f"int f(int x) {{ int a = 1, b = 2; kernel {{ {USES} }} kernel {{ {USES} }} return a; }}"
    assert entered(text, 0) == ([], [("a", 1), ("b", 2)])
    assert entered(text, 1)[1] == []


UNSET = "FOR (int i = 0; i < 3; i++) b[i + 1] = b[i] + a; a = x; x = b[3];"


@pytest.mark.parametrize(
    ("function", "out"),
    [
        ("int f(int x) {{ int a, b[4]; {k} return x; }}", {"x"}),
        ("int f(int x) {{ int a, b[4]; {k} return x + b[1]; }}", {"x", "b"}),
        ("int f(int x) {{ int a, b[4]; if (x) {{ {k} }} return x + a; }}", {"x", "a"}),
        ("int f(int x) {{ while (x) {{ int a, b[4]; {k} }} return x; }}", {"x", "a", "b"}),
        ("int *p; int f(int x) {{ int a, b[4]; {k} p = b; return *p; }}", {"x", "b"}),
    ],
)
def test_what_nothing_has_written_is_not_copied_in(function: str, out: set[str]) -> None:
    program = parse_program(function.format(k=f"kernel {{ {UNSET} }}"), Path("t.macah"))
    captured = lower(program, program.kernels[0]).captured
    assert {c.what.name for c in captured if c.into} == {"x"}
    assert {c.what.name for c in captured if c.out} == out


@pytest.mark.parametrize(
    "function",
    [
        "int a, b[4]; int f(int x) {{ {k} return x; }}",
        "int f(int x, int a, int b[4]) {{ {k} return x; }}",
        "int f(int x) {{ static int a, b[4]; {k} return x; }}",
        "int f(int x) {{ volatile int a, b[4]; {k} return x; }}",
        "int f(int x) {{ int a, b[4]; a = b[2] = x; {k} return x; }}",
        "int f(int x) {{ int a, b[4]; while (x) {{ {k} }} return x; }}",
        "int f(int x) {{ int a, b[4]; for (;;) {{ {k} if (x) break; a = b[0] = x; }} return x; }}",
        "int f(int x) {{ int a, b[4]; again: {k} b[1] = x; if (a < x) goto again; return a; }}",
        "void g(int *, int *); int f(int x) {{ int a, b[4]; g(&a, b); {k} return x; }}",
        'int f(int x) {{ int a, b[4]; __asm__("" : : : "memory"); {k} return x; }}',
        "int f(int x) {{ switch (x) {{ int a, b[4]; case 1: {k} }} return x; }}",
        "int f(int x) {{ int a, b[4]; kernel {{ a = b[2] = x; }} {k} return x; }}",
    ],
)
def test_what_something_may_have_written_is_copied_in(function: str) -> None:
    program = parse_program(function.format(k=f"kernel {{ {UNSET} }}"), Path("t.macah"))
    captured = lower(program, program.kernels[-1]).captured
    assert {"a", "b"} <= {c.what.name for c in captured if c.into}
