"""A kernel that gets one piece of memory under two names ends the program, if it writes to it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from graph_host import build_with_graphs, printed_by_graphs

HEAD = "#include <stdio.h>\nstruct s { int x, y; unsigned bits : 3, more : 5; };\nint g[4], one;\n"
BOTH = "void f(int p[4], int q[4]) { k: kernel { p[1] += 1; p[2] += q[1]; } }\n"
STRUCTS = "void f(struct s *p, struct s *q) { k: kernel { p->x += 1; q->x += 1; } }\n"
GLOBAL = "void f(int p[4]) { k: kernel { p[1] += 1; g[1] += 1; } }\n"
SCALAR = "void f(struct s *p) { k: kernel { p->x += 1; one += 1; } }\n"
BITS = "void f(struct s *p, struct s *q) { k: kernel { p->bits += 1; q->more += 1; } }\n"
NEXT = (
    "struct node { int v; struct node *next; };\n"
    "void f(struct node *p) { k: kernel { p->v += 1; p->next->v += 1; } }\n"
)
SAME = {
    "arrays": (BOTH, "int a[4] = {0}; f(a, a);", "p", "q"),
    "shifted arrays": (BOTH, "int a[7] = {0}; f(a, a + 3);", "p", "q"),
    "structs": (STRUCTS, "struct s a = {0}; f(&a, &a);", "*p", "*q"),
    "an array of file scope": (GLOBAL, "f(g);", "p", "g"),
    "a variable of file scope": (SCALAR, "f((struct s *)&one);", "*p", "one"),
    "bit-fields of one struct": (BITS, "struct s a = {0}; f(&a, &a);", "*p", "*q"),
    "a ring": (NEXT, "struct node n = {1, 0}; n.next = &n; f(&n);", "*p", "*p.next"),
}
APART = {
    "arrays": (BOTH, 'int a[4] = {0}, b[4] = {2, 3}; f(a, b); printf("%d %d", a[1], a[2]);', "1 3"),
    "halves of an array": (BOTH, 'int a[8] = {0, 1, 2, 3, 4, 5}; f(a, a + 4); printf("%d", a[2]);', "7"),
    "only read": (
        "int n; void f(const int p[4], const int q[4]) { kernel { n = p[1] + q[1]; } }\n",
        'int a[4] = {1, 2}; f(a, a); printf("%d", n);',
        "4",
    ),
    "different members": (
        "void f(struct s *p, struct s *q) { kernel { p->x += q->y; } }\n",
        'struct s a = {1, 2}; f(&a, &a); printf("%d", a.x);',
        "3",
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_memory_that_a_kernel_would_copy_twice_ends_the_program(name: str, tmp_path: Path) -> None:
    functions, main, first, second = SAME[name]
    (tmp_path / "p.macah").write_text(f"{HEAD}{functions}int main(void) {{ {main} return 0; }}\n")
    program = build_with_graphs(tmp_path / "p.macah", tmp_path)
    ended = subprocess.run([program], check=False, capture_output=True, text=True)
    assert ended.returncode < 0
    place = rf"{re.escape(str(tmp_path))}/p\.macah:\d+:\d+: error: "
    wanted = f"kernel 'k' writes to memory that it gets both as '{first}' and as '{second}' [same-memory]"
    assert re.match(place + re.escape(wanted), ended.stderr)
    assert "pass a copy of it" in ended.stderr


@pytest.mark.parametrize("name", APART)
def test_memory_that_is_apart_or_only_read_is_used(name: str, tmp_path: Path) -> None:
    functions, main, printed = APART[name]
    (tmp_path / "p.macah").write_text(f"{HEAD}{functions}int main(void) {{ {main} return 0; }}\n")
    assert printed_by_graphs(tmp_path / "p.macah", tmp_path) == printed


def test_nothing_is_checked_where_no_pointer_leads(tmp_path: Path) -> None:
    text = "int main(void) { int a[4] = {0}, b[4] = {0}; kernel { a[1] = b[2]; g[0] = a[2]; } return one; }\n"
    (tmp_path / "p.macah").write_text(HEAD + text)
    build_with_graphs(tmp_path / "p.macah", tmp_path)
    assert "macah_keep_apart" not in (tmp_path / "host.c").read_text()
