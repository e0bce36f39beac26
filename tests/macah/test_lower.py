"""What lowering makes of each construct, as the text of the IR."""

from __future__ import annotations

from pathlib import Path

import pytest

from macah import ir
from macah.lower import lower
from macah.program import parse_program
from macah.run import run_kernel
from macah.show import show_kernel
from macah.walk import statements


def lowered(text: str, adpc: dict[str, int] | None = None) -> ir.Kernel:
    program = parse_program(text, Path("t.macah"))
    return lower(program, program.kernels[0], adpc)


def body(statements: str, parameters: str = "int n", before: str = "", functions: bool = False) -> str:
    """The text of a kernel's statements."""
    kernel = lowered(f"{before}\nvoid f({parameters}) {{ kernel {{ {statements} }} }}")
    lines = show_kernel(kernel).splitlines()[1:]
    end = next((i for i, line in enumerate(lines) if line.startswith("function")), len(lines))
    kept = lines[end:] if functions else lines[:end]
    return "\n".join(
        line.removeprefix("  ") for line in kept if not line.startswith(("  capture", "  stream"))
    )


def captures(statements: str, parameters: str, before: str = "", inside: str = "") -> list[str]:
    """How host code names what a kernel captures, with its type, `i`n and `o`ut."""
    kernel = lowered(f"{before}\nvoid f({parameters}) {{ {inside} kernel {{ {statements} }} }}")
    data = [f"{c.type} {c.source}{' i' * c.into}{' o' * c.out}" for c in kernel.captured]
    return data + [f"stream {s.source}" for s in kernel.streams]


# --- Captures


def test_captures_are_in_order_of_first_use_and_only_what_is_used() -> None:
    before = "int g, h; static unsigned char b[2][3]; const int K = 3; enum { E = 4 };"
    found = captures("h = n + K + E; b[1][2] = g;", "int n, int unused", before)
    assert found == ["int n i", "int h i o", "int g i", "unsigned char b[{0}][{1}] i o"]


def test_members_are_captured_one_by_one() -> None:
    before = (
        "struct in { short v; int w[2]; }; struct out { struct in a[3]; int stream s; struct out *next; };"
    )
    found = captures(
        "o->a[1].w[0] = x.a[n].v; o->next->a[0].v = 1; x.s <! 1;",
        "struct out *o, int n",
        before,
        "struct out x = *o;",
    )
    assert found == [
        "int n i",
        "short x.a[{0}].v i",
        "int (*o).a[{0}].w[{1}] i o",
        "short (*(*o).next).a[{0}].v i o",
        "stream x.s",
    ]


def test_a_parameter_of_known_size_is_an_array() -> None:
    found = captures("a[1][2] = c[0];", "int a[2][3], const short c[4]")
    assert found == ["short c[{0}] i", "int a[{0}][{1}] i o"]


def test_const_tables_are_known_and_not_captured() -> None:
    text = "static const short t[2][3] = { { 1 }, [1][2] = -1 }; void f(int n) { kernel { n = t[n][1]; } }"
    kernel = lowered(text)
    assert [c.source for c in kernel.captured] == ["n"]
    match kernel.body:
        case (ir.Assign(value=ir.Load(array)),):
            assert array.initial == (1, 0, 0, 0, 0, 0xFFFFFFFF) and array.element == ir.ElementType(16, True)
        case _:
            raise AssertionError(kernel.body)


# --- Expressions


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("c = n;", "c = sext8(n)"),
        ("n = c + 1;", "n = (c + 1)"),
        ("l = n;", "l = sext32(n)"),
        ("l = u;", "l = zext32(u)"),
        ("n = l;", "n = trunc(l)"),
        ("b = l;", "b = (l != 0)"),
        ("n = u < n;", "n = (u <u n)"),
        ("n = n > c;", "n = (c < n)"),
        ("u >>= 1; n >>= 1;", "u = (u >> 1)\nn = (n >>s 1)"),
        ("n = n / 3 + u % 3;", "n = ((n / 3) + (u %u 3))"),
        ("n = n && u;", "n = ((n != 0) & (u != 0))"),
        ("n = u ? c : l;", "n = trunc(select((u != 0), sext32(c), l))"),
        ("n = min(n, c) + max(u, 1);", "n = (smin(n, c) + umax(u, 1))"),
        ("n = sizeof(long) * 2;", "n = 16"),
        ("n = (2, 3) ? -5 / 2 : 1;", "n = -2"),
        ("c++;", "c = sext8((c + 1))"),
        ("n = c++;", "c'2 = c\nc = sext8((c'2 + 1))\nn = c'2"),
        ("n = c = l;", "c'2 = sext8(trunc(l))\nc = c'2\nn = c'2"),
    ],
)
def test_c_arithmetic_is_operations_on_words(statement: str, text: str) -> None:
    assert body(statement, "signed char c, int n, unsigned u, long l, _Bool b") == text


def test_effects_behind_and_happen_only_if_it_gets_there() -> None:
    assert body("if (n > 0 && n++ < 9) n = 2;") == "\n".join(
        [
            "and = (0 < n)",
            "if and:",
            "  n'2 = n",
            "  n = (n'2 + 1)",
            "  and = (n'2 < 9)",
            "if and:",
            "  n = 2",
        ]
    )


def test_initializers_set_what_they_leave_out_to_zero() -> None:
    before = "struct p { int x; struct { char y[2]; } in; };"
    assert body("struct p p = { .in.y[1] = n, };", before=before).splitlines() == [
        "p.x = 0",
        "p.in.y[0] = 0",
        "p.in.y[1] = sext8(n)",
    ]


# --- Control flow


def test_sections_that_end_in_break_are_a_chain() -> None:
    assert body(
        "switch (n) { default: n = 0; break; case 1: case 2: n = 3; break; case 4: n = 5; }"
    ) == "\n".join(
        [
            "switch = n",
            "if ((switch == 1) | (switch == 2)):",
            "  n = 3",
            "else:",
            "  if (switch == 4):",
            "    n = 5",
            "  else:",
            "    n = 0",
        ]
    )


def test_breaks_and_continues_leave_blocks() -> None:
    text = body("for (int i = 0; i < n; i++) { if (i == 3) continue; if (i == 5) break; n--; }")
    assert text == "\n".join(
        [
            "i = 0",
            "block break loop:",
            "  loop:",
            "  while (i < n):",
            "    block continue:",
            "      if (i == 3):",
            "        leave continue",
            "      if (i == 5):",
            "        leave break loop",
            "      n = (n - 1)",
            "    i = (i + 1)",
        ]
    )


def test_an_assertion_is_one_statement_however_the_header_writes_it() -> None:
    failed = '__assert_fail("n > 1", "t.macah", 1, __func__)'
    expected = """assert (1 < n) "f: Assertion `n > 1' failed.\""""
    assert body(f"(n > 1) ? (void)0 : {failed};") == expected
    assert body(f"({{ if (n > 1) ; else {failed}; }});") == expected


# --- Functions and pointers


def test_a_function_is_lowered_once_and_views_arrays() -> None:
    before = (
        "static int sum(const int *p, int n) { int s = 0; while (n--) s += *p++; return s; } int a[4][8];"
    )
    assert body("n = sum(a[n], 8) + sum(a[0] + 2, 3);", before=before) == "\n".join(
        ["sum() = sum(&a[n][0], 8)", "sum()'2 = sum(&a[0][2], 3)", "n = (sum() + sum()'2)"]
    )
    assert body("n = sum(a[0], 8);", before=before, functions=True).startswith("function sum(p[0], n'2) -> ")


def test_the_address_of_a_variable_stands_for_it_in_the_callee() -> None:
    before = "static void swap(int *a, int *b) { int t = *a; *a = *b; *b = t; }"
    assert body("swap(&n, &m);", "int n, int m", before) == "t = n\nn = m\nm = t"


def test_a_moving_pointer_is_a_place_in_its_array() -> None:
    assert body("int *p = a + 1; *p++ = 3; n = p[2];", "int a[9], int n") == "\n".join(
        ["p = 1", "p'2 = p", "p = (p + 1)", "a[p'2] = 3", "n = a[(p + 2)]"]
    )


def test_a_returned_pointer_is_a_place_that_may_differ() -> None:
    before = "static int *pick(int *a, int c) { if (c) return a + 1; return a + c * 2 + 3; }"
    kernel = lowered(
        f"{before} void f(int a[8], int n, int m) {{ kernel {{ m = *pick(a, n) * pick(a, 0)[1]; }} }}"
    )
    assert run_kernel(kernel, {"n": 5}, {"a": range(1, 9)}).scalars["m"] == 2 * 5


def test_a_struct_with_streams_is_passed_by_value() -> None:
    text = """struct io { int stream in, out[2]; int k; };
    static void work(struct io io) { int x; x <? io.in; io.k += x; io.out[1] <! io.k; }
    void f(struct io *c) { kernel { work(*c); work(*c); } }"""
    kernel = lowered(text)
    run = run_kernel(kernel, {"c.k": 100}, inputs={"c.in": [(1,), (2,)]})
    assert run.outputs == {"c.out[1]": [(101,), (102,)]}
    assert [s.source for s in kernel.streams] == ["(*c).in", "(*c).out[{0}]"]


def test_a_shiftable_parameter_is_the_callers_array() -> None:
    before = "static void push(int w[^4^], int v) { w >>= 1; w[0] = v; }"
    assert body("push(a[n], n);", "int a[2][^4^], int n", before) == "v = n\na[n] shift 1\na[n][0] = v"


# --- Streams and shifts


def test_struct_elements_are_cut_into_words() -> None:
    before = "struct e { char c; long l; short s[2]; };"
    kernel = lowered(f"{before} void f(struct e stream q) {{ kernel {{ struct e e; e <? q; q <! e; }} }}")
    stream = kernel.streams[0].stream
    assert stream.size == 24
    assert [(w.offset, w.size) for w in stream.words] == [(0, 1), (8, 8), (16, 2), (18, 2)]


def test_a_type_may_be_defined_where_the_first_stream_of_it_is_declared() -> None:
    before = "struct e { int n; } stream q; struct m { enum { LAST = 7 } stream marks; } *m;"
    assert body("struct e e = { LAST }; q <! e;", before=before) == "e.n = 7\nq <! e.n"


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("n <? s;", "n <? s"),
        ("w :: n <? s;", "w :: n <? s"),
        ("s <! n + 70000;", "s <! sext16((n + 70000))"),
        ("w :: s <! n;", "w :: s <! sext16(n)"),
        ("c <? s;", "received <? s\nc = sext8(received)"),
        ("a[n] <? s;", "received = unspecified\nreceived <? s\na[n] = received"),
        ("a[1] <? s;", "received <? s\na[1] = received"),
        ("w :: a[n] <? s;", "worked :: received <? s\nif (worked != 0):\n  a[n] = received\nw = worked"),
        ("m[1] <! n;", "m[1] <! n"),
        ("pstream_close(s);", "close s"),
    ],
)
def test_transfers_go_straight_to_variables_where_they_can(statement: str, text: str) -> None:
    parameters = "short stream s, int stream m[3], int n, signed char c, int a[4], int w"
    found = body(statement, parameters)
    assert found.replace("if worked:", "if (worked != 0):") == text


def test_a_receive_from_an_ended_stream_leaves_its_target_alone() -> None:
    text = """void g(int stream s) { pstream_close(s); }
    void f(int stream s, int a[2], long l, signed char c, int n) {
      kernel { n <? s; a[0] <? s; a[1] <? s; c <? s; l <? s; l <? s; n = pstream_ended(s); } }"""
    run = run_kernel(lowered(text), {"l": -(2**40), "n": 1, "c": -7}, {"a": [5, 6]}, {"s": [(9,), (8,)]})
    assert run.arrays["a"] == [8, 6]
    assert run.scalars == {"n": 1, "c": 2**32 - 7, "l": 2**64 - 2**40}


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("a[a[w].n] = a[0];", "a = a.n[w]\na.n[a] = a.n[0]\na.x[a] = a.x[0]"),
        ("z = a[z.n];", "a = z.n\nz.n = a.n[a]\nz.x = a.x[a]"),
        ("a[a[w].n] <? s;", "a = a.n[w]\nreceived, received'2 <? s\na.n[a] = received\na.x[a] = received'2"),
        ("a[w] <? s;", "received, received'2 <? s\na.n[w] = received\na.x[w] = received'2"),
    ],
)
def test_an_index_is_read_before_what_it_reads_is_assigned(statement: str, text: str) -> None:
    parameters = "struct e { int n, x; } a[4], struct e z, struct e stream s, int w"
    found = body(statement, parameters).replace("received = unspecified\nreceived'2 = unspecified'2\n", "")
    assert found == text


def test_shifts_name_the_dimension_by_its_indices() -> None:
    parameters = "int a[2][^4^][3], struct { short x; char y[2]; } b[^4^], int n"
    text = body("a <<= 1; a[n] >>= n; b <<= 2;", parameters)
    assert text == "a shift -1\na[n] shift n\nb.x shift -2\nb.y shift -2"


# --- Constants


def test_a_shift_in_parts_reads_its_operands_once() -> None:
    text = body("b[b[0][0].x] <<= b[0][1].x;", "struct { int x, y; } b[2][^4^]")
    assert text == "b = b.x[0][0]\nplaces = -b.x[0][1]\nb.x[b] shift places\nb.y[b] shift places"


def test_a_pseudo_constant_is_the_value_chosen_for_it() -> None:
    text = "const int N = ADPC(2, 8); void f(int a[N]) { kernel { a[0] = N; } }"
    assert "a[0] = 2" in show_kernel(lowered(text))
    assert "capture a[5]" in show_kernel(lowered(text, {"N": 5}))


def test_copies_of_arrays_of_arrays_are_loops_that_places_tell_apart() -> None:
    kernel = lowered("int a[16][16], b[16][16];\nvoid f(void) { kernel {\nmemcpy(a, b, sizeof a);\n} }")
    loops = [stmt for stmt in statements(kernel.body) if isinstance(stmt, ir.While)]
    assert len(loops) == len({loop.where for loop in loops}) == 2
    assert {loop.where.line for loop in loops if loop.where} == {3}


def test_copies_of_few_elements_are_written_out() -> None:
    found = body("memcpy(a, b, sizeof a);", before="int a[2][2], b[2][2];")
    assert found.splitlines() == [f"a[{i}][{j}] = b[{i}][{j}]" for i in range(2) for j in range(2)]
