"""Mistakes in kernels, each with its place and wording: `// error: …` stands on the line of the mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from macah.diagnostic import Diagnostic, MacahError
from macah.ir import Array
from macah.lower import lower
from macah.program import parse_program, read_program

CASES = sorted((Path(__file__).parent.parent / "cases" / "errors").glob("*.macah"))


def errors_of(text: str) -> list[Diagnostic]:
    program = parse_program(text, Path("t.macah"))
    with pytest.raises(MacahError) as caught:
        lower(program, program.kernels[0])
    return list(caught.value.diagnostics)


def found_in(path: Path) -> list[Diagnostic]:
    program = read_program(path)
    found: list[Diagnostic] = []
    for site in program.kernels:
        try:
            lower(program, site)
        except MacahError as error:
            found += error.diagnostics
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_mistake_is_reported_at_its_line(path: Path) -> None:
    expected: dict[int, str] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := re.search(r"// error: (.*)", line):
            expected[number] = match.group(1)
    found = {d.where.line: d.message for d in found_in(path) if d.where is not None}
    assert found.keys() == expected.keys()
    for number, text in expected.items():
        assert text in found[number], number


def test_an_error_in_a_function_tells_how_the_kernel_gets_there() -> None:
    text = """static int inner(int n) { return missing(n); }
static int outer(int n) { return inner(n) + 1; }
void f(int n) { kernel { n = outer(n); n = outer(2); } }
"""
    (found,) = errors_of(text)
    assert [(note.message, note.where and note.where.line) for note in found.notes] == [
        ("'inner' is called here", 2),
        ("'outer' is called here", 3),
    ]


def test_a_second_place_is_a_note() -> None:
    (found,) = errors_of("void f(void) { kernel { int a;\nint a; } }")
    assert found.notes[0].message == "previous declaration of 'a' was here"
    assert found.notes[0].where is not None and found.notes[0].where.line == 1


def test_a_pointer_parameter_gets_the_hint_to_give_its_size() -> None:
    (found,) = errors_of("void f(short *data, int n) { kernel { n = data[3]; } }")
    assert found.hint == "declare it as an array of known size, 'short data[N]'"
    (found,) = errors_of("void f(int n, short rows[n][n]) { kernel { n = rows[3][0]; } }")
    assert found.hint == "declare it as an array of known size, 'short rows[N][M]'"


@pytest.mark.parametrize("jump", ["goto in;", "void *p = &&in; goto *p;"])
def test_a_kernel_block_is_not_entered_in_its_middle(jump: str) -> None:
    (error,) = errors_of(f"int f(int r) {{\n{jump}\nkernel {{ r++; in: r += 2; }}\nreturn r; }}")
    assert error.message == "label 'in' cannot be jumped to from outside its kernel block"
    assert (error.code, error.where.line if error.where else 0) == ("goto", 2)
    assert [note.where.line for note in error.notes if note.where] == [3]


@pytest.mark.parametrize(
    "rest",
    [
        "int a[4], b[8]; int main(void) { f(a, 4); f(b, 8); }",
        "int a[4]; int main(void) { f(a + 1, 3); }",
        "int a[4]; int main(void) { f(a, 4); f(0, 0); }",
        "int a[4]; void (*g)(int *, int) = f; int main(void) { f(a, 4); }",
        "int main(int n) { int a[n]; f(a, n); }",
        "void g(int *p) { p++; f(p, 3); } int a[4]; int main(void) { g(a); }",
        "void *malloc(unsigned long); int main(int n) { f(malloc(n * sizeof(int)), n); }",
        "",
    ],
    ids=["two sizes", "from the second on", "null", "called elsewhere", "any size", "moved", "heap", "none"],
)
def test_calls_that_do_not_tell_the_size_of_an_array(rest: str) -> None:
    (found,) = errors_of("void f(int *p, int n) { kernel { for (int i = 0; i < n; i++) p[i]++; } } " + rest)
    assert found.code == "unresolved-pointer"


@pytest.mark.parametrize(
    "body",
    [
        "kernel { n += *p++; } return n + *p;",
        "p++; kernel { n += *p++; } return n;",
        "for (int i = 0; i < 2; i++) kernel { n += *p++; } return n;",
        "again: kernel { n += *p++; } if (n < 9) goto again; return n;",
    ],
    ids=["used behind", "moved before", "in a loop", "in a loop of jumps"],
)
def test_a_moved_parameter_that_is_not_what_the_calls_give(body: str) -> None:
    (found,) = errors_of("int f(int *p, int n) { " + body + " } int a[4]; int main(void) { return f(a, 4); }")
    assert found.code == "unresolved-pointer"


NODES = "struct node { int v; struct node *left, *next; };"


@pytest.mark.parametrize(
    ("before", "loop"),
    [
        ("", "for (struct node *p = head; p; p = p->next) n += p->v;"),
        ("struct node b = { 2 }, a = { 1, 0, &b };", "for (struct node *p = &a; p; p = p->next) n += p->v;"),
        (
            "struct node c = { 3 }, b = { 2, &c }, a = { 1, &b, &c };",
            "for (struct node *p = &a; p; p = n & 1 ? p->left : p->next) n += p->v;",
        ),
    ],
    ids=["parameter", "variables", "tree"],
)
def test_a_list_that_pointers_link_has_no_end(before: str, loop: str) -> None:
    text = f"{NODES} int f(struct node *head) {{ int n = 0; {before} kernel {{ {loop} }} return n; }}"
    (found,) = errors_of(text)
    assert found.code == "unresolved-pointer"
    assert found.hint == "keep indices into one array in place of these pointers"


@pytest.mark.parametrize("first", ["g", "n ? g : h"])
@pytest.mark.parametrize(
    "on", ["p = p->n->n;", "struct b *q = p->n; n += q->w; p = q->n;"], ids=["at once", "by variables"]
)
def test_a_list_of_two_kinds_of_nodes_has_no_end(first: str, on: str) -> None:
    nodes = "struct b; struct a { int v; struct b *n; }; struct b { int w; struct a *n; };"
    kernel = f"kernel {{ struct a *p = {first}; while (n < 99) {{ n += p->v; {on} }} }}"
    found = errors_of(f"{nodes} int f(struct a *g, struct a *h) {{ int n = 0; {kernel} return n; }}")
    assert {error.code for error in found} == {"unresolved-pointer"}


def test_a_pointer_in_one_of_several_variables_is_not_assigned() -> None:
    body = "struct node a = { 1 }, b = { 2 }, *p = n & 1 ? &a : &b; p->next = &a;"
    (found,) = errors_of(f"{NODES} int f(int n) {{ kernel {{ {body} }} return n; }}")
    assert found.message == "a pointer is assigned that is in 'b' or in another variable"


def test_a_pointer_that_may_lead_into_another_variable_is_not_compared_with_that() -> None:
    text = "struct s { int a; } x; int f(struct s *p) { kernel { x.a += p == &x; p->a = 1; } return x.a; }"
    (found,) = errors_of(text)
    assert found.message == "whether pointer 'p' points to a part of another variable is not known here"


@pytest.mark.parametrize(
    "rest",
    [
        "int a[4], b[5]; struct s x = { a }; int main(void) { x.p = b; return f(&x, 4); }",
        "int a[4]; struct s x = { .p = a }; int main(void) { x.p++; return f(&x, 3); }",
        "int a[4]; struct s x = { a + 1 }; int main(void) { return f(&x, 3); }",
        "int a[4]; struct s x = { a }, y = { 0 }; int main(void) { return f(&x, 3) + f(&y, 0); }",
    ],
    ids=["two sizes", "moved", "from the second on", "null"],
)
def test_a_member_that_is_not_always_given_arrays_of_one_size(rest: str) -> None:
    text = "struct s { int *p; }; int f(struct s *x, int n) { kernel { n = x->p[n]; } return n; } "
    (found,) = errors_of(text + rest)
    assert found.code == "unresolved-pointer"


def test_a_pointer_to_several_variables_leads_to_one_member_of_each() -> None:
    text = """\
int f(int n) {
  int a[3] = {1, 2, 3};
  struct { int v[3], w[3]; } x = {{4}};
  kernel { int *p = a; for (int i = 0; i < 6; i++) { n += p[i % 3]; p = i & 1 ? x.v : a; if (n) p = x.w; } }
  return n;
}
"""
    (found,) = errors_of(text)
    assert found.message == "pointer 'p' points into 'a' and into 'x'"


def test_a_place_in_a_row_that_is_not_known_is_not_compared_with_a_parameter() -> None:
    text = """\
int f(int m[3][4], int *end, int r) {
  kernel { for (int *p = m[r]; p != end; p++) r += *p; }
  return r;
}
"""
    (found,) = errors_of(text)
    assert found.message == "whether pointer 'end' points to a part of another variable is not known here"


def test_calls_that_do_not_agree_are_shown() -> None:
    text = """\
void f(int *p, int n) { kernel { p[n]++; } }
int a[4], b[8];
int main(void) {
  f(a, 1);
  f(b, 2);
  f(a, 3);
"""
    (found,) = errors_of(text + "}")
    assert [(note.message, note.where and note.where.line) for note in found.notes] == [
        ("it gets 4 elements here", 4),
        ("it gets 8 elements here", 5),
    ]
    (found,) = errors_of(text + "f(a + 1, 2); }")
    assert [(note.message, note.where and note.where.line) for note in found.notes] == [
        ("how many elements there are is not known here", 7),
    ]


def test_memory_whose_pointer_others_may_change_has_no_size() -> None:
    text = """\
void *malloc(unsigned long);
void shrink(int **p);
int main(void) {
  int n = 0, *p = malloc(32);
  shrink(&p);
  kernel { for (int i = 0; i < 8; i++) n += p[i]; }
  return n;
}
"""
    (found,) = errors_of(text)
    assert found.code == "unresolved-pointer"
    kept = parse_program(text.replace("  shrink(&p);\n", ""), Path("kept.macah"))
    assert {c.what.shape for c in lower(kept, kept.kernels[0]).captured if isinstance(c.what, Array)} == {
        (8,)
    }
